// Where threads meet: before one reads what others wrote, and before one writes what others read, also in the next round
// of a loop.
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm | FileCheck %s

#lanes = #nsatile.blocked<threads = 128>
#rows = #nsatile.slice<dim = 1, of = #nsatile.mma<warps = 4>>

// The next point's tile is written where this one's is read: threads meet behind the reads, too.
// CHECK-LABEL: llvm.func @points
// CHECK: scf.while
// CHECK: nvvm.barrier id =
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
// CHECK: mbarrier.try_wait
// CHECK: nvvm.barrier id =
// CHECK-NEXT: scf.yield
nsatile.program @points(%nx: index, %ny: index, %nz: index, %i: memref<?xf32>, %o: memref<?xf32>) {
  nsatile.warp_specialize consumers 4 {
    nsatile.tiles of(%nx, %ny, %nz) {
    ^bb0(%x: index, %y: index, %z: index):
      %at0 = nsatile.at %i[%x] dims [0] limits [%nx] : memref<?xf32> -> !nsatile.place<64xf32>
      %0 = nsatile.load %at0 : tensor<64xf32, #lanes>
      %1 = nsatile.convert_layout %0 : tensor<64xf32, #lanes> -> tensor<64xf32, #rows>
      %to = nsatile.at %o[%x] dims [0] limits [%nx] : memref<?xf32> -> !nsatile.place<64xf32>
      nsatile.store %1, %to : tensor<64xf32, #rows>
    }
  } producer {
    nsatile.tiles of(%nx, %ny, %nz) {
    ^bb0(%x: index, %y: index, %z: index):
    }
  }
  nsatile.return
}

// What a loop only reads needs none at its end: the one in front of the read is for what was written before the loop.
// CHECK-LABEL: llvm.func @read
// CHECK: scf.for
// CHECK: nvvm.barrier
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.return
nsatile.program @read(%n: index, %i: memref<?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %at0 = nsatile.at %i[%c0] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<64xf32>
  %0 = nsatile.load %at0 : tensor<64xf32, #lanes>
  %1 = nsatile.convert_layout %0 : tensor<64xf32, #lanes> -> tensor<64xf32, #nsatile.shared<swizzle = 0>>
  %zeros = arith.constant dense<0.0> : tensor<64xf32, #rows>
  %2 = scf.for %j = %c0 to %n step %c1 iter_args(%sum = %zeros) -> tensor<64xf32, #rows> {
    %3 = nsatile.convert_layout %1 : tensor<64xf32, #nsatile.shared<swizzle = 0>> -> tensor<64xf32, #rows>
    %4 = arith.addf %sum, %3 : tensor<64xf32, #rows>
    scf.yield %4 : tensor<64xf32, #rows>
  }
  %to = nsatile.at %o[%c0] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<64xf32>
  nsatile.store %2, %to : tensor<64xf32, #rows>
  nsatile.return
}

// One barrier between what a round writes and reads, one between that and what the next one writes.
// CHECK-LABEL: llvm.func @written
// CHECK: scf.for
// CHECK: llvm.store
// CHECK: nvvm.barrier
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
// CHECK: nvvm.barrier
// CHECK-NEXT: scf.yield
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.return
nsatile.program @written(%n: index, %i: memref<?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zeros = arith.constant dense<0.0> : tensor<64xf32, #rows>
  %2 = scf.for %j = %c0 to %n step %c1 iter_args(%sum = %zeros) -> tensor<64xf32, #rows> {
    %at0 = nsatile.at %i[%j] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<64xf32>
    %0 = nsatile.load %at0 : tensor<64xf32, #lanes>
    %3 = nsatile.convert_layout %0 : tensor<64xf32, #lanes> -> tensor<64xf32, #rows>
    %4 = arith.addf %sum, %3 : tensor<64xf32, #rows>
    scf.yield %4 : tensor<64xf32, #rows>
  }
  %to = nsatile.at %o[%c0] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<64xf32>
  nsatile.store %2, %to : tensor<64xf32, #rows>
  nsatile.return
}
