// What the verifiers of the nsatile dialect reject, and what they say instead.
// RUN: nsacc-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{there is no field 'hats'}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 1, keys = 1, hats = 2>} {
  nsatile.return
}

// -----

// expected-error @below {{'tokens' is given twice}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 1, keys = 1, merge = <tokens = 2, tokens = 3>>} {
  nsatile.return
}

// -----

// expected-error @below {{expected query_major, union, key_major or block_major for 'order', found unoin}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<order = unoin, tokens = 1, keys = 1>} {
  nsatile.return
}

// -----

// expected-error @below {{needs tokens, and keys or blocks, in its schedule, found #nsatile.schedule<tokens = 1>}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 1>} {
  nsatile.return
}

// -----

// expected-error @below {{expected 1 to 65536 for 'tokens', found 0}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 0, keys = 64>} {
  nsatile.return
}

// -----

// expected-error @below {{expected 1 to 65536 for 'tokens', found 70000}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 70000, keys = 64>} {
  nsatile.return
}

// -----

// expected-error @below {{expected 1 to 65536 for 'keys', found 0}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 1, keys = 0>} {
  nsatile.return
}

// -----

// expected-error @below {{splits = auto goes with order query_major or union, found order key_major}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<order = key_major, tokens = 1, keys = 1, splits = auto>} {
  nsatile.return
}

// -----

// expected-error @below {{expected a part that divides the 8 tokens, found 3}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 8, keys = 1, part = 3>} {
  nsatile.return
}

// -----

// expected-error @below {{expected 1 to 65536 for 'channels', found -1}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 8, keys = 1, channels = -1>} {
  nsatile.return
}

// -----

// expected-error @below {{expected 1 to 32 for 'blocks_per_sm', found 0}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 8, keys = 1, blocks_per_sm = 0>} {
  nsatile.return
}

// -----

// expected-error @below {{expected 1 to 16 or auto for 'query_stages', found -1}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 8, keys = 1, query_stages = -1>} {
  nsatile.return
}

// -----

// expected-error @below {{expected 1 to 65536 for 'chunk', found -1}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 8, keys = 1, chunk = -1>} {
  nsatile.return
}

// -----

// expected-error @below {{expected 0 to 1024 in multiples of 16 or auto for 'columns_in_registers', found -2}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 8, keys = 1, columns_in_registers = -2>} {
  nsatile.return
}

// -----

// expected-error @below {{expected tokens of the exact program that divide the 8 tokens, found 5}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 8, keys = 1, exact = <tokens = 5, keys = 1>>} {
  nsatile.return
}

// -----

// expected-error @below {{expected both tokens and keys of the exact program, or neither, found 4 and 0}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 8, keys = 1, exact = <tokens = 4>>} {
  nsatile.return
}

// -----

// expected-error @below {{expected 1 to 65536 for 'windows', found 0}}
module attributes {nsatile.schedule = #nsatile.schedule<windows = 0>} {}

// -----

// expected-error @below {{expected 1 to 65536 for 'columns', found 0}}
module attributes {nsatile.schedule = #nsatile.schedule<rows = 16, columns = 0>} {}

// -----

// expected-error @below {{expected 1 to 65536 or auto for 'merge.tokens', found -1}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 1, keys = 1, splits = 2, merge = <tokens = -1>>} {
  nsatile.return
}

// -----

// expected-error @below {{expected 1 to 65536 or auto for 'merge.heads', found -1}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 1, keys = 1, splits = 2, merge = <heads = -1>>} {
  nsatile.return
}

// -----

// expected-error @below {{expected no split of the keys under order block_major, found 2}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<order = block_major, tokens = 1, keys = 1, splits = 2>} {
  nsatile.return
}

// -----

nsatile.program @p(%m: tensor<4xf32>, %n: tensor<8xf32>) {
  // expected-error @below {{failed to verify that all of {lhsMax, lhsSum, rhsMax, rhsSum, newMax, newSum, lhsDecay, rhsDecay} have same type}}
  "nsatile.softmax_merge"(%m, %m, %n, %n) : (tensor<4xf32>, tensor<4xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  nsatile.return
}

// -----

// expected-error @below {{returns nothing; store results into a buffer argument}}
nsatile.program @p() -> index {
  nsatile.return
}

// -----

// expected-error @below {{returns nothing; results are buffer arguments}}
nsatile.plan @p() -> index {
  nsatile.return
}

// -----

// expected-note @below {{a plan holds sizes of buffers, integer arithmetic, workspace and launches}}
nsatile.plan @p(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{can't stand in a launch plan}}
  %y = memref.load %x[%c0] : memref<4xf32>
  nsatile.return
}

// -----

nsatile.plan @p() {
  %c1 = arith.constant 1 : index
  nsatile.repeat %i below %c1 {
    // expected-error @below {{expects parent op 'nsatile.plan'}}
    %w = nsatile.workspace(%i) : memref<?xf32>
  }
  nsatile.return
}

// -----

nsatile.plan @p() {
  %c1 = arith.constant 1 : index
  nsatile.repeat %i below %c1 {
    // expected-error @below {{expects parent op 'nsatile.plan'}}
    nsatile.repeat %j below %c1 {
    }
  }
  nsatile.return
}

// -----

nsatile.plan @p(%x: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  // expected-note @below {{it holds integer arithmetic and launches; sizes of buffers and workspace stand in front}}
  nsatile.repeat %i below %c1 {
    // expected-error @below {{can't stand in a plan's loop}}
    %n = memref.dim %x, %i : memref<?xf32>
  }
  nsatile.return
}

// -----

nsatile.plan @p() {
  %c1 = arith.constant 1 : index
  // expected-error @below {{expected a body with one index: the number of a time}}
  "nsatile.repeat"(%c1) ({
  ^bb0(%i: i32):
  }) : (index) -> ()
  nsatile.return
}

// -----

nsatile.program @p() {
  %c1 = arith.constant 1 : index
  // expected-error @below {{expects parent op 'nsatile.plan'}}
  nsatile.repeat %i below %c1 {
  }
  nsatile.return
}

// -----

nsatile.plan @p() {
  // expected-error @below {{expected a size for each of the 1 dynamic dimensions, found 0}}
  %w = nsatile.workspace() : memref<?xf32>
  nsatile.return
}

// -----

nsatile.plan @p() {
  %c1 = arith.constant 1 : index
  // expected-error @below {{expected the name of a program, found 'q'}}
  nsatile.launch @q grid(%c1, %c1, %c1) ()
  nsatile.return
}

// -----

// expected-note @below {{the program stands here}}
nsatile.program @q(%x: index) {
  nsatile.return
}
nsatile.plan @p() {
  %c1 = arith.constant 1 : index
  // expected-error @below {{expected arguments of types ('index'), found ()}}
  nsatile.launch @q grid(%c1, %c1, %c1) ()
  nsatile.return
}

// -----

nsatile.program @p(%x: memref<?x?xf32>, %i: tensor<4xindex>) {
  // expected-error @below {{expected an index for each of the 2 dimensions of the buffer, found 1}}
  %t = nsatile.gather %x[%i] : memref<?x?xf32>, tensor<4xindex> -> tensor<4xf32>
  nsatile.return
}

// -----

nsatile.program @p(%x: memref<?xf32>, %i: tensor<4xindex>) {
  // expected-error @below {{expected indices of the shape of 'tensor<8xf32>', found 'tensor<4xindex>'}}
  %t = nsatile.gather %x[%i] : memref<?xf32>, tensor<4xindex> -> tensor<8xf32>
  nsatile.return
}

// -----

nsatile.program @p(%x: memref<?xf32>, %i: tensor<4xindex>) {
  // expected-error @below {{expected a tile of the buffer's element type 'f32', found 'bf16'}}
  %t = nsatile.gather %x[%i] : memref<?xf32>, tensor<4xindex> -> tensor<4xbf16>
  nsatile.return
}

// -----

nsatile.program @p(%n: index) {
  // expected-error @below {{expected equal shares, found 64 positions for 3 warpgroups}}
  %first, %end = nsatile.row_range %n to %n of 64 groups 3
  nsatile.return
}

// -----

nsatile.program @p(%n: index) {
  // expected-error @below {{expected a tile of static shape, found 'tensor<?xindex>'}}
  %t = nsatile.iota %n : tensor<?xindex>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4xf32>) {
  // expected-error @below {{expected dimensions of a result of rank 2, found 2}}
  %t = nsatile.broadcast %x along [2] : tensor<4xf32> -> tensor<4x8xf32>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4xf32>) {
  // expected-error @below {{expected the source to be the result without dimensions [0], found 'tensor<4xf32>' and 'tensor<4x8xf32>'}}
  %t = nsatile.broadcast %x along [0] : tensor<4xf32> -> tensor<4x8xf32>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected a dimension of a tile of rank 2, found 2}}
  %t = nsatile.reduce sum %x along 2 : tensor<4x8xf32> -> tensor<4xf32>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected the source without dimension 1, found 'tensor<8xf32>'}}
  %t = nsatile.reduce sum %x along 1 : tensor<4x8xf32> -> tensor<8xf32>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<?x8xf32>) {
  // expected-error @below {{expected tiles of static shape}}
  %t = nsatile.dot %x, transpose %x : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x?xf32>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected operands with equal inner sizes, found 'tensor<4x8xf32>' and 'tensor<4x8xf32>'}}
  %t = nsatile.dot %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected a result of 4x4, found 'tensor<4x8xf32>'}}
  %t = nsatile.dot %x, transpose %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected an accumulator of the result's type 'tensor<4x4xf32>', found 'tensor<4x8xf32>'}}
  %t = nsatile.dot %x, transpose %x acc %x : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  nsatile.return
}

// -----

nsatile.program @p(%ok: tensor<4xi1>, %v: tensor<8xindex>) {
  // expected-error @below {{expected values of the condition's shape, found 'tensor<8xindex>' for 'tensor<4xi1>'}}
  nsatile.assert %ok, "at {0}" (%v) : tensor<4xi1>, tensor<8xindex>
  nsatile.return
}

// -----

nsatile.program @p(%ok: i1, %v: index) {
  // expected-error @below {{expected the message to name values 0 to 1 - 1 in braces, found '{1}'}}
  nsatile.assert %ok, "at {0} of {1}" (%v) : i1, index
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4x6xi64>) {
  // expected-error @below {{expected a number of columns that is a power of two, found 'tensor<4x6xi64>'}}
  %s = nsatile.exchange %x by 2 : tensor<4x6xi64>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4x8xi64>) {
  // expected-error @below {{expected a mask from 1 to 7, found 8}}
  %s = nsatile.exchange %x by 8 : tensor<4x8xi64>
  nsatile.return
}

// -----

nsatile.program @p(%ok: i1, %v: index) {
  // expected-error @below {{expected at most 24 values, found 25}}
  nsatile.assert %ok, "no" (%v, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v) : i1, index, index, index, index, index, index, index, index, index, index, index, index, index, index, index, index, index, index, index, index, index, index, index, index, index
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4x8xf32>, %seen: tensor<4x8xi1>) {
  // expected-error @below {{expected operands that aren't transposed where rows see parts of them}}
  %t = nsatile.dot %x, transpose %x where %seen : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xi1>) -> tensor<4x4xf32>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4x8xf32>, %seen: tensor<4x8xi1>) {
  // expected-error @below {{expected operands that aren't transposed where rows see parts of them}}
  %t = nsatile.dot transpose %x, %x where %seen : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xi1>) -> tensor<8x8xf32>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected operands with equal inner sizes, found 'tensor<4x8xf32>' transposed and 'tensor<4x8xf32>' transposed}}
  %t = nsatile.dot transpose %x, transpose %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x4xf32>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected a result of 8x8, found 'tensor<4x4xf32>'}}
  %t = nsatile.dot transpose %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4x8xf32>, %y: tensor<8x2xf32>, %seen: tensor<4x2xi1>) {
  // expected-error @below {{expected visibility for each element of the left operand 'tensor<4x8xf32>', found 'tensor<4x2xi1>'}}
  %t = nsatile.dot %x, %y where %seen : (tensor<4x8xf32>, tensor<8x2xf32>, tensor<4x2xi1>) -> tensor<4x2xf32>
  nsatile.return
}

// -----

nsatile.program @p(%m: tensor<4xf32>, %x: tensor<8x8xf32>, %c: f32) {
  // expected-error @below {{expected one state for each of the 8 rows, found 4}}
  %a, %b, %p, %d = nsatile.softmax_update %m, %m, %x scale %c : tensor<4xf32>, tensor<8x8xf32>
  nsatile.return
}

// -----

nsatile.program @p(%m: tensor<4xf32>, %x: tensor<4x8xf32>, %c: f32, %rows: tensor<8xi1>) {
  // expected-error @below {{expected rows of type 'tensor<4xi1>', found 'tensor<8xi1>'}}
  %a, %b, %p, %d = nsatile.softmax_update %m, %m, %x scale %c rows %rows : tensor<8xi1> : tensor<4xf32>, tensor<4x8xf32>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<?x8xi64>) {
  // expected-error @below {{expected keys of static shape, found 'tensor<?x8xi64>'}}
  %t = nsatile.sort ascending %x : tensor<?x8xi64>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4x8xi64>, %y: tensor<2x8xi64>) {
  // expected-error @below {{expected candidates for each of the 4 lists, found rows for 2}}
  %t = nsatile.top %x, %y : tensor<4x8xi64>, tensor<2x8xi64>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4x16xi64>, %y: tensor<4x16xi64>) {
  // expected-error @below {{expected a column for each of a warp's 32 lanes to insert, found 'tensor<4x16xi64>'}}
  %t = nsatile.top %x, %y insert 8 : tensor<4x16xi64>, tensor<4x16xi64>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4x32xi64>, %y: tensor<4x48xi64>) {
  // expected-error @below {{expected as many candidates for each of a warp's 32 lanes, found 'tensor<4x48xi64>'}}
  %t = nsatile.top %x, %y insert 8 : tensor<4x32xi64>, tensor<4x48xi64>
  nsatile.return
}

// -----

nsatile.program @p(%x: tensor<4x32xi64>, %y: tensor<4x32xi64>) {
  // expected-error @below {{expected to keep 1 to 32 keys, found 33}}
  %t = nsatile.top %x, %y insert 33 : tensor<4x32xi64>, tensor<4x32xi64>
  nsatile.return
}

// -----

nsatile.program @lookup_indices(%table: memref<?x?xi32>, %n: index) {
  // expected-error @+1 {{expected an index for each of the 2 dimensions of the buffer, found 1}}
  %element = nsatile.lookup %table[%n] : memref<?x?xi32>
  nsatile.return
}

// -----

nsatile.program @gather_mask(%x: memref<?xi32>, %i: tensor<8xindex>, %in: tensor<4xi1>) {
  // expected-error @+1 {{expected a mask of the shape of 'tensor<8xi32>', found 'tensor<4xi1>'}}
  %t = nsatile.gather %x[%i] where %in : tensor<4xi1> : memref<?xi32>, tensor<8xindex> -> tensor<8xi32>
  nsatile.return
}

// -----

nsatile.program @scatter_indices(%x: memref<?x?xi32>, %t: tensor<8xi32>, %i: tensor<8xindex>) {
  // expected-error @+1 {{expected an index for each of the 2 dimensions of the buffer, found 1}}
  nsatile.scatter set %t, %x[%i] : tensor<8xi32>, memref<?x?xi32>, tensor<8xindex>
  nsatile.return
}

// -----

nsatile.program @scatter_shape(%x: memref<?xi32>, %t: tensor<8xi32>, %i: tensor<4xindex>) {
  // expected-error @+1 {{expected indices of the shape of 'tensor<8xi32>', found 'tensor<4xindex>'}}
  nsatile.scatter set %t, %x[%i] : tensor<8xi32>, memref<?xi32>, tensor<4xindex>
  nsatile.return
}

// -----

nsatile.program @scatter_type(%x: memref<?xi64>, %t: tensor<8xi32>, %i: tensor<8xindex>) {
  // expected-error @+1 {{expected a tile of the buffer's element type 'i64', found 'i32'}}
  nsatile.scatter set %t, %x[%i] : tensor<8xi32>, memref<?xi64>, tensor<8xindex>
  nsatile.return
}

// -----

nsatile.program @scatter_reals(%x: memref<?xf32>, %t: tensor<8xf32>, %i: tensor<8xindex>) {
  // expected-error @+1 {{expected integers of 32 bits to combine, found 'f32'; sums of others depend on their order}}
  nsatile.scatter add %t, %x[%i] : tensor<8xf32>, memref<?xf32>, tensor<8xindex>
  nsatile.return
}

// -----

nsatile.program @scatter_mask(%x: memref<?xi32>, %t: tensor<8xi32>, %i: tensor<8xindex>, %in: tensor<4xi1>) {
  // expected-error @+1 {{expected a mask of the shape of 'tensor<8xi32>', found 'tensor<4xi1>'}}
  nsatile.scatter set %t, %x[%i] where %in : tensor<4xi1> : tensor<8xi32>, memref<?xi32>, tensor<8xindex>
  nsatile.return
}

// -----

nsatile.program @enumerate_counters(%x: memref<?x?xi32>, %key: tensor<8xindex>) {
  // expected-error @+1 {{expected counters in one dimension, found 'memref<?x?xi32>'}}
  %n = nsatile.enumerate %key in %x : memref<?x?xi32>, tensor<8xi32>
  nsatile.return
}

// -----

nsatile.program @enumerate_mask(%x: memref<?xi32>, %key: tensor<8xindex>, %in: tensor<4xi1>) {
  // expected-error @+1 {{expected a mask of the shape of 'tensor<8xi32>', found 'tensor<4xi1>'}}
  %n = nsatile.enumerate %key in %x where %in : tensor<4xi1> : memref<?xi32>, tensor<8xi32>
  nsatile.return
}

// -----

nsatile.program @scan_shape(%t: tensor<?xi32>) {
  // expected-error @+1 {{expected a tile of static shape, found 'tensor<?xi32>'}}
  %before, %sum = nsatile.scan %t : tensor<?xi32>
  nsatile.return
}
