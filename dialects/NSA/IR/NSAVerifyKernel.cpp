//===- NSAVerifyKernel.cpp - Checks of whole kernels ----------------------===//

#include "NSA/IR/NSAVerify.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace nsacc::nsa;

/// Checks that arguments, or results, are tensors and that no two have the same
/// name.
static LogicalResult verifyNames(KernelOp kernel, StringRef what,
                                 ArrayRef<Type> types,
                                 function_ref<Attribute(unsigned)> getNameAttr,
                                 function_ref<std::string(unsigned)> getName) {
  llvm::StringSet<> names;
  for (auto [index, type] : llvm::enumerate(types)) {
    if (!isa<NamedTensorType>(type))
      return kernel.emitOpError("expected ")
             << what << " " << index << " to be a !nsa.tensor, found " << type;
    Attribute attribute = getNameAttr(index);
    auto text = dyn_cast_or_null<StringAttr>(attribute);
    if (attribute && (!text || text.empty()))
      return kernel.emitOpError("expected the name of ")
             << what << " " << index << " to be a string that isn't empty, "
             << "found " << attribute;
    std::string name = getName(index);
    if (!names.insert(name).second)
      return kernel.emitOpError("expected each ")
             << what << " to have its own name, found '" << name
             << "' twice; rename one";
  }
  return success();
}

/// Checks that the caller's order has each of the type's dimensions once.
static LogicalResult
verifyOrders(KernelOp kernel, StringRef what, ArrayRef<Type> types,
             function_ref<Attribute(unsigned)> getOrderAttr,
             function_ref<std::string(unsigned)> getName) {
  for (auto [index, type] : llvm::enumerate(types)) {
    Attribute attribute = getOrderAttr(index);
    if (!attribute)
      continue;
    auto order = dyn_cast<DenseI64ArrayAttr>(attribute);
    SmallVector<int64_t> sorted;
    if (order)
      sorted.assign(order.asArrayRef().begin(), order.asArrayRef().end());
    llvm::sort(sorted);
    auto tensor = cast<NamedTensorType>(type);
    if (!order || !llvm::equal(sorted, llvm::seq<int64_t>(0, tensor.getRank())))
      return kernel.emitOpError("expected the order of ")
             << what << " '" << getName(index)
             << "' to be an array<i64: …> with each of its " << tensor.getRank()
             << " dimensions once, found " << attribute;
  }
  return success();
}

namespace {
/// The kernel's arguments with a named dimension.
struct DimUse {
  bool ragged = false;
  unsigned argument = 0;
};
} // namespace

/// Checks that a name is ragged in all arguments and results or in none.
static LogicalResult collectDims(KernelOp kernel, StringRef what,
                                 ArrayRef<Type> types,
                                 function_ref<std::string(unsigned)> getName,
                                 llvm::StringMap<DimUse> &uses) {
  for (auto [index, type] : llvm::enumerate(types)) {
    ArrayRef<Attribute> dims = cast<NamedTensorType>(type).getDims();
    for (Attribute dim : dims) {
      auto named = dyn_cast<NamedDimAttr>(dim);
      if (!named)
        continue;
      DimUse use{named.getRagged(), static_cast<unsigned>(index)};
      auto [entry, first] = uses.try_emplace(named.getName(), use);
      if (!first && entry->second.ragged != use.ragged)
        return kernel.emitOpError("expected dimension '")
               << named.getName() << "' to be ragged everywhere or nowhere, "
               << "but it is " << (use.ragged ? "" : "not ") << "ragged in "
               << what << " '" << getName(index) << "'";
    }
  }
  return success();
}

/// Checks that every ragged dimension has one argument of offsets, after all
/// others.
static LogicalResult verifyOffsets(KernelOp kernel,
                                   const llvm::StringMap<DimUse> &uses) {
  llvm::StringSet<> known;
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto tensor = cast<NamedTensorType>(type);
    bool hasOffsets =
        llvm::any_of(tensor.getDims(), llvm::IsaPred<OffsetsDimAttr>);
    std::string name = kernel.getArgumentName(index);
    if (!hasOffsets) {
      if (!known.empty())
        return kernel.emitOpError("expected offsets behind all other "
                                  "arguments, found argument '")
               << name << "' behind them; move it in front";
      continue;
    }
    if (tensor.getRank() != 1 || !tensor.getElementType().isInteger(32))
      return kernel.emitOpError("expected offsets to be "
                                "!nsa.tensor<[offsets(…)], i32>, found ")
             << tensor << " of argument '" << name << "'";
    StringRef of = cast<OffsetsDimAttr>(tensor.getDims().front()).getOf();
    auto use = uses.find(of);
    if (use == uses.end() || !use->second.ragged)
      return kernel.emitOpError("expected offsets of a ragged dimension, but "
                                "no argument has 'ragged ")
             << of << "'";
    if (!known.insert(of).second)
      return kernel.emitOpError("expected one argument of offsets of '")
             << of << "', found a second one, '" << name << "'; drop it";
  }
  for (const auto &use : uses)
    if (use.second.ragged && !known.contains(use.first()))
      return kernel.emitOpError("expected an argument "
                                "!nsa.tensor<[offsets(")
             << use.first() << ")], i32> with the offsets of ragged dimension '"
             << use.first() << "'";
  return success();
}

/// Whether an operation computes on whole tensors, whichever dialect has it.
static bool isOnTensors(Operation &op) {
  if (isa_and_nonnull<NSADialect>(op.getDialect()))
    return !isa<KernelOp>(op);
  return op.getNumResults() > 0 &&
         llvm::all_of(op.getResultTypes(), [](Type type) {
           return isa<NamedTensorType, SelectionType>(type);
         });
}

/// Also leaves nsa.return as the only terminator.
static LogicalResult verifyKernelBody(KernelOp kernel) {
  for (Operation &op : kernel.getBody().front())
    if (!isOnTensors(op))
      return op.emitError("expected operations on whole tensors in a kernel, "
                          "found '")
             << op.getName() << "'; scalar code belongs into nsa.map";
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  auto argumentName = [&](unsigned index) { return getArgumentName(index); };
  auto resultName = [&](unsigned index) { return getResultName(index); };
  auto argumentAttr = [&](unsigned index) {
    return getArgAttr(index, NSADialect::getNameAttrName());
  };
  auto resultAttr = [&](unsigned index) {
    return getResultAttr(index, NSADialect::getNameAttrName());
  };
  if (failed(verifyNames(*this, "argument", getArgumentTypes(), argumentAttr,
                         argumentName)) ||
      failed(verifyNames(*this, "result", getResultTypes(), resultAttr,
                         resultName)))
    return failure();
  auto argumentOrder = [&](unsigned index) {
    return getArgAttr(index, NSADialect::getOrderAttrName());
  };
  auto resultOrder = [&](unsigned index) {
    return getResultAttr(index, NSADialect::getOrderAttrName());
  };
  if (failed(verifyOrders(*this, "argument", getArgumentTypes(), argumentOrder,
                          argumentName)) ||
      failed(verifyOrders(*this, "result", getResultTypes(), resultOrder,
                          resultName)))
    return failure();
  llvm::StringMap<DimUse> uses;
  if (failed(collectDims(*this, "argument", getArgumentTypes(), argumentName,
                         uses)) ||
      failed(verifyOffsets(*this, uses)) ||
      failed(collectDims(*this, "result", getResultTypes(), resultName, uses)))
    return failure();
  return verifyKernelBody(*this);
}

LogicalResult ReturnOp::verify() {
  auto kernel = cast<KernelOp>((*this)->getParentOp());
  ArrayRef<Type> types = kernel.getResultTypes();
  if (getNumOperands() != types.size())
    return emitOpError("expected ")
           << types.size() << " values, the results of kernel '"
           << kernel.getName() << "', found " << getNumOperands();
  for (auto [index, found, expected] :
       llvm::enumerate(getOperandTypes(), types))
    if (found != expected)
      return emitOpError("expected result '")
             << kernel.getResultName(index) << "' to be of type " << expected
             << ", found " << found << "; convert it with nsa.map";
  return success();
}
