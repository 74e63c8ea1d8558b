// RUN: nsacc-opt %s --nsatile-lower-control --verify-diagnostics

func.func @tensors(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  // expected-error @below {{can't be lowered to branches}}
  %r = scf.forall (%i) in (%n) shared_outs(%o = %x) -> tensor<4xf32> {
    scf.forall.in_parallel {
    }
  }
  return %r : tensor<4xf32>
}
