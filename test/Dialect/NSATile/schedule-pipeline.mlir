// Which products of a loop overlap, and why others don't.
// RUN: nsacc-opt %s --nsatile-schedule-pipeline --split-input-file --remarks-filter=".*" 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

// A backward step: two products start it, and three add to sums, of which one has no operand of its own to wait for.

// CHECK-LABEL: nsatile.program @two_sums
// CHECK: nsatile.dot %{{.*}}, transpose %{{.*}} {nsatile.stage = 0 : i64}
// CHECK: nsatile.dot %{{.*}}, transpose %{{.*}} {nsatile.stage = 0 : i64}
// CHECK: nsatile.consumer_wait %{{.*}} {nsatile.stage = 1 : i64}
// CHECK: arith.truncf %{{.*}} {nsatile.late}
// CHECK: nsatile.dot {{.*}} {nsatile.stage = 1 : i64}
// CHECK: nsatile.consumer_release %{{.*}} {nsatile.stage = 1 : i64}
// CHECK: nsatile.dot {{.*}} {nsatile.stage = 1 : i64}
// CHECK: } {nsatile.stages = 2 : i64}
// REMARK: [Passed] {{.*}}2 of 4 products run while the next step's first ones do
nsatile.program @two_sums(%q: tensor<64x64xbf16, #s>, %g: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %ra = nsatile.circular_buffer : !R
  %rb = nsatile.circular_buffer : !R
  %rc = nsatile.circular_buffer : !R
  %rd = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%x = %zero, %y = %zero) -> (tensor<64x64xf32, #s>, tensor<64x64xf32, #s>) {
      %a = nsatile.consumer_wait %ra : !R
      %s = nsatile.dot %q, transpose %a : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %ra : !R
      %b = nsatile.consumer_wait %rb : !R
      %t = nsatile.dot %g, transpose %b : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rb : !R
      %e = math.exp %s : tensor<64x64xf32, #s>
      %c = nsatile.consumer_wait %rc : !R
      %p = arith.truncf %e : tensor<64x64xf32, #s> to tensor<64x64xbf16, #s>
      %x1 = nsatile.dot %p, %c acc %x : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rc : !R
      %u = arith.mulf %e, %t : tensor<64x64xf32, #s>
      %d = nsatile.consumer_wait %rd : !R
      %w = arith.truncf %u : tensor<64x64xf32, #s> to tensor<64x64xbf16, #s>
      %y1 = nsatile.dot %w, %d acc %y : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rd : !R
      scf.yield %x1, %y1 : tensor<64x64xf32, #s>, tensor<64x64xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %r#0, %to : tensor<64x64xf32, #s>
    %to_1 = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %r#1, %to_1 : tensor<64x64xf32, #s>
  } producer {
  }
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

// The operand of the sum's product starts the step, too: it can't be kept for the next one.

// CHECK-LABEL: nsatile.program @shared_operand
// CHECK-NOT: nsatile.stage
// REMARK: [Missed] {{.*}}the product whose sum is carried isn't the only one that reads its right operand
nsatile.program @shared_operand(%q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %rk = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
      %k = nsatile.consumer_wait %rk : !R
      %s = nsatile.dot %q, transpose %k : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      %p = arith.truncf %s : tensor<64x64xf32, #s> to tensor<64x64xbf16, #s>
      %o = nsatile.dot %p, %k acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rk : !R
      scf.yield %o : tensor<64x64xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %r, %to : tensor<64x64xf32, #s>
  } producer {
  }
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

// CHECK-LABEL: nsatile.program @alone
// CHECK-NOT: nsatile.stage
// REMARK: [Missed] {{.*}}the product whose sum is carried waits for no other product
nsatile.program @alone(%q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %rk = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
      %k = nsatile.consumer_wait %rk : !R
      %o = nsatile.dot %q, %k acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rk : !R
      scf.yield %o : tensor<64x64xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %r, %to : tensor<64x64xf32, #s>
  } producer {
  }
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

// A tile that two products read can't wait for the next step: those that need none of each other run side by side.
// CHECK-LABEL: nsatile.program @shared
// CHECK-NOT: nsatile.stage =
// CHECK: } {nsatile.stages = 1 : i64}
// REMARK: [Missed] {{.*}}Function=shared | Remark="the product whose sum is carried isn't the only one that reads its right operand"
// REMARK: [Passed] {{.*}}Function=shared | Remark="products of a step that run side by side: 2, 1"
nsatile.program @shared(%q: tensor<64x64xbf16, #s>, %g: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %ra = nsatile.circular_buffer : !R
  %rb = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%x = %zero) -> (tensor<64x64xf32, #s>) {
      %a = nsatile.consumer_wait %ra : !R
      %s = nsatile.dot %q, transpose %a : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      %b = nsatile.consumer_wait %rb : !R
      %t = nsatile.dot %g, transpose %b : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rb : !R
      %e = arith.mulf %s, %t : tensor<64x64xf32, #s>
      %p = arith.truncf %e : tensor<64x64xf32, #s> to tensor<64x64xbf16, #s>
      %y = nsatile.dot %p, %a acc %x : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %ra : !R
      scf.yield %y : tensor<64x64xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %r, %to : tensor<64x64xf32, #s>
  } producer {
  }
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

// CHECK-LABEL: nsatile.program @twice
// CHECK-NOT: nsatile.stages
// REMARK: [Missed] {{.*}}Function=twice | Remark="products don't run side by side: a step takes several tiles of one circular buffer"
nsatile.program @twice(%q: tensor<64x64xbf16, #s>, %g: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %ra = nsatile.circular_buffer : !R
  %rb = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%x = %zero) -> (tensor<64x64xf32, #s>) {
      %a = nsatile.consumer_wait %ra : !R
      %s = nsatile.dot %q, transpose %a : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %ra : !R
      %b = nsatile.consumer_wait %ra : !R
      %t = nsatile.dot %g, transpose %b : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      %e = arith.mulf %s, %t : tensor<64x64xf32, #s>
      %p = arith.truncf %e : tensor<64x64xf32, #s> to tensor<64x64xbf16, #s>
      %y = nsatile.dot %p, %b acc %x : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %ra : !R
      scf.yield %y : tensor<64x64xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %r, %to : tensor<64x64xf32, #s>
  } producer {
  }
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

// CHECK-LABEL: nsatile.program @chain
// CHECK-NOT: nsatile.stages
// REMARK: [Missed] {{.*}}Function=chain | Remark="products don't run side by side: each product waits for the one before"
nsatile.program @chain(%q: tensor<64x64xbf16, #s>, %g: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %ra = nsatile.circular_buffer : !R
  %rb = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%x = %zero) -> (tensor<64x64xf32, #s>) {
      %a = nsatile.consumer_wait %ra : !R
      %s = nsatile.dot %q, transpose %a : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      %p = arith.truncf %s : tensor<64x64xf32, #s> to tensor<64x64xbf16, #s>
      %y = nsatile.dot %p, %a acc %x : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %ra : !R
      scf.yield %y : tensor<64x64xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %r, %to : tensor<64x64xf32, #s>
  } producer {
  }
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

// CHECK-LABEL: nsatile.program @outer
// CHECK-NOT: nsatile.stages
// REMARK: [Missed] {{.*}}Function=outer | Remark="products don't run side by side: a step gives back a tile that another one took"
nsatile.program @outer(%q: tensor<64x64xbf16, #s>, %g: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %ra = nsatile.circular_buffer : !R
  %rb = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%x = %zero) -> (tensor<64x64xf32, #s>) {
      %a = nsatile.consumer_wait %ra : !R
      %s = nsatile.dot %q, transpose %a : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      %t = nsatile.dot %g, transpose %a : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %ra : !R
      nsatile.consumer_release %rb : !R
      %y = arith.mulf %s, %t : tensor<64x64xf32, #s>
      scf.yield %y : tensor<64x64xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %r, %to : tensor<64x64xf32, #s>
  } producer {
  }
  nsatile.return
}
