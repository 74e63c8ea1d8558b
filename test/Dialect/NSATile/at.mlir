// RUN: nsacc-opt %s | nsacc-opt | FileCheck %s
// RUN: nsacc-opt %s --cse | FileCheck %s --check-prefix=ONE

// CHECK-LABEL: @places
// CHECK: nsatile.at %{{.*}}[%{{.*}}, %{{.*}}] dims [0, 1] limits[%{{.*}}, %{{.*}}] : memref<?x64xbf16> -> <16x64xbf16>
// CHECK: nsatile.at %{{.*}}[%{{.*}}, %{{.*}}] dims [0] steps [2] limits[%{{.*}}] : memref<?x64xbf16> -> <16xbf16>
// CHECK: nsatile.at %{{.*}}[%{{.*}}, %{{.*}}] dims [0, 1] limits[%{{.*}}, %{{.*}}] rows %{{.*}}[%{{.*}}] : memref<?xi32> : memref<?x64xbf16>
// CHECK: rows %{{.*}}[%{{.*}}] by 8 : memref<?xi32> :
// CHECK: nsatile.at %{{.*}}[%{{.*}}, %{{.*}}] dims [] limits[] : memref<?x64xbf16> -> <bf16>
nsatile.program @places(%x: memref<?x64xbf16>, %list: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %p = nsatile.at %x[%n, %c0] dims [0, 1] limits [%n, %n] : memref<?x64xbf16> -> !nsatile.place<16x64xbf16>
  %every_other = nsatile.at %x[%n, %c0] dims [0] steps [2] limits [%n] : memref<?x64xbf16> -> !nsatile.place<16xbf16>
  %listed = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%n, %n] rows %list[%n] : memref<?xi32> : memref<?x64xbf16> -> !nsatile.place<16x64xbf16>
  %divided = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%n, %n] rows %list[%n] by 8 : memref<?xi32> : memref<?x64xbf16> -> !nsatile.place<16x64xbf16>
  %element = nsatile.at %x[%n, %c0] dims [] limits[] : memref<?x64xbf16> -> !nsatile.place<bf16>
  nsatile.return
}

// Equal places become one, in front of the loop; the accesses stay where they are.
// ONE-LABEL: @one
// ONE: %[[AT:.*]] = nsatile.at %{{.*}}[%{{.*}}] dims [0] limits[%{{.*}}]
// ONE: nsatile.store %{{.*}}, %[[AT]] : tensor<16xf32>
// ONE-NOT: nsatile.at
// ONE: scf.for
// ONE: %[[T:.*]] = nsatile.load %[[AT]] : tensor<16xf32>
// ONE: nsatile.store %{{.*}}, %[[AT]] : tensor<16xf32>
nsatile.program @one(%x: memref<?xf32>, %t: tensor<16xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = nsatile.at %x[%c0] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<16xf32>
  nsatile.store %t, %first : tensor<16xf32>
  scf.for %i = %c0 to %n step %c1 {
    %from = nsatile.at %x[%c0] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<16xf32>
    %old = nsatile.load %from : tensor<16xf32>
    %new = arith.addf %old, %old : tensor<16xf32>
    %to = nsatile.at %x[%c0] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<16xf32>
    nsatile.store %new, %to : tensor<16xf32>
  }
  nsatile.return
}
