// The five products of a backward step with 128 keys, of which the gradient of the queries stands a step late: its product reads what the step
// before wrote, through a circular buffer of two tiles.
// RUN: nsacc-opt %s --nsacc-tile-opt-phase=device=sm_90a --remarks-filter=".*" 2> %t.remarks | FileCheck %s --check-prefix=HOPPER
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: nsacc-opt %s --nsacc-tile-opt-phase=device=sm_80 | FileCheck %s --check-prefix=AMPERE
// RUN: nsacc-opt %s --nsacc-tile-opt-phase=device=sm_90a --nsacc-nvvm-phase=device=sm_90a | FileCheck %s --check-prefix=WGMMA

// REMARK: [Passed] {{.*}}Function=queries128 | Remark="products that run a step late: 1"
// REMARK: [Passed] {{.*}}Function=queries64 | Remark="products that run a step late: 1"
// REMARK: [Passed] {{.*}}Function=channels128 | Remark="products that run a step late: 1"
// REMARK: [Passed] {{.*}}Function=queries128 | Remark="products of a step that run side by side: 2, 3"
// REMARK: [Passed] {{.*}}Function=channels128 | Remark="products of a step that run side by side: 2, 3"

// 64 channels, 128 queries a step. The late product starts with the second group, as its step's own would.
// HOPPER-LABEL: nsatile.program @queries128
// HOPPER: %[[HANDED:.*]] = nsatile.circular_buffer : <2 of tensor<128x128xbf16, #nsatile.shared<swizzle = 128>>>
// HOPPER-NEXT: nsatile.warp_specialize consumers 8
// HOPPER: %[[K:.*]] = nsatile.consumer_wait
// HOPPER: nsatile.consumer_store %{{.*}}, %[[HANDED]]
// HOPPER: scf.for
// HOPPER:   nsatile.dot_async {{.*}}, transpose
// HOPPER:   nsatile.dot_async {{.*}}, transpose
// HOPPER:   nsatile.dot_wait {{.*}} allow 1
// HOPPER:   nsatile.dot_wait {{.*}} allow 0
// HOPPER:   nsatile.consumer_store %[[DS:.*]], %[[HANDED]]
// HOPPER-NEXT: %[[DV:.*]] = nsatile.dot_async {{.*}} acc
// HOPPER-NEXT: %[[BEFORE:.*]] = nsatile.consumer_wait %[[HANDED]]
// HOPPER-NEXT: %[[DQ0:.*]] = nsatile.dot_async transpose %[[BEFORE]], %[[K]]
// HOPPER-NEXT: %[[DK:.*]] = nsatile.dot_async %[[DS]], {{.*}} acc
// HOPPER-NEXT: nsatile.dot_wait %[[DV]] allow 2
// HOPPER:   %[[DQ:.*]] = nsatile.dot_wait %[[DQ0]] allow 1
// HOPPER-NEXT: nsatile.consumer_release %[[HANDED]]
// HOPPER-NEXT: scf.if
// HOPPER:     nsatile.accumulate %[[DQ]]
// HOPPER:   nsatile.dot_wait %[[DK]] allow 0
// HOPPER:   scf.yield
// HOPPER: %[[LAST:.*]] = nsatile.consumer_wait %[[HANDED]]
// HOPPER: nsatile.dot_async transpose %[[LAST]], %[[K]]
// HOPPER: nsatile.dot_wait
// HOPPER-NEXT: nsatile.consumer_release %[[HANDED]]
// HOPPER: nsatile.accumulate
// HOPPER: } producer {
// HOPPER-NOT: nsatile.consumer_store

// Warpgroups don't meet between the stores and the product.
// WGMMA-LABEL: llvm.func @queries128
// WGMMA: wgmma.wait_group.sync.aligned 0
// WGMMA: mbarrier.try_wait
// WGMMA: nvvm.stmatrix
// WGMMA: nvvm.fence.proxy
// WGMMA-NOT: nvvm.barrier
// WGMMA: mbarrier.arrive
// WGMMA-NOT: nvvm.barrier
// WGMMA: wgmma.mma_async
// WGMMA-NOT: nvvm.barrier
// WGMMA: mbarrier.try_wait
// WGMMA: wgmma.mma_async
nsatile.program @queries128(%q: memref<?x64xbf16>, %k: memref<?x64xbf16>, %v: memref<?x64xbf16>, %g: memref<?x64xbf16>, %lse: memref<?xf32>, %delta: memref<?xf32>, %dq: memref<?x64xf32>, %turns: memref<?xi32>, %dk: memref<?x64xbf16>, %dv: memref<?x64xbf16>, %n: index, %steps: index, %blocks: index, %scale: f32)
    attributes {schedule = #nsatile.schedule<tokens = 128, keys = 128, warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ck = arith.constant 128 : index
  %cq = arith.constant 128 : index
  %cd = arith.constant 64 : index
  %zeros = arith.constant dense<0.0> : tensor<128x64xf32>
  %block = nsatile.program_id 0
  %first = arith.muli %block, %ck : index
  %last = arith.subi %blocks, %c1 : index
  %turn = arith.subi %last, %block : index
  %kt_at = nsatile.at %k[%first, %c0] dims [0, 1] limits [%n, %cd] : memref<?x64xbf16> -> !nsatile.place<128x64xbf16>
  %kt = nsatile.load %kt_at : tensor<128x64xbf16>
  %vt_at = nsatile.at %v[%first, %c0] dims [0, 1] limits [%n, %cd] : memref<?x64xbf16> -> !nsatile.place<128x64xbf16>
  %vt = nsatile.load %vt_at : tensor<128x64xbf16>
  %factor = tensor.splat %scale : tensor<128x128xf32>
  %r:2 = nsatile.fold over %c0 to %steps state(%zeros, %zeros : tensor<128x64xf32>, tensor<128x64xf32>) {
  ^bb0(%tile: index, %partial: i1, %sumv: tensor<128x64xf32>, %sumk: tensor<128x64xf32>):
    %at = arith.muli %tile, %cq : index
    %qt_at = nsatile.at %q[%at, %c0] dims [0, 1] limits [%n, %cd] : memref<?x64xbf16> -> !nsatile.place<128x64xbf16>
    %qt = nsatile.load %qt_at : tensor<128x64xbf16>
    %gt_at = nsatile.at %g[%at, %c0] dims [0, 1] limits [%n, %cd] : memref<?x64xbf16> -> !nsatile.place<128x64xbf16>
    %gt = nsatile.load %gt_at : tensor<128x64xbf16>
    %ls_at = nsatile.at %lse[%at] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<128xf32>
    %ls = nsatile.load %ls_at {nsatile.ahead} : tensor<128xf32>
    %ds_at = nsatile.at %delta[%at] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<128xf32>
    %ds = nsatile.load %ds_at {nsatile.ahead} : tensor<128xf32>
    %s = nsatile.dot %kt, transpose %qt : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<128x128xf32>
    %x = arith.mulf %s, %factor : tensor<128x128xf32>
    %lsb = nsatile.broadcast %ls along [0] : tensor<128xf32> -> tensor<128x128xf32>
    %y = arith.subf %x, %lsb : tensor<128x128xf32>
    %p = math.exp2 %y : tensor<128x128xf32>
    %pr = arith.truncf %p : tensor<128x128xf32> to tensor<128x128xbf16>
    %sumv1 = nsatile.dot %pr, %gt acc %sumv : (tensor<128x128xbf16>, tensor<128x64xbf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %dp = nsatile.dot %vt, transpose %gt : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<128x128xf32>
    %dsb = nsatile.broadcast %ds along [0] : tensor<128xf32> -> tensor<128x128xf32>
    %d = arith.subf %dp, %dsb : tensor<128x128xf32>
    %pd = arith.mulf %p, %d : tensor<128x128xf32>
    %dst = arith.truncf %pd : tensor<128x128xf32> to tensor<128x128xbf16>
    %dqt = nsatile.dot transpose %dst, %kt : (tensor<128x128xbf16>, tensor<128x64xbf16>) -> tensor<128x64xf32>
    %to = nsatile.at %dq[%at, %c0] dims [0, 1] limits [%n, %cd] : memref<?x64xf32> -> !nsatile.place<128x64xf32>
    nsatile.accumulate %dqt, %to turn %turn of %turns[%tile] : memref<?xi32> {nsatile.stage = 1} : tensor<128x64xf32>
    %sumk1 = nsatile.dot %dst, %qt acc %sumk : (tensor<128x128xbf16>, tensor<128x64xbf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    nsatile.yield %sumv1, %sumk1 : tensor<128x64xf32>, tensor<128x64xf32>
  }
  %dvr = arith.truncf %r#0 : tensor<128x64xf32> to tensor<128x64xbf16>
  %dkr = arith.truncf %r#1 : tensor<128x64xf32> to tensor<128x64xbf16>
  %to_1 = nsatile.at %dv[%first, %c0] dims [0, 1] limits [%n, %cd] : memref<?x64xbf16> -> !nsatile.place<128x64xbf16>
  nsatile.store %dvr, %to_1 : tensor<128x64xbf16>
  %to_2 = nsatile.at %dk[%first, %c0] dims [0, 1] limits [%n, %cd] : memref<?x64xbf16> -> !nsatile.place<128x64xbf16>
  nsatile.store %dkr, %to_2 : tensor<128x64xbf16>
  nsatile.return
}

// 64 queries a step: their gradient has too few rows for two warpgroups, whose warps compute it with mma.
// HOPPER-LABEL: nsatile.program @queries64
// HOPPER: nsatile.consumer_store
// HOPPER: scf.for
// HOPPER:   nsatile.consumer_store
// HOPPER:   %[[BEFORE:.*]] = nsatile.consumer_wait
// HOPPER:   nsatile.dot transpose %[[BEFORE]]
// AMPERE-LABEL: nsatile.program @queries64
// AMPERE: scf.for
// AMPERE:   nsatile.consumer_store %{{.*}}, %[[HANDED:.*]] : tensor<128x64xbf16, #nsatile.mma<warps = 8>>
// AMPERE:   %[[BEFORE:.*]] = nsatile.consumer_wait %[[HANDED]]
// AMPERE:   nsatile.dot transpose %[[BEFORE]]
// AMPERE:   scf.yield
nsatile.program @queries64(%q: memref<?x64xbf16>, %k: memref<?x64xbf16>, %v: memref<?x64xbf16>, %g: memref<?x64xbf16>, %lse: memref<?xf32>, %delta: memref<?xf32>, %dq: memref<?x64xf32>, %turns: memref<?xi32>, %dk: memref<?x64xbf16>, %dv: memref<?x64xbf16>, %n: index, %steps: index, %blocks: index, %scale: f32)
    attributes {schedule = #nsatile.schedule<tokens = 128, keys = 64, warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ck = arith.constant 128 : index
  %cq = arith.constant 64 : index
  %cd = arith.constant 64 : index
  %zeros = arith.constant dense<0.0> : tensor<128x64xf32>
  %block = nsatile.program_id 0
  %first = arith.muli %block, %ck : index
  %last = arith.subi %blocks, %c1 : index
  %turn = arith.subi %last, %block : index
  %kt_at = nsatile.at %k[%first, %c0] dims [0, 1] limits [%n, %cd] : memref<?x64xbf16> -> !nsatile.place<128x64xbf16>
  %kt = nsatile.load %kt_at : tensor<128x64xbf16>
  %vt_at = nsatile.at %v[%first, %c0] dims [0, 1] limits [%n, %cd] : memref<?x64xbf16> -> !nsatile.place<128x64xbf16>
  %vt = nsatile.load %vt_at : tensor<128x64xbf16>
  %factor = tensor.splat %scale : tensor<128x64xf32>
  %r:2 = nsatile.fold over %c0 to %steps state(%zeros, %zeros : tensor<128x64xf32>, tensor<128x64xf32>) {
  ^bb0(%tile: index, %partial: i1, %sumv: tensor<128x64xf32>, %sumk: tensor<128x64xf32>):
    %at = arith.muli %tile, %cq : index
    %qt_at = nsatile.at %q[%at, %c0] dims [0, 1] limits [%n, %cd] : memref<?x64xbf16> -> !nsatile.place<64x64xbf16>
    %qt = nsatile.load %qt_at : tensor<64x64xbf16>
    %gt_at = nsatile.at %g[%at, %c0] dims [0, 1] limits [%n, %cd] : memref<?x64xbf16> -> !nsatile.place<64x64xbf16>
    %gt = nsatile.load %gt_at : tensor<64x64xbf16>
    %ls_at = nsatile.at %lse[%at] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<64xf32>
    %ls = nsatile.load %ls_at {nsatile.ahead} : tensor<64xf32>
    %ds_at = nsatile.at %delta[%at] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<64xf32>
    %ds = nsatile.load %ds_at {nsatile.ahead} : tensor<64xf32>
    %s = nsatile.dot %kt, transpose %qt : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xf32>
    %x = arith.mulf %s, %factor : tensor<128x64xf32>
    %lsb = nsatile.broadcast %ls along [0] : tensor<64xf32> -> tensor<128x64xf32>
    %y = arith.subf %x, %lsb : tensor<128x64xf32>
    %p = math.exp2 %y : tensor<128x64xf32>
    %pr = arith.truncf %p : tensor<128x64xf32> to tensor<128x64xbf16>
    %sumv1 = nsatile.dot %pr, %gt acc %sumv : (tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %dp = nsatile.dot %vt, transpose %gt : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xf32>
    %dsb = nsatile.broadcast %ds along [0] : tensor<64xf32> -> tensor<128x64xf32>
    %d = arith.subf %dp, %dsb : tensor<128x64xf32>
    %pd = arith.mulf %p, %d : tensor<128x64xf32>
    %dst = arith.truncf %pd : tensor<128x64xf32> to tensor<128x64xbf16>
    %dqt = nsatile.dot transpose %dst, %kt : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<64x64xf32>
    %to = nsatile.at %dq[%at, %c0] dims [0, 1] limits [%n, %cd] : memref<?x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.accumulate %dqt, %to turn %turn of %turns[%tile] : memref<?xi32> {nsatile.stage = 1} : tensor<64x64xf32>
    %sumk1 = nsatile.dot %dst, %qt acc %sumk : (tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    nsatile.yield %sumv1, %sumk1 : tensor<128x64xf32>, tensor<128x64xf32>
  }
  %dvr = arith.truncf %r#0 : tensor<128x64xf32> to tensor<128x64xbf16>
  %dkr = arith.truncf %r#1 : tensor<128x64xf32> to tensor<128x64xbf16>
  %to_1 = nsatile.at %dv[%first, %c0] dims [0, 1] limits [%n, %cd] : memref<?x64xbf16> -> !nsatile.place<128x64xbf16>
  nsatile.store %dvr, %to_1 : tensor<128x64xbf16>
  %to_2 = nsatile.at %dk[%first, %c0] dims [0, 1] limits [%n, %cd] : memref<?x64xbf16> -> !nsatile.place<128x64xbf16>
  nsatile.store %dkr, %to_2 : tensor<128x64xbf16>
  nsatile.return
}

// 128 channels, 64 queries: the gradient of the queries has a row for each channel, and the keys are its left operand.
// HOPPER-LABEL: nsatile.program @channels128
// HOPPER: scf.for
// HOPPER:   nsatile.consumer_store
// HOPPER:   %[[BEFORE:.*]] = nsatile.consumer_wait
// HOPPER:   nsatile.dot_async transpose %{{.*}}, %[[BEFORE]]
// AMPERE-LABEL: nsatile.program @channels128
// AMPERE: scf.for
// AMPERE:   nsatile.consumer_store
// AMPERE:   scf.yield
nsatile.program @channels128(%q: memref<?x128xbf16>, %k: memref<?x128xbf16>, %v: memref<?x128xbf16>, %g: memref<?x128xbf16>, %lse: memref<?xf32>, %delta: memref<?xf32>, %dq: memref<128x?xf32>, %turns: memref<?xi32>, %dk: memref<?x128xbf16>, %dv: memref<?x128xbf16>, %n: index, %steps: index, %blocks: index, %scale: f32)
    attributes {schedule = #nsatile.schedule<tokens = 128, keys = 64, warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ck = arith.constant 128 : index
  %cq = arith.constant 64 : index
  %cd = arith.constant 128 : index
  %zeros = arith.constant dense<0.0> : tensor<128x128xf32>
  %block = nsatile.program_id 0
  %first = arith.muli %block, %ck : index
  %last = arith.subi %blocks, %c1 : index
  %turn = arith.subi %last, %block : index
  %kt_at = nsatile.at %k[%first, %c0] dims [0, 1] limits [%n, %cd] : memref<?x128xbf16> -> !nsatile.place<128x128xbf16>
  %kt = nsatile.load %kt_at : tensor<128x128xbf16>
  %vt_at = nsatile.at %v[%first, %c0] dims [0, 1] limits [%n, %cd] : memref<?x128xbf16> -> !nsatile.place<128x128xbf16>
  %vt = nsatile.load %vt_at : tensor<128x128xbf16>
  %factor = tensor.splat %scale : tensor<128x64xf32>
  %r:2 = nsatile.fold over %c0 to %steps state(%zeros, %zeros : tensor<128x128xf32>, tensor<128x128xf32>) {
  ^bb0(%tile: index, %partial: i1, %sumv: tensor<128x128xf32>, %sumk: tensor<128x128xf32>):
    %at = arith.muli %tile, %cq : index
    %qt_at = nsatile.at %q[%at, %c0] dims [0, 1] limits [%n, %cd] : memref<?x128xbf16> -> !nsatile.place<64x128xbf16>
    %qt = nsatile.load %qt_at : tensor<64x128xbf16>
    %gt_at = nsatile.at %g[%at, %c0] dims [0, 1] limits [%n, %cd] : memref<?x128xbf16> -> !nsatile.place<64x128xbf16>
    %gt = nsatile.load %gt_at : tensor<64x128xbf16>
    %ls_at = nsatile.at %lse[%at] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<64xf32>
    %ls = nsatile.load %ls_at {nsatile.ahead} : tensor<64xf32>
    %ds_at = nsatile.at %delta[%at] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<64xf32>
    %ds = nsatile.load %ds_at {nsatile.ahead} : tensor<64xf32>
    %s = nsatile.dot %kt, transpose %qt : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
    %x = arith.mulf %s, %factor : tensor<128x64xf32>
    %lsb = nsatile.broadcast %ls along [0] : tensor<64xf32> -> tensor<128x64xf32>
    %y = arith.subf %x, %lsb : tensor<128x64xf32>
    %p = math.exp2 %y : tensor<128x64xf32>
    %pr = arith.truncf %p : tensor<128x64xf32> to tensor<128x64xbf16>
    %sumv1 = nsatile.dot %pr, %gt acc %sumv : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %dp = nsatile.dot %vt, transpose %gt : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
    %dsb = nsatile.broadcast %ds along [0] : tensor<64xf32> -> tensor<128x64xf32>
    %d = arith.subf %dp, %dsb : tensor<128x64xf32>
    %pd = arith.mulf %p, %d : tensor<128x64xf32>
    %dst = arith.truncf %pd : tensor<128x64xf32> to tensor<128x64xbf16>
    %dqt = nsatile.dot transpose %kt, %dst : (tensor<128x128xbf16>, tensor<128x64xbf16>) -> tensor<128x64xf32>
    %to = nsatile.at %dq[%c0, %at] dims [0, 1] limits [%cd, %n] : memref<128x?xf32> -> !nsatile.place<128x64xf32>
    nsatile.accumulate %dqt, %to turn %turn of %turns[%tile] : memref<?xi32> {nsatile.stage = 1} : tensor<128x64xf32>
    %sumk1 = nsatile.dot %dst, %qt acc %sumk : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    nsatile.yield %sumv1, %sumk1 : tensor<128x128xf32>, tensor<128x128xf32>
  }
  %dvr = arith.truncf %r#0 : tensor<128x128xf32> to tensor<128x128xbf16>
  %dkr = arith.truncf %r#1 : tensor<128x128xf32> to tensor<128x128xbf16>
  %to_1 = nsatile.at %dv[%first, %c0] dims [0, 1] limits [%n, %cd] : memref<?x128xbf16> -> !nsatile.place<128x128xbf16>
  nsatile.store %dvr, %to_1 : tensor<128x128xbf16>
  %to_2 = nsatile.at %dk[%first, %c0] dims [0, 1] limits [%n, %cd] : memref<?x128xbf16> -> !nsatile.place<128x128xbf16>
  nsatile.store %dkr, %to_2 : tensor<128x128xbf16>
  nsatile.return
}
