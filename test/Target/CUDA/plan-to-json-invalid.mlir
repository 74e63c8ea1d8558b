// Plans that no package can hold.
// RUN: nsacc-translate --nsatile-plan-to-json --split-input-file --verify-diagnostics %s

// expected-note @below {{the program stands here}}
nsatile.program @p() {
  nsatile.return
}
nsatile.plan @f() {
  %c1 = arith.constant 1 : index
  // expected-error @below {{expected a program that was lowered for a GPU, with #nsatile.kernel}}
  nsatile.launch @p grid(%c1, %c1, %c1) ()
  nsatile.return
}

// -----

// expected-error @below {{a plan's argument of type 'index' isn't supported by GPU targets; expected strided buffers}}
nsatile.plan @f(%n: index) {
  nsatile.return
}

// -----

// expected-error @below {{'argument 0' has 9 dimensions, and GPU targets take tensors of at most 8}}
nsatile.plan @f(%n: memref<1x1x1x1x1x1x1x1x1xf32>) {
  nsatile.return
}

// -----

nsatile.plan @f() {
  // expected-error @below {{expected a contiguous buffer of numbers}}
  %w = nsatile.workspace() : memref<4xcomplex<f32>>
  nsatile.return
}

// -----

nsatile.plan @f() {
  // expected-error @below {{a tensor between programs has 9 dimensions, and GPU targets take tensors of at most 8}}
  %w = nsatile.workspace() : memref<1x1x1x1x1x1x1x1x1xf32>
  nsatile.return
}

// -----

nsatile.plan @f(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  // expected-error @below {{in a plan isn't supported by GPU targets}}
  %m = arith.shli %n, %n : index
  nsatile.return
}

// -----

nsatile.plan @f(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  // expected-error @below {{of unsigned numbers isn't supported in a plan}}
  %m = arith.cmpi ult, %n, %c0 : index
  nsatile.return
}

// -----

nsatile.plan @f(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  // expected-error @below {{expected a constant dimension of the buffer}}
  %m = memref.dim %x, %n : memref<?xf32>
  nsatile.return
}

// -----

nsatile.program @p(%c: complex<f32>) attributes {nsatile.kernel = #nsatile.kernel<threads = 32>} {
  nsatile.return
}
nsatile.plan @f() {
  %c1 = arith.constant 1 : index
  // expected-error @below {{of this type isn't supported in a plan}}
  %c = arith.constant dense<1.0> : tensor<2xf32>
  nsatile.return
}
