// Why tiles aren't loaded ahead.
// RUN: nsacc-opt %s --pass-pipeline="builtin.module(nsatile.program(nsatile-pipeline-loads))" --mlir-disable-threading --remarks-filter=".*" 2>&1 | FileCheck %s --check-prefix=REMARK

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!B = memref<?x64xbf16, strided<[?, 1], offset: ?>>

// REMARK: [Missed] {{.*}}Function=unscheduled | Remark="it has no schedule"
nsatile.program @unscheduled(%list: memref<?xindex>, %k: !B, %q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero, %at = %c0) -> (tensor<64x64xf32, #s>, index) {
    %kt_at = nsatile.at %k[%at, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    %kt = nsatile.load %kt_at : tensor<64x64xbf16, #m>
    %s = nsatile.dot %q, transpose %kt acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
    %next = memref.load %list[%at] : memref<?xindex>
    scf.yield %s, %next : tensor<64x64xf32, #s>, index
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r#0, %to : tensor<64x64xf32, #s>
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=buffered | Remark="its tiles go through circular buffers already"
nsatile.program @buffered(%list: memref<?xindex>, %k: !B, %q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64>} {
  %buffer = nsatile.circular_buffer : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero, %at = %c0) -> (tensor<64x64xf32, #s>, index) {
    %kt_at = nsatile.at %k[%at, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    %kt = nsatile.load %kt_at : tensor<64x64xbf16, #m>
    %s = nsatile.dot %q, transpose %kt acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
    %next = memref.load %list[%at] : memref<?xindex>
    scf.yield %s, %next : tensor<64x64xf32, #s>, index
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r#0, %to : tensor<64x64xf32, #s>
  nsatile.return
}
