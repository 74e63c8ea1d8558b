// Functions of f32 become polynomials, on scalars and vectors; f64 and functions
// that have none stay.
// RUN: nsacc-opt %s --nsatile-expand-math | FileCheck %s

// CHECK-LABEL: func.func @exp
func.func @exp(%x: vector<16xf32>) -> vector<16xf32> {
  // CHECK-NOT: math.exp
  // CHECK: math.fma {{.*}} : vector<16xf32>
  // CHECK: arith.shli {{.*}} : vector<16xi32>
  // CHECK: arith.cmpf olt
  // CHECK: arith.cmpf ogt
  // CHECK: arith.cmpf uno
  %y = math.exp %x : vector<16xf32>
  return %y : vector<16xf32>
}

// CHECK-LABEL: func.func @exp2
func.func @exp2(%x: f32) -> f32 {
  // CHECK-NOT: math.exp2
  // CHECK: math.fma {{.*}} : f32
  %y = math.exp2 %x : f32
  return %y : f32
}

// CHECK-LABEL: func.func @erf
func.func @erf(%x: vector<8xf32>) -> vector<8xf32> {
  // CHECK-NOT: math.erf
  // CHECK: arith.cmpf olt, {{.*}} : vector<8xf32>
  // CHECK: arith.select
  // CHECK: math.copysign {{.*}}, %{{.*}} : vector<8xf32>
  %y = math.erf %x : vector<8xf32>
  return %y : vector<8xf32>
}

// CHECK-LABEL: func.func @tanh
func.func @tanh(%x: f32) -> f32 {
  // CHECK-NOT: math.tanh
  // CHECK: arith.divf {{.*}} : f32
  // CHECK: math.copysign {{.*}} : f32
  %y = math.tanh %x : f32
  return %y : f32
}

// CHECK-LABEL: func.func @upstream
func.func @upstream(%x: vector<8xf32>) -> vector<8xf32> {
  // CHECK-NOT: math.log
  %a = math.log %x : vector<8xf32>
  %b = math.log2 %a : vector<8xf32>
  return %b : vector<8xf32>
}

// CHECK-LABEL: func.func @stays
func.func @stays(%x: f64, %t: tensor<4xf32>) -> (f64, f64, tensor<4xf32>) {
  // CHECK: math.exp {{.*}} : f64
  %y = math.exp %x : f64
  // CHECK: math.sin
  %z = math.sin %y : f64
  // CHECK: math.exp {{.*}} : tensor<4xf32>
  %u = math.exp %t : tensor<4xf32>
  return %y, %z, %u : f64, f64, tensor<4xf32>
}
