// RUN: nsacc-opt %s --verify-diagnostics --split-input-file

nsatile.program @offsets(%x: memref<?x?xf32>, %n: index) {
  // expected-error @below {{expected an offset for each of the 2 dimensions of the buffer, found 1}}
  %p = nsatile.at %x[%n] dims [0] limits [%n] : memref<?x?xf32> -> !nsatile.place<4xf32>
  nsatile.return
}

// -----

nsatile.program @dims(%x: memref<?x?xf32>, %n: index) {
  // expected-error @below {{expected a buffer dimension for each of the 1 dimensions of the tile, found 2}}
  %p = nsatile.at %x[%n, %n] dims [0, 1] limits [%n, %n] : memref<?x?xf32> -> !nsatile.place<4xf32>
  nsatile.return
}

// -----

nsatile.program @limits(%x: memref<?x?xf32>, %n: index) {
  // expected-error @below {{expected a limit for each of the 1 dimensions of the tile, found 0}}
  %p = nsatile.at %x[%n, %n] dims [0] limits [] : memref<?x?xf32> -> !nsatile.place<4xf32>
  nsatile.return
}

// -----

nsatile.program @rank(%x: memref<?x?xf32>, %n: index) {
  // expected-error @below {{expected dimensions of a buffer of rank 2, found 2}}
  %p = nsatile.at %x[%n, %n] dims [2] limits [%n] : memref<?x?xf32> -> !nsatile.place<4xf32>
  nsatile.return
}

// -----

nsatile.program @twice(%x: memref<?x?xf32>, %n: index) {
  // expected-error @below {{expected different buffer dimensions, found 0 twice}}
  %p = nsatile.at %x[%n, %n] dims [0, 0] limits [%n, %n] : memref<?x?xf32> -> !nsatile.place<4x4xf32>
  nsatile.return
}

// -----

nsatile.program @element(%x: memref<?xf32>, %n: index) {
  // expected-error @below {{expected a tile of the buffer's element type 'f32', found 'bf16'}}
  %p = nsatile.at %x[%n] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<4xbf16>
  nsatile.return
}

// -----

nsatile.program @count_of_steps(%x: memref<?xf32>, %n: index) {
  // expected-error @below {{expected a step for each of the 1 dimensions of the tile, found 2}}
  %p = nsatile.at %x[%n] dims [0] steps [1, 1] limits [%n] : memref<?xf32> -> !nsatile.place<4xf32>
  nsatile.return
}

// -----

nsatile.program @step(%x: memref<?xf32>, %n: index) {
  // expected-error @below {{expected steps of at least 1, found 0}}
  %p = nsatile.at %x[%n] dims [0] steps [0] limits [%n] : memref<?xf32> -> !nsatile.place<4xf32>
  nsatile.return
}

// -----

nsatile.program @listed_without_rows(%x: memref<?xf32>, %list: memref<?xi32>, %n: index) {
  // expected-error @below {{expected a tile with rows, which a list names, found '!nsatile.place<f32>'}}
  %p = nsatile.at %x[%n] dims [] limits [] rows %list[%n] : memref<?xi32> : memref<?xf32> -> !nsatile.place<f32>
  nsatile.return
}

// -----

nsatile.program @entry(%x: memref<?xf32>, %list: memref<?x?xi32>, %n: index) {
  // expected-error @below {{expected an index for each of the 2 dimensions of the list, found 1}}
  %p = nsatile.at %x[%n] dims [0] limits [%n] rows %list[%n] : memref<?x?xi32> : memref<?xf32> -> !nsatile.place<8xf32>
  nsatile.return
}

// -----

nsatile.program @listed_steps(%x: memref<?xf32>, %list: memref<?xi32>, %n: index) {
  // expected-error @below {{expected steps or a list, found both}}
  %p = nsatile.at %x[%n] dims [0] steps [2] limits [%n] rows %list[%n] : memref<?xi32> : memref<?xf32> -> !nsatile.place<8xf32>
  nsatile.return
}

// -----

nsatile.program @dynamic(%x: memref<?xf32>, %n: index) {
  // expected-error @below {{expected static shape}}
  %p = nsatile.at %x[%n] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<?xf32>
  nsatile.return
}

// -----

nsatile.program @chosen(%x: memref<?xf32>, %n: index, %c: i1) {
  %place = scf.if %c -> !nsatile.place<4xf32> {
    %p = nsatile.at %x[%n] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<4xf32>
    scf.yield %p : !nsatile.place<4xf32>
  } else {
    %c0 = arith.constant 0 : index
    %p = nsatile.at %x[%c0] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<4xf32>
    scf.yield %p : !nsatile.place<4xf32>
  }
  // expected-error @below {{failed to verify that nsatile.at gives the place: loops and branches can't hand one on}}
  %t = nsatile.load %place : tensor<4xf32>
  nsatile.return
}

// -----

nsatile.program @argument(%place: !nsatile.place<4xf32>, %t: tensor<4xf32>) {
  // expected-error @below {{failed to verify that nsatile.at gives the place: loops and branches can't hand one on}}
  nsatile.store %t, %place : tensor<4xf32>
  nsatile.return
}

// -----

nsatile.program @spelled_tile(%x: memref<?xf32>, %n: index) {
  // expected-note @below {{prior use here}}
  %p = nsatile.at %x[%n] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<4xf32>
  // expected-error @below {{use of value '%p' expects different type than prior uses: '!nsatile.place<8xf32>' vs '!nsatile.place<4xf32>'}}
  %t = nsatile.load %p : tensor<8xf32>
  nsatile.return
}

// -----

nsatile.program @tile(%x: memref<?xf32>, %n: index) {
  %p = nsatile.at %x[%n] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<4xf32>
  // expected-error @below {{failed to verify that the place has the tile's shape and type of elements}}
  %t = "nsatile.load"(%p) : (!nsatile.place<4xf32>) -> tensor<8xf32>
  nsatile.return
}

// -----

nsatile.program @circular_buffer(%x: memref<?xf32>, %n: index) {
  %ring = nsatile.circular_buffer : !nsatile.circular_buffer<2 of tensor<8xf32>>
  %p = nsatile.at %x[%n] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<4xf32>
  // expected-error @below {{failed to verify that the place has the shape and type of elements of the circular buffer's tiles}}
  "nsatile.producer_load"(%ring, %p) : (!nsatile.circular_buffer<2 of tensor<8xf32>>, !nsatile.place<4xf32>) -> ()
  nsatile.return
}

// -----

nsatile.program @empty_tile(%x: memref<?x64xf32>, %n: index) {
  // expected-error @below {{expected a tile of 1 to 2147483648 elements, found '!nsatile.place<0x64xf32>'}}
  %p = nsatile.at %x[%n, %n] dims [0, 1] limits [%n, %n] : memref<?x64xf32> -> !nsatile.place<0x64xf32>
  nsatile.return
}

// -----

nsatile.program @huge_tile(%x: memref<?x64xf32>, %n: index) {
  // expected-error @below {{expected a tile of 1 to 2147483648 elements, found '!nsatile.place<99999999999x64xf32>'}}
  %p = nsatile.at %x[%n, %n] dims [0, 1] limits [%n, %n] : memref<?x64xf32> -> !nsatile.place<99999999999x64xf32>
  nsatile.return
}
