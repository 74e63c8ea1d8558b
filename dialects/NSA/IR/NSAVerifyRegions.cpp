//===- NSAVerifyRegions.cpp - Checks of scalar code in nsa ops ------------===//

#include "NSA/IR/NSAVerify.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nsacc::nsa;

static bool isScalar(Type type) {
  return type.isF32() || type.isIndex() || type.isInteger(1) ||
         type.isInteger(64);
}

/// Whether it is a constant of fp64 that the program's reals round to.
static bool isExactConstant(Operation &op) {
  return isa<arith::ConstantOp>(op) && op.getResult(0).getType().isF64() &&
         llvm::all_of(op.getUsers(), llvm::IsaPred<arith::TruncFOp>);
}

/// Allows ops that can be differentiated, interpreted and compiled for any
/// target.
static LogicalResult verifyScalarOp(Operation &op) {
  StringRef dialect = op.getName().getDialectNamespace();
  bool allowed =
      isa<TableReadOp, DimOp, YieldOp>(op) ||
      ((dialect == "arith" || dialect == "math") && op.getNumRegions() == 0);
  if (!allowed)
    return op.emitError("expected scalar code of arith, math, nsa.dim and "
                        "nsa.table_read, found '")
           << op.getName() << "'";
  for (Type type : op.getResultTypes())
    if (!isScalar(type) && !isExactConstant(op))
      return op.emitError("expected scalar code to compute with f32, index, i1 "
                          "and i64, found ")
             << type;
  return success();
}

LogicalResult nsacc::nsa::verifyScalarCode(Block &body, Type result) {
  for (Operation &inner : body)
    if (failed(verifyScalarOp(inner)))
      return failure();
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getValue().getType() != result)
    return yield.emitOpError("expected to yield ")
           << result << ", found " << yield.getValue().getType()
           << "; convert the value first";
  return success();
}

LogicalResult nsacc::nsa::verifyClause(Operation *op, Clause clause,
                                       Region &region) {
  if (region.empty())
    return success();
  StringRef name = getClauseName(clause);
  if (!region.hasOneBlock())
    return op->emitOpError("expected one block of scalar code in '")
           << name << "', found " << region.getBlocks().size()
           << "; use arith.select instead of branches";
  Block &body = region.front();
  SmallVector<Type> types = getClauseArgumentTypes(clause, op->getContext());
  if (body.getArgumentTypes() != TypeRange(types)) {
    InFlightDiagnostic diagnostic = op->emitOpError("expected arguments (");
    llvm::interleaveComma(types, diagnostic);
    diagnostic << ") of '" << name << "', found (";
    llvm::interleaveComma(body.getArgumentTypes(), diagnostic);
    return diagnostic << ")";
  }
  return verifyScalarCode(body, getClauseResultType(clause, op->getContext()));
}

//===----------------------------------------------------------------------===//
// Ops of scalar code
//===----------------------------------------------------------------------===//

LogicalResult DimOp::verify() { return expectKernelDim(*this, getDim()); }

LogicalResult TableReadOp::verify() {
  auto argument = dyn_cast<BlockArgument>(getTable());
  if (!argument ||
      !isa_and_nonnull<KernelOp>(argument.getOwner()->getParentOp()))
    return emitOpError("expected the table to be an argument of the kernel; "
                       "scalar code can't read computed tensors");
  ArrayRef<Attribute> dims = getTable().getType().getDims();
  if (getIndices().size() != dims.size())
    return emitOpError("expected one index for each dimension of ")
           << toString(dims) << ", found " << getIndices().size();
  bool ragged = llvm::any_of(dims, [](Attribute dim) {
    auto named = dyn_cast<NamedDimAttr>(dim);
    return named && named.getRagged();
  });
  if (ragged && !getRow())
    return emitOpError("expected the batch row ('row %b') of an index into "
                       "the ragged table ")
           << toString(dims);
  if (!ragged && getRow())
    return emitOpError("expected no batch row for the table ")
           << toString(dims) << ", which isn't ragged; drop 'row'";
  return success();
}
