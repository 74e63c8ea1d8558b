#ifndef NSA_IR_NSAOPS_TD
#define NSA_IR_NSAOPS_TD

include "NSA/IR/NSAInterfaces.td"
include "NSA/IR/NSATypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class NSA_Op<string mnemonic, list<Trait> traits = []>
    : Op<NSADialect, mnemonic, traits>;

// Ops that suggest names for the values they define. (Not `def`s, so that
// documentation calls them OpAsmOpInterface.)
defvar NSA_NamesResults =
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;
defvar NSA_NamesArguments =
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>;
defvar NSA_NamesBoth = DeclareOpInterfaceMethods<OpAsmOpInterface, [
    "getAsmResultNames", "getAsmBlockArgumentNames"]>;

/// Types of scalar code in regions: reals, positions and booleans.
def NSA_Scalar : AnyTypeOf<[F32, Index, I1], "f32, index or i1">;


//===-- Structure ---------------------------------------------------------===//

def NSA_KernelOp : NSA_Op<"kernel", [
    FunctionOpInterface, IsolatedFromAbove, AutomaticAllocationScope,
    NSA_NamesArguments,
    HasParent<"::mlir::ModuleOp">]> {
  let summary = "one attention program";
  let description = [{
    A kernel maps tensors to tensors. Arguments and results carry the names that
    the program gave them (`nsa.name`). Types have tokens before heads. If
    callers have the dimensions in another order, `nsa.order` maps each of their
    dimensions to one of the type's. It is also given if a program marks its
    heads and the orders are equal. A `!nsa.tensor<[B, T, H, D], bf16>` with
    `nsa.order = array<i64: 0, 2, 1, 3>` is `[B, H, T, D]` in memory. Each
    ragged dimension `T` has an argument of type `!nsa.tensor<[offsets(T)],
    i32>` after the others. `params` holds the values of the program's
    compile-time parameters.

    Statements have their names in their locations, so that equal statements
    stay equal under different names. Text shows a name as `{nsa.name = "slc"}`
    and the parser reads it back; schedules find ops by it.

    The body is a list of nsa operations on whole tensors; scalar code is in
    their regions only. It may use `arith`, `math`, `nsa.dim` and
    `nsa.table_read` on f32, index, i1 and i64: code that can be interpreted,
    differentiated and compiled for any target.

    ```mlir
    nsa.kernel @double(
        %q: !nsa.tensor<[B, T], bf16> {nsa.name = "q"})
        -> (!nsa.tensor<[B, T], bf16> {nsa.name = "out"}) attributes {params = {by = 2 : i64}} {
      %r = nsa.map(%q) : (!nsa.tensor<[B, T], bf16>) -> !nsa.tensor<[B, T], bf16> {
      ^bb0(%x: f32):
        %two = arith.constant 2.0 : f32
        %y = arith.mulf %x, %two : f32
        nsa.yield %y : f32
      }
      nsa.return %r : !nsa.tensor<[B, T], bf16>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs,
                       OptionalAttr<DictionaryAttr>:$params);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Region *getCallableRegion() { return &getBody(); }

    /// The program's name of an argument or a result ("arg2", "out1" if none).
    std::string getArgumentName(unsigned index);
    std::string getResultName(unsigned index);

    /// For each dimension of the callers, its index in the type's dimensions.
    ::llvm::SmallVector<int64_t> getArgumentOrder(unsigned index);
    ::llvm::SmallVector<int64_t> getResultOrder(unsigned index);
  }];
}

def NSA_ReturnOp : NSA_Op<"return", [
    Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "the results of a kernel";
  let description = [{
    Returns as many values, of the same types, as the kernel declares. An
    `nsa.map` before it converts to a result's element type.

    ```mlir
    nsa.return %o, %idx : !nsa.tensor<[B, T, HQ, DV], bf16>, !nsa.tensor<[B, T, H, 16], i32>
    ```
  }];
  let arguments = (ins Variadic<NSA_Tensor>:$results);
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
  let hasVerifier = 1;
}

def NSA_YieldOp : NSA_Op<"yield", [Pure, Terminator, NSA_InScalarCode]> {
  let summary = "the value of a region of scalar code";
  let description = [{
    ```mlir
    nsa.yield %visible : i1
    ```
  }];
  let arguments = (ins NSA_Scalar:$value);
  let assemblyFormat = "attr-dict $value `:` type($value)";
}

//===-- Scalar code -------------------------------------------------------===//

def NSA_DimOp : NSA_Op<"dim", [
    Pure, NSA_InScalarCode, NSA_NamesResults]> {
  let summary = "the size of a named dimension";
  let description = [{
    In scalar code of a ragged kernel, the size of a ragged dimension is the
    length of the current batch row.

    ```mlir
    %d = nsa.dim "D"
    ```
  }];
  let arguments = (ins StrAttr:$dim);
  let results = (outs Index:$size);
  let assemblyFormat = "$dim attr-dict";
  let hasVerifier = 1;
}

def NSA_TableReadOp : NSA_Op<"table_read", [
    Pure, AttrSizedOperandSegments, NSA_InScalarCode,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "one element of a small input table";
  let description = [{
    Float elements read as f32, integers as index, booleans as i1. An index into
    a ragged dimension counts from the start of the current batch row, so `%b`
    gives that row.

    ```mlir
    %a = nsa.table_read %slope[%h] : !nsa.tensor<[HQ], f32>
    %d = nsa.table_read %doc[%t] row %b : !nsa.tensor<[ragged T], i32>
    ```
  }];
  let arguments = (ins NSA_Tensor:$table, Variadic<Index>:$indices,
                       Optional<Index>:$row);
  let results = (outs NSA_Scalar:$value);
  let assemblyFormat = [{
    $table `[` $indices `]` (`row` $row^)? attr-dict `:` qualified(type($table))
  }];
  let hasVerifier = 1;
}

def NSA_MapOp : NSA_Op<"map", [
    Pure, SingleBlock, NSA_HasScalarCode, NSA_NamesArguments]> {
  let summary = "elementwise scalar code over tensors";
  let description = [{
    Every operand's dimensions are a subsequence of the result's, in one way; a
    missing dimension broadcasts. The yielded value is converted to the result's element
    type.

    ```mlir
    %r = nsa.map(%g, %o) : (!nsa.tensor<[B, T, HQ], f32>, !nsa.tensor<[B, T, HQ, DV], f32>)
        -> !nsa.tensor<[B, T, HQ, DV], f32> {
    ^bb0(%x: f32, %y: f32):
      %z = arith.mulf %x, %y : f32
      nsa.yield %z : f32
    }
    ```
  }];
  let arguments = (ins Variadic<NSA_Tensor>:$inputs);
  let results = (outs NSA_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` `` custom<NamedAttrs>(attr-dict) `:` functional-type($inputs, $result) $body
  }];
  let extraClassDeclaration = [{
    /// The dimensions of the result that an input has.
    ::nsacc::nsa::DimSet getPlaces(::mlir::Value input);
  }];
  let hasCanonicalizeMethod = 1;
  let hasFolder = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

include "NSA/IR/NSAAttentionOps.td"

#endif // NSA_IR_NSAOPS_TD
