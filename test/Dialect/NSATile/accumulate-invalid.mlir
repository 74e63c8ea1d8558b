// RUN: nsacc-opt %s --verify-diagnostics --split-input-file

nsatile.program @unordered(%a: tensor<8xf32>, %sums: memref<?xf32>, %i: index) {
  // expected-error@+2 {{expected a turn for f32: the sum depends on the order of its terms}}
  // expected-note@+1 {{integers need no turn: round to multiples of a power of two, and add these}}
  nsatile.accumulate %a, %sums[%i] dims [0] limits [%i] : tensor<8xf32>, memref<?xf32>
  nsatile.return
}

// -----

nsatile.program @ordered(%a: tensor<8xi32>, %sums: memref<?xi32>, %turns: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected no turn for integers: their sum is the same in any order}}
  nsatile.accumulate %a, %sums[%i] dims [0] limits [%i] turn %i of %turns[%i] : memref<?xi32> : tensor<8xi32>, memref<?xi32>
  nsatile.return
}

// -----

nsatile.program @place(%a: tensor<8xf32>, %sums: memref<?xf32>, %turns: memref<?x?xi32>, %i: index) {
  // expected-error@+1 {{expected an index for each of the 2 dimensions of the turns, found 1}}
  nsatile.accumulate %a, %sums[%i] dims [0] limits [%i] turn %i of %turns[%i] : memref<?x?xi32> : tensor<8xf32>, memref<?xf32>
  nsatile.return
}

// -----

nsatile.program @type(%a: tensor<8xf32>, %sums: memref<?xbf16>, %turns: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected tiles of the buffer's element type 'bf16', found 'f32'}}
  nsatile.accumulate %a, %sums[%i] dims [0] limits [%i] turn %i of %turns[%i] : memref<?xi32> : tensor<8xf32>, memref<?xbf16>
  nsatile.return
}

// -----

nsatile.program @producer(%a: tensor<8xi32>, %sums: memref<?xi32>, %i: index) {
  nsatile.warp_specialize consumers 4 {
  } producer {
    // expected-error@+1 {{can't stand in the region of the producer; it is for the other role}}
    nsatile.accumulate %a, %sums[%i] dims [0] limits [%i] : tensor<8xi32>, memref<?xi32>
  }
  nsatile.return
}
