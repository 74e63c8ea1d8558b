// Products of stage 1 run along with the next step's products of stage 0.
// RUN: nsacc-opt %s --nsatile-schedule-pipeline --nsatile-expand-pipeline --split-input-file | FileCheck %s

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

// CHECK-LABEL: nsatile.program @attend
nsatile.program @attend(%q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %factor = tensor.splat %f : tensor<64x64xf32, #s>
  // CHECK: %[[RK:.*]] = nsatile.circular_buffer
  // CHECK: %[[RV:.*]] = nsatile.circular_buffer
  %rk = nsatile.circular_buffer : !R
  %rv = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    // CHECK: scf.if %{{.*}} -> (tensor<64x64xf32, #nsatile.mma<warps = 4>>)
    // The first step's head.
    // CHECK: nsatile.consumer_wait %[[RK]]
    // CHECK: nsatile.dot_async
    // CHECK: nsatile.dot_wait %{{.*}} allow 0
    // CHECK: nsatile.consumer_release %[[RK]]
    // Zeros needn't be added to.
    // CHECK: %[[NOTHING:.*]] = tensor.empty()
    // CHECK: %[[SECOND:.*]] = arith.addi
    // CHECK: scf.for %[[I:.*]] = %[[SECOND]] to %{{.*}} iter_args(%[[ACC:.*]] = %[[NOTHING]], %[[P:.*]] = %{{.*}})
    // CHECK:   %[[ADDS:.*]] = arith.cmpi sgt, %[[I]], %[[SECOND]]
    // CHECK:   %[[K:.*]] = nsatile.consumer_wait %[[RK]]
    // CHECK:   %[[S0:.*]] = nsatile.dot_async %{{.*}}, transpose %[[K]]
    // CHECK:   %[[V:.*]] = nsatile.consumer_wait %[[RV]]
    // CHECK:   %[[O0:.*]] = nsatile.dot_async %[[P]], %[[V]] acc %[[ACC]] if %[[ADDS]]
    // CHECK:   %[[S:.*]] = nsatile.dot_wait %[[S0]] allow 1
    // CHECK:   nsatile.consumer_release %[[RK]]
    // CHECK:   %[[E:.*]] = math.exp %[[S]]
    // CHECK:   %[[O:.*]] = nsatile.dot_wait %[[O0]] allow 0
    // CHECK:   nsatile.consumer_release %[[RV]]
    // CHECK:   %[[SCALED:.*]] = arith.mulf %[[O]]
    // CHECK:   %[[NEXT:.*]] = arith.truncf %[[E]]
    // CHECK:   scf.yield %[[SCALED]], %[[NEXT]]
    // The last step's product.
    // CHECK: %[[LAST:.*]] = arith.cmpi sgt, %{{.*}}, %[[SECOND]]
    // CHECK: nsatile.consumer_wait %[[RV]]
    // CHECK: nsatile.dot_async {{.*}} if %[[LAST]]
    // CHECK: nsatile.dot_wait %{{.*}} allow 0
    // CHECK: nsatile.consumer_release %[[RV]]
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
      %k = nsatile.consumer_wait %rk : !R
      %s = nsatile.dot %q, transpose %k : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rk : !R
      %e = math.exp %s : tensor<64x64xf32, #s>
      %scaled = arith.mulf %acc, %factor : tensor<64x64xf32, #s>
      %v = nsatile.consumer_wait %rv : !R
      %p = arith.truncf %e : tensor<64x64xf32, #s> to tensor<64x64xbf16, #s>
      %o = nsatile.dot %p, %v acc %scaled : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rv : !R
      scf.yield %o : tensor<64x64xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %r, %to : tensor<64x64xf32, #s>
  } producer {
  }
  nsatile.return
}

// -----

// Three warpgroups start their products in turn, in steps that all of them run.

#s = #nsatile.mma<warps = 12>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

// CHECK-LABEL: nsatile.program @ping_pong
nsatile.program @ping_pong(%q: tensor<192x64xbf16, #s>, %out: memref<192x64xf32>, %n: index, %common: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c192 = arith.constant 192 : index
  %zero = arith.constant dense<0.0> : tensor<192x64xf32, #s>
  %rk = nsatile.circular_buffer : !R
  %rv = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 12 {
    // CHECK: scf.for
    // CHECK:   %[[ALL:.*]] = arith.cmpi slt
    // CHECK-NOT: nsatile.uniform_step
    // CHECK:   scf.if %[[ALL]] {
    // CHECK-NEXT: nsatile.ping_pong_wait
    // CHECK:   nsatile.dot_async %{{.*}}, transpose
    // CHECK:   nsatile.dot_async %{{.*}} acc
    // CHECK:   scf.if %[[ALL]] {
    // CHECK-NEXT: nsatile.ping_pong_arrive
    // CHECK:   nsatile.dot_wait %{{.*}} allow 1
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<192x64xf32, #s> {
      %all = arith.cmpi slt, %j, %common : index
      nsatile.uniform_step %all
      %k = nsatile.consumer_wait %rk : !R
      %s = nsatile.dot %q, transpose %k : (tensor<192x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<192x64xf32, #s>
      nsatile.consumer_release %rk : !R
      %v = nsatile.consumer_wait %rv : !R
      %p = arith.truncf %s : tensor<192x64xf32, #s> to tensor<192x64xbf16, #s>
      %o = nsatile.dot %p, %v acc %acc : (tensor<192x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<192x64xf32, #s>) -> tensor<192x64xf32, #s>
      nsatile.consumer_release %rv : !R
      scf.yield %o : tensor<192x64xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c192, %c64] : memref<192x64xf32> -> !nsatile.place<192x64xf32>
    nsatile.store %r, %to : tensor<192x64xf32, #s>
  } producer {
  }
  nsatile.return
}

// -----

// What the loop begins with counts if it isn't zeros.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

// CHECK-LABEL: nsatile.program @continued
// CHECK-NOT: tensor.empty
// CHECK: nsatile.dot_async {{.*}} acc %{{[^ ]*}} :
// CHECK: nsatile.dot_async {{.*}} acc %{{[^ ]*}} :
nsatile.program @continued(%q: tensor<64x64xbf16, #s>, %before: tensor<64x64xf32, #s>, %out: memref<64x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %rk = nsatile.circular_buffer : !R
  %rv = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %before) -> tensor<64x64xf32, #s> {
      %k = nsatile.consumer_wait %rk : !R
      %s = nsatile.dot %q, transpose %k : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rk : !R
      %v = nsatile.consumer_wait %rv : !R
      %p = arith.truncf %s : tensor<64x64xf32, #s> to tensor<64x64xbf16, #s>
      %o = nsatile.dot %p, %v acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rv : !R
      scf.yield %o : tensor<64x64xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %r, %to : tensor<64x64xf32, #s>
  } producer {
  }
  nsatile.return
}

// -----

// Nothing to move: one product in a step is started and waited for. One that
// says who sees what stays as it is.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

// CHECK-LABEL: nsatile.program @one
nsatile.program @one(%q: tensor<64x64xbf16, #s>, %seen: tensor<64x64xi1, #s>, %out: memref<64x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %rk = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    // CHECK: scf.for
    // CHECK: %[[P:.*]] = nsatile.dot_async
    // CHECK-NEXT: nsatile.dot_wait %[[P]] allow 0
    // CHECK: nsatile.dot {{.*}} where
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
      %k = nsatile.consumer_wait %rk : !R
      %s = nsatile.dot %q, %k acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      %o = nsatile.dot %q, %k acc %s where %seen : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>, tensor<64x64xi1, #s>) -> tensor<64x64xf32, #s>
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

// Instructions take 16 inner elements at a time: registers have no zeros behind the last column, shared memory has.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x72xbf16, #nsatile.shared<swizzle = 128>>>

// CHECK-LABEL: nsatile.program @inner
// CHECK: nsatile.dot %{{.*}}, transpose
// CHECK: nsatile.dot_async %{{.*}}, transpose
nsatile.program @inner(%q: tensor<64x72xbf16, #s>, %out: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %rq = nsatile.circular_buffer : !R
  %rk = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %k = nsatile.consumer_wait %rk : !R
    %a = nsatile.dot %q, transpose %k : (tensor<64x72xbf16, #s>, tensor<64x72xbf16, #m>) -> tensor<64x64xf32, #s>
    %shared = nsatile.consumer_wait %rq : !R
    %b = nsatile.dot %shared, transpose %k acc %a : (tensor<64x72xbf16, #m>, tensor<64x72xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
    nsatile.consumer_release %rq : !R
    nsatile.consumer_release %rk : !R
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %b, %to : tensor<64x64xf32, #s>
  } producer {
  }
  nsatile.return
}

// -----

// A fold's first step finds out whether its tile is full; the others go over what is left of the full part.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

// CHECK-LABEL: nsatile.program @fold
// CHECK-SAME: %[[A:[a-z0-9]+]]: index, %[[B:[a-z0-9]+]]: index, %[[C:[a-z0-9]+]]: index, %[[D:[a-z0-9]+]]: index
// CHECK: %[[BEFORE:.*]] = arith.cmpi slt, %[[A]], %[[B]]
// CHECK: %[[BEHIND:.*]] = arith.cmpi sge, %[[A]], %[[C]]
// CHECK: %[[PARTIAL:.*]] = arith.ori %[[BEFORE]], %[[BEHIND]]
// CHECK: scf.if %[[PARTIAL]]
// CHECK: %[[SECOND:.*]] = arith.addi %[[A]]
// CHECK: %[[FULL:.*]] = arith.maxsi %[[B]], %[[SECOND]]
// CHECK: %[[FULLEND:.*]] = arith.maxsi %[[C]], %[[SECOND]]
// CHECK: nsatile.fold over %[[SECOND]] to %[[D]] full %[[FULL]] to %[[FULLEND]] state(
// CHECK: ^bb0(%{{.*}}: index, %[[OWN:[a-z0-9]+]]: i1
// CHECK: nsatile.dot_async
// CHECK: nsatile.dot_async
// CHECK: scf.if %[[OWN]]
// CHECK: nsatile.yield
nsatile.program @fold(%a: index, %b: index, %c: index, %d: index, %q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %rk = nsatile.circular_buffer : !R
  %rv = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %r = nsatile.fold over %a to %d full %b to %c state(%zero : tensor<64x64xf32, #s>) {
    ^bb0(%j: index, %partial: i1, %acc: tensor<64x64xf32, #s>):
      %k = nsatile.consumer_wait %rk : !R
      %s = nsatile.dot %q, transpose %k : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rk : !R
      %e = scf.if %partial -> tensor<64x64xf32, #s> {
        %n = arith.negf %s : tensor<64x64xf32, #s>
        scf.yield %n : tensor<64x64xf32, #s>
      } else {
        scf.yield %s : tensor<64x64xf32, #s>
      }
      %v = nsatile.consumer_wait %rv : !R
      %p = arith.truncf %e : tensor<64x64xf32, #s> to tensor<64x64xbf16, #s>
      %o = nsatile.dot %p, %v acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rv : !R
      nsatile.yield %o : tensor<64x64xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %r, %to : tensor<64x64xf32, #s>
  } producer {
  }
  nsatile.return
}

// -----

// Products that run side by side: the tile that two of them read is given back behind the second, the other one as soon as it
// has been read.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

// CHECK-LABEL: nsatile.program @shared
// CHECK: %[[RA:.*]] = nsatile.circular_buffer
// CHECK: %[[RB:.*]] = nsatile.circular_buffer
// CHECK: scf.for
// CHECK-NEXT: %[[A:.*]] = nsatile.consumer_wait %[[RA]]
// CHECK-NEXT: %[[S0:.*]] = nsatile.dot_async %{{.*}}, transpose %[[A]]
// CHECK-NEXT: %[[B:.*]] = nsatile.consumer_wait %[[RB]]
// CHECK-NEXT: %[[T0:.*]] = nsatile.dot_async %{{.*}}, transpose %[[B]]
// CHECK-NEXT: %[[S:.*]] = nsatile.dot_wait %[[S0]] allow 1
// CHECK-NEXT: %[[T:.*]] = nsatile.dot_wait %[[T0]] allow 0
// CHECK-NEXT: nsatile.consumer_release %[[RB]]
// CHECK-NEXT: arith.mulf %[[S]], %[[T]]
// CHECK-NEXT: arith.truncf
// CHECK-NEXT: %[[Y0:.*]] = nsatile.dot_async %{{.*}}, %[[A]] acc
// CHECK-NEXT: %[[Y:.*]] = nsatile.dot_wait %[[Y0]] allow 0
// CHECK-NEXT: nsatile.consumer_release %[[RA]]
// CHECK-NEXT: scf.yield %[[Y]]
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

// Code on a large sum runs in the next step, while that one's first products do. It takes along what its own step computed.

#s = #nsatile.mma<warps = 4>
#r = #nsatile.slice<dim = 1, of = #s>
#m = #nsatile.shared<swizzle = 128>
!RK = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>
!RV = !nsatile.circular_buffer<2 of tensor<64x192xbf16, #nsatile.shared<swizzle = 128>>>

// CHECK-LABEL: nsatile.program @large_sum
nsatile.program @large_sum(%q: tensor<64x64xbf16, #s>, %init: tensor<64x192xf32, #s>, %out: memref<64x192xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c192 = arith.constant 192 : index
  %rk = nsatile.circular_buffer : !RK
  %rv = nsatile.circular_buffer : !RV
  nsatile.warp_specialize consumers 4 {
    // The first step's head.
    // CHECK: nsatile.dot_async %{{.*}}, transpose
    // CHECK: %[[FIRST:.*]] = nsatile.reduce max
    // CHECK-NOT: arith.mulf
    // CHECK: scf.for %{{.*}} iter_args(%[[ACC:.*]] = %init, %[[P:.*]] = %{{.*}}, %[[ROWS:.*]] = %[[FIRST]])
    // CHECK:   nsatile.dot_async %{{.*}}, transpose
    // CHECK:   %[[FACTOR:.*]] = nsatile.broadcast %[[ROWS]] along [1]
    // CHECK:   %[[SCALED:.*]] = arith.mulf %[[ACC]], %[[FACTOR]]
    // CHECK:   %[[V:.*]] = nsatile.consumer_wait
    // CHECK:   %[[O0:.*]] = nsatile.dot_async %[[P]], %[[V]] acc %[[SCALED]]
    // CHECK:   nsatile.dot_wait %{{.*}} allow 1
    // CHECK:   %[[OWN:.*]] = nsatile.reduce max
    // CHECK:   %[[O:.*]] = nsatile.dot_wait %[[O0]] allow 0
    // CHECK-NOT: arith.mulf
    // CHECK:   scf.yield %[[O]], %{{.*}}, %[[OWN]]
    // The last step's product.
    // CHECK: nsatile.broadcast
    // CHECK: %[[LAST:.*]] = arith.mulf
    // CHECK: nsatile.dot_async %{{.*}} acc %[[LAST]]
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %init) -> tensor<64x192xf32, #s> {
      %k = nsatile.consumer_wait %rk : !RK
      %s = nsatile.dot %q, transpose %k : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rk : !RK
      %rows = nsatile.reduce max %s along 1 : tensor<64x64xf32, #s> -> tensor<64xf32, #r>
      %factor = nsatile.broadcast %rows along [1] : tensor<64xf32, #r> -> tensor<64x192xf32, #s>
      %scaled = arith.mulf %acc, %factor : tensor<64x192xf32, #s>
      %v = nsatile.consumer_wait %rv : !RV
      %p = arith.truncf %s : tensor<64x64xf32, #s> to tensor<64x64xbf16, #s>
      %o = nsatile.dot %p, %v acc %scaled : (tensor<64x64xbf16, #s>, tensor<64x192xbf16, #m>, tensor<64x192xf32, #s>) -> tensor<64x192xf32, #s>
      nsatile.consumer_release %rv : !RV
      scf.yield %o : tensor<64x192xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c192] : memref<64x192xf32> -> !nsatile.place<64x192xf32>
    nsatile.store %r, %to : tensor<64x192xf32, #s>
  } producer {
  }
  nsatile.return
}
