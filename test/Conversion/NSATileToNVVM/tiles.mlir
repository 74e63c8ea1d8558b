// Blocks that stay: who says which point is next, in which order, and how long it is kept.
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm | FileCheck %s

#m = #nsatile.shared<swizzle = 128>

// One column after the other: a division for the column, one for its y and z, each with its rest.
// CHECK-LABEL: llvm.func @even
// CHECK: llvm.atomicrmw uinc_wrap
// CHECK-NOT: arith.minui
// CHECK: llvm.return
nsatile.program @even(%nx: index, %ny: index, %nz: index) {
  nsatile.warp_specialize consumers 4 {
    nsatile.tiles of(%nx, %ny, %nz) {
    ^bb0(%x: index, %y: index, %z: index):
    }
  } producer {
    nsatile.tiles of(%nx, %ny, %nz) {
    ^bb0(%x: index, %y: index, %z: index):
    }
  }
  nsatile.return
}

// The consumers run their loop, and read the point again for what stands behind it: only then may the producer write
// over it. What they computed of the point in front of the loop is computed again. Then they hear the next point, before
// results are written.
// CHECK-LABEL: llvm.func @sections
// CHECK: mbarrier.try_wait
// CHECK-COUNT-3: ld.volatile.shared::cta.b32
// CHECK-NOT: mbarrier.arrive
// CHECK: arith.muli %{{.*}}, %c64_i32{{.*}} :
// CHECK: scf.while
// CHECK: nvvm.barrier id =
// CHECK-COUNT-3: ld.volatile.shared::cta.b32
// CHECK: mbarrier.arrive
// CHECK: arith.muli %{{.*}}, %c64_i32{{.*}} :
// CHECK: mov.u32 $0, %tid.x;
// CHECK: mbarrier.try_wait
// CHECK-COUNT-3: ld.volatile.shared::cta.b32
// CHECK: llvm.store {{.*}} !llvm.ptr<1>
// Sections of columns in the producer: how wide they are follows from the number of blocks.
// CHECK: %[[BLOCKS:.*]] = nvvm.read.ptx.sreg.nctaid.x
// CHECK: arith.muli %[[BLOCKS]]
// CHECK: arith.ceildivui
// CHECK: arith.maxui
// CHECK: arith.ceildivui
// CHECK: arith.minui
// CHECK: llvm.atomicrmw uinc_wrap
nsatile.program @sections(%nx: index, %ny: index, %nz: index, %o: memref<?xf32>) {
  %buffer = nsatile.circular_buffer : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
  nsatile.warp_specialize consumers 4 {
    nsatile.tiles of(%nx, %ny, %nz) sections {
    ^bb0(%x: index, %y: index, %z: index):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %row = arith.muli %x, %c64 : index
      scf.for %i = %c0 to %row step %c1 {
        %t = nsatile.consumer_wait %buffer : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
        nsatile.consumer_release %buffer : !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
      }
      %zeros = arith.constant dense<0.0> : tensor<64xf32, #nsatile.blocked<threads = 128>>
      %to = nsatile.at %o[%row] dims [0] limits [%nx] : memref<?xf32> -> !nsatile.place<64xf32>
      nsatile.store %zeros, %to : tensor<64xf32, #nsatile.blocked<threads = 128>>
    }
  } producer {
    nsatile.tiles of(%nx, %ny, %nz) sections {
    ^bb0(%x: index, %y: index, %z: index):
    }
  }
  nsatile.return
}
