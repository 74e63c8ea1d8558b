// What the CPU can't do yet is an error with a location.
// RUN: nsacc-opt %s --convert-nsatile-to-vector --split-input-file --verify-diagnostics
// RUN: not nsacc-opt %s --convert-nsatile-to-vector=vector-bits=96 --split-input-file 2>&1 | FileCheck %s
// CHECK: expected vector-bits to be 128, 256 or 512, found 96

nsatile.program @different_elements(%y: memref<2xf32>) {
  %0 = arith.constant 0 : index
  %2 = arith.constant 2 : index
  // expected-error @+1 {{'arith.constant' op with different elements isn't supported yet}}
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %to = nsatile.at %y[%0] dims [0] limits [%2] : memref<2xf32> -> !nsatile.place<2xf32>
  nsatile.store %c, %to : tensor<2xf32>
  nsatile.return
}

// -----

nsatile.program @bits(%x: memref<8xi1>, %y: memref<8xi1>) {
  %0 = arith.constant 0 : index
  %t_at = nsatile.at %x[%0] dims [0] limits [%0] : memref<8xi1> -> !nsatile.place<8xi1>
  // expected-error @+1 {{'nsatile.load' op on a buffer of i1 isn't supported; expected booleans as i8, one byte each}}
  %t = nsatile.load %t_at : tensor<8xi1>
  %to = nsatile.at %y[%0] dims [0] limits [%0] : memref<8xi1> -> !nsatile.place<8xi1>
  nsatile.store %t, %to : tensor<8xi1>
  nsatile.return
}

// -----

nsatile.program @while(%n: index) {
  %t = arith.constant dense<1.0> : tensor<8xf32>
  %true = arith.constant true
  // expected-error @+1 {{'scf.while' op on tiles isn't supported by the CPU target yet}}
  %r = scf.while (%u = %t) : (tensor<8xf32>) -> tensor<8xf32> {
    scf.condition(%true) %u : tensor<8xf32>
  } do {
  ^bb0(%v: tensor<8xf32>):
    scf.yield %v : tensor<8xf32>
  }
  nsatile.return
}

// -----

nsatile.program @insert(%y: memref<8xf32>, %f: f32) {
  %0 = arith.constant 0 : index
  %t = arith.constant dense<1.0> : tensor<8xf32>
  // expected-error @+1 {{'tensor.insert' op on tiles isn't supported by the CPU target yet}}
  %u = tensor.insert %f into %t[%0] : tensor<8xf32>
  %to = nsatile.at %y[%0] dims [0] limits [%0] : memref<8xf32> -> !nsatile.place<8xf32>
  nsatile.store %u, %to : tensor<8xf32>
  nsatile.return
}

// -----

nsatile.program @slice(%x: memref<8x8xf32>, %y: memref<8xf32>) {
  %0 = arith.constant 0 : index
  %8 = arith.constant 8 : index
  %t_at = nsatile.at %x[%0, %0] dims [0, 1] limits [%8, %8] : memref<8x8xf32> -> !nsatile.place<8x8xf32>
  %t = nsatile.load %t_at : tensor<8x8xf32>
  // expected-error @+1 {{'tensor.extract_slice' op expected a slice of the same rank, of static sizes and steps of 1}}
  %u = tensor.extract_slice %t[0, 0] [1, 8] [1, 1] : tensor<8x8xf32> to tensor<8xf32>
  %to = nsatile.at %y[%0] dims [0] limits [%8] : memref<8xf32> -> !nsatile.place<8xf32>
  nsatile.store %u, %to : tensor<8xf32>
  nsatile.return
}
