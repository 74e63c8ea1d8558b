// RUN: nsacc-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected 1 to 1024 threads, found 0}}
nsatile.program @p() attributes {nsatile.kernel = #nsatile.kernel<threads = 0>} {
  nsatile.return
}

// -----

// expected-error @below {{expected at least 0 bytes of shared memory, found -1}}
nsatile.program @p() attributes {nsatile.kernel = #nsatile.kernel<threads = 32, shared = -1>} {
  nsatile.return
}

// -----

// expected-error @below {{expected a cluster of 1 to 16 blocks, found 17}}
nsatile.program @p() attributes {nsatile.kernel = #nsatile.kernel<threads = 32, cluster = 17>} {
  nsatile.return
}

// -----

// expected-error @below {{expected #nsatile.tensor_map or #nsatile.parameter as extra parameters, found 3 : i64}}
nsatile.program @p() attributes {nsatile.kernel = #nsatile.kernel<threads = 32, extra = [3]>} {
  nsatile.return
}

// -----

// expected-error @below {{expected the number of a buffer among the arguments, found -1}}
nsatile.program @p(%x: memref<?x64xf32>) attributes {map = #nsatile.tensor_map<argument = -1, dims = [0], box = [16]>} {
  nsatile.return
}

// -----

// expected-error @below {{expected 1 to 5 dimensions, found 0}}
nsatile.program @p(%x: memref<?x64xf32>) attributes {map = #nsatile.tensor_map<argument = 0, dims = [], box = []>} {
  nsatile.return
}

// -----

// expected-error @below {{expected a box of 2 sizes, as many as dimensions, found 1}}
nsatile.program @p(%x: memref<?x64xf32>) attributes {map = #nsatile.tensor_map<argument = 0, dims = [1, 0], box = [16]>} {
  nsatile.return
}

// -----

// expected-error @below {{expected dimensions of the buffer, each once, found 1 twice}}
nsatile.program @p(%x: memref<?x64xf32>) attributes {map = #nsatile.tensor_map<argument = 0, dims = [1, 1], box = [16, 16]>} {
  nsatile.return
}

// -----

// expected-error @below {{expected sizes of the box from 1 to 256, found 257}}
nsatile.program @p(%x: memref<?x64xf32>) attributes {map = #nsatile.tensor_map<argument = 0, dims = [1, 0], box = [16, 257]>} {
  nsatile.return
}

// -----

// expected-error @below {{expected a swizzle of 0, 32, 64 or 128 bytes, found 16}}
nsatile.program @p(%x: memref<?x64xf32>) attributes {map = #nsatile.tensor_map<argument = 0, dims = [1, 0], box = [16, 16], swizzle = 16>} {
  nsatile.return
}

// -----

// expected-error @below {{expected 2 steps, as many as dimensions, found 1}}
nsatile.program @p(%x: memref<?x64xf32>) attributes {map = #nsatile.tensor_map<argument = 0, dims = [1, 0], box = [16, 16], steps = [1]>} {
  nsatile.return
}

// -----

// expected-error @below {{expected steps from 1 to 8 that reach over at most 256 elements, found 65 with a step of 4}}
nsatile.program @p(%x: memref<?x64xf32>) attributes {map = #nsatile.tensor_map<argument = 0, dims = [1, 0], box = [16, 65], steps = [1, 4]>} {
  nsatile.return
}

// -----

// expected-error @below {{expected a tensor map of a buffer, found argument 1}}
nsatile.program @p(%x: memref<?x64xf32>, %n: index) attributes {nsatile.kernel = #nsatile.kernel<
    threads = 32, extra = [#nsatile.tensor_map<argument = 1, dims = [1, 0], box = [16, 16]>]>} {
  nsatile.return
}

// -----

// expected-error @below {{expected a tensor map of dimensions of 'memref<?x64xf32>', found 2}}
nsatile.program @p(%x: memref<?x64xf32>, %n: index) attributes {nsatile.kernel = #nsatile.kernel<
    threads = 32, extra = [#nsatile.tensor_map<argument = 0, dims = [2], box = [16]>]>} {
  nsatile.return
}

// -----

// expected-error @below {{expected a tensor map whose box has rows of a multiple of 16 bytes, found 12}}
nsatile.program @p(%x: memref<?x64xf32>, %n: index) attributes {nsatile.kernel = #nsatile.kernel<
    threads = 32, extra = [#nsatile.tensor_map<argument = 0, dims = [1, 0], box = [3, 16]>]>} {
  nsatile.return
}

// -----

// expected-error @below {{expected a tensor map whose box has rows of at most the swizzle's 64 bytes, found 128}}
nsatile.program @p(%x: memref<?x64xf32>, %n: index) attributes {nsatile.kernel = #nsatile.kernel<
    threads = 32, extra = [#nsatile.tensor_map<argument = 0, dims = [1, 0], box = [32, 16], swizzle = 64>]>} {
  nsatile.return
}

// -----

// expected-error @below {{expected a tensor map whose innermost dimension has stride 1, found dimension 0 of 'memref<?x64xf32>'}}
nsatile.program @p(%x: memref<?x64xf32>, %n: index) attributes {nsatile.kernel = #nsatile.kernel<
    threads = 32, extra = [#nsatile.tensor_map<argument = 0, dims = [0, 1], box = [16, 16]>]>} {
  nsatile.return
}

// -----

// expected-error @below {{expected #nsatile.kernel as nsatile.kernel, found 3 : i64}}
nsatile.program @p() attributes {nsatile.kernel = 3} {
  nsatile.return
}
