// Results of products: four lanes of a row gather 8 neighbours each before they write.
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm --remarks-filter=".*" 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// REMARK: [Missed] {{.*}}Function=wide | Remark="the tile is written from registers: its program isn't warp-specialized"

#mma = #nsatile.mma<warps = 4>

// CHECK-LABEL: llvm.func @wide
nsatile.program @wide(%x: memref<?x32xbf16>, %y: memref<?x32xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %t_at = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%n, %c32] : memref<?x32xbf16> -> !nsatile.place<64x32xbf16>
  %t = nsatile.load %t_at : tensor<64x32xbf16, #mma>
  // Where rows begin at multiples of 16 bytes.
  // CHECK: %[[BITS:.*]] = arith.constant 15 : i64
  // CHECK: arith.andi %{{.*}}, %[[BITS]] : i64
  // CHECK: scf.if
  // The words of columns 0 and 8 go between lanes 0 and 1, and 2 and 3.
  // CHECK: %[[KEPT:.*]] = arith.select %[[ODD:.*]], %[[B:.*]], %[[A:.*]] : i32
  // CHECK-NEXT: %[[GIVEN:.*]] = arith.select %[[ODD]], %[[A]], %[[B]] : i32
  // CHECK: %[[TAKEN:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[GIVEN]], %[[ONE:.*]], %{{.*}} :
  // CHECK: arith.select %[[ODD]], %[[TAKEN]], %[[KEPT]] : i32
  // CHECK: arith.select %[[ODD]], %[[KEPT]], %[[TAKEN]] : i32
  // CHECK-COUNT-3: nvvm.shfl.sync bfly
  // CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
  // CHECK-COUNT-4: nvvm.shfl.sync bfly
  // CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
  // CHECK-NOT: shfl
  // CHECK: } else {
  // CHECK: llvm.store {{.*}} : bf16, !llvm.ptr<1>
  // CHECK-NOT: shfl
  // CHECK: llvm.return
  %to = nsatile.at %y[%c0, %c0] dims [0, 1] limits [%n, %c32] : memref<?x32xbf16> -> !nsatile.place<64x32xbf16>
  nsatile.store %t, %to : tensor<64x32xbf16, #mma>
  nsatile.return
}

// Rows without whole quads.
// CHECK-LABEL: llvm.func @narrow
nsatile.program @narrow(%x: memref<?x24xbf16>, %y: memref<?x24xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c24 = arith.constant 24 : index
  %t_at = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%n, %c24] : memref<?x24xbf16> -> !nsatile.place<64x24xbf16>
  %t = nsatile.load %t_at : tensor<64x24xbf16, #mma>
  // CHECK-NOT: shfl
  // CHECK: llvm.store {{.*}} {alignment = 4 : i64} : vector<2xbf16>, !llvm.ptr<1>
  %to = nsatile.at %y[%c0, %c0] dims [0, 1] limits [%n, %c24] : memref<?x24xbf16> -> !nsatile.place<64x24xbf16>
  nsatile.store %t, %to : tensor<64x24xbf16, #mma>
  nsatile.return
}

// Nor rows that aren't there for all warps, and elements of 32 bits.
// CHECK-LABEL: llvm.func @few
nsatile.program @few(%x: memref<?x32xbf16>, %y: memref<?x32xbf16>, %z: memref<?x32xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %t_at = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%n, %c32] : memref<?x32xbf16> -> !nsatile.place<24x32xbf16>
  %t = nsatile.load %t_at : tensor<24x32xbf16, #mma>
  %u = arith.extf %t : tensor<24x32xbf16, #mma> to tensor<24x32xf32, #mma>
  // CHECK-NOT: shfl
  // CHECK: llvm.return
  %to = nsatile.at %y[%c0, %c0] dims [0, 1] limits [%n, %c32] : memref<?x32xbf16> -> !nsatile.place<24x32xbf16>
  nsatile.store %t, %to : tensor<24x32xbf16, #mma>
  %to_1 = nsatile.at %z[%c0, %c0] dims [0, 1] limits [%n, %c32] : memref<?x32xf32> -> !nsatile.place<24x32xf32>
  nsatile.store %u, %to_1 : tensor<24x32xf32, #mma>
  nsatile.return
}
