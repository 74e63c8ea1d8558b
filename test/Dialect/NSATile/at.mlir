// RUN: nsacc-opt %s | nsacc-opt | FileCheck %s

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
