// Blocks take one point of the grid after the other.
// RUN: nsacc-opt %s --nsatile-persist-programs --remarks-filter=".*" 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// REMARK: [Passed] {{.*}}Function=specialized | Remark="blocks take tile after tile, one head after the other; circular buffers with more stages for the next one's: 0"
// REMARK: [Missed] {{.*}}Function=plain | Remark="it isn't warp-specialized"

#m = #nsatile.shared<swizzle = 128>

// CHECK-LABEL: nsatile.program @specialized
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<?x64xbf16>, %[[X:[a-z0-9]+]]: index, %[[Y:[a-z0-9]+]]: index, %[[Z:[a-z0-9]+]]: index)
// CHECK: nsatile.warp_specialize consumers 4 {
// CHECK:   nsatile.tiles of(%[[X]], %[[Y]], %[[Z]]) {
// CHECK:     nsatile.consumer_wait
// CHECK:   }
// CHECK: } producer {
// CHECK:   nsatile.tiles of(%[[X]], %[[Y]], %[[Z]]) {
// CHECK:   ^bb0(%[[TILE:.*]]: index, %{{.*}}: index, %{{.*}}: index):
// CHECK-NOT: program_id
// CHECK:     arith.muli %[[TILE]]
// CHECK:     nsatile.producer_load
// CHECK:   }
// CHECK: }
nsatile.program @specialized(%k: memref<?x64xbf16>) {
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

// CHECK-LABEL: nsatile.program @plain(%{{.*}}: memref<?x64xbf16>)
// CHECK-NOT: nsatile.tiles
nsatile.program @plain(%k: memref<?x64xbf16>) {
  nsatile.return
}

// Loops that end where a point's rows do: points have more steps the later their rows are.
// CHECK-LABEL: nsatile.program @causal
// CHECK: nsatile.tiles of({{.*}}) sections {
// CHECK: producer
// CHECK: nsatile.tiles of({{.*}}) sections {
nsatile.program @causal(%k: memref<?x64xbf16>, %n: index) {
  %buffer = nsatile.circular_buffer : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
  nsatile.warp_specialize consumers 4 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = nsatile.program_id 0
    %end = arith.addi %x, %c1 : index
    scf.for %i = %c0 to %end step %c1 {
      %t = nsatile.consumer_wait %buffer : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
      nsatile.consumer_release %buffer : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
    }
  } producer {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %x = nsatile.program_id 0
    %end = arith.addi %x, %c1 : index
    scf.for %i = %c0 to %end step %c1 {
      %row = arith.muli %i, %c64 : index
      %from = nsatile.at %k[%row, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xbf16> -> !nsatile.place<64x64xbf16>
      nsatile.producer_load %buffer, %from : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
    }
  }
  nsatile.return
}

// All points have the same steps, but for those that have no rows.
// CHECK-LABEL: nsatile.program @full
// CHECK-NOT: sections
nsatile.program @full(%k: memref<?x64xbf16>, %n: index) {
  %buffer = nsatile.circular_buffer : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
  nsatile.warp_specialize consumers 4 {
  } producer {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %x = nsatile.program_id 0
    %isThere = arith.cmpi slt, %x, %n : index
    %end = arith.select %isThere, %n, %c0 : index
    scf.for %i = %c0 to %end step %c1 {
      %row = arith.muli %i, %c64 : index
      %from = nsatile.at %k[%row, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xbf16> -> !nsatile.place<64x64xbf16>
      nsatile.producer_load %buffer, %from : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
    }
  }
  nsatile.return
}

// CHECK-LABEL: nsatile.plan
// CHECK: nsatile.launch @specialized grid(%[[GX:.*]], %[[GY:.*]], %[[GZ:.*]]) (%{{.*}}, %[[GX]], %[[GY]], %[[GZ]])
// CHECK: nsatile.launch @plain grid({{.*}}) (%{{[a-z0-9]+}})
nsatile.plan @plan(%k: memref<?x64xbf16>, %n: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  nsatile.launch @specialized grid(%n, %c2, %c1) (%k) : memref<?x64xbf16>
  nsatile.launch @plain grid(%n, %c2, %c1) (%k) : memref<?x64xbf16>
  nsatile.launch @causal grid(%n, %c2, %c1) (%k, %n) : memref<?x64xbf16>, index
  nsatile.launch @full grid(%n, %c2, %c1) (%k, %n) : memref<?x64xbf16>, index
  nsatile.return
}
