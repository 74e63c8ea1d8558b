//===- Specialize.cpp - Fix sizes of dimensions ---------------------------===//

#include "NSA/IR/NSAOps.h"
#include "NSA/Transforms/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"

namespace nsacc::nsa {
#define GEN_PASS_DEF_NSASPECIALIZE
#include "NSA/Transforms/Passes.h.inc"
} // namespace nsacc::nsa

using namespace mlir;
using namespace nsacc::nsa;

/// The dimensions of tokens among those of `op`.
static SmallVector<Attribute> getTokenDims(Operation *op) {
  auto ofTensor = [](Value tensor) {
    auto type = cast<NamedTensorType>(tensor.getType());
    return type.getDims()[type.isRagged() ? 0 : 1];
  };
  if (auto scoring = dyn_cast<ScoringOpInterface>(op))
    return {ofTensor(scoring.getQuery()), ofTensor(scoring.getKey())};
  if (auto topk = dyn_cast<TopKOp>(op))
    return {ofTensor(topk.getImportance())};
  if (isa<PoolOp, DeclarePooledOp, DeclareBlocksOp>(op))
    return {ofTensor(op->getOperand(0))};
  auto declare = dyn_cast<DeclareSelectionOp>(op);
  if (!declare)
    return {};
  SmallVector<Attribute> dims = {declare.getResult().getType().getRowDim()};
  if (declare.getOffsets())
    dims.push_back(declare.getEntryDim());
  return dims;
}

namespace {
/// Dimensions that count tokens: of queries, keys and other tensors with
/// tokens, and the token dimensions of pooled keys.
struct TokenDims {
  explicit TokenDims(KernelOp kernel) {
    kernel.walk([&](Operation *op) {
      for (Attribute dim : getTokenDims(op)) {
        if (isa<IntegerAttr>(dim))
          constants.insert(dim);
        else
          names.insert(getTokenDim(dim));
      }
    });
  }

  bool contains(Attribute dim) const {
    if (auto named = dyn_cast<NamedDimAttr>(dim))
      return names.contains(named.getName());
    return isa<PooledDimAttr>(dim) || constants.contains(dim);
  }

  llvm::StringSet<> names;
  llvm::SmallPtrSet<Attribute, 2> constants;
};
} // namespace

/// Names of plain dimensions of the kernel's arguments and results.
static llvm::StringSet<> getPlainDims(KernelOp kernel) {
  llvm::StringSet<> names;
  for (TypeRange types : {TypeRange(kernel.getArgumentTypes()),
                          TypeRange(kernel.getResultTypes())})
    for (Type type : types)
      for (Attribute dim : cast<NamedTensorType>(type).getDims())
        if (auto named = dyn_cast<NamedDimAttr>(dim);
            named && !named.getRagged())
          names.insert(named.getName());
  return names;
}

/// The dimensions of a tensor after its rows' tokens or pooled keys.
static ArrayRef<Attribute> getDimsBehindTokens(NamedTensorType type,
                                               const TokenDims &tokens) {
  ArrayRef<Attribute> dims = type.getDims();
  size_t position = type.isRagged() ? 0 : 1;
  if (dims.size() <= position || !tokens.contains(dims[position]))
    return {};
  return dims.drop_front(position + 1);
}

/// Whether tiles have the argument's shape. Tables, which clauses read element
/// by element, and arguments that no result needs, aren't tiled.
static bool isTiled(KernelOp kernel, BlockArgument argument) {
  return llvm::any_of(argument.getUsers(), [&](Operation *user) {
    return user->getParentOp() == kernel;
  });
}

SmallVector<StringRef> nsacc::nsa::getSpecializedDims(KernelOp kernel) {
  TokenDims tokens(kernel);
  // The number of blocks follows from the number of tokens, whichever input the
  // scores of blocks come from.
  llvm::SetVector<std::pair<Value, Attribute>> scores;
  kernel.walk([&](DeclareBlocksOp op) {
    Value all = op->getOperand(0);
    scores.insert({all, cast<NamedTensorType>(all.getType()).getDims().back()});
  });
  for (size_t next = 0; next < scores.size(); ++next) {
    auto [value, blocks] = scores[next];
    if (auto map = value.getDefiningOp<MapOp>())
      for (Value operand : map->getOperands())
        scores.insert({operand, blocks});
  }
  llvm::SetVector<StringRef> names;
  auto add = [&](Value each) {
    auto type = dyn_cast<NamedTensorType>(each.getType());
    if (!type)
      return;
    ArrayRef<Attribute> dims = getDimsBehindTokens(type, tokens);
    for (Attribute dim : dims)
      if (auto named = dyn_cast<NamedDimAttr>(dim);
          named && !named.getRagged() && !tokens.contains(named) &&
          !scores.contains({each, dim}))
        names.insert(named.getName());
  };
  for (BlockArgument argument : kernel.getBody().getArguments())
    if (isTiled(kernel, argument))
      add(argument);
  for (Operation &op : kernel.getBody().front())
    for (Value result : op.getResults())
      add(result);
  return names.takeVector();
}

/// Drops divisors of 1, which the canonical form of exponentials keeps and code
/// doesn't need.
static void dropDivisors(KernelOp kernel) {
  kernel.walk([](AttendOp op) {
    Region &normalize = op.getNormalize();
    FloatAttr divisor;
    if (!normalize.empty() &&
        matchPattern(normalize.front().getTerminator()->getOperand(0),
                     m_Constant(&divisor)) &&
        divisor.getValue().isExactlyValue(1.0))
      normalize.front().erase();
  });
}

namespace {

struct Specialize : nsacc::nsa::impl::NSASpecializeBase<Specialize> {
  using NSASpecializeBase::NSASpecializeBase;

  void runOnOperation() override {
    SmallVector<std::pair<StringRef, int64_t>> sizes;
    for (StringRef text : dims) {
      auto [name, value] = text.split('=');
      int64_t size;
      if (name.empty() || value.getAsInteger(10, size) || size < 1) {
        getOperation()->emitError(
            "expected NAME=SIZE with a size of at least 1, "
            "found '")
            << text << "'";
        return signalPassFailure();
      }
      sizes.push_back({name, size});
    }
    llvm::StringSet<> found;
    KernelOp last;
    auto result = getOperation()->walk([&](KernelOp kernel) {
      last = kernel;
      return failed(specialize(kernel, sizes, found)) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (auto [name, size] : sizes)
      if (last && !found.contains(name)) {
        last.emitError("has no dimension '") << name << "' to fix";
        return signalPassFailure();
      }
  }

  /// Sets the sizes of the dimensions that the kernel has, and adds them to
  /// `found`.
  static LogicalResult specialize(KernelOp kernel,
                                  ArrayRef<std::pair<StringRef, int64_t>> sizes,
                                  llvm::StringSet<> &found) {
    llvm::StringSet<> tokenDims = TokenDims(kernel).names;
    llvm::StringSet<> plainDims = getPlainDims(kernel);
    Builder builder(kernel.getContext());
    NamedAttrList attributes(
        kernel->getAttrOfType<DictionaryAttr>(kSizesAttrName));
    for (auto [name, size] : sizes) {
      if (tokenDims.contains(name))
        return kernel.emitError("can't fix the size of '")
               << name
               << "': it counts tokens, and compiled programs work for "
                  "every length";
      if (!plainDims.contains(name))
        continue;
      found.insert(name);
      attributes.set(name, builder.getI64IntegerAttr(size));
    }
    kernel->setAttr(kSizesAttrName,
                    attributes.getDictionary(kernel.getContext()));
    dropDivisors(kernel);
    return success();
  }
};

} // namespace
