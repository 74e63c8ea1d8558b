// A loop for each answer to a branch, while a product stays in flight.
// RUN: nsacc-opt %s --nsatile-split-key-loops --canonicalize --split-input-file --remarks-filter=".*" 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// REMARK: [Passed] {{.*}}Function=causal | Remark="the loop is split into 2 whose steps have no branch"
// REMARK: [Passed] {{.*}}Function=window | Remark="the loop is split into 3 whose steps have no branch"
// REMARK: [Missed] {{.*}}Function=other | Remark="no branch of a step is taken from some step on, or up to one"

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>

// Keys from %mid on are partly seen.

// CHECK-LABEL: nsatile.program @causal
// CHECK-SAME: %[[LO:[a-z0-9]+]]: index, %[[MID:[a-z0-9]+]]: index, %[[HI:[a-z0-9]+]]: index
// CHECK: %[[LEAST:.*]] = arith.minsi %[[HI]], %[[MID]]
// CHECK: %[[END:.*]] = arith.maxsi %[[LEAST]], %[[LO]]
// CHECK: %[[FULL:.*]] = scf.for %{{.*}} = %[[LO]] to %[[END]]
// CHECK-NOT: arith.select
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %[[END]] to %[[HI]] {{.*}} iter_args(%{{.*}} = %[[FULL]])
// CHECK-NOT: scf.if
// CHECK: arith.select
nsatile.program @causal(%q: tensor<64x64xbf16, #m>, %k: tensor<64x64xbf16, #m>, %seen: tensor<64x64xi1, #s>, %lo: index, %mid: index, %hi: index, %out: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %r = scf.for %j = %lo to %hi step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
    %partial = arith.cmpi sge, %j, %mid : index
    %p = nsatile.dot_async %q, transpose %k : (tensor<64x64xbf16, #m>, tensor<64x64xbf16, #m>) -> !nsatile.pending<tensor<64x64xf32, #s>>
    %d = nsatile.dot_wait %p allow 0 : !nsatile.pending<tensor<64x64xf32, #s>>
    %t = scf.if %partial -> tensor<64x64xf32, #s> {
      %x = arith.select %seen, %d, %zero : tensor<64x64xi1, #s>, tensor<64x64xf32, #s>
      scf.yield %x : tensor<64x64xf32, #s>
    } else {
      scf.yield %d : tensor<64x64xf32, #s>
    }
    %sum = arith.addf %acc, %t : tensor<64x64xf32, #s>
    scf.yield %sum : tensor<64x64xf32, #s>
  }
  nsatile.store %r, %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : tensor<64x64xf32, #s>, memref<64x64xf32>
  nsatile.return
}

// -----

// Whole tiles between partial ones.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>

// CHECK-LABEL: nsatile.program @window
// CHECK: scf.for
// CHECK: arith.select
// CHECK: scf.for
// CHECK-NOT: arith.select
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: arith.select
nsatile.program @window(%q: tensor<64x64xbf16, #m>, %k: tensor<64x64xbf16, #m>, %seen: tensor<64x64xi1, #s>, %lo: index, %a: index, %b: index, %hi: index, %out: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %r = scf.for %j = %lo to %hi step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
    %before = arith.cmpi slt, %j, %a : index
    %after = arith.cmpi sge, %j, %b : index
    %partial = arith.ori %before, %after : i1
    %p = nsatile.dot_async %q, transpose %k : (tensor<64x64xbf16, #m>, tensor<64x64xbf16, #m>) -> !nsatile.pending<tensor<64x64xf32, #s>>
    %d = nsatile.dot_wait %p allow 0 : !nsatile.pending<tensor<64x64xf32, #s>>
    %t = scf.if %partial -> tensor<64x64xf32, #s> {
      %x = arith.select %seen, %d, %zero : tensor<64x64xi1, #s>, tensor<64x64xf32, #s>
      scf.yield %x : tensor<64x64xf32, #s>
    } else {
      scf.yield %d : tensor<64x64xf32, #s>
    }
    %sum = arith.addf %acc, %t : tensor<64x64xf32, #s>
    scf.yield %sum : tensor<64x64xf32, #s>
  }
  nsatile.store %r, %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : tensor<64x64xf32, #s>, memref<64x64xf32>
  nsatile.return
}

// -----

// What is asked isn't about the loop's steps alone; nothing is in flight.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>

// CHECK-LABEL: nsatile.program @other
// CHECK: scf.for
// CHECK-NOT: scf.for
nsatile.program @other(%q: tensor<64x64xbf16, #m>, %k: tensor<64x64xbf16, #m>, %lo: index, %mid: index, %hi: index, %out: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %r = scf.for %j = %lo to %hi step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
    %p = nsatile.dot_async %q, transpose %k : (tensor<64x64xbf16, #m>, tensor<64x64xbf16, #m>) -> !nsatile.pending<tensor<64x64xf32, #s>>
    %d = nsatile.dot_wait %p allow 0 : !nsatile.pending<tensor<64x64xf32, #s>>
    %odd = arith.andi %j, %c1 : index
    %is = arith.cmpi eq, %odd, %mid : index
    %t = scf.if %is -> tensor<64x64xf32, #s> {
      %x = arith.addf %acc, %d : tensor<64x64xf32, #s>
      scf.yield %x : tensor<64x64xf32, #s>
    } else {
      scf.yield %d : tensor<64x64xf32, #s>
    }
    scf.yield %t : tensor<64x64xf32, #s>
  }
  nsatile.store %r, %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : tensor<64x64xf32, #s>, memref<64x64xf32>
  nsatile.return
}
