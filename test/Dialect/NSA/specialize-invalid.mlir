// Token counts stay open; names and sizes have to make sense.
// RUN: not nsacc-opt %s --nsa-specialize=dims=S=64 2>&1 | FileCheck %s --check-prefix=TOKENS
// RUN: not nsacc-opt %s --nsa-specialize=dims=X=64 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not nsacc-opt %s --nsa-specialize=dims=D=none 2>&1 | FileCheck %s --check-prefix=SIZE

// TOKENS: error: {{.*}}can't fix the size of 'S': it counts tokens, and compiled programs work for every length
// UNKNOWN: error: {{.*}}has no dimension 'X' to fix
// SIZE: error: {{.*}}expected NAME=SIZE with a size of at least 1, found 'D=none'
nsa.kernel @f(%q: !nsa.tensor<[B, T, HQ, D], bf16>, %k: !nsa.tensor<[B, S, H, D], bf16>) -> (!nsa.tensor<[B, T, HQ, D], f32>) {
  %o, %lse = nsa.attend(%q, %k, %k) : (!nsa.tensor<[B, T, HQ, D], bf16>, !nsa.tensor<[B, S, H, D], bf16>, !nsa.tensor<[B, S, H, D], bf16>) -> (!nsa.tensor<[B, T, HQ, D], f32>, !nsa.tensor<[B, T, HQ], f32>)
  nsa.return %o : !nsa.tensor<[B, T, HQ, D], f32>
}
