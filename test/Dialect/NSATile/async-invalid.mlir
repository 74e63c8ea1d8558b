// RUN: nsacc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected room for at least 1 tile, found 0}}
nsatile.program @room(%x: !nsatile.circular_buffer<0 of tensor<4xf32>>) { nsatile.return }

// -----

// expected-error @+1 {{expected tiles of static shape, found 'tensor<?xf32>'}}
nsatile.program @shape(%x: !nsatile.circular_buffer<1 of tensor<?xf32>>) { nsatile.return }

// -----

nsatile.program @consumer(%x: memref<?x64xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %buffer = nsatile.circular_buffer : !nsatile.circular_buffer<2 of tensor<64x64xbf16>>
  nsatile.warp_specialize consumers 4 {
    %from = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%n, %n] : memref<?x64xbf16> -> !nsatile.place<64x64xbf16>
    // expected-error @+1 {{'nsatile.producer_load' op can't stand in the region of consumers; it is for the other role}}
    nsatile.producer_load %buffer, %from : !nsatile.circular_buffer<2 of tensor<64x64xbf16>>
  } producer {
  }
  nsatile.return
}

// -----

nsatile.program @producer() {
  %buffer = nsatile.circular_buffer : !nsatile.circular_buffer<2 of tensor<64x64xbf16>>
  nsatile.warp_specialize consumers 4 {
  } producer {
    // expected-error @+1 {{'nsatile.consumer_wait' op can't stand in the region of the producer; it is for the other role}}
    %t = nsatile.consumer_wait %buffer : !nsatile.circular_buffer<2 of tensor<64x64xbf16>>
  }
  nsatile.return
}

// -----

nsatile.program @product(%x: memref<64x64xbf16>, %n: index) {
  %t_at = nsatile.at %x[%n, %n] dims [0, 1] limits [%n, %n] : memref<64x64xbf16> -> !nsatile.place<64x64xbf16>
  %t = nsatile.load %t_at : tensor<64x64xbf16>
  // expected-error @+1 {{expected a result of 64x64, found 'tensor<64x32xf32>'}}
  %p = nsatile.dot_async %t, %t : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> !nsatile.pending<tensor<64x32xf32>>
  nsatile.return
}

// -----

nsatile.program @condition(%x: memref<64x64xbf16>, %n: index, %c: i1) {
  %t_at = nsatile.at %x[%n, %n] dims [0, 1] limits [%n, %n] : memref<64x64xbf16> -> !nsatile.place<64x64xbf16>
  %t = nsatile.load %t_at : tensor<64x64xbf16>
  // expected-error @+1 {{expected an accumulator for 'if'}}
  %p = "nsatile.dot_async"(%t, %t, %c) <{operandSegmentSizes = array<i32: 1, 0, 1, 0, 1>}> : (tensor<64x64xbf16>, tensor<64x64xbf16>, i1) -> !nsatile.pending<tensor<64x64xf32>>
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
nsatile.program @columns(%q: tensor<64x128xbf16, #m>) {
  // expected-error @+1 {{expected a fragment of 64 rows and a multiple of 16 columns of 16-bit elements, up to 128, in a layout 'mma', found 'tensor<64x24xbf16, #nsatile.mma<warps = 4>>'}}
  %f = nsatile.fragment %q : tensor<64x128xbf16, #m> -> tensor<64x24xbf16, #s>
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
nsatile.program @registers(%q: tensor<64x64xbf16, #s>) {
  // expected-error @+1 {{expected a source in shared memory, found}}
  %f = nsatile.fragment %q : tensor<64x64xbf16, #s> -> tensor<64x64xbf16, #s>
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
nsatile.program @head(%q: tensor<64x64xbf16, #m>, %f: tensor<64x128xbf16, #s>, %k: tensor<64x64xbf16, #m>) {
  // expected-error @+1 {{expected a fragment of 64 rows and a multiple of 16 columns of 16-bit elements, up to 64,}}
  %p = nsatile.dot_async %q head %f, transpose %k : (tensor<64x64xbf16, #m>, tensor<64x128xbf16, #s>, tensor<64x64xbf16, #m>) -> !nsatile.pending<tensor<64x64xf32, #s>>
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#t = #nsatile.mma<warps = 8>
#m = #nsatile.shared<swizzle = 128>
nsatile.program @warps(%q: tensor<128x64xbf16, #m>, %f: tensor<128x64xbf16, #t>, %k: tensor<64x64xbf16, #m>) {
  // expected-error @+1 {{expected a head in the result's layout #nsatile.mma<warps = 4>, found 'tensor<128x64xbf16, #nsatile.mma<warps = 8>>'}}
  %p = nsatile.dot_async %q head %f, transpose %k : (tensor<128x64xbf16, #m>, tensor<128x64xbf16, #t>, tensor<64x64xbf16, #m>) -> !nsatile.pending<tensor<128x64xf32, #s>>
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
nsatile.program @transposed(%q: tensor<64x64xbf16, #s>, %k: tensor<64x64xbf16, #m>) {
  // expected-error @+1 {{expected a transposed left operand in shared memory, with a swizzle of 128 bytes, found 'tensor<64x64xbf16, #nsatile.mma<warps = 4>>'}}
  %p = nsatile.dot_async transpose %q, %k : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> !nsatile.pending<tensor<64x64xf32, #s>>
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
nsatile.program @transposed_head(%q: tensor<64x64xbf16, #m>, %f: tensor<64x64xbf16, #s>, %k: tensor<64x64xbf16, #m>) {
  // expected-error @+1 {{expected no head of a transposed left operand}}
  %p = nsatile.dot_async transpose %q head %f, %k : (tensor<64x64xbf16, #m>, tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> !nsatile.pending<tensor<64x64xf32, #s>>
  nsatile.return
}

// -----

nsatile.program @tiles(%n: index) {
  nsatile.warp_specialize consumers 4 {
    // expected-error @+1 {{expected a region of 3 indices, found}}
    nsatile.tiles of(%n, %n, %n) {
    ^bb0(%x: index, %y: index):
      %c0 = arith.constant 0 : index
    }
  } producer {
  }
  nsatile.return
}

// -----

nsatile.program @elements(%t: tensor<64x64xf32>) {
  %buffer = nsatile.circular_buffer : !nsatile.circular_buffer<2 of tensor<64x64xbf16>>
  // expected-error @+1 {{expected the elements of 'tensor<64x64xbf16>', found 'tensor<64x64xf32>'}}
  nsatile.consumer_store %t, %buffer : tensor<64x64xf32>, !nsatile.circular_buffer<2 of tensor<64x64xbf16>>
  nsatile.return
}

// -----

nsatile.program @two_writers(%t: tensor<64x64xbf16>, %x: memref<?x64xbf16>, %n: index) {
  %buffer = nsatile.circular_buffer : !nsatile.circular_buffer<2 of tensor<64x64xbf16>>
  %from = nsatile.at %x[%n, %n] dims [0, 1] limits [%n, %n] : memref<?x64xbf16> -> !nsatile.place<64x64xbf16>
  // expected-note @+1 {{a producer fills it here}}
  nsatile.producer_load %buffer, %from : !nsatile.circular_buffer<2 of tensor<64x64xbf16>>
  // expected-error @+1 {{expected a circular buffer that consumers fill alone}}
  nsatile.consumer_store %t, %buffer : tensor<64x64xbf16>, !nsatile.circular_buffer<2 of tensor<64x64xbf16>>
  nsatile.return
}

// -----

nsatile.program @producer_stores(%t: tensor<64x64xbf16>) {
  %buffer = nsatile.circular_buffer : !nsatile.circular_buffer<2 of tensor<64x64xbf16>>
  nsatile.warp_specialize consumers 4 {
  } producer {
    // expected-error @+1 {{'nsatile.consumer_store' op can't stand in the region of the producer; it is for the other role}}
    nsatile.consumer_store %t, %buffer : tensor<64x64xbf16>, !nsatile.circular_buffer<2 of tensor<64x64xbf16>>
  }
  nsatile.return
}
