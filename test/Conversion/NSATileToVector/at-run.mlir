// Stores and sums take the same places as loads: every other element in front of a limit, and rows that a list names. The list has 0, 4,
// 8, 12 and 16; its elements divided by 2 are the rows 0, 2, 4, 6 and 8. Elements beyond the limits stay as they are.
// RUN: nsacc-tile-run %s 9 9 5 --sums | FileCheck %s
// CHECK: stepped: sum 5
// CHECK: listed: sum 10
// CHECK: list: sum 40

nsatile.program @places(%stepped: memref<?xi32>, %listed: memref<?xi32>, %list: memref<?xi32>, %n: index, %count: index) {
  %0 = arith.constant 0 : index
  %ones = arith.constant dense<1> : tensor<16xi32>
  %every_other = nsatile.at %stepped[%0] dims [0] steps [2] limits [%n] : memref<?xi32> -> !nsatile.place<16xi32>
  nsatile.store %ones, %every_other : tensor<16xi32>
  %numbers = nsatile.iota %0 : tensor<16xindex>
  %fours = arith.constant dense<4> : tensor<16xindex>
  %multiples = arith.muli %numbers, %fours : tensor<16xindex>
  %entries = arith.index_cast %multiples : tensor<16xindex> to tensor<16xi32>
  %to = nsatile.at %list[%0] dims [0] limits [%count] : memref<?xi32> -> !nsatile.place<16xi32>
  nsatile.store %entries, %to : tensor<16xi32>
  %rows = nsatile.at %listed[%0] dims [0] limits [%count] rows %list[%0] by 2 : memref<?xi32> : memref<?xi32> -> !nsatile.place<16xi32>
  nsatile.accumulate %ones, %rows : tensor<16xi32>
  nsatile.accumulate %ones, %rows : tensor<16xi32>
  nsatile.return
}
nsatile.plan @plan(%stepped: memref<?xi32> {nsa.name = "stepped"}, %listed: memref<?xi32> {nsa.name = "listed"}, %list: memref<?xi32> {nsa.name = "list"}) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %n = memref.dim %stepped, %0 : memref<?xi32>
  %count = memref.dim %list, %0 : memref<?xi32>
  nsatile.launch @places grid(%1, %1, %1) (%stepped, %listed, %list, %n, %count) : memref<?xi32>, memref<?xi32>, memref<?xi32>, index, index
  nsatile.return
}
