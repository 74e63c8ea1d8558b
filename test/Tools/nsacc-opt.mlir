// The driver knows the scalar dialects that masks and scores are written in.
// RUN: nsacc-opt %s --verify-roundtrip --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @scalar_code
func.func @scalar_code(%s: f64, %i: i64, %j: i64) -> f64 {
  // CHECK: %[[VISIBLE:.*]] = arith.cmpi sle
  // CHECK: %[[CAPPED:.*]] = math.tanh
  // CHECK: arith.select %[[VISIBLE]], %[[CAPPED]]
  %zero = arith.constant 0.0 : f64
  %visible = arith.cmpi sle, %j, %i : i64
  %capped = math.tanh %s : f64
  %r = scf.if %visible -> f64 {
    scf.yield %capped : f64
  } else {
    scf.yield %zero : f64
  }
  return %r : f64
}
