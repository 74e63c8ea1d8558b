// Four programs add to one place. In the order of turns, 2^24 + 1 - 2^24 + 1 is 1: the first 1 is rounded away. In other orders it is
// 0 or 2. As integers, 2^24 + 1 - 2^24 + 1 is 2 in any order. The place beyond the limit stays as it is.
// RUN: nsacc-tile-run %s 9 9 1 --threads 1 --sums | FileCheck %s
// RUN: nsacc-tile-run %s 9 9 1 --threads 4 --sums | FileCheck %s
// RUN: nsacc-tile-run %s 9 9 1 --threads 4 --sums --cpu x86-64-v2 | FileCheck %s
// CHECK: sums: sum 9
// CHECK: exact: sum 18
// CHECK: turns: sum 4

nsatile.program @add(%sums: memref<?xf32>, %exact: memref<?xi32>, %turns: memref<?xi32>, %n: index) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %3 = arith.constant 3 : index
  %one = arith.constant 1.0 : f32
  %large = arith.constant 0x4B800000 : f32
  %negative = arith.constant 0xCB800000 : f32
  %x = nsatile.program_id 0
  %turn = arith.subi %3, %x : index
  %isfirst = arith.cmpi eq, %turn, %0 : index
  %isthird = arith.cmpi eq, %turn, %2 : index
  %small = arith.select %isthird, %negative, %one : f32
  %value = arith.select %isfirst, %large, %small : f32
  %tile = tensor.splat %value : tensor<16xf32>
  %to = nsatile.at %sums[%0] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<16xf32>
  nsatile.accumulate %tile, %to turn %turn of %turns[%0] : memref<?xi32> : tensor<16xf32>
  %whole = arith.fptosi %tile : tensor<16xf32> to tensor<16xi32>
  %to_1 = nsatile.at %exact[%0] dims [0] limits [%n] : memref<?xi32> -> !nsatile.place<16xi32>
  nsatile.accumulate %whole, %to_1 : tensor<16xi32>
  nsatile.return
}
nsatile.plan @plan(%sums: memref<?xf32> {nsa.name = "sums"}, %exact: memref<?xi32> {nsa.name = "exact"}, %turns: memref<?xi32> {nsa.name = "turns"}) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %n = memref.dim %sums, %0 : memref<?xf32>
  nsatile.launch @add grid(%4, %1, %1) (%sums, %exact, %turns, %n) : memref<?xf32>, memref<?xi32>, memref<?xi32>, index
  nsatile.return
}
