// Sizes that compiled programs may rely on are noted on the kernel; a second run adds to them.
// RUN: nsacc-opt %s --nsa-specialize=dims=HQ=16,D=64 --nsa-specialize=dims=H=4 | FileCheck %s

// CHECK: nsa.kernel @f
// CHECK: attributes {nsa.sizes = {D = 64 : i64, H = 4 : i64, HQ = 16 : i64}
nsa.kernel @f(%q: !nsa.tensor<[B, T, HQ, D], bf16>, %k: !nsa.tensor<[B, S, H, D], bf16>) -> (!nsa.tensor<[B, T, HQ, D], f32>) {
  %o, %lse = nsa.attend(%q, %k, %k) : (!nsa.tensor<[B, T, HQ, D], bf16>, !nsa.tensor<[B, S, H, D], bf16>, !nsa.tensor<[B, S, H, D], bf16>) -> (!nsa.tensor<[B, T, HQ, D], f32>, !nsa.tensor<[B, T, HQ], f32>)
  nsa.return %o : !nsa.tensor<[B, T, HQ, D], f32>
}
