// RUN: nsacc-opt %s --verify-diagnostics --split-input-file

nsatile.program @unordered(%a: tensor<8xf32>, %sums: memref<?xf32>, %i: index) {
  %to = nsatile.at %sums[%i] dims [0] limits [%i] : memref<?xf32> -> !nsatile.place<8xf32>
  // expected-error@+2 {{expected a turn for f32: the sum depends on the order of its terms}}
  // expected-note@+1 {{integers need no turn: round to multiples of a power of two, and add these}}
  nsatile.accumulate %a, %to : tensor<8xf32>
  nsatile.return
}

// -----

nsatile.program @ordered(%a: tensor<8xi32>, %sums: memref<?xi32>, %turns: memref<?xi32>, %i: index) {
  %to = nsatile.at %sums[%i] dims [0] limits [%i] : memref<?xi32> -> !nsatile.place<8xi32>
  // expected-error@+1 {{expected no turn for integers: their sum is the same in any order}}
  nsatile.accumulate %a, %to turn %i of %turns[%i] : memref<?xi32> : tensor<8xi32>
  nsatile.return
}

// -----

nsatile.program @place(%a: tensor<8xf32>, %sums: memref<?xf32>, %turns: memref<?x?xi32>, %i: index) {
  %to = nsatile.at %sums[%i] dims [0] limits [%i] : memref<?xf32> -> !nsatile.place<8xf32>
  // expected-error@+1 {{expected an index for each of the 2 dimensions of the turns, found 1}}
  nsatile.accumulate %a, %to turn %i of %turns[%i] : memref<?x?xi32> : tensor<8xf32>
  nsatile.return
}

// -----

nsatile.program @producer(%a: tensor<8xi32>, %sums: memref<?xi32>, %i: index) {
  nsatile.warp_specialize consumers 4 {
  } producer {
    %to = nsatile.at %sums[%i] dims [0] limits [%i] : memref<?xi32> -> !nsatile.place<8xi32>
    // expected-error@+1 {{can't stand in the region of the producer; it is for the other role}}
    nsatile.accumulate %a, %to : tensor<8xi32>
  }
  nsatile.return
}
