// What elementwise code can't be.
// RUN: nsacc-opt %s --verify-diagnostics --split-input-file --allow-unregistered-dialect

nsa.kernel @order(%x: !nsa.tensor<[T, B], f32>, %y: !nsa.tensor<[B, T], f32>) {
  // expected-error @below {{expected the dimensions of input 0 to stand in the result's [B, T] in this order, found [T, B]}}
  %z = nsa.map(%x, %y) : (!nsa.tensor<[T, B], f32>, !nsa.tensor<[B, T], f32>) -> !nsa.tensor<[B, T], f32> {
  ^bb0(%e: f32, %f: f32):
    nsa.yield %e : f32
  }
  nsa.return
}

// -----

nsa.kernel @open_choice(%x: !nsa.tensor<[B, 4], f32>, %y: !nsa.tensor<[B, 4, T, 4], f32>) {
  // expected-error @below {{expected the dimensions of input 0 to stand in the result's [B, 4, T, 4] in one way, found [B, 4]}}
  %z = nsa.map(%x, %y) : (!nsa.tensor<[B, 4], f32>, !nsa.tensor<[B, 4, T, 4], f32>) -> !nsa.tensor<[B, 4, T, 4], f32> {
  ^bb0(%e: f32, %f: f32):
    nsa.yield %e : f32
  }
  nsa.return
}

// -----

nsa.kernel @unknown_size(%x: !nsa.tensor<[B], f32>, %y: !nsa.tensor<[T], f32>) {
  // expected-error @below {{expected an input with each dimension of the result, found none with 'T'}}
  %z = nsa.map(%x) : (!nsa.tensor<[B], f32>) -> !nsa.tensor<[B, T], f32> {
  ^bb0(%e: f32):
    nsa.yield %e : f32
  }
  nsa.return
}

// -----

nsa.kernel @arguments(%x: !nsa.tensor<[B], i32>) {
  // expected-error @below {{expected scalar code with one argument for each input, ('index'), found ('f32')}}
  %z = nsa.map(%x) : (!nsa.tensor<[B], i32>) -> !nsa.tensor<[B], f32> {
  ^bb0(%e: f32):
    nsa.yield %e : f32
  }
  nsa.return
}

// -----

nsa.kernel @yields(%x: !nsa.tensor<[B], i32>) {
  %z = nsa.map(%x) : (!nsa.tensor<[B], i32>) -> !nsa.tensor<[B], bf16> {
  ^bb0(%e: index):
    // expected-error @below {{expected to yield 'f32', found 'index'; convert the value first}}
    nsa.yield %e : index
  }
  nsa.return
}

// -----

// A constant of fp64 is for arith.truncf alone.
nsa.kernel @doubles(%x: !nsa.tensor<[B], f32>) {
  %z = nsa.map(%x) : (!nsa.tensor<[B], f32>) -> !nsa.tensor<[B], f32> {
  ^bb0(%e: f32):
    // expected-error @below {{expected scalar code to compute with f32, index, i1 and i64, found 'f64'}}
    %c = arith.constant 0.1 : f64
    %d = arith.addf %c, %c : f64
    %f = arith.truncf %d : f64 to f32
    nsa.yield %f : f32
  }
  nsa.return
}

// -----

nsa.kernel @vectors(%x: !nsa.tensor<[B], f32>) {
  %z = nsa.map(%x) : (!nsa.tensor<[B], f32>) -> !nsa.tensor<[B], f32> {
  ^bb0(%e: f32):
    // expected-error @below {{expected scalar code to compute with f32, index, i1 and i64, found 'vector<4xf32>'}}
    %c = arith.constant dense<1.0> : vector<4xf32>
    nsa.yield %e : f32
  }
  nsa.return
}

// -----

func.func private @opaque(f32) -> f32

nsa.kernel @calls(%x: !nsa.tensor<[B], f32>) {
  %z = nsa.map(%x) : (!nsa.tensor<[B], f32>) -> !nsa.tensor<[B], f32> {
  ^bb0(%e: f32):
    // expected-error @below {{expected scalar code of arith, math, nsa.dim and nsa.table_read, found 'func.call'}}
    %c = func.call @opaque(%e) : (f32) -> f32
    nsa.yield %c : f32
  }
  nsa.return
}

// -----

nsa.kernel @nested(%x: !nsa.tensor<[], f32>) {
  %z = nsa.map(%x) : (!nsa.tensor<[], f32>) -> !nsa.tensor<[], f32> {
  ^bb0(%e: f32):
    // expected-error @below {{expected scalar code of arith, math, nsa.dim and nsa.table_read, found 'nsa.map'}}
    %y = nsa.map(%x) : (!nsa.tensor<[], f32>) -> !nsa.tensor<[], f32> {
    ^bb0(%f: f32):
      nsa.yield %f : f32
    }
    nsa.yield %e : f32
  }
  nsa.return
}

// -----

nsa.kernel @terminator(%x: !nsa.tensor<[B], f32>) {
  %z = "nsa.map"(%x) ({
  ^bb0(%e: f32):
    // expected-error @below {{expected scalar code of arith, math, nsa.dim and nsa.table_read, found 'test.end'}}
    "test.end"() : () -> ()
  }) : (!nsa.tensor<[B], f32>) -> !nsa.tensor<[B], f32>
  nsa.return
}
