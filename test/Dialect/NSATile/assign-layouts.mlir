// Layouts start at products and softmaxes and flow to what is around them.
// RUN: nsacc-opt %s --pass-pipeline='builtin.module(nsatile.program(nsatile-assign-layouts))' | FileCheck %s
// Once more changes nothing.
// RUN: nsacc-opt %s --pass-pipeline='builtin.module(nsatile.program(nsatile-assign-layouts))' > %t.once
// RUN: nsacc-opt %t.once --pass-pipeline='builtin.module(nsatile.program(nsatile-assign-layouts))' | diff - %t.once

// How many warps a program gets where the schedule leaves them open.
// RUN: nsacc-opt %s --pass-pipeline='builtin.module(nsatile.program(nsatile-assign-layouts))' --remarks-filter=".*" 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: [Passed] {{.*}}Function=product | Remark="4 warps, of 16 rows of its 64"
// REMARK-DAG: [Missed] {{.*}}Function=wide | Remark="16 rows for each warp: 192 rows would take 12 warps, and it has 8"
// REMARK-DAG: [Passed] Sorting{{.*}}Function=sum_of_four | Remark="lanes of a warp hold rows of 32 keys to sort, 4 in each"
// REMARK-DAG: [Missed] Sorting{{.*}}Function=long_rows | Remark="lanes don't hold rows of 4096 keys to sort: 128 a thread, and at most 16 have room"

!buffer = memref<?x64xbf16, strided<[?, 1]>>

// CHECK-LABEL: nsatile.program @product
nsatile.program @product(%q: !buffer, %k: !buffer, %out: memref<?x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  // CHECK: nsatile.load {{.*}} : tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
  %a_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !buffer -> !nsatile.place<64x64xbf16>
  %a = nsatile.load %a_at : tensor<64x64xbf16>
  // CHECK: nsatile.load {{.*}} : tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
  %b_at = nsatile.at %k[%c0, %c0] dims [0, 1] limits [%n, %c64] : !buffer -> !nsatile.place<64x64xbf16>
  %b = nsatile.load %b_at : tensor<64x64xbf16>
  // CHECK: nsatile.dot {{.*}} -> tensor<64x64xf32, #nsatile.mma<warps = 4>>
  %s = nsatile.dot %a, transpose %b : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  // Positions are computed in the layout that their reader has.
  // CHECK: nsatile.iota {{.*}} : tensor<64xindex, #nsatile.slice<dim = 0, of = #nsatile.mma<warps = 4>>>
  %j = nsatile.iota %c0 : tensor<64xindex>
  %jj = nsatile.broadcast %j along [0] : tensor<64xindex> -> tensor<64x64xindex>
  %bound = tensor.splat %n : tensor<64x64xindex>
  // CHECK: arith.cmpi slt, {{.*}} : tensor<64x64xindex, #nsatile.mma<warps = 4>>
  %seen = arith.cmpi slt, %jj, %bound : tensor<64x64xindex>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %masked = arith.select %seen, %s, %zero : tensor<64x64xi1>, tensor<64x64xf32>
  // CHECK: nsatile.store {{.*}} : tensor<64x64xf32, #nsatile.mma<warps = 4>>
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %masked, %to : tensor<64x64xf32>
  nsatile.return
}

// What no product reaches is dealt out in vectors of 16 bytes.
// CHECK-LABEL: nsatile.program @map
nsatile.program @map(%x: !buffer, %y: !buffer, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 2>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  // CHECK: nsatile.load {{.*}} : tensor<64x64xbf16, #nsatile.blocked<threads = 64, vector = 8>>
  %a_at = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%n, %c64] : !buffer -> !nsatile.place<64x64xbf16>
  %a = nsatile.load %a_at : tensor<64x64xbf16>
  %b = arith.addf %a, %a : tensor<64x64xbf16>
  %to = nsatile.at %y[%c0, %c0] dims [0, 1] limits [%n, %c64] : !buffer -> !nsatile.place<64x64xbf16>
  nsatile.store %b, %to : tensor<64x64xbf16>
  nsatile.return
}

// Sums of rows stay with threads until somebody else reads them.
// CHECK-LABEL: nsatile.program @sums
nsatile.program @sums(%k: !buffer, %out: memref<?xf32>, %n: index, %scale: f32) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %m = arith.constant dense<0xFF800000> : tensor<64xf32>
  %a_at = nsatile.at %k[%c0, %c0] dims [0, 1] limits [%n, %c64] : !buffer -> !nsatile.place<64x64xbf16>
  %a = nsatile.load %a_at : tensor<64x64xbf16>
  %s = nsatile.dot %a, transpose %a : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  // CHECK: nsatile.softmax_update {{.*}} sums tensor<64xf32, #nsatile.partial<
  %max, %sum, %p, %d = nsatile.softmax_update %m, %zero, %s scale %scale : tensor<64xf32>, tensor<64x64xf32>
  // CHECK: nsatile.convert_layout {{.*}}#nsatile.partial<{{.*}} -> tensor<64xf32, #nsatile.slice<dim = 1, of = #nsatile.mma<warps = 4>>>
  %to = nsatile.at %out[%c0] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<64xf32>
  nsatile.store %sum, %to : tensor<64xf32>
  nsatile.return
}

// More rows than eight warps have at 16 each.
// CHECK-LABEL: nsatile.program @wide
nsatile.program @wide(%a: memref<192x64xbf16>, %b: memref<64x64xbf16>, %out: memref<192x64xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c192 = arith.constant 192 : index
  %q_at = nsatile.at %a[%c0, %c0] dims [0, 1] limits [%c192, %c64] : memref<192x64xbf16> -> !nsatile.place<192x64xbf16>
  %q = nsatile.load %q_at : tensor<192x64xbf16>
  %k_at = nsatile.at %b[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xbf16> -> !nsatile.place<64x64xbf16>
  %k = nsatile.load %k_at : tensor<64x64xbf16>
  // CHECK: nsatile.dot {{.*}} -> tensor<192x64xf32, #nsatile.mma<warps = 8>>
  %s = nsatile.dot %q, transpose %k : (tensor<192x64xbf16>, tensor<64x64xbf16>) -> tensor<192x64xf32>
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c192, %c64] : memref<192x64xf32> -> !nsatile.place<192x64xf32>
  nsatile.store %s, %to : tensor<192x64xf32>
  nsatile.return
}

// Lanes add up heads and leave each sum where it is sorted, each row in a warp.
// CHECK-LABEL: nsatile.program @sum_of_heads
nsatile.program @sum_of_heads(%q: !buffer, %k: !buffer, %out: memref<?x32xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %a_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !buffer -> !nsatile.place<64x64xbf16>
  %a = nsatile.load %a_at : tensor<64x64xbf16>
  %b_at = nsatile.at %k[%c0, %c0] dims [0, 1] limits [%n, %c64] : !buffer -> !nsatile.place<32x64xbf16>
  %b = nsatile.load %b_at : tensor<32x64xbf16>
  %s = nsatile.dot %a, transpose %b : (tensor<64x64xbf16>, tensor<32x64xbf16>) -> tensor<64x32xf32>
  %heads = tensor.expand_shape %s [[0, 1], [2]] output_shape [4, 16, 32] : tensor<64x32xf32> into tensor<4x16x32xf32>
  // CHECK: %[[SUM:.*]] = nsatile.reduce  sum {{.*}} -> tensor<4x32xf32, #nsatile.blocked<threads = 128>>
  // CHECK-NOT: nsatile.convert_layout
  // CHECK: arith.bitcast %[[SUM]]
  // CHECK: nsatile.exchange {{.*}} : tensor<4x32xi32, #nsatile.blocked<threads = 128>>
  %sum = nsatile.reduce  sum %heads along 1 : tensor<4x16x32xf32> -> tensor<4x32xf32>
  %keys = arith.bitcast %sum : tensor<4x32xf32> to tensor<4x32xi32>
  %turned = nsatile.exchange %keys by 31 : tensor<4x32xi32>
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%n, %c32] : memref<?x32xi32> -> !nsatile.place<4x32xi32>
  nsatile.store %turned, %to : tensor<4x32xi32>
  nsatile.return
}

// Of four heads lanes hold copies of the sums: keys of a row lie beside each other
// where they are sorted.
// CHECK-LABEL: nsatile.program @sum_of_four
nsatile.program @sum_of_four(%q: !buffer, %k: !buffer, %out: memref<?x32xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %a_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !buffer -> !nsatile.place<64x64xbf16>
  %a = nsatile.load %a_at : tensor<64x64xbf16>
  %b_at = nsatile.at %k[%c0, %c0] dims [0, 1] limits [%n, %c64] : !buffer -> !nsatile.place<32x64xbf16>
  %b = nsatile.load %b_at : tensor<32x64xbf16>
  %s = nsatile.dot %a, transpose %b : (tensor<64x64xbf16>, tensor<32x64xbf16>) -> tensor<64x32xf32>
  %heads = tensor.expand_shape %s [[0, 1], [2]] output_shape [16, 4, 32] : tensor<64x32xf32> into tensor<16x4x32xf32>
  // CHECK: %[[SUM:.*]] = nsatile.reduce  sum {{.*}} -> tensor<16x32xf32, #nsatile.slice<dim = 1, of = #nsatile.reshape<as = [64, 32], of = #nsatile.mma<warps = 4>>>>
  // CHECK: nsatile.convert_layout %[[SUM]] : {{.*}} -> tensor<16x32xf32, #nsatile.blocked<threads = 128, vector = 4>>
  %sum = nsatile.reduce  sum %heads along 1 : tensor<16x4x32xf32> -> tensor<16x32xf32>
  %keys = arith.bitcast %sum : tensor<16x32xf32> to tensor<16x32xi32>
  %turned = nsatile.exchange %keys by 31 : tensor<16x32xi32>
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%n, %c32] : memref<?x32xi32> -> !nsatile.place<16x32xi32>
  nsatile.store %turned, %to : tensor<16x32xi32>
  nsatile.return
}

// Three heads of 16 rows are added up through shared memory, and end where they
// are sorted.
// CHECK-LABEL: nsatile.program @sum_of_three
nsatile.program @sum_of_three(%q: !buffer, %k: !buffer, %out: memref<?x32xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %a_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !buffer -> !nsatile.place<63x64xbf16>
  %a = nsatile.load %a_at : tensor<63x64xbf16>
  %b_at = nsatile.at %k[%c0, %c0] dims [0, 1] limits [%n, %c64] : !buffer -> !nsatile.place<32x64xbf16>
  %b = nsatile.load %b_at : tensor<32x64xbf16>
  %s = nsatile.dot %a, transpose %b : (tensor<63x64xbf16>, tensor<32x64xbf16>) -> tensor<63x32xf32>
  %heads = tensor.expand_shape %s [[0, 1], [2]] output_shape [21, 3, 32] : tensor<63x32xf32> into tensor<21x3x32xf32>
  // CHECK: nsatile.reduce  sum {{.*}} -> tensor<21x32xf32, #nsatile.blocked<threads = 128, vector = 4>>
  // CHECK: nsatile.exchange {{.*}} : tensor<21x32xi32, #nsatile.blocked<threads = 128, vector = 4>>
  %sum = nsatile.reduce  sum %heads along 1 : tensor<21x3x32xf32> -> tensor<21x32xf32>
  %keys = arith.bitcast %sum : tensor<21x32xf32> to tensor<21x32xi32>
  %turned = nsatile.exchange %keys by 31 : tensor<21x32xi32>
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%n, %c32] : memref<?x32xi32> -> !nsatile.place<21x32xi32>
  nsatile.store %turned, %to : tensor<21x32xi32>
  nsatile.return
}

// Rows of more keys than registers have room for, few of them, are spread over all threads.
// CHECK-LABEL: nsatile.program @long_rows
nsatile.program @long_rows(%in: memref<?x4096xi32>, %out: memref<?x4096xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c4096 = arith.constant 4096 : index
  %from = nsatile.at %in[%c0, %c0] dims [0, 1] limits [%n, %c4096] : memref<?x4096xi32> -> !nsatile.place<2x4096xi32>
  %keys = nsatile.load %from : tensor<2x4096xi32>
  // CHECK: nsatile.exchange {{.*}} : tensor<2x4096xi32, #nsatile.blocked<threads = 128, vector = 4>>
  %turned = nsatile.exchange %keys by 1 : tensor<2x4096xi32>
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%n, %c4096] : memref<?x4096xi32> -> !nsatile.place<2x4096xi32>
  nsatile.store %turned, %to : tensor<2x4096xi32>
  nsatile.return
}
