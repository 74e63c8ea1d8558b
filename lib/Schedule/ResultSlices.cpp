//===- ResultSlices.cpp - Results that stand in memory in parts -----------===//

#include "nsacc/Schedule/ResultSlices.h"
#include "KernelFacts.h"
#include "nsacc/Schedule/ScheduleOpInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

namespace {

/// Finds out whether an attention's results can be computed and read in slices.
class SliceFinder {
public:
  SliceFinder(KernelOp kernel, const ProgramUses &uses,
              ScoringOpInterface attend)
      : kernel(kernel), uses(uses), attend(attend), dims(getDims(attend)) {}

  bool run();

  /// The results, and all values computed from them.
  llvm::SetVector<Value> values;

private:
  QueryDims getDims(ScoringOpInterface op) {
    return getQueryShape(kernel, op).dims;
  }
  bool hasSameTokens(const QueryDims &other) {
    return other.batch == dims.batch && other.token == dims.token;
  }
  bool hasSameTokens(Operation *op) {
    return hasSameTokens(getDims(cast<ScoringOpInterface>(op)));
  }
  bool areComputed(ValueRange tensors) {
    return llvm::any_of(tensors,
                        [&](Value tensor) { return values.contains(tensor); });
  }
  bool isInMemory(Value value);
  bool readsRows(Operation *op);
  bool readsRows(MapOp op);
  bool loadsResults(Value tensor);
  bool isComputedInSlices(Value result);

  KernelOp kernel;
  const ProgramUses &uses;
  ScoringOpInterface attend;
  QueryDims dims;
};

} // namespace

bool SliceFinder::isInMemory(Value value) {
  Operation *op = value.getDefiningOp();
  auto scheduled = dyn_cast_or_null<ScheduleOpInterface>(op);
  return !op || (scheduled && scheduled.isShared()) || uses.isOwn(op);
}

/// Whether the op reads operands that stand in slices at the result's own
/// places only.
bool SliceFinder::readsRows(MapOp op) {
  auto getRows = [](Value tensor) {
    return getRowDims(cast<NamedTensorType>(tensor.getType()));
  };
  return !uses.isOwn(op) && llvm::all_of(op.getInputs(), [&](Value input) {
    return !values.contains(input) ||
           compose(getRows(op.getResult()), op.getPlaces(input)) ==
               getRows(input);
  });
}

/// Whether a token's value of the op needs values in slices for that token
/// alone, in a program over query tiles.
bool SliceFinder::readsRows(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](MapOp map) { return readsRows(map); })
      .Case<MergeOp, BlocksOp>([&](Operation *each) { return true; })
      .Case([&](TopKOp topk) {
        // Tokens that share a list may be in two slices.
        return topk.getShareTokens() == 1 &&
               !(topk.getCount() && values.contains(topk.getCount()));
      })
      .Case([&](ScoringOpInterface reader) {
        bool isElsewhere =
            reader.getValue() ? uses.isKeyMajor(reader) : uses.isOwn(op);
        return hasSameTokens(op) && !isElsewhere &&
               !areComputed(
                   cast<ScheduleOpInterface>(op).getOperandsInMemory());
      })
      .Case<IndicesOp, ReturnOp>([](Operation *) { return true; })
      .Default([](Operation *) { return false; });
}

/// Whether elementwise code that computes a tensor without an attention reads
/// values in slices.
bool SliceFinder::loadsResults(Value tensor) {
  SmallVector<Value> open = {tensor};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second || isa<IndicesOp>(op))
      continue;
    if (isInMemory(value)) {
      if (values.contains(value))
        return true;
      continue;
    }
    open.append(op->operand_begin(), op->operand_end());
  }
  return false;
}

/// Whether a result of the kernel is computed in slices.
bool SliceFinder::isComputedInSlices(Value result) {
  if (isa<SelectionType>(result.getType()) || result.getDefiningOp<IndicesOp>())
    return true;
  auto type = cast<NamedTensorType>(result.getType());
  // An importance has its own program.
  if (type.getRank() > 0 &&
      isa<PooledDimAttr, BlocksDimAttr>(type.getDims().back()))
    return false;
  FoundShape found = findQueryShape(
      kernel, result, [&](Value value) { return isInMemory(value); });
  if (!found.others.empty())
    return false;
  return found.shape ? hasSameTokens(found.shape->dims) : !loadsResults(result);
}

bool SliceFinder::run() {
  if (attend->use_empty() || !dims.batch || uses.isKeyMajor(attend))
    return false;
  for (Value result : attend->getResults())
    values.insert(result);
  for (size_t i = 0; i < values.size(); ++i)
    for (Operation *user : values[i].getUsers()) {
      if (!readsRows(user))
        return false;
      for (Value result : user->getResults())
        values.insert(result);
    }
  return llvm::all_of(kernel.getBody().front().getTerminator()->getOperands(),
                      [&](Value result) {
                        return !values.contains(result) ||
                               isComputedInSlices(result);
                      });
}

ResultSlices schedule::findResultSlices(KernelOp kernel,
                                        const ProgramUses &uses) {
  ResultSlices found;
  SmallVector<ScoringOpInterface> attends = findAttends(kernel);
  found.areListsMerged = llvm::any_of(attends, [&](ScoringOpInterface each) {
    return each.getSelection() && uses.isKeyMajor(each) && !uses.isOwn(each);
  });
  if (found.areListsMerged)
    return found;
  for (ScoringOpInterface attend : attends) {
    if (!uses.isOwn(attend))
      continue;
    QueryDims dims = getQueryShape(kernel, attend).dims;
    bool isOther = !found.attends.empty() && (dims.batch != found.dims.batch ||
                                              dims.token != found.dims.token);
    SliceFinder finder(kernel, uses, attend);
    if (isOther || !finder.run())
      continue;
    found.dims = dims;
    found.attends.push_back(attend);
    found.values.insert(finder.values.begin(), finder.values.end());
  }
  return found;
}
