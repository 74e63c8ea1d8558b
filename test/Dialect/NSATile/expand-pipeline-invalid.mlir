// Annotations that make no pipeline.
// RUN: nsacc-opt %s --nsatile-expand-pipeline --split-input-file --verify-diagnostics

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

nsatile.program @carried(%q: tensor<64x64xbf16, #s>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rk = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    scf.for %j = %c0 to %n step %c1 {
      %k = nsatile.consumer_wait %rk {nsatile.stage = 1 : i64} : !R
      // expected-error @+1 {{of stage 1 has to add to a tile that the loop carries}}
      %s = nsatile.dot %q, transpose %k {nsatile.stage = 1 : i64} : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rk {nsatile.stage = 1 : i64} : !R
    } {nsatile.stages = 2 : i64}
  } producer {
  }
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

nsatile.program @acquired(%q: tensor<64x64xbf16, #s>, %zero: tensor<64x64xf32, #s>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rk = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
      %k = nsatile.consumer_wait %rk : !R
      // expected-error @+1 {{of stage 1 needs a right operand that nsatile.consumer_wait gives in stage 1}}
      %s = nsatile.dot %q, %k acc %acc {nsatile.stage = 1 : i64} : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rk : !R
      scf.yield %s : tensor<64x64xf32, #s>
    } {nsatile.stages = 2 : i64}
  } producer {
  }
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

nsatile.program @released(%q: tensor<64x64xbf16, #s>, %zero: tensor<64x64xf32, #s>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rk = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
      %k = nsatile.consumer_wait %rk {nsatile.stage = 1 : i64} : !R
      // expected-error @+1 {{of stage 1 needs a right operand that is released in stage 1}}
      %s = nsatile.dot %q, %k acc %acc {nsatile.stage = 1 : i64} : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rk : !R
      scf.yield %s : tensor<64x64xf32, #s>
    } {nsatile.stages = 2 : i64}
  } producer {
  }
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

nsatile.program @third(%q: tensor<64x64xbf16, #s>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rk = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    scf.for %j = %c0 to %n step %c1 {
      %k = nsatile.consumer_wait %rk : !R
      // expected-error @+1 {{expected stage 0 or 1, found 2}}
      %s = nsatile.dot %q, transpose %k {nsatile.stage = 2 : i64} : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rk : !R
    } {nsatile.stages = 2 : i64}
  } producer {
  }
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>

nsatile.program @flight(%q: tensor<64x64xbf16, #s>, %k: tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  nsatile.warp_specialize consumers 4 {
    scf.for %j = %c0 to %n step %c1 {
      // expected-error @+1 {{with a stage has to be one that can be in flight}}
      %s = nsatile.dot %q, transpose %k {nsatile.stage = 0 : i64} : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>) -> tensor<64x64xf32, #s>
    } {nsatile.stages = 2 : i64}
  } producer {
  }
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

nsatile.program @alone(%q: tensor<64x64xbf16, #s>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rk = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    // expected-error @+1 {{of several stages needs products of stage 0 and of stage 1}}
    scf.for %j = %c0 to %n step %c1 {
      %k = nsatile.consumer_wait %rk : !R
      %s = nsatile.dot %q, transpose %k {nsatile.stage = 0 : i64} : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rk : !R
    } {nsatile.stages = 2 : i64}
  } producer {
  }
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

nsatile.program @sum_code(%q: tensor<64x64xbf16, #s>, %zero: tensor<64x64xf32, #s>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rk = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
      %twice = arith.addf %acc, %acc {nsatile.stage = 1 : i64} : tensor<64x64xf32, #s>
      // expected-error @+1 {{works on the sum of a product that other code of stage 1 works on: expected stage 1 and no region}}
      %positive = math.absf %twice {nsatile.late} : tensor<64x64xf32, #s>
      %k = nsatile.consumer_wait %rk {nsatile.stage = 1 : i64} : !R
      %s = nsatile.dot %q, %k acc %positive {nsatile.stage = 1 : i64} : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rk {nsatile.stage = 1 : i64} : !R
      scf.yield %s : tensor<64x64xf32, #s>
    } {nsatile.stages = 2 : i64}
  } producer {
  }
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

nsatile.program @one_stage(%q: tensor<64x64xbf16, #s>, %zero: tensor<64x64xf32, #s>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rk = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    // expected-error @+1 {{of one stage needs products that run side by side: each product waits for the one before}}
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
      %k = nsatile.consumer_wait %rk : !R
      %s = nsatile.dot %q, %k acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rk : !R
      scf.yield %s : tensor<64x64xf32, #s>
    } {nsatile.stages = 1 : i64}
  } producer {
  }
  nsatile.return
}
