// A product's left operand, its first columns in registers and the others in shared memory.
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm | FileCheck %s

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!Q = !nsatile.circular_buffer<1 of tensor<64x96xbf16, #m>>
!K = !nsatile.circular_buffer<1 of tensor<8x96xbf16, #m>>

// 4 steps of 16 columns from registers, 16 words in all, and 2 by a descriptor.
// CHECK-LABEL: llvm.func @head
// CHECK-COUNT-4: nvvm.ldmatrix {{.*}}num = 4
// CHECK-NOT: ldmatrix
// CHECK: wgmma.fence
// CHECK-SAME: add.s64 b, $4, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$5, $6, $7, $8}, b, first, 1, 1, 0;
// CHECK-SAME: {$17, $18, $19, $20}, b, adds, 1, 1, 0;
// CHECK-SAME: add.s64 b, $4, 128; add.s64 a, $21, 512; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, a, b, adds, 1, 1, 0, 0;
// CHECK-SAME: add.s64 a, $21, 514;
// CHECK-SAME: wgmma.commit_group
nsatile.program @head(%out: memref<64x8xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %rq = nsatile.circular_buffer : !Q
  %rk = nsatile.circular_buffer : !K
  nsatile.warp_specialize consumers 4 {
    %q = nsatile.consumer_wait %rq : !Q
    %k = nsatile.consumer_wait %rk : !K
    %f = nsatile.fragment %q : tensor<64x96xbf16, #m> -> tensor<64x64xbf16, #s>
    %p = nsatile.dot_async %q head %f, transpose %k : (tensor<64x96xbf16, #m>, tensor<64x64xbf16, #s>, tensor<8x96xbf16, #m>) -> !nsatile.pending<tensor<64x8xf32, #s>>
    %t = nsatile.dot_wait %p allow 0 : !nsatile.pending<tensor<64x8xf32, #s>>
    nsatile.consumer_release %rk : !K
    nsatile.consumer_release %rq : !Q
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x8xf32> -> !nsatile.place<64x8xf32>
    nsatile.store %t, %to : tensor<64x8xf32, #s>
  } producer {
  }
  nsatile.return
}
