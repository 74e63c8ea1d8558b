// RUN: nsacc-opt %s --verify-roundtrip | nsacc-opt | FileCheck %s

!K = tensor<64x64xbf16>
!R = !nsatile.circular_buffer<2 of !K>

// CHECK-LABEL: nsatile.program @specialized
nsatile.program @specialized(%x: memref<?x64xbf16>, %y: memref<64x64xf32>, %n: index, %all: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // CHECK: %[[BUFFER:.*]] = nsatile.circular_buffer : <2 of tensor<64x64xbf16>>
  %buffer = nsatile.circular_buffer : !R
  %own = nsatile.circular_buffer : !R
  // CHECK: nsatile.warp_specialize consumers 4 {
  nsatile.warp_specialize consumers 4 {
    // CHECK: %[[A:.*]] = nsatile.consumer_wait %[[BUFFER]] : <2 of tensor<64x64xbf16>>
    %a = nsatile.consumer_wait %buffer : !R
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32> {
      // CHECK: nsatile.uniform_step %{{.*}}
      nsatile.uniform_step %all
      %b = nsatile.consumer_wait %buffer : !R
      // CHECK: nsatile.ping_pong_wait
      nsatile.ping_pong_wait
      // CHECK: %[[P:.*]] = nsatile.dot_async %[[A]], transpose %{{.*}} acc %{{.*}} if %{{.*}} : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>, i1) -> !nsatile.pending<tensor<64x64xf32>>
      %p = nsatile.dot_async %a, transpose %b acc %acc if %all : (!K, !K, tensor<64x64xf32>, i1) -> !nsatile.pending<tensor<64x64xf32>>
      // CHECK: nsatile.ping_pong_arrive
      nsatile.ping_pong_arrive
      // CHECK: nsatile.dot_wait %[[P]] allow 0 : <tensor<64x64xf32>>
      %d = nsatile.dot_wait %p allow 0 : !nsatile.pending<tensor<64x64xf32>>
      // CHECK: nsatile.consumer_store %{{.*}}, %{{.*}} : tensor<64x64xbf16>, <2 of tensor<64x64xbf16>>
      %written = arith.truncf %d : tensor<64x64xf32> to !K
      nsatile.consumer_store %written, %own : !K, !R
      // CHECK: nsatile.consumer_release %[[BUFFER]]
      nsatile.consumer_release %buffer : !R
      scf.yield %d : tensor<64x64xf32>
    }
    %to = nsatile.at %y[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %s, %to : tensor<64x64xf32>
  // CHECK: } producer {
  } producer {
    scf.for %j = %c0 to %n step %c1 {
      // CHECK: nsatile.producer_load %[[BUFFER]], %{{.*}} : <2 of tensor<64x64xbf16>>
      %from = nsatile.at %x[%j, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xbf16> -> !nsatile.place<64x64xbf16>
      nsatile.producer_load %buffer, %from : !R
      // CHECK: %[[FROM:.*]] = nsatile.at {{.*}} dims [0, 1] steps [4, 1] limits
      // CHECK: nsatile.producer_load %[[BUFFER]], %[[FROM]]
      %from_1 = nsatile.at %x[%j, %c0] dims [0, 1] steps [4, 1] limits [%n, %c64] : memref<?x64xbf16> -> !nsatile.place<64x64xbf16>
      nsatile.producer_load %buffer, %from_1 : !R
    }
  }
  nsatile.return
}

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>

// CHECK-LABEL: nsatile.program @head
nsatile.program @head(%q: tensor<64x128xbf16, #m>, %k: tensor<64x128xbf16, #m>) {
  // CHECK: %[[F:.*]] = nsatile.fragment %{{.*}} : tensor<64x128xbf16, #nsatile.shared<swizzle = 128>> -> tensor<64x64xbf16, #nsatile.mma<warps = 4>>
  %f = nsatile.fragment %q : tensor<64x128xbf16, #m> -> tensor<64x64xbf16, #s>
  // CHECK: nsatile.dot_async %{{.*}} head %[[F]], transpose
  %p = nsatile.dot_async %q head %f, transpose %k : (tensor<64x128xbf16, #m>, tensor<64x64xbf16, #s>, tensor<64x128xbf16, #m>) -> !nsatile.pending<tensor<64x64xf32, #s>>
  // CHECK: nsatile.dot_async transpose %{{.*}}, %{{.*}} : (tensor<64x128xbf16,
  %t = nsatile.dot_async transpose %q, %k : (tensor<64x128xbf16, #m>, tensor<64x128xbf16, #m>) -> !nsatile.pending<tensor<128x128xf32, #s>>
  nsatile.return
}
