// What lanes of a warp do for each other without shared memory and barriers.
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm | FileCheck %s

!sums = tensor<4x32xf32, #nsatile.blocked<threads = 128>>
!keys = tensor<4x32xi64, #nsatile.blocked<threads = 128>>
!heads = tensor<4x16x32xf32, #nsatile.reshape<as = [64, 32], of = #nsatile.mma<warps = 4>>>

// Each of three swaps halves what a lane holds of 16 heads' sums: 4, 2 and 1
// values. The last shuffle brings a sum to the lane of its column.
// CHECK-LABEL: llvm.func @scattered
// CHECK-NOT: nvvm.barrier
// CHECK-COUNT-7: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync bfly
// CHECK: nvvm.shfl.sync idx
// CHECK-NOT: nvvm.shfl.sync
// CHECK-NOT: nvvm.barrier
nsatile.program @scattered(%o: memref<4x32xf32>) {
  %0 = arith.constant 0 : index
  %4 = arith.constant 4 : index
  %32 = arith.constant 32 : index
  %x = arith.constant dense<1.0> : !heads
  %s = nsatile.reduce sum %x along 1 : !heads -> !sums
  %to = nsatile.at %o[%0, %0] dims [0, 1] limits [%4, %32] : memref<4x32xf32> -> !nsatile.place<4x32xf32>
  nsatile.store %s, %to : !sums
  nsatile.return
}

// A warp asks once which lanes have candidates that beat key 16 of the list. It
// sorts more than 12 of them, and merges the rows. Of fewer it inserts one in
// each round: the lane's key is the greater of its own and of the lesser of the
// one before and the candidate.
// CHECK-LABEL: llvm.func @inserted
// CHECK-NOT: nvvm.barrier
// CHECK-COUNT-2: nvvm.shfl.sync idx {{.*}} %c15_i32
// CHECK: arith.cmpi sgt
// CHECK: %[[BETTER:.*]] = nvvm.vote.sync ballot
// CHECK: %[[COUNT:.*]] = llvm.intr.ctpop(%[[BETTER]])
// CHECK: %[[MANY:.*]] = arith.cmpi ugt, %[[COUNT]], %c12_i32
// CHECK: %[[NEXT:.*]]:2 = scf.if %[[MANY]] -> (i64, i32)
// CHECK: scf.for
// CHECK: scf.for
// CHECK: nvvm.shfl.sync bfly
// CHECK: arith.maxsi
// CHECK: scf.for
// CHECK: nvvm.shfl.sync bfly
// CHECK: } else {
// CHECK: scf.while ({{.*}} = %[[NEXT]]#1, %[[LIST:.*]] = %[[NEXT]]#0) : (i32, i64)
// CHECK: %[[LANE:.*]] = "llvm.intr.cttz"
// CHECK-COUNT-2: nvvm.shfl.sync idx {{.*}}, %[[LANE]],
// CHECK-COUNT-2: nvvm.shfl.sync up
// CHECK: %[[LESSER:.*]] = arith.minsi
// CHECK: arith.maxsi %{{.*}}, %[[LESSER]]
// CHECK: scf.yield
// CHECK-NOT: nvvm.barrier
nsatile.program @inserted(%l: memref<4x32xi64>, %c: memref<4x32xi64>, %o: memref<4x32xi64>) {
  %0 = arith.constant 0 : index
  %4 = arith.constant 4 : index
  %32 = arith.constant 32 : index
  %list_at = nsatile.at %l[%0, %0] dims [0, 1] limits [%4, %32] : memref<4x32xi64> -> !nsatile.place<4x32xi64>
  %list = nsatile.load %list_at : !keys
  %more_at = nsatile.at %c[%0, %0] dims [0, 1] limits [%4, %32] : memref<4x32xi64> -> !nsatile.place<4x32xi64>
  %more = nsatile.load %more_at : !keys
  %t = nsatile.top %list, %more insert 16 : !keys, !keys
  %to = nsatile.at %o[%0, %0] dims [0, 1] limits [%4, %32] : memref<4x32xi64> -> !nsatile.place<4x32xi64>
  nsatile.store %t, %to : !keys
  nsatile.return
}

// Each warp has two lists, and each lane two candidates for each: two rounds of
// both lists side by side, until neither has candidates.
// CHECK-LABEL: llvm.func @two_lists
// CHECK-COUNT-2: llvm.intr.ctpop
// CHECK: scf.while {{.*}} : (i32, i32, i64, i64)
// CHECK: arith.ori
// CHECK-COUNT-2: llvm.intr.cttz{{.*}}is_zero_poison = false
// CHECK-COUNT-2: llvm.intr.ctpop
// CHECK: scf.while {{.*}} : (i32, i32, i64, i64)
// CHECK-NOT: scf.while
nsatile.program @two_lists(%l: memref<8x32xi64>, %c: memref<8x64xi64>, %o: memref<8x32xi64>) {
  %0 = arith.constant 0 : index
  %8 = arith.constant 8 : index
  %32 = arith.constant 32 : index
  %64 = arith.constant 64 : index
  %list_at = nsatile.at %l[%0, %0] dims [0, 1] limits [%8, %32] : memref<8x32xi64> -> !nsatile.place<8x32xi64>
  %list = nsatile.load %list_at : tensor<8x32xi64, #nsatile.blocked<threads = 128>>
  %more_at = nsatile.at %c[%0, %0] dims [0, 1] limits [%8, %64] : memref<8x64xi64> -> !nsatile.place<8x64xi64>
  %more = nsatile.load %more_at : tensor<8x64xi64, #nsatile.blocked<threads = 128, vector = 2>>
  %t = nsatile.top %list, %more insert 16 : tensor<8x32xi64, #nsatile.blocked<threads = 128>>, tensor<8x64xi64, #nsatile.blocked<threads = 128, vector = 2>>
  %to = nsatile.at %o[%0, %0] dims [0, 1] limits [%8, %32] : memref<8x32xi64> -> !nsatile.place<8x32xi64>
  nsatile.store %t, %to : tensor<8x32xi64, #nsatile.blocked<threads = 128>>
  nsatile.return
}

!entries = tensor<64xi32, #nsatile.blocked<threads = 32>>
!indices = tensor<64xindex, #nsatile.blocked<threads = 32>>
!mask = tensor<64xi1, #nsatile.blocked<threads = 32>>

// Lanes count keys in any order. Warps of one meet without a barrier of the block, in front of the loop that counts and
// behind it. The first lane with a key advances its counter for all of them.
// CHECK-LABEL: llvm.func @keys
// CHECK-NOT: nvvm.barrier
// CHECK: nvvm.bar.warp.sync
// CHECK: scf.for
// CHECK-NOT: nvvm.bar.warp.sync
// CHECK-COUNT-2: scf.if {{.*}} -> (i32)
// CHECK-COUNT-2: llvm.atomicrmw add {{.*}} syncscope("block") monotonic : !llvm.ptr<3>, i32
// CHECK-NOT: nvvm.bar.warp.sync
// CHECK: }
// CHECK: nvvm.bar.warp.sync
// CHECK: nvvm.match.sync any
// CHECK: llvm.intr.ctpop
// CHECK: nvvm.bar.warp.sync
// CHECK: scf.if
// CHECK: nvvm.bar.warp.sync
// CHECK: nvvm.match.sync any
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.return
nsatile.program @keys(%lists: memref<?xi32>, %sorted: memref<?xi32>, %n: index) {
  %0 = arith.constant 0 : index
  %64 = arith.constant 64 : index
  %counters = memref.alloca() : memref<64xi32>
  %zero = arith.constant dense<0> : !entries
  %one = arith.constant dense<1> : !entries
  %end = tensor.splat %n : !indices
  %to = nsatile.at %counters[%0] dims [0] limits [%64] : memref<64xi32> -> !nsatile.place<64xi32>
  nsatile.store %zero, %to : !entries
  scf.for %i = %0 to %n step %64 {
    %e = nsatile.iota %i : !indices
    %in = arith.cmpi slt, %e, %end : !indices
    %key = nsatile.gather %lists[%e] where %in : !mask : memref<?xi32>, !indices -> !entries
    %index = arith.index_cast %key : !entries to !indices
    nsatile.scatter add %one, %counters[%index] where %in : !mask : !entries, memref<64xi32>, !indices
  }
  %e = nsatile.iota %0 : !indices
  %t = nsatile.enumerate %e in %counters : memref<64xi32>, !entries
  %place = arith.index_cast %t : !entries to !indices
  nsatile.scatter set %t, %sorted[%place] : !entries, memref<?xi32>, !indices
  nsatile.return
}

// A warp's lanes add up what the lanes in front have.
// CHECK-LABEL: llvm.func @sums
// CHECK-NOT: nvvm.barrier
// CHECK-COUNT-6: nvvm.shfl.sync idx
// CHECK-NOT: nvvm.shfl.sync
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.return
nsatile.program @sums(%x: memref<128xi32>, %sum: memref<1xi32>) {
  %0 = arith.constant 0 : index
  %128 = arith.constant 128 : index
  %t_at = nsatile.at %x[%0] dims [0] limits [%128] : memref<128xi32> -> !nsatile.place<128xi32>
  %t = nsatile.load %t_at : tensor<128xi32, #nsatile.blocked<threads = 32, vector = 4>>
  %before, %all = nsatile.scan %t : tensor<128xi32, #nsatile.blocked<threads = 32, vector = 4>>
  memref.store %all, %sum[%0] : memref<1xi32>
  nsatile.return
}

// Several warps tell each other their sums.
// CHECK-LABEL: llvm.func @sums_of_warps
// CHECK-COUNT-6: nvvm.shfl.sync idx
// CHECK: nvvm.barrier
// CHECK-COUNT-4: llvm.load {{.*}} !llvm.ptr<3> -> i32
// CHECK-NOT: nvvm.shfl.sync
// CHECK: llvm.return
nsatile.program @sums_of_warps(%x: memref<512xi32>, %sum: memref<1xi32>) {
  %0 = arith.constant 0 : index
  %512 = arith.constant 512 : index
  %t_at = nsatile.at %x[%0] dims [0] limits [%512] : memref<512xi32> -> !nsatile.place<512xi32>
  %t = nsatile.load %t_at : tensor<512xi32, #nsatile.blocked<threads = 128, vector = 4>>
  %before, %all = nsatile.scan %t : tensor<512xi32, #nsatile.blocked<threads = 128, vector = 4>>
  memref.store %all, %sum[%0] : memref<1xi32>
  nsatile.return
}

// An element is read at the nearest place that there is, if there is any.
// CHECK-LABEL: llvm.func @looked_up
// CHECK: arith.cmpi sgt
// CHECK: scf.if
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: llvm.load {{.*}} -> i32
nsatile.program @looked_up(%table: memref<?xi32>, %n: index, %out: memref<1xi32>) {
  %0 = arith.constant 0 : index
  %e = nsatile.lookup %table[%n] : memref<?xi32>
  memref.store %e, %out[%0] : memref<1xi32>
  nsatile.return
}

// Each column is the one in front: a lane's second is its own first, its first the second of the lane before. Lane 0 gets
// that of the tile in front, which lane 31 has.
// CHECK-LABEL: llvm.func @shifted
// CHECK-NOT: nvvm.barrier
// CHECK: %[[ISLAST:.*]] = arith.cmpi eq, %{{.*}}, %c31_i32
// CHECK: %[[GIVEN:.*]] = arith.select %[[ISLAST]]
// CHECK: nvvm.shfl.sync idx {{.*}}, %[[GIVEN]],
// CHECK-NOT: nvvm.shfl.sync
// CHECK-NOT: nvvm.barrier
nsatile.program @shifted(%l: memref<4x64xf32>, %c: memref<4x64xf32>, %o: memref<4x64xf32>) {
  %0 = arith.constant 0 : index
  %4 = arith.constant 4 : index
  %64 = arith.constant 64 : index
  %before_at = nsatile.at %l[%0, %0] dims [0, 1] limits [%4, %64] : memref<4x64xf32> -> !nsatile.place<4x64xf32>
  %before = nsatile.load %before_at : tensor<4x64xf32, #nsatile.blocked<threads = 128, vector = 2>>
  %tile_at = nsatile.at %c[%0, %0] dims [0, 1] limits [%4, %64] : memref<4x64xf32> -> !nsatile.place<4x64xf32>
  %tile = nsatile.load %tile_at : tensor<4x64xf32, #nsatile.blocked<threads = 128, vector = 2>>
  %s = nsatile.shift %before, %tile : tensor<4x64xf32, #nsatile.blocked<threads = 128, vector = 2>>
  %to = nsatile.at %o[%0, %0] dims [0, 1] limits [%4, %64] : memref<4x64xf32> -> !nsatile.place<4x64xf32>
  nsatile.store %s, %to : tensor<4x64xf32, #nsatile.blocked<threads = 128, vector = 2>>
  nsatile.return
}

// A row of two warps goes through shared memory.
// CHECK-LABEL: llvm.func @shifted_warps
// CHECK-NOT: nvvm.shfl.sync
// CHECK: nvvm.barrier
// CHECK-NOT: nvvm.shfl.sync
nsatile.program @shifted_warps(%l: memref<2x64xf32>, %c: memref<2x64xf32>, %o: memref<2x64xf32>) {
  %0 = arith.constant 0 : index
  %2 = arith.constant 2 : index
  %64 = arith.constant 64 : index
  %before_at = nsatile.at %l[%0, %0] dims [0, 1] limits [%2, %64] : memref<2x64xf32> -> !nsatile.place<2x64xf32>
  %before = nsatile.load %before_at : tensor<2x64xf32, #nsatile.blocked<threads = 128>>
  %tile_at = nsatile.at %c[%0, %0] dims [0, 1] limits [%2, %64] : memref<2x64xf32> -> !nsatile.place<2x64xf32>
  %tile = nsatile.load %tile_at : tensor<2x64xf32, #nsatile.blocked<threads = 128>>
  %s = nsatile.shift %before, %tile : tensor<2x64xf32, #nsatile.blocked<threads = 128>>
  %to = nsatile.at %o[%0, %0] dims [0, 1] limits [%2, %64] : memref<2x64xf32> -> !nsatile.place<2x64xf32>
  nsatile.store %s, %to : tensor<2x64xf32, #nsatile.blocked<threads = 128>>
  nsatile.return
}
