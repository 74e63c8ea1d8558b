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
  nsatile.store %s, %o[%0, %0] dims [0, 1] limits[%4, %32] : !sums, memref<4x32xf32>
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
  %list = nsatile.load %l[%0, %0] dims [0, 1] limits[%4, %32] : memref<4x32xi64> -> !keys
  %more = nsatile.load %c[%0, %0] dims [0, 1] limits[%4, %32] : memref<4x32xi64> -> !keys
  %t = nsatile.top %list, %more insert 16 : !keys, !keys
  nsatile.store %t, %o[%0, %0] dims [0, 1] limits[%4, %32] : !keys, memref<4x32xi64>
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
  %list = nsatile.load %l[%0, %0] dims [0, 1] limits[%8, %32] : memref<8x32xi64> -> tensor<8x32xi64, #nsatile.blocked<threads = 128>>
  %more = nsatile.load %c[%0, %0] dims [0, 1] limits[%8, %64] : memref<8x64xi64> -> tensor<8x64xi64, #nsatile.blocked<threads = 128, vector = 2>>
  %t = nsatile.top %list, %more insert 16 : tensor<8x32xi64, #nsatile.blocked<threads = 128>>, tensor<8x64xi64, #nsatile.blocked<threads = 128, vector = 2>>
  nsatile.store %t, %o[%0, %0] dims [0, 1] limits[%8, %32] : tensor<8x32xi64, #nsatile.blocked<threads = 128>>, memref<8x32xi64>
  nsatile.return
}

// A warp marks its entries' blocks in words, counts those before each word, and
// marks the rows of each block at the block's place. Nobody waits for others.
// CHECK-LABEL: llvm.func @united
// CHECK-NOT: nvvm.barrier
// CHECK: nvvm.bar.warp.sync
// CHECK: llvm.atomicrmw _or {{.*}} syncscope("block") monotonic
// CHECK: nvvm.bar.warp.sync
// CHECK: llvm.intr.ctpop
// CHECK-COUNT-5: nvvm.shfl.sync idx
// CHECK: nvvm.bar.warp.sync
// CHECK: llvm.intr.ctpop
// CHECK: llvm.atomicrmw _or {{.*}} !llvm.ptr<3>
// CHECK: nvvm.bar.warp.sync
// CHECK-NOT: nvvm.barrier
nsatile.program @united(%lists: memref<8x16xi32>, %n: index, %blocks: memref<128xi32>, %members: memref<128x1xi32>, %counts: memref<1xi32>) {
  %0 = arith.constant 0 : index
  %8 = arith.constant 8 : index
  nsatile.unite %lists[%0, %0] along 0 from %0 end %8 rows %8 of 8 below %n to %blocks, %counts[] members %members : memref<128x1xi32> : memref<8x16xi32>, memref<128xi32>, memref<1xi32>
  nsatile.return
}

// Long lists have all of a block's warps, which meet, and members that fill
// shared memory stand in global memory from the begin.
// CHECK-LABEL: llvm.func @united_by_warps
// CHECK-SAME: nvvm.reqntid = array<i32: 256>
// CHECK-NOT: nvvm.bar.warp.sync
// CHECK-COUNT-3: nvvm.barrier
// CHECK: llvm.atomicrmw _or {{.*}} !llvm.ptr<1>
// CHECK: nvvm.barrier
nsatile.program @united_by_warps(%lists: memref<8x2048xi32>, %n: index, %blocks: memref<?xi32>, %members: memref<?x1xi32>, %counts: memref<1xi32>) {
  %0 = arith.constant 0 : index
  %8 = arith.constant 8 : index
  nsatile.unite %lists[%0, %0] along 0 from %0 end %8 rows %8 of 8 below %n to %blocks, %counts[] members %members : memref<?x1xi32> : memref<8x2048xi32>, memref<?xi32>, memref<1xi32>
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
  %before = nsatile.load %l[%0, %0] dims [0, 1] limits[%4, %64] : memref<4x64xf32> -> tensor<4x64xf32, #nsatile.blocked<threads = 128, vector = 2>>
  %tile = nsatile.load %c[%0, %0] dims [0, 1] limits[%4, %64] : memref<4x64xf32> -> tensor<4x64xf32, #nsatile.blocked<threads = 128, vector = 2>>
  %s = nsatile.shift %before, %tile : tensor<4x64xf32, #nsatile.blocked<threads = 128, vector = 2>>
  nsatile.store %s, %o[%0, %0] dims [0, 1] limits[%4, %64] : tensor<4x64xf32, #nsatile.blocked<threads = 128, vector = 2>>, memref<4x64xf32>
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
  %before = nsatile.load %l[%0, %0] dims [0, 1] limits[%2, %64] : memref<2x64xf32> -> tensor<2x64xf32, #nsatile.blocked<threads = 128>>
  %tile = nsatile.load %c[%0, %0] dims [0, 1] limits[%2, %64] : memref<2x64xf32> -> tensor<2x64xf32, #nsatile.blocked<threads = 128>>
  %s = nsatile.shift %before, %tile : tensor<2x64xf32, #nsatile.blocked<threads = 128>>
  nsatile.store %s, %o[%0, %0] dims [0, 1] limits[%2, %64] : tensor<2x64xf32, #nsatile.blocked<threads = 128>>, memref<2x64xf32>
  nsatile.return
}
