// What layouts reject, and what they say instead.
// RUN: nsacc-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected 1 to 32 warps, found 0}}
nsatile.program @p(%t: tensor<64x64xf32, #nsatile.mma<warps = 0>>) {
  nsatile.return
}

// -----

// expected-error @below {{expected a matrix for #nsatile.mma, found a tile of rank 1; slice or reshape the layout of a matrix}}
nsatile.program @p(%t: tensor<64xf32, #nsatile.mma<warps = 1>>) {
  nsatile.return
}

// -----

// expected-error @below {{expected a dimension from 0 on, found -1}}
nsatile.program @p(%t: tensor<64xf32, #nsatile.slice<dim = -1, of = #nsatile.mma<warps = 1>>>) {
  nsatile.return
}

// -----

// expected-error @below {{expected a slice along one of dimensions 0 to 1, found 2}}
nsatile.program @p(%t: tensor<64xf32, #nsatile.slice<dim = 2, of = #nsatile.mma<warps = 1>>>) {
  nsatile.return
}

// -----

// expected-error @below {{expected a layout of registers without partial sums: #nsatile.mma, slice, reshape or blocked, found #nsatile.shared<swizzle = 128>}}
nsatile.program @p(%t: tensor<64xf32, #nsatile.slice<dim = 1, of = #nsatile.shared<swizzle = 128>>>) {
  nsatile.return
}

// -----

// expected-error @below {{can't slice #nsatile.blocked: which element a thread holds depends on every size}}
nsatile.program @p(%t: tensor<64xf32, #nsatile.slice<dim = 1, of = #nsatile.blocked<threads = 32>>>) {
  nsatile.return
}

// -----

// expected-error @below {{expected partial sums of f32, found 'f64'}}
nsatile.program @p(%t: tensor<64xf64, #nsatile.partial<of = #nsatile.slice<dim = 1, of = #nsatile.mma<warps = 1>>>>) {
  nsatile.return
}

// -----

// expected-error @below {{expected partial sums of a #nsatile.slice, found #nsatile.mma<warps = 1>}}
nsatile.program @p(%t: tensor<64x64xf32, #nsatile.partial<of = #nsatile.mma<warps = 1>>>) {
  nsatile.return
}

// -----

// expected-error @below {{expected sizes of at least 1, found 0}}
nsatile.program @p(%t: tensor<64xf32, #nsatile.reshape<as = [0, 64], of = #nsatile.mma<warps = 1>>>) {
  nsatile.return
}

// -----

// expected-error @below {{expected as many elements as [8, 8] has, 64, found 60}}
nsatile.program @p(%t: tensor<60xf32, #nsatile.reshape<as = [8, 8], of = #nsatile.mma<warps = 1>>>) {
  nsatile.return
}

// -----

// expected-error @below {{expected as many elements as [8, 8] has, 64, found parts of 60}}
nsatile.program @p(%t: tensor<60xf32, #nsatile.slice<dim = 1, of = #nsatile.reshape<as = [8, 8], of = #nsatile.mma<warps = 1>>>>) {
  nsatile.return
}

// -----

// expected-error @below {{expected slices of neighbouring dimensions of #nsatile.reshape; the sizes of others aren't known}}
nsatile.program @p(%t: tensor<4xf32, #nsatile.slice<dim = 0, of = #nsatile.slice<dim = 2, of = #nsatile.reshape<as = [8, 8], of = #nsatile.mma<warps = 1>>>>>) {
  nsatile.return
}

// -----

// expected-error @below {{expected whole warps of threads, at most 1024, found 48}}
nsatile.program @p(%t: tensor<64xf32, #nsatile.blocked<threads = 48>>) {
  nsatile.return
}

// -----

// expected-error @below {{expected vectors of a power of two, found 3}}
nsatile.program @p(%t: tensor<64xf32, #nsatile.blocked<threads = 32, vector = 3>>) {
  nsatile.return
}

// -----

// expected-error @below {{expected a swizzle of 0 or 128, found 64}}
nsatile.program @p(%t: tensor<64xf32, #nsatile.shared<swizzle = 64>>) {
  nsatile.return
}

// -----

// expected-error @below {{expected a matrix of 16-bit elements for a swizzle of 128, found rank 2 of 'f32'}}
nsatile.program @p(%t: tensor<64x64xf32, #nsatile.shared<swizzle = 128>>) {
  nsatile.return
}

// -----

nsatile.program @p(%t: tensor<64x64xf32, #nsatile.mma<warps = 4>>) {
  // expected-error @below {{expected tiles of one shape and element type, found}}
  %0 = nsatile.convert_layout %t : tensor<64x64xf32, #nsatile.mma<warps = 4>> -> tensor<64x32xf32, #nsatile.mma<warps = 4>>
  nsatile.return
}

// -----

nsatile.program @p(%t: tensor<64x64xf32>) {
  // expected-error @below {{expected tiles with layouts, found}}
  %0 = nsatile.convert_layout %t : tensor<64x64xf32> -> tensor<64x64xf32, #nsatile.mma<warps = 4>>
  nsatile.return
}

// -----

nsatile.program @p(%t: tensor<64x64xf32>) {
  // expected-error @below {{expected as many elements of one type, found}}
  %0 = nsatile.reshape %t : tensor<64x64xf32> -> tensor<16x4x32xf32>
  nsatile.return
}

// -----

nsatile.program @p(%t: tensor<64x64xf32, #nsatile.mma<warps = 4>>) {
  // expected-error @below {{expected one layout to be #nsatile.reshape of the other, so that no element moves}}
  %0 = nsatile.reshape %t : tensor<64x64xf32, #nsatile.mma<warps = 4>> -> tensor<4096xf32, #nsatile.blocked<threads = 128>>
  nsatile.return
}

// -----

nsatile.program @p(%m: tensor<4xf32>, %l: tensor<8xf32>, %s: tensor<4x8xf32>, %c: f32) {
  // expected-error @below {{expected sums of the type of maxima 'tensor<4xf32>', or partial ones, found 'tensor<8xf32>'}}
  %m1, %l1, %p, %r = nsatile.softmax_update %m, %l, %s scale %c : tensor<4xf32> sums tensor<8xf32>, tensor<4x8xf32>
  nsatile.return
}

// -----

// expected-error @below {{expected 1 to 32 or auto for 'warps', found 33}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 1, keys = 1, warps = 33>} {
  nsatile.return
}

// -----

// expected-error @below {{expected 1 to 65536 for 'stages', found 0}}
nsatile.program @p() attributes {schedule = #nsatile.schedule<tokens = 1, keys = 1, stages = 0>} {
  nsatile.return
}
