#ifndef NSATILE_IR_NSATILELAYOUTS_TD
#define NSATILE_IR_NSATILELAYOUTS_TD

include "NSATile/IR/NSATileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"

class NSATile_Layout<string name, string keyword>
    : AttrDef<NSATileDialect, name, [
        DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = keyword;
  let assemblyFormat = "`<` struct(params) `>`";
}

def NSATile_MmaLayout : NSATile_Layout<"MmaLayout", "mma"> {
  let summary = "registers in the order of tensor cores' accumulators";
  let description = [{
    A matrix in the registers of `warps` warps, 16 rows to a warp. Lane l of warp w holds in
    register (m, n, b, c), c changing fastest and m slowest, with b and c 0 or 1,

    - row 16 · warps · m + 16 · w + l / 4 + 8 · b,
    - column 8 · n + 2 · (l mod 4) + c.

    These are the accumulators of `mma.sync` m16n8, and of `wgmma` m64nN where warps are
    a multiple of 4. Registers beyond the matrix are padding; their contents don't
    matter.

    ```mlir
    tensor<64x128xf32, #nsatile.mma<warps = 4>>
    ```
  }];
  let parameters = (ins "int64_t":$warps);
  let genVerifyDecl = 1;
}

def NSATile_SliceLayout : NSATile_Layout<"SliceLayout", "slice"> {
  let summary = "registers of a tile that lacks a dimension";
  let description = [{
    The layout `of` belongs to a tile that has one dimension more, `dim`. The slice has one
    register for all of its registers that differ along `dim`; threads along `dim` hold copies.

    ```mlir
    tensor<64xf32, #nsatile.slice<dim = 1, of = #nsatile.mma<warps = 4>>>
    ```
  }];
  let parameters = (ins "int64_t":$dim, "::mlir::Attribute":$of);
  let genVerifyDecl = 1;
}

def NSATile_PartialLayout : NSATile_Layout<"PartialLayout", "partial"> {
  let summary = "registers that add up to the tile over threads";
  let description = [{
    The registers are the slice `of`'s. Where threads of the slice hold copies of an element, here
    the element is the sum of their registers: sums of rows stay in threads until a loop is done.

    ```mlir
    tensor<64xf32, #nsatile.partial<of = #nsatile.slice<dim = 1, of = #nsatile.mma<warps = 4>>>>
    ```
  }];
  let parameters = (ins "::mlir::Attribute":$of);
  let genVerifyDecl = 1;
}

def NSATile_ReshapeLayout : NSATile_Layout<"ReshapeLayout", "reshape"> {
  let summary = "registers of a tile of another shape";
  let description = [{
    The tile's elements in row-major order, as a tile of the shape `as` with layout `of`.

    ```mlir
    tensor<16x4x64xf32, #nsatile.reshape<as = [64, 64], of = #nsatile.mma<warps = 4>>>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$as, "::mlir::Attribute":$of);
  let assemblyFormat = "`<` `as` `=` `[` $as `]` `,` `of` `=` $of `>`";
  let genVerifyDecl = 1;
}

def NSATile_BlockedLayout : NSATile_Layout<"BlockedLayout", "blocked"> {
  let summary = "registers in row-major order, dealt out to threads";
  let description = [{
    Thread t holds in register (i, j), j changing fastest, element (`threads` · i + t) · `vector` + j
    of the tile in row-major order.

    ```mlir
    tensor<16x64xbf16, #nsatile.blocked<threads = 128, vector = 8>>
    ```
  }];
  let parameters = (ins "int64_t":$threads,
                        DefaultValuedParameter<"int64_t", "1">:$vector);
  let genVerifyDecl = 1;
}

def NSATile_SharedLayout : NSATile_Layout<"SharedLayout", "shared"> {
  let summary = "a tile in shared memory";
  let description = [{
    `swizzle = 128`: a matrix of 16-bit elements as slabs of 64 columns. A row of a slab has 128
    bytes; the 16 bytes of chunk c of row r stand at chunk c xor (r mod 8), so that
    neither rows nor columns have bank conflicts. Slabs are aligned to 1024 bytes. Bulk tensor copies
    write the tile, and `ldmatrix` and `wgmma` read it.

    `swizzle = 0`: row-major; rows of matrices are padded so that columns have no bank conflicts.

    ```mlir
    tensor<128x64xbf16, #nsatile.shared<swizzle = 128>>
    ```
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$swizzle);
  let genVerifyDecl = 1;
}

#endif // NSATILE_IR_NSATILELAYOUTS_TD
