// Stores take places with steps: registers write them, to rows that are three rows of the buffer apart.
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm --remarks-filter=".*" 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// REMARK: [Missed] {{.*}}Function=every_other | Remark="the tile is written from registers: its tile's elements aren't neighbours"

#mma = #nsatile.mma<warps = 4>

// CHECK-LABEL: llvm.func @every_other
nsatile.program @every_other(%x: memref<?x64xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  nsatile.warp_specialize consumers 4 {
    %t = arith.constant dense<1.0> : tensor<64x64xbf16, #mma>
    // CHECK: %[[STEP:.*]] = arith.constant 3 : i64
    // CHECK-NEXT: arith.muli %{{.*}}, %[[STEP]] : i64
    // CHECK-NOT: cp.async.bulk
    // CHECK: llvm.store {{.*}} !llvm.ptr<1>
    %to = nsatile.at %x[%c0, %c0] dims [0, 1] steps [3, 1] limits [%n, %c64] : memref<?x64xbf16> -> !nsatile.place<64x64xbf16>
    nsatile.store %t, %to : tensor<64x64xbf16, #mma>
  } producer {
  }
  nsatile.return
}
