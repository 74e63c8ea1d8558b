//===- Environment.cpp - Sizes and batch rows of a running kernel ---------===//

#include "Environment.h"
#include "NSA/IR/NSAOps.h"
#include "nsacc/Signature/Signature.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::interpreter;

int64_t RowOffsets::findBatch(int64_t row) const {
  return llvm::upper_bound(offsets, row) - offsets.begin() - 1;
}

/// Fails if a dimension that the kernel's ops need has no size.
static llvm::Error checkKnown(nsa::KernelOp kernel, const DimSizes &sizes) {
  llvm::StringRef missing;
  auto check = [&](llvm::StringRef name) {
    if (!name.empty() && !sizes.sizes.contains(name))
      missing = name;
  };
  auto checkType = [&](Type type) {
    if (auto tensor = dyn_cast<nsa::NamedTensorType>(type))
      for (Attribute dim : tensor.getDims())
        check(nsa::getTokenDim(dim));
    if (auto selection = dyn_cast<nsa::SelectionType>(type))
      check(selection.getOf());
  };
  llvm::for_each(kernel.getArgumentTypes(), checkType);
  kernel.walk([&](Operation *op) {
    if (auto dim = dyn_cast<nsa::DimOp>(op))
      check(dim.getDim());
    llvm::for_each(op->getResultTypes(), checkType);
  });
  if (missing.empty())
    return llvm::Error::success();
  return makeError("dimension " + missing +
                   " has no size: no input of the kernel has it");
}

llvm::Expected<Environment> Environment::create(nsa::KernelOp kernel,
                                                llvm::ArrayRef<Tensor> inputs) {
  llvm::Expected<DimSizes> sizes = bindDimensions(getSignature(kernel), inputs);
  if (!sizes)
    return sizes.takeError();
  if (llvm::Error error = checkKnown(kernel, *sizes))
    return std::move(error);
  return Environment(std::move(*sizes));
}

bool Environment::isRagged(StringRef name) const {
  return dims.offsets.contains(name);
}

RowOffsets Environment::getRaggedRows(StringRef name) const {
  return RowOffsets(dims.offsets.find(name)->second);
}

int64_t Environment::getLength(StringRef name, int64_t b) const {
  auto offsets = dims.offsets.find(name);
  if (offsets != dims.offsets.end())
    return offsets->second[b + 1] - offsets->second[b];
  return dims.sizes.lookup(name);
}

int64_t Environment::getTokens(Attribute dim, int64_t b) const {
  if (auto size = dyn_cast<IntegerAttr>(dim))
    return size.getInt();
  return getLength(nsa::getTokenDim(dim), b);
}

int64_t Environment::getEntries(Attribute dim, int64_t b) const {
  int64_t tokens = getTokens(dim, b);
  if (auto blocks = dyn_cast<nsa::BlocksDimAttr>(dim))
    return llvm::divideCeil(tokens, blocks.getBlock());
  auto pooled = dyn_cast<nsa::PooledDimAttr>(dim);
  if (!pooled)
    return tokens;
  if (pooled.isDeclared())
    return getLength(pooled.getCount().getValue(), b);
  return pooled.getNumEntries(tokens);
}

int64_t Environment::getMaxEntries(Attribute dim) const {
  if (!dims.batchRows)
    return getEntries(dim, 0);
  int64_t most = 0;
  for (int64_t b = 0; b < getBatch(); ++b)
    most = std::max(most, getEntries(dim, b));
  return most;
}

int64_t Environment::getSize(Attribute dim) const {
  // Independent of the batch's rows, even if there are none.
  if (auto size = dyn_cast<IntegerAttr>(dim))
    return size.getInt();
  if (auto named = dyn_cast<nsa::NamedDimAttr>(dim))
    if (named.getRagged() || !isRagged(named.getName()))
      return dims.sizes.lookup(named.getName());
  if (isa<nsa::OffsetsDimAttr>(dim))
    return getBatch() + 1;
  auto pooled = dyn_cast<nsa::PooledDimAttr>(dim);
  if (pooled && pooled.getRagged())
    return getRows(dim).getNumRows();
  return getMaxEntries(dim);
}

SmallVector<int64_t> Environment::getShape(ArrayRef<Attribute> dims) const {
  return llvm::map_to_vector(dims, [&](Attribute dim) { return getSize(dim); });
}

RowOffsets Environment::getRows(ArrayRef<Attribute> tensorDims) const {
  Attribute first = tensorDims.front();
  auto pooled = dyn_cast<nsa::PooledDimAttr>(first);
  if (pooled && pooled.getRagged()) {
    std::vector<int64_t> offsets = {0};
    for (int64_t b = 0; b < getBatch(); ++b)
      offsets.push_back(offsets.back() + getEntries(pooled, b));
    return RowOffsets(std::move(offsets));
  }
  auto named = dyn_cast<nsa::NamedDimAttr>(first);
  if (named && named.getRagged())
    return getRaggedRows(named.getName());

  int64_t batch = getSize(first), length = getSize(tensorDims[1]);
  std::vector<int64_t> offsets;
  for (int64_t b = 0; b <= batch; ++b)
    offsets.push_back(b * length);
  return RowOffsets(std::move(offsets));
}
