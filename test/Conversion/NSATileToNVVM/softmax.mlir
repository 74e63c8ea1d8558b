// Partial sums stay those of a lane until the rows end; a row's maximum is that of its four lanes at once.
// RUN: nsacc-opt %s --nsatile-order-softmax --convert-nsatile-to-nvvm | FileCheck %s
// RUN: nsacc-opt %s --nsatile-order-softmax --convert-nsatile-to-nvvm | FileCheck %s --check-prefix=LARGE

#mma = #nsatile.mma<warps = 4>
#two = #nsatile.mma<warps = 8>
#wide = #nsatile.mma<warps = 12>

// Two rows of a thread: two steps each for the maximum, and for the sum at the end. Where a maximum is large, the distance
// from it is taken first: a fused product leaves the rounding error of the maximum's.
// LARGE-LABEL: llvm.func @exact
// LARGE: %[[MOST:.*]] = arith.constant 0x4A800000 : f32
// LARGE: arith.cmpf oge, %{{.*}}, %[[MOST]]
// LARGE: %[[ANY:.*]] = nvvm.vote.sync any
// LARGE: scf.if %[[ANY]]
// LARGE-COUNT-4: arith.subf
// LARGE: } else {
// LARGE-NEXT: llvm.intr.fma
// LARGE-NOT: arith.subf
// LARGE: }
// LARGE-LABEL: llvm.func @fast
// LARGE-NOT: nvvm.vote.sync any
// LARGE-LABEL: llvm.func @two
// CHECK-LABEL: llvm.func @exact
// CHECK-COUNT-8: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync bfly
nsatile.program @exact(%x: memref<?x?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %scale = arith.constant 1.0 : f32
  %max = arith.constant dense<0xFF800000> : tensor<64xf32, #nsatile.slice<dim = 1, of = #mma>>
  %sum = arith.constant dense<0.0> : tensor<64xf32, #nsatile.partial<of = #nsatile.slice<dim = 1, of = #mma>>>
  %s_at = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%c64, %c16] : memref<?x?xf32> -> !nsatile.place<64x16xf32>
  %s = nsatile.load %s_at : tensor<64x16xf32, #mma>
  %m, %l, %p, %d = nsatile.softmax_update %max, %sum, %s scale %scale : tensor<64xf32, #nsatile.slice<dim = 1, of = #mma>> sums tensor<64xf32, #nsatile.partial<of = #nsatile.slice<dim = 1, of = #mma>>>, tensor<64x16xf32, #mma>
  %o, %lse = nsatile.softmax_finalize %m, %l, %p : tensor<64xf32, #nsatile.slice<dim = 1, of = #mma>> sums tensor<64xf32, #nsatile.partial<of = #nsatile.slice<dim = 1, of = #mma>>>, tensor<64x16xf32, #mma>
  %to = nsatile.at %y[%c0] dims [0] limits [%c64] : memref<?xf32> -> !nsatile.place<64xf32>
  nsatile.store %lse, %to : tensor<64xf32, #nsatile.slice<dim = 1, of = #mma>>
  nsatile.return
}

// Three warpgroups: a row's sum begins with the old one, scaled. Scores may be those of hidden keys: the maximum has a bound.
// CHECK-LABEL: llvm.func @fast
// CHECK: llvm.intr.maxnum
// CHECK: -8.50705917E+37
// CHECK-COUNT-10: llvm.nvvm.ex2.approx.ftz
// CHECK-NEXT: llvm.intr.fma
// CHECK: arith.addf
nsatile.program @fast(%x: memref<?x?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c192 = arith.constant 192 : index
  %scale = arith.constant 1.0 : f32
  %max = arith.constant dense<0xFF800000> : tensor<192xf32, #nsatile.slice<dim = 1, of = #wide>>
  %sum = arith.constant dense<0.0> : tensor<192xf32, #nsatile.partial<of = #nsatile.slice<dim = 1, of = #wide>>>
  %s_at = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%c192, %c16] : memref<?x?xf32> -> !nsatile.place<192x16xf32>
  %s = nsatile.load %s_at : tensor<192x16xf32, #wide>
  %m, %l, %p, %d = nsatile.softmax_update %max, %sum, %s scale %scale {nsatile.assumes_finite} : tensor<192xf32, #nsatile.slice<dim = 1, of = #wide>> sums tensor<192xf32, #nsatile.partial<of = #nsatile.slice<dim = 1, of = #wide>>>, tensor<192x16xf32, #wide>
  %o, %lse = nsatile.softmax_finalize %m, %l, %p {nsatile.assumes_finite} : tensor<192xf32, #nsatile.slice<dim = 1, of = #wide>> sums tensor<192xf32, #nsatile.partial<of = #nsatile.slice<dim = 1, of = #wide>>>, tensor<192x16xf32, #wide>
  %to = nsatile.at %y[%c0] dims [0] limits [%c192] : memref<?xf32> -> !nsatile.place<192xf32>
  nsatile.store %lse, %to : tensor<192xf32, #nsatile.slice<dim = 1, of = #wide>>
  nsatile.return
}

// Two: it ends with that.
// CHECK-LABEL: llvm.func @two
// CHECK-COUNT-10: llvm.nvvm.ex2.approx.ftz
// CHECK-NEXT: arith.addf
// CHECK: llvm.intr.fma
nsatile.program @two(%x: memref<?x?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %scale = arith.constant 1.0 : f32
  %max = arith.constant dense<0xFF800000> : tensor<128xf32, #nsatile.slice<dim = 1, of = #two>>
  %sum = arith.constant dense<0.0> : tensor<128xf32, #nsatile.partial<of = #nsatile.slice<dim = 1, of = #two>>>
  %s_at = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%c128, %c16] : memref<?x?xf32> -> !nsatile.place<128x16xf32>
  %s = nsatile.load %s_at : tensor<128x16xf32, #two>
  %m, %l, %p, %d = nsatile.softmax_update %max, %sum, %s scale %scale {nsatile.assumes_finite} : tensor<128xf32, #nsatile.slice<dim = 1, of = #two>> sums tensor<128xf32, #nsatile.partial<of = #nsatile.slice<dim = 1, of = #two>>>, tensor<128x16xf32, #two>
  %o, %lse = nsatile.softmax_finalize %m, %l, %p {nsatile.assumes_finite} : tensor<128xf32, #nsatile.slice<dim = 1, of = #two>> sums tensor<128xf32, #nsatile.partial<of = #nsatile.slice<dim = 1, of = #two>>>, tensor<128x16xf32, #two>
  %to = nsatile.at %y[%c0] dims [0] limits [%c128] : memref<?xf32> -> !nsatile.place<128xf32>
  nsatile.store %lse, %to : tensor<128xf32, #nsatile.slice<dim = 1, of = #two>>
  nsatile.return
}

// Of products alone, a maximum of finite scores is finite: no bound.
// CHECK-LABEL: llvm.func @products
// CHECK-NOT: -8.50705917E+37
nsatile.program @products(%q: memref<?x?xbf16>, %k: memref<?x?xbf16>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %scale = arith.constant 1.0 : f32
  %max = arith.constant dense<0xFF800000> : tensor<64xf32, #nsatile.slice<dim = 1, of = #mma>>
  %sum = arith.constant dense<0.0> : tensor<64xf32, #nsatile.partial<of = #nsatile.slice<dim = 1, of = #mma>>>
  %a_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<?x?xbf16> -> !nsatile.place<64x64xbf16>
  %a = nsatile.load %a_at : tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
  %b_at = nsatile.at %k[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<?x?xbf16> -> !nsatile.place<64x64xbf16>
  %b = nsatile.load %b_at : tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
  %s = nsatile.dot %a, transpose %b : (tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>, tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>) -> tensor<64x64xf32, #mma>
  %m, %l, %p, %d = nsatile.softmax_update %max, %sum, %s scale %scale {nsatile.assumes_finite} : tensor<64xf32, #nsatile.slice<dim = 1, of = #mma>> sums tensor<64xf32, #nsatile.partial<of = #nsatile.slice<dim = 1, of = #mma>>>, tensor<64x64xf32, #mma>
  %to = nsatile.at %y[%c0] dims [0] limits [%c64] : memref<?xf32> -> !nsatile.place<64xf32>
  nsatile.store %m, %to : tensor<64xf32, #nsatile.slice<dim = 1, of = #mma>>
  nsatile.return
}

// Weights that may be approximate: one fused product where log-sum-exps are below 1024.
// LARGE-LABEL: llvm.func @weights
// LARGE: %[[MOST:.*]] = arith.constant 1.024000e+03 : f32
// LARGE: arith.cmpf oge, %{{.*}}, %[[MOST]]
// LARGE: %[[ANY:.*]] = nvvm.vote.sync any
// LARGE: scf.if %[[ANY]]
// LARGE-COUNT-4: arith.subf
// LARGE: } else {
// LARGE-NOT: arith.subf
// LARGE-COUNT-4: llvm.intr.fma
// LARGE: }
nsatile.program @weights(%x: memref<?x?xf32>, %l: memref<?xf32>, %scale: f32) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %s_at = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%c64, %c16] : memref<?x?xf32> -> !nsatile.place<64x16xf32>
  %s = nsatile.load %s_at : tensor<64x16xf32, #mma>
  %rows_at = nsatile.at %l[%c0] dims [0] limits [%c64] : memref<?xf32> -> !nsatile.place<64xf32>
  %rows = nsatile.load %rows_at : tensor<64xf32, #nsatile.slice<dim = 1, of = #mma>>
  %lse = nsatile.broadcast %rows along [1] : tensor<64xf32, #nsatile.slice<dim = 1, of = #mma>> -> tensor<64x16xf32, #mma>
  %rest = arith.constant dense<0.0> : tensor<64x16xf32, #mma>
  %w = nsatile.softmax_weights %s, %lse, %rest scale %scale approximate : tensor<64x16xf32, #mma>
  %to = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%c64, %c16] : memref<?x?xf32> -> !nsatile.place<64x16xf32>
  nsatile.store %w, %to : tensor<64x16xf32, #mma>
  nsatile.return
}
