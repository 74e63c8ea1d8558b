// What a kernel, its arguments and its results can't be.
// RUN: nsacc-opt %s --verify-diagnostics --split-input-file --allow-unregistered-dialect

// expected-error @below {{expected argument 0 to be a !nsa.tensor, found 'f32'}}
nsa.kernel @argument(%x: f32) {
  nsa.return
}

// -----

// expected-error @below {{expected the name of argument 0 to be a string that isn't empty, found ""}}
nsa.kernel @unnamed(%x: !nsa.tensor<[B], f32> {nsa.name = ""}) {
  nsa.return
}

// -----

// expected-error @below {{expected the name of result 0 to be a string that isn't empty, found 3 : i64}}
nsa.kernel @not_a_string(%x: !nsa.tensor<[B], f32>) -> (!nsa.tensor<[B], f32> {nsa.name = 3}) {
  nsa.return %x : !nsa.tensor<[B], f32>
}

// -----

// expected-error @below {{expected each argument to have its own name, found 'x' twice; rename one}}
nsa.kernel @same_name(%x: !nsa.tensor<[B], f32> {nsa.name = "x"},
                      %y: !nsa.tensor<[B], f32> {nsa.name = "x"}) {
  nsa.return
}

// -----

// expected-error @below {{expected an argument !nsa.tensor<[offsets(T)], i32> with the offsets of ragged dimension 'T'}}
nsa.kernel @no_offsets(%x: !nsa.tensor<[ragged T], f32>) {
  nsa.return
}

// -----

// expected-error @below {{expected offsets of a ragged dimension, but no argument has 'ragged T'}}
nsa.kernel @useless_offsets(%x: !nsa.tensor<[T], f32>, %o: !nsa.tensor<[offsets(T)], i32>) {
  nsa.return
}

// -----

// expected-error @below {{expected one argument of offsets of 'T', found a second one, 'arg2'; drop it}}
nsa.kernel @two_offsets(%x: !nsa.tensor<[ragged T], f32>,
                        %o: !nsa.tensor<[offsets(T)], i32>, %p: !nsa.tensor<[offsets(T)], i32>) {
  nsa.return
}

// -----

// expected-error @below {{expected offsets behind all other arguments, found argument 'arg1' behind them; move it in front}}
nsa.kernel @offsets_first(%o: !nsa.tensor<[offsets(T)], i32>, %x: !nsa.tensor<[ragged T], f32>) {
  nsa.return
}

// -----

// expected-error @below {{expected offsets to be !nsa.tensor<[offsets(…)], i32>, found '!nsa.tensor<[offsets(T)], i64>' of argument 'arg1'}}
nsa.kernel @wide_offsets(%x: !nsa.tensor<[ragged T], f32>, %o: !nsa.tensor<[offsets(T)], i64>) {
  nsa.return
}

// -----

// expected-error @below {{expected dimension 'T' to be ragged everywhere or nowhere, but it is not ragged in argument 'y'}}
nsa.kernel @mixed(%x: !nsa.tensor<[ragged T], f32>, %y: !nsa.tensor<[T], f32> {nsa.name = "y"},
                  %o: !nsa.tensor<[offsets(T)], i32>) {
  nsa.return
}

// -----

nsa.kernel @scalar_code() {
  // expected-error @below {{expected operations on whole tensors in a kernel, found 'arith.constant'; scalar code belongs into nsa.map}}
  %c = arith.constant 1.0 : f32
  nsa.return
}

// -----

nsa.kernel @terminator() {
  // expected-error @below {{expected operations on whole tensors in a kernel, found 'test.end'; scalar code belongs into nsa.map}}
  "test.end"() : () -> ()
}

// -----

nsa.kernel @count(%x: !nsa.tensor<[B], f32>) -> !nsa.tensor<[B], f32> {
  // expected-error @below {{expected 1 values, the results of kernel 'count', found 0}}
  nsa.return
}

// -----

nsa.kernel @convert(%x: !nsa.tensor<[B], f32>) -> (!nsa.tensor<[B], bf16> {nsa.name = "y"}) {
  // expected-error @below {{expected result 'y' to be of type '!nsa.tensor<[B], bf16>', found '!nsa.tensor<[B], f32>'; convert it with nsa.map}}
  nsa.return %x : !nsa.tensor<[B], f32>
}

// -----

nsa.kernel @unknown_dim(%x: !nsa.tensor<[B, T], f32>) {
  %y = nsa.map(%x) : (!nsa.tensor<[B, T], f32>) -> !nsa.tensor<[B, T], i64> {
  ^bb0(%e: f32):
    // expected-error @below {{expected a dimension of the kernel's arguments (B, T), found 'D'}}
    %d = nsa.dim "D"
    nsa.yield %d : index
  }
  nsa.return
}

// -----

nsa.kernel @computed_table(%x: !nsa.tensor<[], f32>) {
  %y = nsa.map(%x) : (!nsa.tensor<[], f32>) -> !nsa.tensor<[], f32> {
  ^bb0(%e: f32):
    nsa.yield %e : f32
  }
  %z = nsa.map(%x) : (!nsa.tensor<[], f32>) -> !nsa.tensor<[], f32> {
  ^bb0(%e: f32):
    // expected-error @below {{expected the table to be an argument of the kernel; scalar code can't read computed tensors}}
    %d = nsa.table_read %y[] : !nsa.tensor<[], f32>
    nsa.yield %d : f32
  }
  nsa.return
}

// -----

nsa.kernel @index_count(%x: !nsa.tensor<[B], f32>, %table: !nsa.tensor<[H, 4], f32>) {
  %y = nsa.map(%x) : (!nsa.tensor<[B], f32>) -> !nsa.tensor<[B], f32> {
  ^bb0(%e: f32):
    %c = arith.constant 0 : index
    // expected-error @below {{expected one index for each dimension of [H, 4], found 1}}
    %d = nsa.table_read %table[%c] : !nsa.tensor<[H, 4], f32>
    nsa.yield %d : f32
  }
  nsa.return
}

// -----

nsa.kernel @no_row(%x: !nsa.tensor<[ragged T], f32>, %o: !nsa.tensor<[offsets(T)], i32>) {
  %y = nsa.map(%x) : (!nsa.tensor<[ragged T], f32>) -> !nsa.tensor<[ragged T], f32> {
  ^bb0(%e: f32):
    %c = arith.constant 0 : index
    // expected-error @below {{expected the batch row ('row %b') of an index into the ragged table [ragged T]}}
    %d = nsa.table_read %x[%c] : !nsa.tensor<[ragged T], f32>
    nsa.yield %d : f32
  }
  nsa.return
}

// -----

nsa.kernel @needless_row(%x: !nsa.tensor<[B], f32>) {
  %y = nsa.map(%x) : (!nsa.tensor<[B], f32>) -> !nsa.tensor<[B], f32> {
  ^bb0(%e: f32):
    %c = arith.constant 0 : index
    // expected-error @below {{expected no batch row for the table [B], which isn't ragged; drop 'row'}}
    %d = nsa.table_read %x[%c] row %c : !nsa.tensor<[B], f32>
    nsa.yield %d : f32
  }
  nsa.return
}

// -----

nsa.kernel @read_type(%x: !nsa.tensor<[], f32>) {
  %y = nsa.map(%x) : (!nsa.tensor<[], f32>) -> !nsa.tensor<[], i1> {
  ^bb0(%e: f32):
    // expected-error @+2 {{failed to infer returned types}}
    // expected-error @below {{inferred type(s) 'f32' are incompatible with return type(s) of operation 'i1'}}
    %d = "nsa.table_read"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!nsa.tensor<[], f32>) -> i1
    nsa.yield %d : i1
  }
  nsa.return
}

// -----

// expected-error @below {{expected the order of argument 'x' to be an array<i64: …> with each of its 2 dimensions once, found array<i64: 0, 0>}}
nsa.kernel @order_twice(%x: !nsa.tensor<[B, T], f32> {nsa.name = "x", nsa.order = array<i64: 0, 0>}) {
  nsa.return
}

// -----

// expected-error @below {{expected the order of argument 'x' to be an array<i64: …> with each of its 2 dimensions once, found array<i64: 0>}}
nsa.kernel @order_short(%x: !nsa.tensor<[B, T], f32> {nsa.name = "x", nsa.order = array<i64: 0>}) {
  nsa.return
}

// -----

// expected-error @below {{expected the order of result 'out' to be an array<i64: …> with each of its 2 dimensions once, found 3 : i64}}
nsa.kernel @order_of_result(%x: !nsa.tensor<[B, T], f32>) -> (!nsa.tensor<[B, T], f32> {nsa.order = 3}) {
  nsa.return %x : !nsa.tensor<[B, T], f32>
}

// -----

!x = !nsa.tensor<[B], f32>
// expected-error @below {{expected the name of a statement in quotes as nsa.name, found 3 : i64}}
nsa.kernel @statement_name(%x: !x) -> !x {
  %y = nsa.map(%x) {nsa.name = 3} : (!x) -> !x {
  ^bb0(%e: f32):
    nsa.yield %e : f32
  }
  nsa.return %y : !x
}
