//===- NSAVerifyShapes.cpp - Checks of dimensions of nsa ops --------------===//

#include "NSA/IR/NSAVerify.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace nsacc::nsa;

/// Whether the dimension counts tokens, computed or declared.
static bool isTokenLike(Attribute dim) {
  return isa<IntegerAttr, NamedDimAttr, PooledDimAttr>(dim);
}

static bool isPlain(Attribute dim) {
  auto named = dyn_cast<NamedDimAttr>(dim);
  return isa<IntegerAttr>(dim) || (named && !named.getRagged());
}

FailureOr<SequenceDims> nsacc::nsa::getSequenceDims(Operation *op,
                                                    StringRef what,
                                                    NamedTensorType type) {
  ArrayRef<Attribute> dims = type.getDims();
  bool ragged = type.isRagged();
  if (dims.size() == (ragged ? 3 : 4)) {
    SequenceDims sequence;
    sequence.batch = ragged ? Attribute() : dims.front();
    sequence.tokens = dims[dims.size() - 3];
    sequence.heads = dims[dims.size() - 2];
    sequence.features = dims.back();
    if ((ragged || isPlain(sequence.batch)) && isTokenLike(sequence.tokens) &&
        isPlain(sequence.heads) && isPlain(sequence.features))
      return sequence;
  }
  return op->emitOpError("expected ")
         << what
         << " to be [batch, tokens, heads, features] or [ragged tokens, heads, "
            "features], found "
         << toString(dims);
}

SmallVector<Attribute> nsacc::nsa::getRowDims(const SequenceDims &dims,
                                              ArrayRef<Attribute> tail) {
  SmallVector<Attribute> row;
  if (!dims.isRagged())
    row.push_back(dims.batch);
  row.push_back(dims.tokens);
  row.append(tail.begin(), tail.end());
  return row;
}

LogicalResult nsacc::nsa::expectTensor(Operation *op, StringRef what,
                                       NamedTensorType found,
                                       ArrayRef<Attribute> dims,
                                       Type elementType, StringRef reason) {
  if (found.getDims() == dims && found.getElementType() == elementType)
    return success();
  // Messages quote types, but here the type is part of a longer spelling.
  std::string element;
  llvm::raw_string_ostream(element) << elementType;
  return op->emitOpError("expected ")
         << what << " to be of type '!nsa.tensor<" << toString(dims) << ", "
         << element << ">', found " << found << "; " << reason;
}

LogicalResult nsacc::nsa::expectReals(Operation *op, StringRef what,
                                      NamedTensorType found) {
  if (isa<FloatType>(found.getElementType()))
    return success();
  return op->emitOpError("expected ")
         << what << " to have elements bf16, f16 or f32, found "
         << found.getElementType() << "; convert it with nsa.map";
}

LogicalResult nsacc::nsa::expectDim(Operation *op, StringRef what,
                                    Attribute found, Attribute expected,
                                    StringRef reason) {
  if (found == expected)
    return success();
  return op->emitOpError("expected ")
         << what << " to be '" << toString(expected) << "', found '"
         << toString(found) << "'; " << reason;
}

/// The names of dimensions whose sizes come from the kernel's arguments.
static llvm::SetVector<StringRef> getKernelDims(KernelOp kernel) {
  llvm::SetVector<StringRef> names;
  for (Type type : kernel.getArgumentTypes())
    if (auto tensor = dyn_cast<NamedTensorType>(type))
      for (Attribute dim : tensor.getDims()) {
        if (StringRef name = getTokenDim(dim); !name.empty())
          names.insert(name);
        if (auto pooled = dyn_cast<PooledDimAttr>(dim);
            pooled && pooled.isDeclared())
          names.insert(pooled.getCount().getValue());
      }
  return names;
}

LogicalResult nsacc::nsa::expectKernelDim(Operation *op, StringRef name) {
  auto kernel = op->getParentOfType<KernelOp>();
  if (!kernel)
    return success();
  llvm::SetVector<StringRef> names = getKernelDims(kernel);
  if (names.contains(name))
    return success();
  InFlightDiagnostic diagnostic =
      op->emitOpError("expected a dimension of the kernel's arguments (");
  llvm::interleaveComma(names, diagnostic);
  return diagnostic << "), found '" << name << "'";
}
