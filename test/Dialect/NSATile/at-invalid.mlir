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
