// Circular buffers of programs that aren't warp-specialized are followed when code is written; what can't be is refused.
// RUN: nsacc-opt %s --split-input-file --verify-diagnostics --convert-nsatile-to-nvvm

#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
!B = memref<?x64xbf16>

nsatile.program @full(%k: !B, %n: index) {
  %c0 = arith.constant 0 : index
  %r = nsatile.circular_buffer : !R
  %from = nsatile.at %k[%c0, %c0] dims [0, 1] limits [%n, %n] : !B -> !nsatile.place<64x64xbf16>
  nsatile.producer_load %r, %from : !R
  %from_1 = nsatile.at %k[%c0, %c0] dims [0, 1] limits [%n, %n] : !B -> !nsatile.place<64x64xbf16>
  // expected-error @below {{finds no room: the circular buffer has 1 tiles already}}
  nsatile.producer_load %r, %from_1 : !R
  nsatile.return
}

// -----

#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>

nsatile.program @empty() {
  %r = nsatile.circular_buffer : !R
  // expected-error @below {{expected a tile in the circular buffer on every way here, and the one before released}}
  %t = nsatile.consumer_wait %r : !R
  nsatile.return
}

// -----

#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #m>>
!B = memref<?x64xbf16>

nsatile.program @sometimes(%k: !B, %n: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %r = nsatile.circular_buffer : !R
  %from = nsatile.at %k[%c0, %c0] dims [0, 1] limits [%n, %n] : !B -> !nsatile.place<64x64xbf16>
  nsatile.producer_load %r, %from : !R
  scf.if %c {
    // expected-error @below {{expected a tile in the circular buffer on every way here, and the one before released}}
    %t = nsatile.consumer_wait %r : !R
    nsatile.consumer_release %r : !R
  }
  nsatile.return
}

// -----

#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #m>>
!B = memref<?x64xbf16>

nsatile.program @drained(%k: !B, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = nsatile.circular_buffer : !R
  %from = nsatile.at %k[%c0, %c0] dims [0, 1] limits [%n, %n] : !B -> !nsatile.place<64x64xbf16>
  nsatile.producer_load %r, %from : !R
  // expected-error @below {{expected steps that fill circular buffers as often as they release them}}
  scf.for %j = %c0 to %n step %c1 {
    %t = nsatile.consumer_wait %r : !R
    nsatile.consumer_release %r : !R
  }
  nsatile.return
}

// -----

#a = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>

nsatile.program @full_of_stores() {
  %t = arith.constant dense<0.0> : tensor<64x64xbf16, #a>
  %r = nsatile.circular_buffer : !R
  nsatile.consumer_store %t, %r : tensor<64x64xbf16, #a>, !R
  // expected-error @below {{finds no room: the circular buffer has 1 tiles already}}
  nsatile.consumer_store %t, %r : tensor<64x64xbf16, #a>, !R
  nsatile.return
}

// -----

#a = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #m>>

nsatile.program @more_stores(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = arith.constant dense<0.0> : tensor<64x64xbf16, #a>
  %r = nsatile.circular_buffer : !R
  // expected-error @below {{expected steps that fill circular buffers as often as they release them}}
  scf.for %j = %c0 to %n step %c1 {
    nsatile.consumer_store %t, %r : tensor<64x64xbf16, #a>, !R
  }
  nsatile.return
}
