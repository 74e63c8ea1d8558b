// Layouts of tiles, and the ops that change them, as text and as bytecode.
// RUN: nsacc-opt %s --verify-roundtrip | FileCheck %s

#mma = #nsatile.mma<warps = 4>
#rows = #nsatile.slice<dim = 1, of = #mma>
#cube = #nsatile.reshape<as = [64, 64], of = #mma>

// CHECK-LABEL: nsatile.program @layouts
nsatile.program @layouts(%t: tensor<64x64xf32, #mma>, %b: tensor<64x64xbf16, #nsatile.blocked<threads = 128, vector = 8>>) {
  // CHECK: nsatile.convert_layout %{{.*}} : tensor<64x64xf32, #nsatile.mma<warps = 4>> -> tensor<64x64xf32, #nsatile.blocked<threads = 128>>
  %0 = nsatile.convert_layout %t : tensor<64x64xf32, #mma> -> tensor<64x64xf32, #nsatile.blocked<threads = 128>>
  // CHECK: -> tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
  %1 = nsatile.convert_layout %b : tensor<64x64xbf16, #nsatile.blocked<threads = 128, vector = 8>> -> tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
  // CHECK: nsatile.reshape %{{.*}} -> tensor<16x4x64xf32, #nsatile.reshape<as = [64, 64], of = #nsatile.mma<warps = 4>>>
  %2 = nsatile.reshape %t : tensor<64x64xf32, #mma> -> tensor<16x4x64xf32, #cube>
  // CHECK: nsatile.reduce {{ ?}}max %{{.*}} along 1 : {{.*}} -> tensor<64xf32, #nsatile.slice<dim = 1, of = #nsatile.mma<warps = 4>>>
  %3 = nsatile.reduce max %t along 1 : tensor<64x64xf32, #mma> -> tensor<64xf32, #rows>
  nsatile.return
}

// CHECK-LABEL: nsatile.program @sums
nsatile.program @sums(%s: tensor<64x64xf32, #mma>, %acc: tensor<64x64xf32, #mma>, %m: tensor<64xf32, #rows>,
                      %l: tensor<64xf32, #nsatile.partial<of = #rows>>, %c: f32) {
  // CHECK: nsatile.softmax_update {{.*}} sums tensor<64xf32, #nsatile.partial<of = #nsatile.slice<dim = 1, of = #nsatile.mma<warps = 4>>>>, tensor<64x64xf32
  %m1, %l1, %p, %r = nsatile.softmax_update %m, %l, %s scale %c : tensor<64xf32, #rows> sums tensor<64xf32, #nsatile.partial<of = #rows>>, tensor<64x64xf32, #mma>
  // CHECK: nsatile.softmax_finalize {{.*}} sums tensor<64xf32, #nsatile.partial
  %o, %lse = nsatile.softmax_finalize %m1, %l1, %acc : tensor<64xf32, #rows> sums tensor<64xf32, #nsatile.partial<of = #rows>>, tensor<64x64xf32, #mma>
  // CHECK: nsatile.convert_layout {{.*}}#nsatile.partial<{{.*}} -> tensor<64xf32, #nsatile.slice<dim = 1, of = #nsatile.mma<warps = 4>>>
  %all = nsatile.convert_layout %l1 : tensor<64xf32, #nsatile.partial<of = #rows>> -> tensor<64xf32, #rows>
  nsatile.return
}

// CHECK-LABEL: nsatile.program @schedule
// CHECK-SAME: #nsatile.schedule<tokens = 16, keys = 64, warps = 8, stages = 3>
nsatile.program @schedule() attributes {schedule = #nsatile.schedule<tokens = 16, keys = 64, warps = 8, stages = 3>} {
  nsatile.return
}
