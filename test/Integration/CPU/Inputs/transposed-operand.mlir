// xT y, by a transposed left operand, and as sums of products of rows.
nsatile.program @transposed(%x: memref<?x24xf32>, %y: memref<?x24xf32>, %z: memref<24x24xf32>) {
  %c0 = arith.constant 0 : index
  %c24 = arith.constant 24 : index
  %c40 = arith.constant 40 : index
  %a_at = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%c40, %c24] : memref<?x24xf32> -> !nsatile.place<40x24xf32>
  %a = nsatile.load %a_at : tensor<40x24xf32>
  %b_at = nsatile.at %y[%c0, %c0] dims [0, 1] limits [%c40, %c24] : memref<?x24xf32> -> !nsatile.place<40x24xf32>
  %b = nsatile.load %b_at : tensor<40x24xf32>
  %t = nsatile.dot transpose %a, %b : (tensor<40x24xf32>, tensor<40x24xf32>) -> tensor<24x24xf32>
  %to = nsatile.at %z[%c0, %c0] dims [0, 1] limits [%c24, %c24] : memref<24x24xf32> -> !nsatile.place<24x24xf32>
  nsatile.store %t, %to : tensor<24x24xf32>
  nsatile.return
}
nsatile.program @by_rows(%x: memref<?x24xf32>, %y: memref<?x24xf32>, %z: memref<24x24xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %c40 = arith.constant 40 : index
  %zero = arith.constant dense<0.0> : tensor<24x24xf32>
  %r = scf.for %i = %c0 to %c40 step %c1 iter_args(%sum = %zero) -> tensor<24x24xf32> {
    %a_at = nsatile.at %x[%i, %c0] dims [1] limits [%c24] : memref<?x24xf32> -> !nsatile.place<24xf32>
    %a = nsatile.load %a_at : tensor<24xf32>
    %b_at = nsatile.at %y[%i, %c0] dims [1] limits [%c24] : memref<?x24xf32> -> !nsatile.place<24xf32>
    %b = nsatile.load %b_at : tensor<24xf32>
    %aa = nsatile.broadcast %a along [1] : tensor<24xf32> -> tensor<24x24xf32>
    %bb = nsatile.broadcast %b along [0] : tensor<24xf32> -> tensor<24x24xf32>
    %p = math.fma %aa, %bb, %sum : tensor<24x24xf32>
    scf.yield %p : tensor<24x24xf32>
  }
  %to = nsatile.at %z[%c0, %c0] dims [0, 1] limits [%c24, %c24] : memref<24x24xf32> -> !nsatile.place<24x24xf32>
  nsatile.store %r, %to : tensor<24x24xf32>
  nsatile.return
}
nsatile.plan @plan(%x: memref<?x24xf32>, %y: memref<?x24xf32>, %z: memref<24x24xf32>, %w: memref<24x24xf32>) {
  %1 = arith.constant 1 : index
  nsatile.launch @transposed grid(%1, %1, %1) (%x, %y, %z) : memref<?x24xf32>, memref<?x24xf32>, memref<24x24xf32>
  nsatile.launch @by_rows grid(%1, %1, %1) (%x, %y, %w) : memref<?x24xf32>, memref<?x24xf32>, memref<24x24xf32>
  nsatile.return
}
