// Runs a plan on random inputs, and says what is missing.
// RUN: nsacc-tile-run %s 100 100 --repeat 2 --threads 2 --flops 1e3 --phases --timing --sums 2>&1 | FileCheck %s
// RUN: nsacc-tile-run %s 100 100 --cpu x86-64-v2 --features +avx --sums | FileCheck %s --check-prefix=SUMS
// RUN: not nsacc-tile-run %s 100 2>&1 | FileCheck %s --check-prefix=SHAPES
// RUN: not nsacc-tile-run %s 100 ten 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not nsacc-tile-run %s 100 100 --cpu z80 2>&1 | FileCheck %s --check-prefix=PROCESSOR

// RUN: nsacc-tile-run %s 100 100 --output "argument 1=%t.npy" --memory | FileCheck %s --check-prefix=MEMORY
// RUN: nsacc-tile-run %s 100 100 --input "argument 0=%t.npy" --sums | FileCheck %s --check-prefix=SUMS
// RUN: not nsacc-tile-run %s 100 100 --input 2=%t.npy 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not nsacc-tile-run %s 100 100 --input %t.npy 2>&1 | FileCheck %s --check-prefix=PAIR

// CHECK-DAG: all runs: {{.*}} ms
// CHECK-DAG: compile {{[0-9]+}} ms
// CHECK-DAG: ConvertNSATileToVector
// CHECK-DAG: generate machine code
// CHECK-DAG: 7 programs, workspace 0 bytes, stack 64 bytes
// CHECK-DAG: copy: {{.*}} ms
// CHECK-DAG: GFLOP/s
// SUMS: argument 0: sum [[SUM:.*]]
// SUMS-NEXT: argument 1: sum [[SUM]]
// MEMORY: memory {{.*}} MiB beyond 0.0 MiB of inputs and results
// NAME: nsacc-tile-run: the plan has no argument '2'
// PAIR: nsacc-tile-run: expected NAME=FILE.npy, found
// SHAPES: nsacc-tile-run: expected 2 shapes, found 1
// SHAPE: nsacc-tile-run: expected a shape like 1x64x2x32, found 'ten'
// PROCESSOR: nsacc-tile-run: there is no processor 'z80'; LLVM's names are expected

nsatile.program @copy(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  %16 = arith.constant 16 : index
  %p = nsatile.program_id 0
  %i = arith.muli %p, %16 : index
  %t_at = nsatile.at %x[%i] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<16xf32>
  %t = nsatile.load %t_at : tensor<16xf32>
  %to = nsatile.at %y[%i] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<16xf32>
  nsatile.store %t, %to : tensor<16xf32>
  nsatile.return
}
nsatile.plan @plan(%x: memref<?xf32>, %y: memref<?xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %16 = arith.constant 16 : index
  %n = memref.dim %x, %0 : memref<?xf32>
  %tiles = arith.ceildivsi %n, %16 : index
  nsatile.launch @copy grid(%tiles, %1, %1) (%x, %y, %n) : memref<?xf32>, memref<?xf32>, index
  nsatile.return
}
