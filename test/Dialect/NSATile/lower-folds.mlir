// Folds become loops: one that compares, or one for full tiles and one for each side of them.
// RUN: nsacc-opt %s --nsatile-lower-domains --canonicalize --split-input-file | FileCheck %s --check-prefix=DOMAIN
// RUN: nsacc-opt %s --nsatile-lower-domains --nsatile-lower-folds --canonicalize --split-input-file | FileCheck %s
// RUN: nsacc-opt %s --nsatile-lower-domains=peel=true --nsatile-lower-folds=peel=true --canonicalize --split-input-file | FileCheck %s --check-prefix=PEEL
// RUN: nsacc-opt %s --nsatile-lower-domains --nsatile-lower-folds --split-input-file --remarks-filter=".*" 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: nsacc-opt %s --nsatile-lower-domains=peel=true --nsatile-lower-folds=peel=true --split-input-file --remarks-filter=".*" 2>&1 | FileCheck %s --check-prefix=PEELED

// REMARK: [Missed] PeelFold{{.*}}Function=band | Remark="all tiles share a loop that compares them: nothing of a step is in flight in the next one"
// REMARK: [Passed] FoldForEachRange{{.*}}Function=two | Remark="each range has a fold"
// REMARK: [Missed] FoldForEachRange{{.*}}Function=many | Remark="4 ranges share a fold: code for each of them would be too long"
// PEELED: {{.}}Passed] PeelFold{{.*}}Function=band | Remark="full tiles have a loop without a mask"

// CHECK-LABEL: nsatile.program @band
// CHECK-SAME: %[[A:[a-z0-9]+]]: index, %[[B:[a-z0-9]+]]: index, %[[C:[a-z0-9]+]]: index, %[[D:[a-z0-9]+]]: index
// CHECK: scf.for %[[T:.*]] = %[[A]] to %[[D]] step
// CHECK: %[[BEFORE:.*]] = arith.cmpi slt, %[[T]], %[[B]]
// CHECK: %[[BEHIND:.*]] = arith.cmpi sge, %[[T]], %[[C]]
// CHECK: %[[PARTIAL:.*]] = arith.ori %[[BEFORE]], %[[BEHIND]]
// CHECK: scf.if %[[PARTIAL]]
// CHECK-NOT: scf.for

// A fold over one range stays as it is until it becomes a loop.
// DOMAIN-LABEL: nsatile.program @band
// DOMAIN-SAME: %[[A:[a-z0-9]+]]: index, %[[B:[a-z0-9]+]]: index, %[[C:[a-z0-9]+]]: index, %[[D:[a-z0-9]+]]: index
// DOMAIN: nsatile.fold over %[[A]] to %[[D]] full %[[B]] to %[[C]] state(
// DOMAIN-NOT: scf.for

// PEEL-LABEL: nsatile.program @band
// PEEL-SAME: %[[A:[a-z0-9]+]]: index, %[[B:[a-z0-9]+]]: index, %[[C:[a-z0-9]+]]: index, %[[D:[a-z0-9]+]]: index
// PEEL: %[[X:.*]] = scf.for %{{.*}} = %[[A]] to %[[B]]
// PEEL: arith.mulf
// PEEL: %[[Y:.*]] = scf.for %{{.*}} = %[[B]] to %[[C]] {{.*}} iter_args(%{{.*}} = %[[X]])
// PEEL-NOT: arith.mulf
// PEEL: scf.for %{{.*}} = %[[C]] to %[[D]] {{.*}} iter_args(%{{.*}} = %[[Y]])
// PEEL: arith.mulf
// PEEL-NOT: scf.if
nsatile.program @band(%a: index, %b: index, %c: index, %d: index, %x: f32, %out: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %r = nsatile.fold over %a to %d full %b to %c state(%x : f32) {
  ^bb0(%tile: index, %partial: i1, %y: f32):
    %z = arith.addf %y, %x : f32
    %m = scf.if %partial -> f32 {
      %w = arith.mulf %z, %x : f32
      scf.yield %w : f32
    } else {
      scf.yield %z : f32
    }
    nsatile.yield %m : f32
  }
  memref.store %r, %out[%c0] : memref<1xf32>
  nsatile.return
}

// -----

// Without full tiles nothing is asked; a second range leaves out the tiles of the first.

// CHECK-LABEL: nsatile.program @two
// CHECK: scf.for
// CHECK-NOT: arith.cmpi
// CHECK: scf.for %[[T:[a-z0-9]+]] =
// CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[T]]
// CHECK: %[[BEYOND:.*]] = arith.cmpi sge, %[[T]]
// CHECK: %[[FRESH:.*]] = arith.ori %[[BELOW]], %[[BEYOND]]
// CHECK: scf.if %[[FRESH]]
// DOMAIN-LABEL: nsatile.program @two
// DOMAIN: nsatile.fold over
// DOMAIN-NOT: scf.if
// DOMAIN: nsatile.fold over
// DOMAIN: scf.if
// PEEL-LABEL: nsatile.program @two
// PEEL-COUNT-2: scf.for
nsatile.program @two(%a: index, %b: index, %c: index, %d: index, %x: f32, %out: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %r = nsatile.fold over %a to %b, %c to %d state(%x : f32) {
  ^bb0(%tile: index, %partial: i1, %y: f32):
    %z = arith.uitofp %partial : i1 to f32
    %w = arith.addf %y, %z : f32
    nsatile.yield %w : f32
  }
  memref.store %r, %out[%c0] : memref<1xf32>
  nsatile.return
}

// -----

// More than three ranges share a loop over the number of their tiles.

// CHECK-LABEL: nsatile.program @many
// CHECK: scf.for
// CHECK: arith.select
// CHECK-NOT: scf.for
// DOMAIN-LABEL: nsatile.program @many
// DOMAIN: %[[ZERO:.*]] = arith.constant 0 : index
// DOMAIN: nsatile.fold over %[[ZERO]] to %{{.*}} state(
// DOMAIN-NOT: nsatile.fold
// PEEL-LABEL: nsatile.program @many
// PEEL: scf.for
// PEEL-NOT: scf.for
nsatile.program @many(%a: index, %b: index, %c: index, %d: index, %e: index, %x: f32, %out: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %r = nsatile.fold over %a to %b, %b to %c full %b to %c, %c to %d, %d to %e state(%x : f32) {
  ^bb0(%tile: index, %partial: i1, %y: f32):
    %z = arith.uitofp %partial : i1 to f32
    %w = arith.addf %y, %z : f32
    nsatile.yield %w : f32
  }
  memref.store %r, %out[%c0] : memref<1xf32>
  nsatile.return
}

// -----

// What is counted is there; otherwise negative entries are left out.

// CHECK-LABEL: nsatile.program @lists
// CHECK-SAME: %[[N:[a-z0-9]+]]: index
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[N]]
// CHECK: memref.load %{{.*}}[%[[I]]]
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK: memref.load
// CHECK: arith.cmpi sge
// CHECK: scf.if
// DOMAIN-LABEL: nsatile.program @lists
// DOMAIN-SAME: %[[N:[a-z0-9]+]]: index
// DOMAIN: nsatile.fold over %{{.*}} to %[[N]] state(
// DOMAIN: ^bb0(%[[I:[a-z0-9]+]]: index
// DOMAIN: memref.load %{{.*}}[%[[I]]]
// PEEL-LABEL: nsatile.program @lists
nsatile.program @lists(%n: index, %list: memref<16xi32>, %row: memref<8xindex>, %x: f32, %out: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %r = nsatile.fold in %list[] : memref<16xi32> count %n state(%x : f32) {
  ^bb0(%tile: index, %partial: i1, %y: f32):
    %i = arith.index_cast %tile : index to i32
    %z = arith.sitofp %i : i32 to f32
    %w = arith.addf %y, %z : f32
    nsatile.yield %w : f32
  }
  %s = nsatile.fold in %row[] : memref<8xindex> state(%r : f32) {
  ^bb0(%tile: index, %partial: i1, %y: f32):
    %i = arith.index_cast %tile : index to i32
    %z = arith.sitofp %i : i32 to f32
    %w = arith.addf %y, %z : f32
    nsatile.yield %w : f32
  }
  memref.store %s, %out[%c0] : memref<1xf32>
  nsatile.return
}

// -----

// Entries in parts: ranges say which of their tiles are seen, and which are full.

// CHECK-LABEL: nsatile.program @parts
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
// CHECK: %[[ENTRY:.*]] = arith.floordivsi %[[I]]
// CHECK: memref.load %{{.*}}[%[[ENTRY]]]
// CHECK: scf.if
// CHECK: arith.uitofp
// PEEL-LABEL: nsatile.program @parts
// PEEL: scf.for
// PEEL: scf.if
// PEEL: scf.if
nsatile.program @parts(%a: index, %b: index, %c: index, %d: index, %list: memref<16xi32>, %x: f32, %out: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %r = nsatile.fold in %list[] : memref<16xi32> parts 4 over %a to %d full %b to %c state(%x : f32) {
  ^bb0(%tile: index, %partial: i1, %y: f32):
    %z = arith.uitofp %partial : i1 to f32
    %w = arith.addf %y, %z : f32
    nsatile.yield %w : f32
  }
  memref.store %r, %out[%c0] : memref<1xf32>
  nsatile.return
}

// -----

// An entry's words are read where it is.
// DOMAIN-LABEL: nsatile.program @members
// DOMAIN: nsatile.fold over
// DOMAIN: %[[ENTRY:.*]] = arith.floordivsi
// DOMAIN: %[[LOW:.*]] = memref.load %words[%[[ENTRY]], %c0{{.*}}]
// DOMAIN: %[[HIGH:.*]] = memref.load %words[%[[ENTRY]], %c1{{.*}}]
// DOMAIN: arith.addi %[[LOW]], %[[HIGH]]
nsatile.program @members(%n: index, %list: memref<16xi32>, %words: memref<16x2xi32>, %x: i32, %out: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %r = nsatile.fold in %list[] : memref<16xi32> count %n with %words : memref<16x2xi32> parts 2 state(%x : i32) {
  ^bb0(%tile: index, %partial: i1, %low: i32, %high: i32, %y: i32):
    %z = arith.addi %low, %high : i32
    nsatile.yield %z : i32
  }
  memref.store %r, %out[%c0] : memref<1xi32>
  nsatile.return
}

// -----

// While a product stays in flight, steps have no branch.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>

// CHECK-LABEL: nsatile.program @pipelined
// CHECK-SAME: %[[A:[a-z0-9]+]]: index, %[[B:[a-z0-9]+]]: index, %[[C:[a-z0-9]+]]: index, %[[D:[a-z0-9]+]]: index
// CHECK: %[[X:.*]] = scf.for %{{.*}} = %[[A]] to %[[B]]
// CHECK: arith.select
// CHECK: %[[Y:.*]] = scf.for %{{.*}} = %[[B]] to %[[C]] {{.*}} iter_args(%{{.*}} = %[[X]])
// CHECK-NOT: arith.select
// CHECK: scf.for %{{.*}} = %[[C]] to %[[D]] {{.*}} iter_args(%{{.*}} = %[[Y]])
// CHECK-NOT: scf.if
// CHECK: arith.select
nsatile.program @pipelined(%a: index, %b: index, %c: index, %d: index, %q: tensor<64x64xbf16, #m>, %k: tensor<64x64xbf16, #m>, %seen: tensor<64x64xi1, #s>, %out: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %r = nsatile.fold over %a to %d full %b to %c state(%zero : tensor<64x64xf32, #s>) {
  ^bb0(%tile: index, %partial: i1, %acc: tensor<64x64xf32, #s>):
    %p = nsatile.dot_async %q, transpose %k : (tensor<64x64xbf16, #m>, tensor<64x64xbf16, #m>) -> !nsatile.pending<tensor<64x64xf32, #s>>
    %x = nsatile.dot_wait %p allow 0 : !nsatile.pending<tensor<64x64xf32, #s>>
    %t = scf.if %partial -> tensor<64x64xf32, #s> {
      %y = arith.select %seen, %x, %zero : tensor<64x64xi1, #s>, tensor<64x64xf32, #s>
      scf.yield %y : tensor<64x64xf32, #s>
    } else {
      scf.yield %x : tensor<64x64xf32, #s>
    }
    %sum = arith.addf %acc, %t : tensor<64x64xf32, #s>
    nsatile.yield %sum : tensor<64x64xf32, #s>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #s>
  nsatile.return
}

// -----

// So are tiles that all threads load for later steps.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

// CHECK-LABEL: nsatile.program @waited
// CHECK: scf.for
// CHECK-NOT: arith.addf
// CHECK: scf.for
// CHECK: arith.addf
nsatile.program @waited(%a: index, %b: index, %c: index, %q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %buffer = nsatile.circular_buffer : !R
  %r = nsatile.fold over %a to %c full %a to %b state(%zero : tensor<64x64xf32, #s>) {
  ^bb0(%tile: index, %partial: i1, %acc: tensor<64x64xf32, #s>):
    %k = nsatile.consumer_wait %buffer : !R
    %x = nsatile.dot %q, transpose %k acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
    nsatile.consumer_release %buffer : !R
    %t = scf.if %partial -> tensor<64x64xf32, #s> {
      %y = arith.addf %x, %x : tensor<64x64xf32, #s>
      scf.yield %y : tensor<64x64xf32, #s>
    } else {
      scf.yield %x : tensor<64x64xf32, #s>
    }
    nsatile.yield %t : tensor<64x64xf32, #s>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #s>
  nsatile.return
}
