// How a GPU launches a program: printed as it was read, also through bytecode.
// RUN: nsacc-opt %s --verify-roundtrip | FileCheck %s

// CHECK: nsatile.program @whole
// CHECK-SAME: nsatile.kernel = #nsatile.kernel<threads = 384, shared = 98304, cluster = 2, dependent = true, extra = [#nsatile.tensor_map<argument = 0, dims = [3, 1, 2, 0], box = [64, 128, 1, 1], swizzle = 128>, #nsatile.parameter<counter>, #nsatile.parameter<failures>]>
nsatile.program @whole(%k: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>, %S: index)
    attributes {nsatile.kernel = #nsatile.kernel<
        threads = 384, shared = 98304, cluster = 2, dependent = true, extra = [
          #nsatile.tensor_map<argument = 0, dims = [3, 1, 2, 0], box = [64, 128, 1, 1], swizzle = 128>,
          #nsatile.parameter<counter>, #nsatile.parameter<failures>]>} {
  nsatile.return
}

// CHECK: nsatile.program @defaults
// CHECK-SAME: nsatile.kernel = #nsatile.kernel<threads = 128>
nsatile.program @defaults() attributes {nsatile.kernel = #nsatile.kernel<threads = 128, shared = 0, cluster = 1>} {
  nsatile.return
}

// A run-time stride of the innermost dimension is checked at the launch.
// CHECK: nsatile.program @strided
// CHECK-SAME: #nsatile.tensor_map<argument = 0, dims = [1], box = [32]>
nsatile.program @strided(%x: memref<?x?xf32, strided<[?, ?], offset: ?>>)
    attributes {nsatile.kernel = #nsatile.kernel<threads = 32, extra = [#nsatile.tensor_map<argument = 0, dims = [1], box = [32]>]>} {
  nsatile.return
}
