// Blocks take one point of the grid after the other.
// RUN: nsacc-opt %s --nsatile-persist-programs | FileCheck %s

#m = #nsatile.shared<swizzle = 128>

// CHECK-LABEL: nsatile.program @roles
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<?x64xbf16>, %[[X:[a-z0-9]+]]: index, %[[Y:[a-z0-9]+]]: index, %[[Z:[a-z0-9]+]]: index)
// CHECK: nsatile.roles consumers 4 {
// CHECK:   nsatile.tiles of(%[[X]], %[[Y]], %[[Z]]) {
// CHECK:     nsatile.acquire
// CHECK:   }
// CHECK: } producer {
// CHECK:   nsatile.tiles of(%[[X]], %[[Y]], %[[Z]]) {
// CHECK:   ^bb0(%[[TILE:.*]]: index, %{{.*}}: index, %{{.*}}: index):
// CHECK-NOT: program_id
// CHECK:     arith.muli %[[TILE]]
// CHECK:     nsatile.fill
// CHECK:   }
// CHECK: }
nsatile.program @roles(%k: memref<?x64xbf16>) {
  %ring = nsatile.ring : !nsatile.ring<1 of tensor<64x64xbf16, #m>>
  nsatile.roles consumers 4 {
    %t = nsatile.acquire %ring : !nsatile.ring<1 of tensor<64x64xbf16, #m>>
    nsatile.release %ring : !nsatile.ring<1 of tensor<64x64xbf16, #m>>
  } producer {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %x = nsatile.program_id 0
    %row = arith.muli %x, %c64 : index
    nsatile.fill %ring, %k[%row, %c0] dims [0, 1] limits [%c64, %c64] : !nsatile.ring<1 of tensor<64x64xbf16, #m>>, memref<?x64xbf16>
  }
  nsatile.return
}

// CHECK-LABEL: nsatile.program @plain(%{{.*}}: memref<?x64xbf16>)
// CHECK-NOT: nsatile.tiles
nsatile.program @plain(%k: memref<?x64xbf16>) {
  nsatile.return
}

// CHECK-LABEL: nsatile.plan
// CHECK: nsatile.launch @roles grid(%[[GX:.*]], %[[GY:.*]], %[[GZ:.*]]) (%{{.*}}, %[[GX]], %[[GY]], %[[GZ]])
// CHECK: nsatile.launch @plain grid({{.*}}) (%{{[a-z0-9]+}})
nsatile.plan @plan(%k: memref<?x64xbf16>, %n: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  nsatile.launch @roles grid(%n, %c2, %c1) (%k) : memref<?x64xbf16>
  nsatile.launch @plain grid(%n, %c2, %c1) (%k) : memref<?x64xbf16>
  nsatile.return
}
