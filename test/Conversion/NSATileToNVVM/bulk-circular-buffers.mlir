// A circular buffer of a warp-specialized program: barriers in shared memory, a thread that loads by bulk copies, warps that wait and give places back,
// and results that leave through shared memory.
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm=registers=65536 --remarks-filter=".*" 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// REMARK: [Passed] {{.*}}Function=copy | Remark="the tile leaves through shared memory"

#m = #nsatile.shared<swizzle = 128>
#a = #nsatile.mma<warps = 8>
!R = !nsatile.circular_buffer<2 of tensor<128x128xbf16, #m>>

// Each place has a barrier of the producer and one that all consumers' warps arrive at.
// CHECK-LABEL: llvm.func @copy
// CHECK: scf.if
// CHECK: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c8_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c8_i32
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.barrier id = %c0_i32
// Consumers take the producer's registers.
// CHECK: scf.if
// CHECK: nvvm.setmaxregister increase 240
// CHECK: mbarrier.try_wait
// CHECK: nvvm.ldmatrix
// CHECK: mbarrier.arrive
// A warpgroup's rows: its leader starts the copies of two slabs when all have written.
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK: nvvm.barrier id = %{{.*}} number_of_threads = %c128_i32
// CHECK-COUNT-8: nvvm.stmatrix
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK: nvvm.barrier id = %{{.*}} number_of_threads = %c128_i32
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK: nvvm.cp.async.bulk.commit.group
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK: } else {
// CHECK: nvvm.setmaxregister decrease 24
// CHECK: mbarrier.try_wait
// CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c32768_i32
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK-NOT: nvvm.cp.async.bulk
// CHECK: llvm.return
nsatile.program @copy(%x: memref<?x128xbf16>, %y: memref<?x128xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %buffer = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 8 {
    %t = nsatile.consumer_wait %buffer : !R
    %f = nsatile.fragment %t : tensor<128x128xbf16, #m> -> tensor<128x128xbf16, #a>
    nsatile.consumer_release %buffer : !R
    %to = nsatile.at %y[%c0, %c0] dims [0, 1] limits [%n, %c128] : memref<?x128xbf16> -> !nsatile.place<128x128xbf16>
    nsatile.store %f, %to : tensor<128x128xbf16, #a>
  } producer {
    %from = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%n, %c128] : memref<?x128xbf16> -> !nsatile.place<128x128xbf16>
    nsatile.producer_load %buffer, %from : !R
  }
  nsatile.return
}
