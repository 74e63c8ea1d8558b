// Sorts and running lists become bitonic networks.
// RUN: nsacc-opt %s --nsatile-bitonic-topk --split-input-file | FileCheck %s
// RUN: nsacc-opt %s --nsatile-bitonic-topk --split-input-file --remarks-filter=".*" 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: [Missed] InsertCandidates{{.*}}Function=top | Remark="candidates are sorted and merged: the list is read by more than its loops"
// REMARK: [Missed] InsertCandidates{{.*}}Function=carried | Remark="candidates are sorted and merged: each warp has more than 2 lists"
// REMARK: [Passed] InsertCandidates{{.*}}Function=inserted | Remark="each lane has a key of a list, and candidates are inserted one by one"

// Two columns: one compare-exchange, less to the left.
// CHECK-LABEL: nsatile.program @pair
// CHECK-SAME: %[[X:.*]]: tensor<4x2xi64>
// CHECK: %[[Y:.*]] = nsatile.exchange %[[X]] by 1 : tensor<4x2xi64>
// CHECK: %[[LESS:.*]] = arith.minsi %[[X]], %[[Y]]
// CHECK: %[[GREATER:.*]] = arith.maxsi %[[X]], %[[Y]]
// CHECK: %[[COLUMNS:.*]] = nsatile.broadcast %{{.*}} along [0] : tensor<2xi1> -> tensor<4x2xi1>
// CHECK: %[[S:.*]] = arith.select %[[COLUMNS]], %[[LESS]], %[[GREATER]]
// CHECK: nsatile.store %[[S]]
nsatile.program @pair(%x: tensor<4x2xi64>, %o: memref<4x2xi64>, %0: index) {
  %s = nsatile.sort ascending %x : tensor<4x2xi64>
  %to = nsatile.at %o[%0, %0] dims [0, 1] limits [%0, %0] : memref<4x2xi64> -> !nsatile.place<4x2xi64>
  nsatile.store %s, %to : tensor<4x2xi64>
  nsatile.return
}

// -----

// Five columns: padded to eight with keys that come last; six steps.
// CHECK-LABEL: nsatile.program @padded
// CHECK: %[[LEAST:.*]] = arith.constant dense<-9223372036854775808> : tensor<4x8xi64>
// CHECK: tensor.insert_slice %{{.*}} into %[[LEAST]][0, 0] [4, 5] [1, 1]
// CHECK-COUNT-6: nsatile.exchange
// CHECK-NOT: nsatile.exchange
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [4, 5] [1, 1]
// CHECK-NOT: nsatile.sort
nsatile.program @padded(%x: tensor<4x5xi64>, %o: memref<4x5xi64>, %0: index) {
  %s = nsatile.sort descending %x : tensor<4x5xi64>
  %to = nsatile.at %o[%0, %0] dims [0, 1] limits [%0, %0] : memref<4x5xi64> -> !nsatile.place<4x5xi64>
  nsatile.store %s, %to : tensor<4x5xi64>
  nsatile.return
}

// -----

// Sixteen candidates are sorted in ten steps and cut to four; one exchange turns
// them around, two steps merge.
// CHECK-LABEL: nsatile.program @top
// CHECK-SAME: %[[LIST:.*]]: tensor<4x4xi64>
// CHECK-COUNT-10: nsatile.exchange {{.*}} : tensor<4x16xi64>
// CHECK: %[[CUT:.*]] = tensor.extract_slice %{{.*}}[0, 0] [4, 4] [1, 1]
// CHECK: %[[TURNED:.*]] = nsatile.exchange %[[CUT]] by 3 : tensor<4x4xi64>
// CHECK: arith.maxsi %[[LIST]], %[[TURNED]]
// CHECK: nsatile.exchange %{{.*}} by 2 : tensor<4x4xi64>
// CHECK: nsatile.exchange %{{.*}} by 1 : tensor<4x4xi64>
// CHECK-NOT: nsatile.exchange
// CHECK-NOT: nsatile.top
nsatile.program @top(%l: tensor<4x4xi64>, %c: tensor<4x16xi64>, %o: memref<4x4xi64>, %0: index) {
  %t = nsatile.top %l, %c : tensor<4x4xi64>, tensor<4x16xi64>
  %to = nsatile.at %o[%0, %0] dims [0, 1] limits [%0, %0] : memref<4x4xi64> -> !nsatile.place<4x4xi64>
  nsatile.store %t, %to : tensor<4x4xi64>
  nsatile.return
}

// -----

// A loop carries as many columns as a step sorts: no step cuts, and the result
// does once.
// CHECK-LABEL: nsatile.program @carried
// CHECK: %[[WIDE:.*]] = tensor.insert_slice %{{.*}}[0, 0] [16, 5] [1, 1] : tensor<16x5xi64> into tensor<16x16xi64>
// CHECK: %[[LOOP:.*]] = scf.for {{.*}} iter_args(%[[OUTER:.*]] = %[[WIDE]]) -> (tensor<16x16xi64>)
// CHECK: scf.for {{.*}} iter_args(%[[INNER:.*]] = %[[OUTER]]) -> (tensor<16x16xi64>)
// CHECK-NOT: tensor.extract_slice
// CHECK: arith.maxsi %[[INNER]]
// CHECK-NOT: tensor.extract_slice
// CHECK: tensor.extract_slice %[[LOOP]][0, 0] [16, 5] [1, 1]
// CHECK-NOT: tensor.extract_slice
// CHECK: nsatile.store
nsatile.program @carried(%l: tensor<16x5xi64>, %c: tensor<16x16xi64>, %o: memref<16x5xi64>, %0: index, %1: index, %n: index) {
  %t = scf.for %i = %0 to %n step %1 iter_args(%a = %l) -> (tensor<16x5xi64>) {
    %u = scf.for %j = %0 to %n step %1 iter_args(%b = %a) -> (tensor<16x5xi64>) {
      %v = nsatile.top %b, %c : tensor<16x5xi64>, tensor<16x16xi64>
      scf.yield %v : tensor<16x5xi64>
    }
    scf.yield %u : tensor<16x5xi64>
  }
  %to = nsatile.at %o[%0, %0] dims [0, 1] limits [%0, %0] : memref<16x5xi64> -> !nsatile.place<16x5xi64>
  nsatile.store %t, %to : tensor<16x5xi64>
  nsatile.return
}

// -----

// Where each of four warps has a list, a warp's lanes hold it and insert what
// beats the last of the five that are asked for.
// CHECK-LABEL: nsatile.program @inserted
// CHECK-SAME: %{{.*}}: tensor<4x5xi64>, %[[C:.*]]: tensor<4x16xi64>
// CHECK: %[[WIDE:.*]] = tensor.insert_slice {{.*}} : tensor<4x5xi64> into tensor<4x32xi64>
// CHECK: %[[LOOP:.*]] = scf.for {{.*}} iter_args(%[[LIST:.*]] = %[[WIDE]]) -> (tensor<4x32xi64>)
// CHECK: %[[PADDED:.*]] = tensor.insert_slice %[[C]] into {{.*}} into tensor<4x32xi64>
// CHECK: nsatile.top %[[LIST]], %[[PADDED]] insert 5
// CHECK-NOT: nsatile.exchange
// CHECK: tensor.extract_slice %[[LOOP]][0, 0] [4, 5] [1, 1]
nsatile.program @inserted(%l: tensor<4x5xi64>, %c: tensor<4x16xi64>, %o: memref<4x5xi64>, %0: index, %1: index, %n: index) {
  %t = scf.for %i = %0 to %n step %1 iter_args(%a = %l) -> (tensor<4x5xi64>) {
    %u = nsatile.top %a, %c : tensor<4x5xi64>, tensor<4x16xi64>
    scf.yield %u : tensor<4x5xi64>
  }
  %to = nsatile.at %o[%0, %0] dims [0, 1] limits [%0, %0] : memref<4x5xi64> -> !nsatile.place<4x5xi64>
  nsatile.store %t, %to : tensor<4x5xi64>
  nsatile.return
}

// -----

// Two lists of each warp, and two candidates of each lane, too.
// CHECK-LABEL: nsatile.program @two_lists
// CHECK: scf.for {{.*}} -> (tensor<8x32xi64>)
// CHECK: nsatile.top %{{.*}}, %{{.*}} insert 5 : tensor<8x32xi64>, tensor<8x64xi64>
// CHECK-NOT: nsatile.exchange
nsatile.program @two_lists(%l: tensor<8x5xi64>, %c: tensor<8x40xi64>, %o: memref<8x5xi64>, %0: index, %1: index, %n: index) {
  %t = scf.for %i = %0 to %n step %1 iter_args(%a = %l) -> (tensor<8x5xi64>) {
    %u = nsatile.top %a, %c : tensor<8x5xi64>, tensor<8x40xi64>
    scf.yield %u : tensor<8x5xi64>
  }
  %to = nsatile.at %o[%0, %0] dims [0, 1] limits [%0, %0] : memref<8x5xi64> -> !nsatile.place<8x5xi64>
  nsatile.store %t, %to : tensor<8x5xi64>
  nsatile.return
}

// -----

// A list that something else reads in the loop stays as it is.
// CHECK-LABEL: nsatile.program @watched
// CHECK: scf.for {{.*}} -> (tensor<16x5xi64>)
// CHECK: tensor.extract_slice
nsatile.program @watched(%l: tensor<16x5xi64>, %c: tensor<16x16xi64>, %o: memref<16x5xi64>, %0: index, %1: index, %n: index) {
  %t = scf.for %i = %0 to %n step %1 iter_args(%a = %l) -> (tensor<16x5xi64>) {
    %to = nsatile.at %o[%0, %0] dims [0, 1] limits [%0, %0] : memref<16x5xi64> -> !nsatile.place<16x5xi64>
    nsatile.store %a, %to : tensor<16x5xi64>
    %v = nsatile.top %a, %c : tensor<16x5xi64>, tensor<16x16xi64>
    scf.yield %v : tensor<16x5xi64>
  }
  %to_1 = nsatile.at %o[%0, %0] dims [0, 1] limits [%0, %0] : memref<16x5xi64> -> !nsatile.place<16x5xi64>
  nsatile.store %t, %to_1 : tensor<16x5xi64>
  nsatile.return
}

// -----

// A list of a quarter of the step's columns stays as it is, too.
// CHECK-LABEL: nsatile.program @short
// CHECK: scf.for {{.*}} -> (tensor<16x4xi64>)
// CHECK: tensor.extract_slice
nsatile.program @short(%l: tensor<16x4xi64>, %c: tensor<16x16xi64>, %o: memref<16x4xi64>, %0: index, %1: index, %n: index) {
  %t = scf.for %i = %0 to %n step %1 iter_args(%a = %l) -> (tensor<16x4xi64>) {
    %v = nsatile.top %a, %c : tensor<16x4xi64>, tensor<16x16xi64>
    scf.yield %v : tensor<16x4xi64>
  }
  %to = nsatile.at %o[%0, %0] dims [0, 1] limits [%0, %0] : memref<16x4xi64> -> !nsatile.place<16x4xi64>
  nsatile.store %t, %to : tensor<16x4xi64>
  nsatile.return
}
