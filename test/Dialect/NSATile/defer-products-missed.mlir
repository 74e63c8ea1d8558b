// Why sums stay in their steps.
// RUN: nsacc-opt %s --pass-pipeline="builtin.module(nsatile.program(nsatile-defer-products{shared-bytes=16384}))" --mlir-disable-threading --remarks-filter=".*" 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not="[Passed]" --implicit-check-not=nsatile.circular_buffer

!B = memref<?x64xbf16>
!T = tensor<64x64xbf16>
!S = tensor<64x64xf32>
!I = tensor<64x64xi32>

// REMARK: [Missed] {{.*}}Function=branch | Remark="the sum isn't a step late: it doesn't stand in a loop over tiles"
nsatile.program @branch(%q: !B, %sums: memref<?x64xi32>, %n: index, %steps: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %kt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : !T
  scf.for %i = %c0 to %steps step %c1 {
    scf.if %c {
      %s = nsatile.dot %kt, %kt : (!T, !T) -> !S
      %d = arith.truncf %s : !S to !T
      %g = nsatile.dot %d, %kt : (!T, !T) -> !S
      %whole = arith.fptosi %g : !S to !I
      %to = nsatile.at %sums[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
      nsatile.accumulate %whole, %to {nsatile.stage = 1} : !I
    }
  }
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=wide_steps | Remark="the sum isn't a step late: its loop leaves out numbers between steps"
nsatile.program @wide_steps(%q: !B, %sums: memref<?x64xi32>, %n: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %kt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : !T
  scf.for %i = %c0 to %steps step %c64 {
    %s = nsatile.dot %kt, %kt : (!T, !T) -> !S
    %d = arith.truncf %s : !S to !T
    %g = nsatile.dot %d, %kt : (!T, !T) -> !S
    %whole = arith.fptosi %g : !S to !I
    %to = nsatile.at %sums[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
    nsatile.accumulate %whole, %to {nsatile.stage = 1} : !I
  }
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=read_back | Remark="the sum isn't a step late: another op of its loop reads or writes its buffer"
nsatile.program @read_back(%q: !B, %sums: memref<?x64xi32>, %n: index, %steps: index, %out: memref<?x64xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %kt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : !T
  scf.for %i = %c0 to %steps step %c1 {
    %s = nsatile.dot %kt, %kt : (!T, !T) -> !S
    %d = arith.truncf %s : !S to !T
    %g = nsatile.dot %d, %kt : (!T, !T) -> !S
    %old_at = nsatile.at %sums[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
    %old = nsatile.load %old_at : !I
    %to = nsatile.at %out[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
    nsatile.store %old, %to : !I
    %whole = arith.fptosi %g : !S to !I
    %to_1 = nsatile.at %sums[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
    nsatile.accumulate %whole, %to_1 {nsatile.stage = 1} : !I
  }
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=no_product | Remark="the sum isn't a step late: no product is only for it"
nsatile.program @no_product(%q: !B, %sums: memref<?x64xi32>, %n: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %kt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : !T
  scf.for %i = %c0 to %steps step %c1 {
    %s = nsatile.dot %kt, %kt : (!T, !T) -> !S
    %d = arith.truncf %s : !S to !T
    %whole = arith.fptosi %s : !S to !I
    %to = nsatile.at %sums[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
    nsatile.accumulate %whole, %to {nsatile.stage = 1} : !I
  }
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=read_twice | Remark="the sum isn't a step late: no product is only for it"
nsatile.program @read_twice(%q: !B, %sums: memref<?x64xi32>, %n: index, %steps: index, %out: !B) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %kt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : !T
  scf.for %i = %c0 to %steps step %c1 {
    %s = nsatile.dot %kt, %kt : (!T, !T) -> !S
    %d = arith.truncf %s : !S to !T
    %g = nsatile.dot %d, %kt : (!T, !T) -> !S
    %whole = arith.fptosi %g : !S to !I
    %to = nsatile.at %sums[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
    nsatile.accumulate %whole, %to {nsatile.stage = 1} : !I
    %twice = arith.truncf %g : !S to !T
    %to_1 = nsatile.at %out[%i, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    nsatile.store %twice, %to_1 : !T
  }
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=loaded | Remark="the sum isn't a step late: its product reads a tile that its step loads"
nsatile.program @loaded(%q: !B, %sums: memref<?x64xi32>, %n: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %kt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : !T
  scf.for %i = %c0 to %steps step %c1 {
    %d_at = nsatile.at %q[%i, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    %d = nsatile.load %d_at : !T
    %g = nsatile.dot %d, %kt : (!T, !T) -> !S
    %whole = arith.fptosi %g : !S to !I
    %to = nsatile.at %sums[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
    nsatile.accumulate %whole, %to {nsatile.stage = 1} : !I
  }
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=carried | Remark="the sum isn't a step late: its product reads a tile that the loop carries"
nsatile.program @carried(%q: !B, %sums: memref<?x64xi32>, %n: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %kt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : !T
  %r = scf.for %i = %c0 to %steps step %c1 iter_args(%d = %kt) -> !T {
    %s = nsatile.dot %d, %kt : (!T, !T) -> !S
    %next = arith.truncf %s : !S to !T
    %g = nsatile.dot %d, %kt : (!T, !T) -> !S
    %whole = arith.fptosi %g : !S to !I
    %to = nsatile.at %sums[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
    nsatile.accumulate %whole, %to {nsatile.stage = 1} : !I
    scf.yield %next : !T
  }
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=own_sum | Remark="the sum isn't a step late: its product adds to a tile of its step"
nsatile.program @own_sum(%q: !B, %sums: memref<?x64xi32>, %n: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %kt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : !T
  scf.for %i = %c0 to %steps step %c1 {
    %s = nsatile.dot %kt, %kt : (!T, !T) -> !S
    %d = arith.truncf %s : !S to !T
    %g = nsatile.dot %d, %kt acc %s : (!T, !T, !S) -> !S
    %whole = arith.fptosi %g : !S to !I
    %to = nsatile.at %sums[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
    nsatile.accumulate %whole, %to {nsatile.stage = 1} : !I
  }
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=own_factor | Remark="the sum isn't a step late: it reads a tile of its step beside its products"
nsatile.program @own_factor(%q: !B, %sums: memref<?x64xi32>, %n: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %kt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : !T
  scf.for %i = %c0 to %steps step %c1 {
    %s = nsatile.dot %kt, %kt : (!T, !T) -> !S
    %d = arith.truncf %s : !S to !T
    %g = nsatile.dot %d, %kt : (!T, !T) -> !S
    %scaled = arith.mulf %g, %s : !S
    %whole = arith.fptosi %scaled : !S to !I
    %to = nsatile.at %sums[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
    nsatile.accumulate %whole, %to {nsatile.stage = 1} : !I
  }
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=unknown_place | Remark="the sum isn't a step late: its place depends on tiles or on values that the loop carries"
nsatile.program @unknown_place(%q: !B, %sums: memref<?x64xi32>, %n: index, %steps: index, %list: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %kt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : !T
  %r = scf.for %i = %c0 to %steps step %c1 iter_args(%at = %c0) -> index {
    %s = nsatile.dot %kt, %kt : (!T, !T) -> !S
    %d = arith.truncf %s : !S to !T
    %g = nsatile.dot %d, %kt : (!T, !T) -> !S
    %whole = arith.fptosi %g : !S to !I
    %to = nsatile.at %sums[%at, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
    nsatile.accumulate %whole, %to {nsatile.stage = 1} : !I
    %next = memref.load %list[%at] : memref<?xindex>
    scf.yield %next : index
  }
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=same_tiles | Remark="the sum isn't a step late: its products read no tile of their step"
nsatile.program @same_tiles(%q: !B, %sums: memref<?x64xi32>, %n: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %kt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : !T
  scf.for %i = %c0 to %steps step %c1 {
    %g = nsatile.dot %kt, %kt : (!T, !T) -> !S
    %whole = arith.fptosi %g : !S to !I
    %to = nsatile.at %sums[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
    nsatile.accumulate %whole, %to {nsatile.stage = 1} : !I
  }
  nsatile.return
}

// With layouts, an operand is in registers, or in shared memory with the padding that products read.
#a = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>

// REMARK: [Missed] {{.*}}Function=registers | Remark="the sum isn't a step late: its product reads a tile of its step in registers"
nsatile.program @registers(%q: !B, %sums: memref<?x64xf32>, %turns: memref<?xi32>, %n: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %kt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : tensor<64x64xbf16, #m>
  scf.for %i = %c0 to %steps step %c1 {
    %s = nsatile.dot %kt, %kt : (tensor<64x64xbf16, #m>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #a>
    %d = arith.truncf %s : tensor<64x64xf32, #a> to tensor<64x64xbf16, #a>
    %g = nsatile.dot %d, %kt : (tensor<64x64xbf16, #a>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #a>
    %to = nsatile.at %sums[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.accumulate %g, %to turn %c0 of %turns[%i] : memref<?xi32> {nsatile.stage = 1} : tensor<64x64xf32, #a>
  }
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=padded | Remark="the sum isn't a step late: its product reads beyond a tile whose sizes aren't multiples of 16"
nsatile.program @padded(%q: !B, %sums: memref<?x64xf32>, %turns: memref<?xi32>, %n: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %kt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : tensor<64x64xbf16, #m>
  %vt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<40x64xbf16>
  %vt = nsatile.load %vt_at : tensor<40x64xbf16, #m>
  scf.for %i = %c0 to %steps step %c1 {
    %s = nsatile.dot %kt, transpose %vt : (tensor<64x64xbf16, #m>, tensor<40x64xbf16, #m>) -> tensor<64x40xf32, #a>
    %d = arith.truncf %s : tensor<64x40xf32, #a> to tensor<64x40xbf16, #a>
    %t = nsatile.convert_layout %d : tensor<64x40xbf16, #a> -> tensor<64x40xbf16, #m>
    %g = nsatile.dot transpose %kt, %t : (tensor<64x64xbf16, #m>, tensor<64x40xbf16, #m>) -> tensor<64x40xf32, #a>
    %to = nsatile.at %sums[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xf32> -> !nsatile.place<64x40xf32>
    nsatile.accumulate %g, %to turn %c0 of %turns[%i] : memref<?xi32> {nsatile.stage = 1} : tensor<64x40xf32, #a>
  }
  nsatile.return
}

// REMARK: [Missed] {{.*}}Function=crowded | Remark="the sum isn't a step late: shared memory has no room for the next step's tiles beside those that its products read"
nsatile.program @crowded(%q: !B, %sums: memref<?x64xf32>, %turns: memref<?xi32>, %n: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %kt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : tensor<64x64xbf16, #m>
  scf.for %i = %c0 to %steps step %c1 {
    %s = nsatile.dot %kt, %kt : (tensor<64x64xbf16, #m>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #a>
    %d = arith.truncf %s : tensor<64x64xf32, #a> to tensor<64x64xbf16, #a>
    %t = nsatile.convert_layout %d : tensor<64x64xbf16, #a> -> tensor<64x64xbf16, #m>
    %g = nsatile.dot transpose %t, %kt : (tensor<64x64xbf16, #m>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #a>
    %to = nsatile.at %sums[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.accumulate %g, %to turn %c0 of %turns[%i] : memref<?xi32> {nsatile.stage = 1} : tensor<64x64xf32, #a>
  }
  nsatile.return
}
