// Why a producer doesn't load a tile, or a program isn't warp-specialized.
// RUN: nsacc-opt %s --nsatile-specialize-warps --remarks-filter=".*" 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: [Missed] {{.*}}Function=cast | Remark="the tile isn't loaded by a producer: its buffer isn't an argument of the program"
// REMARK: [Missed] {{.*}}Function=cast | Remark="a producer can load none of its tiles"
nsatile.program @cast(%k: memref<128x64xbf16>, %q: tensor<64x64xbf16, #nsatile.mma<warps = 4>>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %rows = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  %b = memref.cast %k : memref<128x64xbf16> to memref<?x64xbf16>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #nsatile.mma<warps = 4>> {
    %first = arith.muli %j, %c64 : index
    %kt_at = nsatile.at %b[%first, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xbf16> -> !nsatile.place<64x64xbf16>
    %kt = nsatile.load %kt_at : tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
    %s = nsatile.dot %q, transpose %kt acc %acc : (tensor<64x64xbf16, #nsatile.mma<warps = 4>>, tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>, tensor<64x64xf32, #nsatile.mma<warps = 4>>) -> tensor<64x64xf32, #nsatile.mma<warps = 4>>
    scf.yield %s : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %rows] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=swizzle | Remark="the tile isn't loaded by a producer: its layout in shared memory has no swizzle of 128 bytes"
// REMARK: [Missed] {{.*}}Function=swizzle | Remark="a producer can load none of its tiles"
nsatile.program @swizzle(%k: memref<?x64xbf16>, %q: tensor<64x32xbf16, #nsatile.mma<warps = 4>>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %rows = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #nsatile.mma<warps = 4>> {
    %first = arith.muli %j, %c64 : index
    %kt_at = nsatile.at %k[%first, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xbf16> -> !nsatile.place<64x32xbf16>
    %kt = nsatile.load %kt_at : tensor<64x32xbf16, #nsatile.shared<swizzle = 0>>
    %s = nsatile.dot %q, transpose %kt acc %acc : (tensor<64x32xbf16, #nsatile.mma<warps = 4>>, tensor<64x32xbf16, #nsatile.shared<swizzle = 0>>, tensor<64x64xf32, #nsatile.mma<warps = 4>>) -> tensor<64x64xf32, #nsatile.mma<warps = 4>>
    scf.yield %s : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %rows] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=wide | Remark="the tile isn't loaded by a producer: its elements don't have 16 bits"
// REMARK: [Missed] {{.*}}Function=wide | Remark="a producer can load none of its tiles"
nsatile.program @wide(%k: memref<?x32xf32>, %q: tensor<64x32xf32, #nsatile.mma<warps = 4>>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %rows = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #nsatile.mma<warps = 4>> {
    %first = arith.muli %j, %c64 : index
    %kt_at = nsatile.at %k[%first, %c0] dims [0, 1] limits [%n, %c64] : memref<?x32xf32> -> !nsatile.place<64x32xf32>
    %kt = nsatile.load %kt_at : tensor<64x32xf32, #nsatile.shared<swizzle = 0>>
    %s = nsatile.dot %q, transpose %kt acc %acc : (tensor<64x32xf32, #nsatile.mma<warps = 4>>, tensor<64x32xf32, #nsatile.shared<swizzle = 0>>, tensor<64x64xf32, #nsatile.mma<warps = 4>>) -> tensor<64x64xf32, #nsatile.mma<warps = 4>>
    scf.yield %s : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %rows] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=ragged_rows | Remark="the tile isn't loaded by a producer: the size of the buffer's rows isn't a multiple of 8"
// REMARK: [Missed] {{.*}}Function=ragged_rows | Remark="a producer can load none of its tiles"
nsatile.program @ragged_rows(%k: memref<?x60xbf16>, %q: tensor<64x64xbf16, #nsatile.mma<warps = 4>>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %rows = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #nsatile.mma<warps = 4>> {
    %first = arith.muli %j, %c64 : index
    %kt_at = nsatile.at %k[%first, %c0] dims [0, 1] limits [%n, %c64] : memref<?x60xbf16> -> !nsatile.place<64x64xbf16>
    %kt = nsatile.load %kt_at : tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
    %s = nsatile.dot %q, transpose %kt acc %acc : (tensor<64x64xbf16, #nsatile.mma<warps = 4>>, tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>, tensor<64x64xf32, #nsatile.mma<warps = 4>>) -> tensor<64x64xf32, #nsatile.mma<warps = 4>>
    scf.yield %s : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %rows] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=columns | Remark="the tile isn't loaded by a producer: its rows aren't rows of the buffer"
// REMARK: [Missed] {{.*}}Function=columns | Remark="a producer can load none of its tiles"
nsatile.program @columns(%k: memref<64x64x8xbf16>, %q: tensor<64x64xbf16, #nsatile.mma<warps = 4>>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %rows = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #nsatile.mma<warps = 4>> {
    %first = arith.muli %j, %c64 : index
    %kt_at = nsatile.at %k[%first, %c0, %c0] dims [0, 1] limits [%n, %c64] : memref<64x64x8xbf16> -> !nsatile.place<64x64xbf16>
    %kt = nsatile.load %kt_at : tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
    %s = nsatile.dot %q, transpose %kt acc %acc : (tensor<64x64xbf16, #nsatile.mma<warps = 4>>, tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>, tensor<64x64xf32, #nsatile.mma<warps = 4>>) -> tensor<64x64xf32, #nsatile.mma<warps = 4>>
    scf.yield %s : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %rows] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=tall | Remark="the tile isn't loaded by a producer: it has more than 256 rows"
// REMARK: [Missed] {{.*}}Function=tall | Remark="a producer can load none of its tiles"
nsatile.program @tall(%k: memref<?x64xbf16>, %q: tensor<64x64xbf16, #nsatile.mma<warps = 4>>, %out: memref<64x512xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %rows = arith.constant 512 : index
  %zero = arith.constant dense<0.0> : tensor<64x512xf32, #nsatile.mma<warps = 4>>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x512xf32, #nsatile.mma<warps = 4>> {
    %first = arith.muli %j, %c64 : index
    %kt_at = nsatile.at %k[%first, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xbf16> -> !nsatile.place<512x64xbf16>
    %kt = nsatile.load %kt_at : tensor<512x64xbf16, #nsatile.shared<swizzle = 128>>
    %s = nsatile.dot %q, transpose %kt acc %acc : (tensor<64x64xbf16, #nsatile.mma<warps = 4>>, tensor<512x64xbf16, #nsatile.shared<swizzle = 128>>, tensor<64x512xf32, #nsatile.mma<warps = 4>>) -> tensor<64x512xf32, #nsatile.mma<warps = 4>>
    scf.yield %s : tensor<64x512xf32, #nsatile.mma<warps = 4>>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %rows] : memref<64x512xf32> -> !nsatile.place<64x512xf32>
  nsatile.store %r, %to : tensor<64x512xf32, #nsatile.mma<warps = 4>>
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=apart | Remark="the tile isn't loaded by a producer: the buffer's rows aren't contiguous"
// REMARK: [Missed] {{.*}}Function=apart | Remark="a producer can load none of its tiles"
nsatile.program @apart(%k: memref<?x64xbf16, strided<[128, 2]>>, %q: tensor<64x64xbf16, #nsatile.mma<warps = 4>>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %rows = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #nsatile.mma<warps = 4>> {
    %first = arith.muli %j, %c64 : index
    %kt_at = nsatile.at %k[%first, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xbf16, strided<[128, 2]>> -> !nsatile.place<64x64xbf16>
    %kt = nsatile.load %kt_at : tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
    %s = nsatile.dot %q, transpose %kt acc %acc : (tensor<64x64xbf16, #nsatile.mma<warps = 4>>, tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>, tensor<64x64xf32, #nsatile.mma<warps = 4>>) -> tensor<64x64xf32, #nsatile.mma<warps = 4>>
    scf.yield %s : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %rows] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=two_warps | Remark="the 2 warps of its products aren't warpgroups"
nsatile.program @two_warps(%k: memref<?x64xbf16>, %q: tensor<64x64xbf16, #nsatile.mma<warps = 2>>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %rows = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #nsatile.mma<warps = 2>>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #nsatile.mma<warps = 2>> {
    %first = arith.muli %j, %c64 : index
    %kt_at = nsatile.at %k[%first, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xbf16> -> !nsatile.place<64x64xbf16>
    %kt = nsatile.load %kt_at : tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
    %s = nsatile.dot %q, transpose %kt acc %acc : (tensor<64x64xbf16, #nsatile.mma<warps = 2>>, tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>, tensor<64x64xf32, #nsatile.mma<warps = 2>>) -> tensor<64x64xf32, #nsatile.mma<warps = 2>>
    scf.yield %s : tensor<64x64xf32, #nsatile.mma<warps = 2>>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %rows] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #nsatile.mma<warps = 2>>
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=no_product | Remark="no product is split over warps"
nsatile.program @no_product() attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=repairs | Remark="it repairs what another program computes: tiles say whether it loads anything, and its products look at each pair"
nsatile.program @repairs(%n: index) attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
  nsatile.repair of(%n, %n, %n) {
  ^bb0(%x: index, %y: index, %z: index):
  }
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=written_vector | Remark="the tile isn't loaded by a producer: the program writes its buffer"
// REMARK: [Missed] {{.*}}Function=written_vector | Remark="a producer can load none of its tiles"
nsatile.program @written_vector(%lse: memref<?xf32>, %q: tensor<64x64xbf16, #nsatile.mma<warps = 4>>, %kt: tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    %l_at = nsatile.at %lse[%j] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<64xf32>
    %l = nsatile.load %l_at {nsatile.ahead} : tensor<64xf32, #nsatile.shared<swizzle = 0>>
    %s = nsatile.dot %q, transpose %kt : (tensor<64x64xbf16, #nsatile.mma<warps = 4>>, tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>) -> tensor<64x64xf32, #nsatile.mma<warps = 4>>
    %m = nsatile.reduce max %s along 0 : tensor<64x64xf32, #nsatile.mma<warps = 4>> -> tensor<64xf32, #nsatile.slice<dim = 0, of = #nsatile.mma<warps = 4>>>
    %to = nsatile.at %lse[%j] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<64xf32>
    nsatile.store %m, %to : tensor<64xf32, #nsatile.slice<dim = 0, of = #nsatile.mma<warps = 4>>>
  }
  nsatile.return
}
