// What a package says of a plan: numbers, workspaces, launches, parameters.
// RUN: nsacc-translate --nsatile-plan-to-json %s | FileCheck %s

module attributes {nsacc.assertions = [["table 'doc' is read at {0}", 1]]} {
  nsatile.program @fill(%o: memref<?x?x64xf32, strided<[?, ?, 1], offset: ?>>, %w: memref<?x8xf32>, %T: index)
      attributes {nsatile.kernel = #nsatile.kernel<threads = 384, shared = 98304, cluster = 2, extra = [
        #nsatile.tensor_map<argument = 0, dims = [2, 1, 0], box = [32, 64, 1], swizzle = 128>]>} {
    %c0 = arith.constant 0 : index
    %t = arith.constant dense<0.0> : tensor<32x64xf32>
    %to = nsatile.at %o[%c0, %c0, %c0] dims [1, 2] limits [%T, %T]
        : memref<?x?x64xf32, strided<[?, ?, 1], offset: ?>> -> !nsatile.place<32x64xf32>
    nsatile.store %t, %to : tensor<32x64xf32>
    nsatile.return
  }
  nsatile.program @scale(%q: memref<?x?xbf16>, %w: memref<?x8xf32>, %v: memref<4xi32>, %n: i32, %f: f32, %b: i1)
      attributes {nsatile.kernel = #nsatile.kernel<threads = 128, dependent = true, extra = [#nsatile.parameter<counter>, #nsatile.parameter<failures>]>} {
    nsatile.return
  }

  // CHECK: "format": "nsacc-package",
  // CHECK-NEXT: "version": 12,
  // CHECK: "kernel": "attend",
  // CHECK-NEXT: "signature": "",
  // CHECK-NEXT: "parameters": [
  // CHECK-NEXT: {"name":"q","dtype":"bf16","sizes":[null,null],"strides":[null,1],"order":[0,1],"result":false,"offsets":""},
  // CHECK-NEXT: {"name":"o","dtype":"f32","sizes":[null,null,64],"strides":[null,null,1],"order":[0,1,2],"result":true,"offsets":""}
  // CHECK: "images": [],
  // CHECK: "variants": [
  // CHECK: "steps": [],
  // CHECK-NEXT: "guards": [],
  // CHECK-NEXT: "targets": [
  // CHECK: "architecture": "sm_90a",
  // CHECK-NEXT: "stack": 0,
  // CHECK-NEXT: "assertions": [{"message":"table 'doc' is read at {0}","values":1}],
  nsatile.plan @attend(%q: memref<?x?xbf16> {nsa.name = "q"},
                       %o: memref<?x?x64xf32, strided<[?, ?, 1], offset: ?>> {nsa.name = "o"}) {
    // CHECK-NEXT: "steps": [
    // CHECK-NEXT: ["const",1],
    // CHECK-NEXT: ["dim",0,1],
    // CHECK-NEXT: ["const",32],
    // CHECK-NEXT: ["ceildiv",1,2],
    %c1 = arith.constant 1 : index
    %T = memref.dim %q, %c1 : memref<?x?xbf16>
    %c32 = arith.constant 32 : index
    %tiles = arith.ceildivsi %T, %c32 : index
    // The size of a workspace is what it was made with.
    // CHECK-NEXT: ["const",8],
    %w = nsatile.workspace(%tiles) : memref<?x8xf32>
    %c0 = arith.constant 0 : index
    %again = memref.dim %w, %c0 : memref<?x8xf32>
    // CHECK-NEXT: ["const",0],
    // CHECK-NEXT: ["less",1,3],
    // CHECK-NEXT: ["select",6,1,3],
    %more = arith.cmpi sgt, %again, %T : index
    %x = arith.select %more, %T, %again : index
    // Equal numbers are one, also where their types differ.
    %n = arith.index_cast %T : index to i32
    // CHECK-NEXT: ["const",4],
    // CHECK-NEXT: ["const",1065353216]
    // CHECK-NEXT: ],
    // CHECK-NEXT: "checks": [],
    // CHECK-NEXT: "workspaces": [{"dtype":"f32","sizes":[3,4],"first":0,"last":1},{"dtype":"i32","sizes":[8],"first":1,"last":1}],
    // CHECK: "kernel": "fill",
    // CHECK-NEXT: "image": 0,
    // CHECK-NEXT: "grid": [7,0,0],
    // CHECK-NEXT: "threads": 384,
    // CHECK-NEXT: "shared": 98304,
    // CHECK-NEXT: "cluster": 2,
    // CHECK-NEXT: "dependent": false,
    // CHECK-NEXT: "arguments": [{"buffer":1},{"buffer":2},{"number":1,"bytes":8}],
    // CHECK-NEXT: "extra": [{"kind":"tensor_map","argument":0,"dims":[2,1,0],"box":[32,64,1],"swizzle":128}
    nsatile.launch @fill grid(%x, %c1, %c1) (%o, %w, %T) : memref<?x?x64xf32, strided<[?, ?, 1], offset: ?>>, memref<?x8xf32>, index
    %v = nsatile.workspace() : memref<4xi32>
    %f = arith.constant 1.0 : f32
    %true = arith.constant true
    // CHECK: "kernel": "scale",
    // CHECK-NEXT: "image": 0,
    // CHECK-NEXT: "grid": [3,0,0],
    // CHECK: "dependent": true,
    // CHECK: "arguments": [
    // CHECK-NEXT: {"buffer":0},
    // CHECK-NEXT: {"buffer":2},
    // CHECK-NEXT: {"buffer":3},
    // CHECK-NEXT: {"number":1,"bytes":4},
    // CHECK-NEXT: {"number":9,"bytes":4},
    // CHECK-NEXT: {"number":0,"bytes":1}
    // CHECK-NEXT: ],
    // CHECK-NEXT: "extra": [{"kind":"counter"},{"kind":"failures"}]
    // A workspace that no launch uses has sizes, too.
    %none = nsatile.workspace(%tiles) : memref<?xf32>
    %size = memref.dim %none, %c0 : memref<?xf32>
    nsatile.launch @scale grid(%size, %c1, %c1) (%q, %w, %v, %n, %f, %true) : memref<?x?xbf16>, memref<?x8xf32>, memref<4xi32>, i32, f32, i1
    // CHECK: "repeats": []
    nsatile.return
  }

  // Launches of a repeat stand with others, and use numbers of its own. What one of them uses lives as long as all.
  // CHECK: "kernel": "loops",
  // CHECK: "steps": {{\[\[}}"const",1],["const",0],["dim",0,0],["const",8],["const",4],["time",0],["add",5,0],["time",1]],
  // CHECK: "workspaces": [{"dtype":"f32","sizes":[2,3],"first":0,"last":2},{"dtype":"i32","sizes":[4],"first":1,"last":2}],
  nsatile.program @own(%w: memref<?x8xf32>, %n: index)
      attributes {nsatile.kernel = #nsatile.kernel<threads = 32, shared = 0>} {
    nsatile.return
  }
  nsatile.program @other(%v: memref<4xi32>)
      attributes {nsatile.kernel = #nsatile.kernel<threads = 64, shared = 0>} {
    nsatile.return
  }
  nsatile.plan @loops(%q: memref<?x8xf32> {nsa.name = "q"}) {
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %n = memref.dim %q, %c0 : memref<?x8xf32>
    %w = nsatile.workspace(%n) : memref<?x8xf32>
    %v = nsatile.workspace() : memref<4xi32>
    // CHECK: "kernel": "own",
    nsatile.launch @own grid(%n, %c1, %c1) (%w, %n) : memref<?x8xf32>, index
    // CHECK: "kernel": "other",
    // CHECK: "threads": 64,
    // CHECK: "kernel": "own",
    // CHECK: "threads": 32,
    nsatile.repeat %i below %n {
      %next = arith.addi %i, %c1 : index
      nsatile.launch @other grid(%next, %c1, %c1) (%v) : memref<4xi32>
      nsatile.launch @own grid(%n, %c1, %c1) (%w, %i) : memref<?x8xf32>, index
    }
    // CHECK: "kernel": "own",
    nsatile.repeat %i below %c1 {
      nsatile.launch @own grid(%n, %c1, %c1) (%q, %i) : memref<?x8xf32>, index
    }
    // CHECK: "repeats": [{"first":1,"last":2,"count":2},{"first":3,"last":3,"count":0}]
    nsatile.repeat %i below %n {
    }
    nsatile.return
  }
}
