// A phase runs its own passes only: the frontend phase leaves the program as it
// is, the nsa phase drops what nothing uses.
// RUN: nsacc-opt %s --nsacc-frontend-phase | FileCheck %s --check-prefixes=CHECK,FRONTEND
// RUN: nsacc-opt %s --nsacc-nsa-phase | FileCheck %s --check-prefixes=CHECK,NSA

// CHECK-LABEL: nsa.kernel @unused_pool
nsa.kernel @unused_pool(%k: !nsa.tensor<[B, S, H, D], bf16>) -> !nsa.tensor<[B, S, H, D], bf16> {
  // FRONTEND: nsa.pool
  // NSA-NOT: nsa.pool
  %kc = nsa.pool mean %k len 32 stride 16 tail drop
      : (!nsa.tensor<[B, S, H, D], bf16>) -> !nsa.tensor<[B, pool(S, 32, 16, drop), H, D], bf16>
  // CHECK: nsa.return
  nsa.return %k : !nsa.tensor<[B, S, H, D], bf16>
}
