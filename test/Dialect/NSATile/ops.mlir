// Every op in its assembly: printed as it was read, also through bytecode.
// RUN: nsacc-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: nsatile.program @attend
// CHECK-SAME: schedule = #nsatile.schedule<tokens = 16, keys = 64>
nsatile.program @attend(%q: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>,
                        %doc: memref<?x?xi32>, %o: memref<?x?x?x64xf32>, %T: index, %S: index, %HQ: index)
    attributes {schedule = #nsatile.schedule<tokens = 16, keys = 64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %D = arith.constant 64 : index
  %m = arith.constant dense<0xFF800000> : tensor<64xf32>
  %l = arith.constant dense<0.0> : tensor<64xf32>
  %scale = arith.constant 0.125 : f32
  // CHECK: nsatile.program_id 2
  %b = nsatile.program_id 2
  // CHECK: %[[FROM:.*]] = nsatile.at %{{.*}}[%{{.*}}] dims [1, 2, 3] limits[%{{.*}}, %{{.*}}, %{{.*}}] : memref<?x?x?x64xbf16> -> <16x4x64xbf16>
  // CHECK: nsatile.load %[[FROM]] : tensor<16x4x64xbf16>
  %q3_at = nsatile.at %q[%b, %c0, %c0, %c0] dims [1, 2, 3] limits [%T, %HQ, %D] : memref<?x?x?x64xbf16> -> !nsatile.place<16x4x64xbf16>
  %q3 = nsatile.load %q3_at : tensor<16x4x64xbf16>
  %qt = tensor.collapse_shape %q3 [[0, 1], [2]] : tensor<16x4x64xbf16> into tensor<64x64xbf16>
  // CHECK: dims [1, 3] steps [4, 1] limits
  %kt_at = nsatile.at %k[%b, %c0, %c0, %c0] dims [1, 3] steps [4, 1] limits [%S, %D] : memref<?x?x?x64xbf16> -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : tensor<64x64xbf16>
  // CHECK: nsatile.dot %{{.*}}, transpose %{{.*}} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  %s = nsatile.dot %qt, transpose %kt : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  // CHECK: nsatile.dot transpose %{{.*}}, %{{.*}} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  %st = nsatile.dot transpose %qt, %kt : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  // CHECK: nsatile.row_range %{{.*}} to %{{.*}} of 16{{$}}
  %own, %own_end = nsatile.row_range %c0 to %T of 16
  // CHECK: nsatile.row_range %{{.*}} to %{{.*}} of 16 groups 2
  %half, %half_end = nsatile.row_range %own to %own_end of 16 groups 2
  // CHECK: nsatile.iota %{{.*}} : tensor<64xindex>
  %j = nsatile.iota %c0 : tensor<64xindex>
  %bs = tensor.splat %b : tensor<64xindex>
  // CHECK: nsatile.gather %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x?xi32>, tensor<64xindex>, tensor<64xindex> -> tensor<64xi32>
  %d = nsatile.gather %doc[%bs, %j] : memref<?x?xi32>, tensor<64xindex>, tensor<64xindex> -> tensor<64xi32>
  // CHECK: nsatile.broadcast %{{.*}} along [0] : tensor<64xi32> -> tensor<64x64xi32>
  %d2 = nsatile.broadcast %d along [0] : tensor<64xi32> -> tensor<64x64xi32>
  // CHECK: nsatile.reduce {{ ?}}max %{{.*}} along 1 : tensor<64x64xf32> -> tensor<64xf32>
  %r = nsatile.reduce max %s along 1 : tensor<64x64xf32> -> tensor<64xf32>
  // CHECK: nsatile.softmax_update %{{.*}}, %{{.*}}, %{{.*}} scale %{{.*}} : tensor<64xf32>, tensor<64x64xf32>
  %m1, %l1, %p, %decay = nsatile.softmax_update %m, %l, %s scale %scale : tensor<64xf32>, tensor<64x64xf32>
  %p16 = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
  // CHECK: nsatile.dot %{{.*}}, %{{.*}} acc %{{.*}} : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %acc = nsatile.dot %p16, %kt acc %s : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK: nsatile.softmax_merge %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<64xf32>
  %m2, %l2, %r0, %r1 = nsatile.softmax_merge %m, %l, %m1, %l1 : tensor<64xf32>
  // CHECK: nsatile.softmax_weights %{{.*}}, %{{.*}}, %{{.*}} scale %{{.*}} : tensor<64x64xf32>
  %w = nsatile.softmax_weights %s, %p, %p scale %scale : tensor<64x64xf32>
  // CHECK: nsatile.softmax_weights %{{.*}}, %{{.*}}, %{{.*}} scale %{{.*}} approximate : tensor<64x64xf32>
  %w1 = nsatile.softmax_weights %w, %p, %p scale %scale approximate : tensor<64x64xf32>
  // CHECK: nsatile.shift %{{.*}}, %{{.*}} : tensor<64x64xf32>
  %next = nsatile.shift %w, %w1 : tensor<64x64xf32>
  // CHECK: nsatile.dot %{{.*}}, %{{.*}} acc %{{.*}} where %{{.*}} : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>, tensor<64x64xi1>) -> tensor<64x64xf32>
  %seen = arith.cmpf une, %s, %acc : tensor<64x64xf32>
  %acc2 = nsatile.dot %p16, %kt acc %acc where %seen : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>, tensor<64x64xi1>) -> tensor<64x64xf32>
  // CHECK: nsatile.softmax_finalize %{{.*}}, %{{.*}}, %{{.*}} : tensor<64xf32>, tensor<64x64xf32>
  %out, %lse = nsatile.softmax_finalize %m1, %l1, %acc : tensor<64xf32>, tensor<64x64xf32>
  %out3 = tensor.expand_shape %out [[0, 1], [2]] output_shape [16, 4, 64] : tensor<64x64xf32> into tensor<16x4x64xf32>
  // CHECK: %[[TO:.*]] = nsatile.at %{{.*}}[%{{.*}}] dims [1, 2, 3] limits[%{{.*}}] : memref<?x?x?x64xf32> -> <16x4x64xf32>
  // CHECK: nsatile.store %{{.*}}, %[[TO]] : tensor<16x4x64xf32>
  %to = nsatile.at %o[%b, %c0, %c0, %c0] dims [1, 2, 3] limits [%T, %HQ, %D] : memref<?x?x?x64xf32> -> !nsatile.place<16x4x64xf32>
  nsatile.store %out3, %to : tensor<16x4x64xf32>
  nsatile.return
}

// CHECK-LABEL: nsatile.program @lookup
nsatile.program @lookup(%lists: memref<?x?x16xi32>, %n: index, %end: index) {
  // CHECK: nsatile.lookup %{{.*}}[%[[N:.*]], %[[N]], %[[END:.*]]] : memref<?x?x16xi32>
  %element = nsatile.lookup %lists[%n, %n, %end] : memref<?x?x16xi32>
  nsatile.return
}

// CHECK-LABEL: nsatile.program @keys
nsatile.program @keys(%lists: memref<?x?xi32>, %sorted: memref<?xi32>, %row: tensor<128xindex>, %column: tensor<128xindex>, %in: tensor<128xi1>) {
  // CHECK: %[[COUNTERS:.*]] = memref.alloca() : memref<256xi32>
  %counters = memref.alloca() : memref<256xi32>
  // CHECK: %[[KEY:.*]] = nsatile.gather %{{.*}}[%[[ROW:.*]], %[[COLUMN:.*]]] where %[[IN:.*]] : tensor<128xi1> : memref<?x?xi32>, tensor<128xindex>, tensor<128xindex> -> tensor<128xi32>
  %key = nsatile.gather %lists[%row, %column] where %in : tensor<128xi1> : memref<?x?xi32>, tensor<128xindex>, tensor<128xindex> -> tensor<128xi32>
  %index = arith.index_cast %key : tensor<128xi32> to tensor<128xindex>
  // CHECK: nsatile.scatter add %[[KEY]], %[[COUNTERS]][%[[INDEX:.*]]] where %[[IN]] : tensor<128xi1> : tensor<128xi32>, memref<256xi32>, tensor<128xindex>
  nsatile.scatter add %key, %counters[%index] where %in : tensor<128xi1> : tensor<128xi32>, memref<256xi32>, tensor<128xindex>
  // CHECK: %[[BEFORE:.*]], %[[SUM:.*]] = nsatile.scan %[[KEY]] : tensor<128xi32>
  %before, %sum = nsatile.scan %key : tensor<128xi32>
  // CHECK: nsatile.enumerate %[[INDEX]] in %[[COUNTERS]] where %[[IN]] : tensor<128xi1> : memref<256xi32>, tensor<128xi32>
  %n = nsatile.enumerate %index in %counters where %in : tensor<128xi1> : memref<256xi32>, tensor<128xi32>
  // CHECK: nsatile.enumerate %[[INDEX]] in %[[COUNTERS]] : memref<256xi32>, tensor<128xi32>
  %m = nsatile.enumerate %index in %counters : memref<256xi32>, tensor<128xi32>
  // CHECK: nsatile.scatter set %[[BEFORE]], %{{.*}}[%[[INDEX]]] : tensor<128xi32>, memref<?xi32>, tensor<128xindex>
  nsatile.scatter set %before, %sorted[%index] : tensor<128xi32>, memref<?xi32>, tensor<128xindex>
  // CHECK: nsatile.scatter or
  nsatile.scatter or %key, %sorted[%index] : tensor<128xi32>, memref<?xi32>, tensor<128xindex>
  nsatile.return
}

// CHECK-LABEL: nsatile.program @listed
nsatile.program @listed(%q: memref<?x?x64xbf16>, %o: memref<?x?x64xf32>, %sorted: memref<?x?xi32>, %b: index, %n: index) {
  %c0 = arith.constant 0 : index
  // CHECK: %[[FROM:.*]] = nsatile.at %{{.*}} dims [1, 2] limits{{ ?}}[%[[N:.*]], %[[N]]] rows %[[SORTED:.*]][%[[B:.*]], %[[N]]] by 16 : memref<?x?xi32> : memref<?x?x64xbf16> -> <64x64xbf16>
  // CHECK: nsatile.load %[[FROM]] : tensor<64x64xbf16>
  %t_at = nsatile.at %q[%b, %c0, %c0] dims [1, 2] limits [%n, %n] rows %sorted[%b, %n] by 16 : memref<?x?xi32>
      : memref<?x?x64xbf16> -> !nsatile.place<64x64xbf16>
  %t = nsatile.load %t_at : tensor<64x64xbf16>
  %w = arith.extf %t : tensor<64x64xbf16> to tensor<64x64xf32>
  // CHECK: %[[TO:.*]] = nsatile.at %{{.*}} dims [1, 2] limits{{ ?}}[%[[N]], %[[N]]] rows %[[SORTED]][%[[B]], %[[N]]] : memref<?x?xi32> : memref<?x?x64xf32> -> <64x64xf32>
  // CHECK: nsatile.store %{{.*}}, %[[TO]] : tensor<64x64xf32>
  %to = nsatile.at %o[%b, %c0, %c0] dims [1, 2] limits [%n, %n] rows %sorted[%b, %n] : memref<?x?xi32>
      : memref<?x?x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %w, %to : tensor<64x64xf32>
  nsatile.return
}

// CHECK-LABEL: nsatile.program @select
nsatile.program @select(%list: tensor<4x8xi64>, %new: tensor<4x16xi64>, %lanes: tensor<4x32xi64>) {
  // CHECK: nsatile.top %{{.*}}, %{{.*}} insert 8 : tensor<4x32xi64>, tensor<4x32xi64>
  %i = nsatile.top %lanes, %lanes insert 8 : tensor<4x32xi64>, tensor<4x32xi64>
  // CHECK: nsatile.top %{{.*}}, %{{.*}} : tensor<4x8xi64>, tensor<4x16xi64>
  %t = nsatile.top %list, %new : tensor<4x8xi64>, tensor<4x16xi64>
  // CHECK: nsatile.sort {{ ?}}descending %{{.*}} : tensor<4x8xi64>
  %s = nsatile.sort descending %t : tensor<4x8xi64>
  nsatile.return
}

// CHECK-LABEL: nsatile.program @exchange
nsatile.program @exchange(%x: tensor<4x8xi64>) {
  // CHECK: nsatile.exchange %{{.*}} by 4 : tensor<4x8xi64>
  %s = nsatile.exchange %x by 4 : tensor<4x8xi64>
  nsatile.return
}

// CHECK-LABEL: nsatile.program @fail
nsatile.program @fail(%ok: tensor<4xi1>, %v: tensor<4xindex>, %n: index, %always: i1) {
  // CHECK: nsatile.assert %{{.*}}, "{1} is not below {0}"(%{{.*}}, %{{.*}}) : tensor<4xi1>, index, tensor<4xindex>
  nsatile.assert %ok, "{1} is not below {0}" (%n, %v) : tensor<4xi1>, index, tensor<4xindex>
  // CHECK: nsatile.assert %{{.*}}, "no"() : i1
  nsatile.assert %always, "no" () : i1
  nsatile.return
}

// CHECK-LABEL: nsatile.program @nothing
// CHECK-SAME: #nsatile.schedule<order = key_major, tokens = 1, keys = 2, splits = 3>
nsatile.program @nothing(%x: memref<?xf32>)
    attributes {schedule = #nsatile.schedule<order = key_major, tokens = 1, keys = 2, splits = 3>} {
  nsatile.return
}

// CHECK-LABEL: nsatile.plan @plan
nsatile.plan @plan(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  // CHECK: nsatile.workspace(%{{.*}}) : memref<?xf32>
  %w = nsatile.workspace(%n) : memref<?xf32>
  // CHECK: nsatile.launch @nothing grid(%{{.*}}, %{{.*}}, %{{.*}}) (%{{.*}}) : memref<?xf32>
  nsatile.launch @nothing grid(%n, %c1, %c1) (%w) : memref<?xf32>
  // CHECK: nsatile.repeat %[[I:.*]] below %{{.*}} {
  // CHECK-NEXT: arith.addi %[[I]], %{{.*}} : index
  // CHECK-NEXT: nsatile.launch @nothing
  // CHECK-NEXT: }
  nsatile.repeat %i below %n {
    %next = arith.addi %i, %c1 : index
    nsatile.launch @nothing grid(%next, %c1, %c1) (%w) : memref<?xf32>
  }
  // CHECK: nsatile.repeat %{{.*}} below %{{.*}} attributes {kept} {
  nsatile.repeat %i below %c1 attributes {kept} {
  }
  nsatile.return
}

// CHECK-LABEL: nsatile.program @schedules
// CHECK-SAME: nsatile.map = #nsatile.schedule<rows = 8, columns = 32, program = own>
// CHECK-SAME: nsatile.pool = #nsatile.schedule<windows = 4>
// CHECK-SAME: schedule = #nsatile.schedule<order = key_major, tokens = 8, keys = 16, splits = 2, chunk = 7, part = 4, program = own, warps = 4, blocks_per_sm = 2, stages = 3, query_stages = 1, ping_pong = off, columns_in_registers = 64, softmax = decay_first, rescale = next_step, grid = columns, peel = off, exact = <tokens = 4, keys = 8>>
nsatile.program @schedules() attributes {
    nsatile.pool = #nsatile.schedule<windows = 4>,
    nsatile.map = #nsatile.schedule<rows = 8, columns = 32, program = own>,
    schedule = #nsatile.schedule<order = key_major, tokens = 8, keys = 16, splits = 2, chunk = 7, part = 4, program = own,
                                 warps = 4, blocks_per_sm = 2, stages = 3, query_stages = 1, ping_pong = off, columns_in_registers = 64,
                                 softmax = decay_first, rescale = next_step, grid = columns, peel = off, exact = <tokens = 4, keys = 8>>} {
  nsatile.return
}
