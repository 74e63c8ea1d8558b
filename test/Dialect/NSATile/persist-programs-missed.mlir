// Why blocks of a warp-specialized program don't take tile after tile.
// RUN: nsacc-opt %s --nsatile-persist-programs --remarks-filter=".*" 2>&1 | FileCheck %s --check-prefix=REMARK

#m = #nsatile.shared<swizzle = 128>

// REMARK: [Missed] {{.*}}Function=alone | Remark="nothing launches it"
nsatile.program @alone(%k: memref<?x64xbf16>) {
  %buffer = nsatile.circular_buffer : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
  nsatile.warp_specialize consumers 4 {
    %t = nsatile.consumer_wait %buffer : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
    nsatile.consumer_release %buffer : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
  } producer {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %x = nsatile.program_id 0
    %row = arith.muli %x, %c64 : index
    %from = nsatile.at %k[%row, %c0] dims [0, 1] limits [%c64, %c64] : memref<?x64xbf16> -> !nsatile.place<64x64xbf16>
    nsatile.producer_load %buffer, %from : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
  }
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=numbered | Remark="its number is read outside of its producer and consumers"
nsatile.program @numbered(%k: memref<?x64xbf16>) {
  %number = nsatile.program_id 0
  %buffer = nsatile.circular_buffer : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
  nsatile.warp_specialize consumers 4 {
    %t = nsatile.consumer_wait %buffer : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
    nsatile.consumer_release %buffer : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
  } producer {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %row = arith.muli %number, %c64 : index
    %from = nsatile.at %k[%row, %c0] dims [0, 1] limits [%c64, %c64] : memref<?x64xbf16> -> !nsatile.place<64x64xbf16>
    nsatile.producer_load %buffer, %from : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
  }
  nsatile.return
}

nsatile.plan @plan(%k: memref<?x64xbf16>) {
  %c1 = arith.constant 1 : index
  nsatile.launch @numbered grid(%c1, %c1, %c1) (%k) : memref<?x64xbf16>
  nsatile.return
}
