// RUN: nsacc-opt %s --nsatile-assume-finite --split-input-file --verify-diagnostics

// expected-error @below {{expected 'nsatile.exact' to name a program, and both to have a schedule and to be launched once}}
nsatile.program @alone() attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64>, nsatile.exact = @missing} {
  nsatile.return
}
