// A repair waits for the program in front of it by itself, where the target has that.
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm=dependent-launches=true | FileCheck %s
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm | FileCheck %s --check-prefix=PLAIN

// PLAIN-NOT: griddepcontrol
// PLAIN-NOT: dependent

#rows = #nsatile.blocked<threads = 128>

// CHECK-LABEL: llvm.func @fast
// CHECK-NOT: dependent
// CHECK: nvvm.griddepcontrol launch_dependents
// CHECK: llvm.load
nsatile.program @fast(%x: memref<?xf32>, %marks: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %t_at = nsatile.at %x[%c0] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<128xf32>
  %t = nsatile.load %t_at : tensor<128xf32, #rows>
  %to = nsatile.at %marks[%c0] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<128xf32>
  nsatile.store %t, %to : tensor<128xf32, #rows>
  nsatile.raise %t : tensor<128xf32, #rows>
  nsatile.return
}

// Nothing is read before the wait.
// CHECK-LABEL: llvm.func @exact
// CHECK-SAME: dependent = true
// CHECK-NOT: llvm.load
// CHECK: nvvm.griddepcontrol wait
// CHECK: llvm.load
nsatile.program @exact(%x: memref<?xf32>, %marks: memref<?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  nsatile.repair of (%n, %c1, %c1) {
  ^bb0(%i: index, %j: index, %k: index):
    %t_at = nsatile.at %x[%i] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<128xf32>
    %t = nsatile.load %t_at : tensor<128xf32, #rows>
    %to = nsatile.at %marks[%i] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<128xf32>
    nsatile.store %t, %to : tensor<128xf32, #rows>
  }
  nsatile.return
}
