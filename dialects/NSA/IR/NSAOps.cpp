//===- NSAOps.cpp - Operations of the nsa dialect -------------------------===//

#include "NSA/IR/NSAOps.h"
#include "NSA/IR/NSAAssembly.h"
#include "NSA/IR/NSANames.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc::nsa;

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

std::string KernelOp::getArgumentName(unsigned index) {
  if (auto name =
          getArgAttrOfType<StringAttr>(index, NSADialect::getNameAttrName()))
    return name.str();
  return "arg" + std::to_string(index);
}

std::string KernelOp::getResultName(unsigned index) {
  if (auto name =
          getResultAttrOfType<StringAttr>(index, NSADialect::getNameAttrName()))
    return name.str();
  return "out" + (getNumResults() == 1 ? "" : std::to_string(index));
}

/// The kernel that the tensor is an argument of, if it is one.
static KernelOp getKernelOfArgument(Value tensor) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  return argument ? dyn_cast<KernelOp>(argument.getOwner()->getParentOp())
                  : KernelOp();
}

std::string nsacc::nsa::describeTensor(Value tensor) {
  KernelOp kernel = getKernelOfArgument(tensor);
  return kernel ? "'" +
                      kernel.getArgumentName(
                          cast<BlockArgument>(tensor).getArgNumber()) +
                      "'"
                : "computed by the program";
}

static SmallVector<int64_t> getOrder(Type type, DenseI64ArrayAttr order) {
  if (order)
    return SmallVector<int64_t>(order.asArrayRef());
  return llvm::to_vector(
      llvm::seq<int64_t>(0, cast<NamedTensorType>(type).getRank()));
}

SmallVector<int64_t> nsacc::nsa::getDeclaredOrder(Value tensor) {
  if (KernelOp kernel = getKernelOfArgument(tensor))
    return kernel.getArgumentOrder(cast<BlockArgument>(tensor).getArgNumber());
  return getOrder(tensor.getType(), {});
}

std::string nsacc::nsa::describeDim(Value tensor, unsigned dim) {
  Attribute found = cast<NamedTensorType>(tensor.getType()).getDims()[dim];
  if (!isa<IntegerAttr>(found))
    return toString(found);
  SmallVector<int64_t> order = getDeclaredOrder(tensor);
  return std::to_string(llvm::find(order, dim) - order.begin());
}

SmallVector<int64_t> KernelOp::getArgumentOrder(unsigned index) {
  return getOrder(getArgumentTypes()[index],
                  getArgAttrOfType<DenseI64ArrayAttr>(
                      index, NSADialect::getOrderAttrName()));
}

SmallVector<int64_t> KernelOp::getResultOrder(unsigned index) {
  return getOrder(getResultTypes()[index],
                  getResultAttrOfType<DenseI64ArrayAttr>(
                      index, NSADialect::getOrderAttrName()));
}

//===----------------------------------------------------------------------===//
// TopKOp
//===----------------------------------------------------------------------===//

SmallVector<Value> nsacc::nsa::getParts(Value selection) {
  auto whole = selection.getDefiningOp<UnionOp>();
  if (!whole)
    return {selection};
  SmallVector<Value> parts;
  for (Value part : whole.getParts())
    parts.append(getParts(part));
  return parts;
}

bool nsacc::nsa::isHandedIn(Value selection) {
  return llvm::any_of(getParts(selection), [](Value part) {
    return part.getDefiningOp<DeclareSelectionOp>() != nullptr;
  });
}

bool nsacc::nsa::hasRowsOfOffsets(Value selection) {
  Attribute rows = cast<SelectionType>(selection.getType()).getRowDim();
  return llvm::any_of(getParts(selection), [&](Value part) {
    auto declare = part.getDefiningOp<DeclareSelectionOp>();
    return declare && declare.getOffsets() &&
           cast<SelectionType>(part.getType()).getRowDim() == rows;
  });
}

static ArrayRef<Attribute> getDims(Value tensor) {
  return cast<NamedTensorType>(tensor.getType()).getDims();
}

/// The heads that [batch, offsets, heads] and [batch, entries, heads] have in
/// common, in either order.
static Attribute findHeads(ArrayRef<Attribute> bounds,
                           ArrayRef<Attribute> entries) {
  for (Attribute dim : llvm::reverse(bounds.take_back(2)))
    if (llvm::is_contained(entries.take_back(2), dim))
      return dim;
  return {};
}

bool DeclareSelectionOp::hasHeadsFirst(Value tensor) {
  if (!getOffsets() || getDims(tensor).size() != 3)
    return false;
  return getDims(tensor).back() !=
         findHeads(getDims(getOffsets()), getDims(getIndices()));
}

Attribute DeclareSelectionOp::getEntryDim() {
  ArrayRef<Attribute> dims = getDims(getIndices());
  return hasHeadsFirst(getIndices()) ? dims.back() : dims.drop_back().back();
}

SmallVector<ImportanceOp> nsacc::nsa::findImportances(TopKOp topk) {
  SmallVector<ImportanceOp> found;
  llvm::SetVector<Value> values;
  values.insert(topk.getImportance());
  for (size_t next = 0; next < values.size(); ++next) {
    Operation *op = values[next].getDefiningOp();
    if (auto importance = dyn_cast_if_present<ImportanceOp>(op))
      found.push_back(importance);
    // Factors aren't importances.
    else if (isa_and_present<BlocksOp, MapOp>(op))
      values.insert_range(op->getOperands());
  }
  return found;
}

//===----------------------------------------------------------------------===//
// BlocksOp
//===----------------------------------------------------------------------===//

std::pair<int64_t, int64_t> BlocksOp::getEntries() {
  PooledDimAttr pooled = getPooledDim();
  int64_t stride = pooled.getStride(), start = pooled.getFirstStart(),
          block = getBlock();
  int64_t furthest = block % stride == 0 ? 0 : stride - 1;
  return {llvm::divideFloorSigned(-pooled.getLen() - start, stride) + 1,
          llvm::divideFloorSigned(block - 1 - start + furthest, stride)};
}

int64_t BlocksOp::getNumSharedEntries() {
  int64_t block = getBlock(), stride = getPooledDim().getStride();
  if (block % stride != 0)
    return 0;
  auto [first, last] = getEntries();
  return std::max<int64_t>(0, last - first + 1 - block / stride);
}

//===----------------------------------------------------------------------===//
// TableReadOp
//===----------------------------------------------------------------------===//

LogicalResult TableReadOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &inferred) {
  NamedTensorType table =
      operands.empty() ? NamedTensorType()
                       : dyn_cast<NamedTensorType>(operands[0].getType());
  if (!table)
    return failure();
  inferred.push_back(table.getScalarType());
  return success();
}

//===----------------------------------------------------------------------===//
// MapOp
//===----------------------------------------------------------------------===//

DimSet MapOp::getPlaces(Value input) {
  return matchDims(cast<NamedTensorType>(input.getType()).getDims(),
                   getType().getDims())
      ->dims;
}

#include "NSA/IR/NSAInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "NSA/IR/NSAOps.cpp.inc"
