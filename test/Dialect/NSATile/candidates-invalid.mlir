// RUN: nsacc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected at least 1 list, of at least 1 key, found 0 lists of 4}}
nsatile.program @rows(%x: !nsatile.candidates<rows = 0, keep = 4, room = 8>) { nsatile.return }

// -----

// expected-error @+1 {{expected at least 1 list, of at least 1 key, found 2 lists of 0}}
nsatile.program @keep(%x: !nsatile.candidates<rows = 2, keep = 0, room = 8>) { nsatile.return }

// -----

// expected-error @+1 {{expected room for more than the 8 keys that are kept, found 8}}
nsatile.program @room(%x: !nsatile.candidates<rows = 2, keep = 8, room = 8>) { nsatile.return }

// -----

nsatile.program @floor() {
  // expected-error @+1 {{attribute 'floor' failed to satisfy constraint}}
  %c = "nsatile.candidates"() {floor = -1} : () -> !nsatile.candidates<rows = 2, keep = 4, room = 8>
  nsatile.return
}

// -----

nsatile.program @offered_rows(%c: !nsatile.candidates<rows = 2, keep = 4, room = 8>) {
  %keys = arith.constant dense<1> : tensor<3x4xi64>
  // expected-error @+1 {{expected keys for each of the 2 lists, found rows for 3}}
  nsatile.offer %keys to %c : tensor<3x4xi64>, !nsatile.candidates<rows = 2, keep = 4, room = 8>
  nsatile.return
}

// -----

nsatile.program @offered_columns(%c: !nsatile.candidates<rows = 2, keep = 4, room = 8>) {
  %keys = arith.constant dense<1> : tensor<2x5xi64>
  // expected-error @+1 {{expected at most 4 keys for each list, which have room for so many beside the 4 that are kept, found 5}}
  nsatile.offer %keys to %c : tensor<2x5xi64>, !nsatile.candidates<rows = 2, keep = 4, room = 8>
  nsatile.return
}

// -----

nsatile.program @offered_shape(%c: !nsatile.candidates<rows = 2, keep = 4, room = 8>, %keys: tensor<2x?xi64>) {
  // expected-error @+1 {{expected keys of static shape, found 'tensor<2x?xi64>'}}
  nsatile.offer %keys to %c : tensor<2x?xi64>, !nsatile.candidates<rows = 2, keep = 4, room = 8>
  nsatile.return
}

// -----

nsatile.program @numbers(%c: !nsatile.candidates<rows = 2, keep = 4, room = 8>) {
  %numbers = arith.constant dense<1> : tensor<1xi64>
  // expected-error @+1 {{expected a number for each of the 2 lists, found rows for 1}}
  nsatile.choose %numbers of %c : tensor<1xi64>, !nsatile.candidates<rows = 2, keep = 4, room = 8>
  nsatile.return
}

// -----

nsatile.program @chosen(%c: !nsatile.candidates<rows = 2, keep = 4, room = 8>, %n: index) {
  // expected-error @+1 {{expected keys for each of the 2 lists, found rows for 4}}
  %keys = nsatile.chosen %c[%n] : !nsatile.candidates<rows = 2, keep = 4, room = 8> -> tensor<4x4xi64>
  nsatile.return
}
