// What is no fold.
// RUN: nsacc-opt %s --split-input-file --verify-diagnostics

nsatile.program @nowhere() {
  // expected-error @+1 {{expected ranges, a list or a tile to go over}}
  nsatile.fold {
  ^bb0(%tile: index, %partial: i1):
    nsatile.yield
  }
  nsatile.return
}

// -----

nsatile.program @bounds(%a: index) {
  // expected-error @+1 {{expected four bounds for each range, found 2 in all}}
  "nsatile.fold"(%a, %a) <{operandSegmentSizes = array<i32: 2, 0, 0, 0, 0, 0, 0, 0>, parts = 1 : i64}> ({
  ^bb0(%tile: index, %partial: i1):
    nsatile.yield
  }) : (index, index) -> ()
  nsatile.return
}

// -----

nsatile.program @both(%a: index, %list: memref<16xi32>) {
  // expected-error @+1 {{expected a tile or a list, found both}}
  "nsatile.fold"(%a, %list) <{operandSegmentSizes = array<i32: 0, 1, 1, 0, 0, 0, 0, 0>, parts = 1 : i64}> ({
  ^bb0(%tile: index, %partial: i1):
    nsatile.yield
  }) : (index, memref<16xi32>) -> ()
  nsatile.return
}

// -----

nsatile.program @parts(%a: index) {
  // expected-error @+1 {{expected parts of a tile or of a list's entries, found them with ranges alone}}
  nsatile.fold parts 2 over %a to %a {
  ^bb0(%tile: index, %partial: i1):
    nsatile.yield
  }
  nsatile.return
}

// -----

nsatile.program @count(%a: index) {
  // expected-error @+1 {{expected a count, members and indices with a list only}}
  "nsatile.fold"(%a, %a) <{operandSegmentSizes = array<i32: 0, 1, 0, 0, 1, 0, 0, 0>, parts = 1 : i64}> ({
  ^bb0(%tile: index, %partial: i1):
    nsatile.yield
  }) : (index, index) -> ()
  nsatile.return
}

// -----

nsatile.program @reals(%list: memref<16xf32>) {
  // expected-error @+1 {{expected a list of integers, found 'memref<16xf32>'}}
  nsatile.fold in %list[] : memref<16xf32> {
  ^bb0(%tile: index, %partial: i1):
    nsatile.yield
  }
  nsatile.return
}

// -----

nsatile.program @row(%list: memref<4x16xi32>) {
  // expected-error @+1 {{expected an index for each dimension of the list but the last, found 0 for 'memref<4x16xi32>'}}
  nsatile.fold in %list[] : memref<4x16xi32> {
  ^bb0(%tile: index, %partial: i1):
    nsatile.yield
  }
  nsatile.return
}

// -----

nsatile.program @first(%list: memref<16xi32>, %n: index) {
  // expected-error @+1 {{expected a first entry with a count only}}
  nsatile.fold in %list[] : memref<16xi32> from %n {
  ^bb0(%tile: index, %partial: i1):
    nsatile.yield
  }
  nsatile.return
}

// -----

nsatile.program @size(%list: memref<?xi32>) {
  // expected-error @+1 {{expected a count, as rows of the list have no fixed size}}
  nsatile.fold in %list[] : memref<?xi32> {
  ^bb0(%tile: index, %partial: i1):
    nsatile.yield
  }
  nsatile.return
}

// -----

nsatile.program @members(%n: index, %list: memref<16xi32>, %members: memref<16xi32>) {
  // expected-error @+1 {{expected members that are integers, with a dimension of fixed size behind those of 'memref<16xi32>', found 'memref<16xi32>'}}
  "nsatile.fold"(%list, %n, %members) <{operandSegmentSizes = array<i32: 0, 0, 1, 0, 1, 0, 1, 0>, parts = 1 : i64}> ({
  ^bb0(%tile: index, %partial: i1, %word: i32):
    nsatile.yield
  }) : (memref<16xi32>, index, memref<16xi32>) -> ()
  nsatile.return
}

// -----

nsatile.program @words(%n: index, %list: memref<16xi32>, %members: memref<16x2xi32>) {
  // expected-error @+1 {{expected a body of arguments ('index', 'i1', 'i32', 'i32'), found ('index', 'i1', 'i32')}}
  nsatile.fold in %list[] : memref<16xi32> count %n with %members : memref<16x2xi32> {
  ^bb0(%tile: index, %partial: i1, %word: i32):
    nsatile.yield
  }
  nsatile.return
}

// -----

nsatile.program @arguments(%a: index) {
  // expected-error @+1 {{expected a body of arguments ('index', 'i1'), found ('index')}}
  nsatile.fold at %a {
  ^bb0(%tile: index):
    nsatile.yield
  }
  nsatile.return
}

// -----

nsatile.program @results(%a: index, %x: f32) {
  // expected-error @+1 {{expected results of the state's types ('f32'), found ()}}
  "nsatile.fold"(%a, %x) <{operandSegmentSizes = array<i32: 0, 1, 0, 0, 0, 0, 0, 1>, parts = 1 : i64}> ({
  ^bb0(%tile: index, %partial: i1, %y: f32):
    nsatile.yield %y : f32
  }) : (index, f32) -> ()
  nsatile.return
}

// -----

nsatile.program @yield(%a: index, %x: f32) {
  %r = nsatile.fold at %a state(%x : f32) {
  ^bb0(%tile: index, %partial: i1, %y: f32):
    // expected-error @+1 {{expected values of the state's types ('f32'), found ()}}
    nsatile.yield
  }
  nsatile.return
}

// -----

nsatile.program @terminator(%a: index) {
  // expected-error @+1 {{expected a body that ends with nsatile.yield}}
  nsatile.fold at %a {
  ^bb0(%tile: index, %partial: i1):
    llvm.unreachable
  }
  nsatile.return
}

// -----

nsatile.program @scores(%a: index) {
  // expected-error @+1 {{expected a body that ends with nsatile.yield_scores}}
  %r:2 = nsatile.softmax_fold at %a : tensor<4xf32>, tensor<4xf32> {
  ^bb0(%tile: index, %partial: i1):
    llvm.unreachable
  }
  nsatile.return
}

// -----

nsatile.program @keys(%a: index, %s: tensor<4x8xf32>, %v: tensor<16x2xf32>, %c: f32) {
  %r:3 = nsatile.softmax_fold at %a : tensor<4xf32>, tensor<4xf32>, tensor<4x2xf32> {
  ^bb0(%tile: index, %partial: i1):
    // expected-error @+1 {{expected values of 8 keys, as many as scores, found 16}}
    nsatile.yield_scores %s scale %c values %v : tensor<4x8xf32>, tensor<16x2xf32>
  }
  nsatile.return
}

// -----

nsatile.program @types(%a: index, %s: tensor<4x8xf32>, %v: tensor<8x2xf32>, %c: f32) {
  // expected-error @+1 {{expected results of types ('tensor<4xf32>', 'tensor<4xf32>', 'tensor<4x2xf32>'), found ('tensor<4xf32>', 'tensor<4xf32>')}}
  %r:2 = nsatile.softmax_fold at %a : tensor<4xf32>, tensor<4xf32> {
  ^bb0(%tile: index, %partial: i1):
    nsatile.yield_scores %s scale %c values %v : tensor<4x8xf32>, tensor<8x2xf32>
  }
  nsatile.return
}

// -----

nsatile.program @state(%a: index, %s: tensor<4x8xf32>, %c: f32, %x: tensor<2xf32>) {
  // expected-error @+1 {{expected a state of types ('tensor<4xf32>', 'tensor<4xf32>'), found ('tensor<2xf32>')}}
  %r:2 = "nsatile.softmax_fold"(%a, %x) <{operandSegmentSizes = array<i32: 0, 1, 0, 0, 0, 0, 0, 1>, parts = 1 : i64}> ({
  ^bb0(%tile: index, %partial: i1):
    nsatile.yield_scores %s scale %c : tensor<4x8xf32>
  }) : (index, tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  nsatile.return
}
