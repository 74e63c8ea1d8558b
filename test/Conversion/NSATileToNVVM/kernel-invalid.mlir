// What can't become a kernel, and why.
// RUN: nsacc-opt %s --split-input-file --verify-diagnostics --convert-nsatile-to-nvvm="shared-bytes=4096 parameter-bytes=128"

nsatile.program @p(%n: index) {
  // expected-error @below {{has a tile without a layout: 'tensor<64xindex>'; run nsatile-assign-layouts first}}
  %0 = nsatile.iota %n : tensor<64xindex>
  nsatile.return
}

// -----

nsatile.program @p(%n: index) {
  %0 = nsatile.iota %n : tensor<64xindex, #nsatile.blocked<threads = 64>>
  // expected-error @below {{expected tiles of 64 threads, found 32}}
  %1 = nsatile.iota %n : tensor<64xindex, #nsatile.blocked<threads = 32>>
  nsatile.return
}

// -----

// expected-error @below {{of shared memory, and a block of the target has 4096}}
// expected-note @below {{most of them are 18432 for tiles of 64x64 f32}}
nsatile.program @p(%x: memref<?x64xf32>, %n: index) {
  %c64 = arith.constant 64 : index
  %at0 = nsatile.at %x[%n, %n] dims [0, 1] limits [%n, %c64] : memref<?x64xf32> -> !nsatile.place<64x64xf32>
  %0 = nsatile.load %at0 : tensor<64x64xf32, #nsatile.shared<>>
  nsatile.return
}

// -----

nsatile.program @p() {
  // expected-error @below {{doesn't fit the 32 bits of an index on a GPU: 4294967296}}
  %0 = arith.constant 4294967296 : index
  nsatile.return
}

// -----

nsatile.program @p() {
  // expected-error @below {{with different elements isn't supported by GPU targets yet}}
  %0 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32, #nsatile.blocked<threads = 32>>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<64x4xi64, #nsatile.blocked<threads = 64>>) {
  // expected-error @below {{isn't supported by GPU targets yet}}
  %0 = nsatile.sort ascending %x : tensor<64x4xi64, #nsatile.blocked<threads = 64>>
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
!K = !nsatile.circular_buffer<2 of tensor<64x72xbf16, #nsatile.shared<swizzle = 128>>>
nsatile.program @inner() {
  %q = arith.constant dense<1.0> : tensor<64x72xbf16, #s>
  %rk = nsatile.circular_buffer : !K
  nsatile.warp_specialize consumers 4 {
    %k = nsatile.consumer_wait %rk : !K
    // expected-error @below {{isn't supported by GPU targets yet}}
    %p = nsatile.dot_async %q, transpose %k : (tensor<64x72xbf16, #s>, tensor<64x72xbf16, #nsatile.shared<swizzle = 128>>) -> !nsatile.pending<tensor<64x64xf32, #s>>
    nsatile.consumer_release %rk : !K
  } producer {
  }
  nsatile.return
}

// -----

// Five words of a pointer, sizes and strides each.
// expected-error @below {{the program reads and writes 4 tensors, whose sizes and strides take 160 bytes of a kernel's parameters: the target has 128}}
// expected-note @below {{put tensors of one shape into one input with a dimension more, or use fewer in one result}}
nsatile.program @parameters(%a: memref<4x4xf32>, %b: memref<4x4xf32>, %c: memref<4x4xf32>, %d: memref<4x4xf32>) {
  nsatile.return
}
