//===- NSAVerifyTensors.cpp - Checks of pooling and elementwise ops -------===//

#include "NSA/IR/NSAVerify.h"

using namespace mlir;
using namespace nsacc::nsa;

//===----------------------------------------------------------------------===//
// MapOp
//===----------------------------------------------------------------------===//

LogicalResult MapOp::verify() {
  ArrayRef<Attribute> dims = getResult().getType().getDims();
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    auto type = cast<NamedTensorType>(input.getType());
    std::optional<DimMatch> match = matchDims(type.getDims(), dims);
    if (!match)
      return emitOpError("expected the dimensions of input ")
             << index << " to stand in the result's " << toString(dims)
             << " in this order, found " << toString(type.getDims());
    if (!match->isUnique)
      return emitOpError("expected the dimensions of input ")
             << index << " to stand in the result's " << toString(dims)
             << " in one way, found " << toString(type.getDims());
  }
  for (Attribute dim : dims) {
    bool known = llvm::any_of(getInputs(), [&](Value input) {
      auto type = cast<NamedTensorType>(input.getType());
      return llvm::is_contained(type.getDims(), dim);
    });
    if (!known && !isa<IntegerAttr>(dim))
      return emitOpError("expected an input with each dimension of the result, "
                         "found none with '")
             << toString(dim) << "'";
  }
  return success();
}

LogicalResult MapOp::verifyRegions() {
  SmallVector<Type> types;
  for (Value input : getInputs())
    types.push_back(cast<NamedTensorType>(input.getType()).getScalarType());
  Block &body = getBody().front();
  if (body.getArgumentTypes() != TypeRange(types)) {
    InFlightDiagnostic diagnostic =
        emitOpError("expected scalar code with one argument for each input, (");
    llvm::interleaveComma(types, diagnostic);
    diagnostic << "), found (";
    llvm::interleaveComma(body.getArgumentTypes(), diagnostic);
    return diagnostic << ")";
  }
  return verifyScalarCode(body, getResult().getType().getScalarType());
}

//===----------------------------------------------------------------------===//
// PoolOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyWindow(PoolOp op) {
  if (op.getLen() >= op.getStride() && op.getLen() % op.getStride() == 0)
    return success();
  return op.emitOpError("expected a stride that divides the length ")
         << op.getLen() << " of the window, found " << op.getStride();
}

static LogicalResult verifyWeights(PoolOp op, Attribute heads) {
  bool weighted = op.getKind() == PoolKind::Weighted;
  if (weighted && !op.getWeights())
    return op.emitOpError("expected the weights ('by') of a weighted pool");
  if (!weighted && op.getWeights())
    return op.emitOpError("expected weights ('by') with kind weighted only, "
                          "found them with ")
           << stringifyPoolKind(op.getKind()) << "; drop one";
  if (!weighted)
    return success();
  auto type = cast<NamedTensorType>(op.getWeights().getType());
  if (failed(expectReals(op, "the weights", type)))
    return failure();
  Attribute len =
      IntegerAttr::get(IntegerType::get(op.getContext(), 64), op.getLen());
  if (type.getDims() == ArrayRef<Attribute>{len} ||
      type.getDims() == ArrayRef<Attribute>{heads, len})
    return success();
  return op.emitOpError("expected weights [")
         << toString(len) << "] or [" << toString(heads) << ", "
         << toString(len) << "], one for each place in the window, found "
         << toString(type.getDims());
}

/// The token dimension that pooling names in its result.
static FailureOr<NamedDimAttr> getNamedTokens(Operation *op, Attribute tokens) {
  if (auto named = dyn_cast<NamedDimAttr>(tokens))
    return named;
  return op->emitOpError("expected a named dimension of tokens, found '")
         << toString(tokens)
         << "'; pooled keys and constant lengths can't be pooled";
}

LogicalResult PoolOp::verify() {
  NamedTensorType input = getInput().getType();
  if (failed(expectReals(*this, "the input", input)) ||
      failed(verifyWindow(*this)))
    return failure();
  FailureOr<SequenceDims> dims = getSequenceDims(*this, "the input", input);
  if (failed(dims) || failed(verifyWeights(*this, dims->heads)))
    return failure();
  FailureOr<NamedDimAttr> tokens = getNamedTokens(*this, dims->tokens);
  if (failed(tokens))
    return failure();
  SequenceDims pooled = *dims;
  pooled.tokens = PooledDimAttr::get(
      getContext(), tokens->getName(), getLen(), getStride(), getTail(),
      tokens->getRagged(), /*count=*/StringAttr(), /*offset=*/0, /*memory=*/0);
  return expectTensor(*this, "the result", getResult().getType(),
                      getRowDims(pooled, {dims->heads, dims->features}),
                      input.getElementType(),
                      "only the dimension of tokens is pooled");
}

//===----------------------------------------------------------------------===//
// DeclarePooledOp
//===----------------------------------------------------------------------===//

LogicalResult DeclarePooledOp::verify() {
  NamedTensorType input = getInput().getType();
  NamedTensorType result = getResult().getType();
  FailureOr<SequenceDims> dims = getSequenceDims(*this, "the input", input);
  if (failed(dims))
    return failure();
  FailureOr<NamedDimAttr> tokens = getNamedTokens(*this, dims->tokens);
  if (failed(tokens))
    return failure();
  FailureOr<SequenceDims> found = getSequenceDims(*this, "the result", result);
  if (failed(found))
    return failure();
  auto pooled = dyn_cast<PooledDimAttr>(found->tokens);
  if (!pooled || !pooled.isDeclared() ||
      pooled.getCount() != tokens->getName() ||
      pooled.getRagged() != tokens->getRagged())
    return emitOpError("expected the result's tokens to be '")
           << (tokens->getRagged() ? "ragged " : "") << "pooled("
           << tokens->getName() << " of …)', found '" << toString(found->tokens)
           << "'";
  if (failed(expectKernelDim(*this, pooled.getBase())))
    return failure();
  SequenceDims expected = *dims;
  expected.tokens = pooled;
  return expectTensor(*this, "the result", result,
                      getRowDims(expected, {dims->heads, dims->features}),
                      input.getElementType(),
                      "only the dimension of tokens gets a meaning");
}
