// Loops are made of folds over one range.
// RUN: nsacc-opt %s --nsatile-lower-folds --verify-diagnostics

nsatile.program @list(%n: index, %list: memref<16xi32>) {
  // expected-error @+1 {{expected a fold over one range, as nsatile-lower-domains makes of other domains}}
  nsatile.fold in %list[] : memref<16xi32> count %n {
  ^bb0(%tile: index, %partial: i1):
    nsatile.yield
  }
  nsatile.return
}
