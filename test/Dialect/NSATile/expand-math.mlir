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

// Angles of every size: the bits of 2 / pi that count are chosen by the exponent.
// CHECK-LABEL: func.func @angles
func.func @angles(%x: vector<8xf32>, %y: f32) -> (vector<8xf32>, f32) {
  // CHECK-NOT: math.sin
  // CHECK-NOT: math.cos
  // CHECK: arith.muli {{.*}} : vector<8xi64>
  // CHECK: arith.sitofp {{.*}} : vector<8xi64> to vector<8xf32>
  // CHECK: arith.muli {{.*}} : i64
  %a = math.sin %x : vector<8xf32>
  %b = math.cos %y : f32
  return %a, %b : vector<8xf32>, f32
}

// CHECK-LABEL: func.func @powers
func.func @powers(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
  // CHECK-NOT: math.powf
  // CHECK: math.fma {{.*}} : vector<8xf64>
  // CHECK: arith.truncf {{.*}} : vector<8xf64> to vector<8xf32>
  // CHECK: math.floor
  %a = math.powf %x, %y : vector<8xf32>
  return %a : vector<8xf32>
}

// CHECK-LABEL: func.func @small_powers
// CHECK-SAME: %[[X:.*]]: f32)
func.func @small_powers(%x: f32) -> (f32, f32) {
  // CHECK-NEXT: %[[S:.*]] = arith.mulf %[[X]], %[[X]] : f32
  // CHECK-NEXT: %[[C:.*]] = arith.mulf %[[X]], %[[X]] : f32
  // CHECK-NEXT: %[[D:.*]] = arith.mulf %[[C]], %[[X]] : f32
  // CHECK-NEXT: return %[[S]], %[[D]]
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %a = math.powf %x, %two : f32
  %b = math.powf %x, %three : f32
  return %a, %b : f32, f32
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
