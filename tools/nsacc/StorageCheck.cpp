//===- StorageCheck.cpp - Effect of rounded storage on results ------------===//

#include "StorageCheck.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"
#include "nsacc/Signature/Signature.h"
#include "nsacc/Tensor/Compare.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace nsacc;
using Verdict = CheckResult::Verdict;

//===-- Selections as results ---------------------------------------------===//

/// The block indices of every topk of `kernel`.
static llvm::SmallVector<mlir::Value> addIndices(nsa::KernelOp kernel) {
  llvm::SmallVector<mlir::Value> indices;
  mlir::OpBuilder builder(kernel.getContext());
  kernel.walk([&](nsa::TopKOp topk) {
    nsa::SelectionType selection = topk.getResult().getType();
    llvm::SmallVector<mlir::Attribute> dims(selection.getDims());
    dims.push_back(builder.getI64IntegerAttr(selection.getTop()));
    auto type = nsa::NamedTensorType::get(kernel.getContext(), dims,
                                          builder.getI32Type());
    builder.setInsertionPointAfter(topk);
    indices.push_back(
        nsa::IndicesOp::create(builder, topk.getLoc(), type, topk.getResult()));
  });
  return indices;
}

/// A copy of `kernel` that also returns its selections, after its own results.
/// Their tokens come first, so that they can be compared by query rows.
static mlir::OwningOpRef<nsa::KernelOp> returnSelections(nsa::KernelOp kernel) {
  mlir::OwningOpRef<nsa::KernelOp> copy(kernel.clone());
  llvm::SmallVector<mlir::Value> indices = addIndices(*copy);
  mlir::Operation *terminator = copy->getBody().front().getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), indices);
  copy->setFunctionType(
      mlir::FunctionType::get(kernel.getContext(), kernel.getArgumentTypes(),
                              llvm::to_vector(terminator->getOperandTypes())));
  if (mlir::ArrayAttr attrs = copy->getResAttrsAttr()) {
    llvm::SmallVector<mlir::Attribute> all(attrs.getValue());
    all.resize(terminator->getNumOperands(),
               mlir::DictionaryAttr::get(kernel.getContext()));
    copy->setResAttrsAttr(mlir::ArrayAttr::get(kernel.getContext(), all));
  }
  for (unsigned result = 0; result < kernel.getNumResults(); ++result)
    copy->removeResultAttr(
        result, mlir::StringAttr::get(kernel.getContext(),
                                      nsa::NSADialect::getOrderAttrName()));
  return copy;
}

//===-- Rows --------------------------------------------------------------===//

/// The dimensions that number the query rows: [B, T] or [ragged T].
static std::vector<std::string> getRowDims(const Argument &argument) {
  std::vector<std::string> dims;
  for (const Dim &dim : argument.dims) {
    dims.push_back(toString(dim));
    if (dim.kind == Dim::Kind::Ragged || dims.size() == 2)
      break;
  }
  return dims;
}

namespace {
/// Query rows whose selections don't depend on rounding.
struct StableRows {
  std::vector<std::string> dims;
  std::vector<bool> isStable;

  int64_t countUnstable() const { return llvm::count(isStable, false); }
};
} // namespace

/// None if selections of one program number their rows differently.
static std::optional<StableRows>
findStableRows(llvm::ArrayRef<Argument> selections,
               llvm::ArrayRef<Tensor> rounded, llvm::ArrayRef<Tensor> exact) {
  StableRows rows;
  rows.dims = getRowDims(selections.front());
  int64_t count = 1;
  for (size_t dim = 0; dim < rows.dims.size(); ++dim)
    count *= exact.front().getShape()[dim];
  rows.isStable.assign(count, true);
  for (auto [selection, left, right] : llvm::zip(selections, rounded, exact)) {
    if (getRowDims(selection) != rows.dims)
      return std::nullopt;
    std::vector<int64_t> a = left.toIntegers(), b = right.toIntegers();
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i])
        rows.isStable[i / (a.size() / count)] = false;
  }
  return rows;
}

/// The elements of stable rows, as a tensor of one dimension.
static Tensor keepStable(const Tensor &tensor, const StableRows &rows) {
  std::vector<double> values = tensor.toReals(), kept;
  size_t count = rows.isStable.size();
  for (size_t i = 0; i < values.size(); ++i)
    if (rows.isStable[i / (values.size() / count)])
      kept.push_back(values[i]);
  Tensor result = Tensor::zeros(DType::F64, {int64_t(kept.size())});
  result.setReals(kept);
  return result;
}

//===-- Verdicts ----------------------------------------------------------===//

/// Half the spacing of the numbers just above 1.
static double getUnitRoundoff(DType dtype) {
  switch (dtype) {
  case DType::F16:
    return 0x1p-11;
  case DType::BF16:
    return 0x1p-8;
  case DType::F32:
    return 0x1p-24;
  default:
    return 0;
  }
}

/// Four roundings to the coarsest type of the program's inputs and results: one
/// for each stored value, and one for results.
static double getBound(const Signature &signature) {
  double largest = 0;
  for (auto *arguments : {&signature.inputs, &signature.results})
    for (const Argument &argument : *arguments)
      largest = std::max(largest, getUnitRoundoff(argument.dtype));
  return 4 * largest;
}

/// Whether it pools results of attention, which mixes rows.
static bool mixesRows(nsa::KernelOp kernel) {
  return kernel
      .walk([](nsa::PoolOp pool) {
        return llvm::isa<mlir::BlockArgument>(pool.getInput())
                   ? mlir::WalkResult::advance()
                   : mlir::WalkResult::interrupt();
      })
      .wasInterrupted();
}

static CheckResult judge(const Argument &argument, const Difference &difference,
                         double bound) {
  bool isReal = nsacc::isReal(argument.dtype);
  bool isWithin =
      isReal ? difference.nonFinite == 0 && difference.getRelativeRms() <= bound
             : difference.differing == 0;
  CheckResult check{"storage of '" + argument.name + "'",
                    isWithin ? Verdict::Pass : Verdict::Fail, ""};
  if (!isReal) {
    check.detail =
        llvm::formatv("rounding stored values changes {0} of {1} elements",
                      difference.differing, difference.elements);
    return check;
  }
  check.detail = llvm::formatv(
      "rounding stored values moves it by {0:e2} relative rms (bound {1:e2}), "
      "{2:e2} at most",
      difference.getRelativeRms(), bound, difference.maxAbs);
  if (difference.nonFinite)
    check.detail += llvm::formatv("; {0} elements are finite in one alone",
                                  difference.nonFinite);
  return check;
}

static CheckResult judgeStable(const Argument &argument, const Tensor &rounded,
                               const Tensor &exact, double bound,
                               const std::optional<StableRows> &rows) {
  bool hasRows = rows && getRowDims(argument) == rows->dims;
  if (!hasRows) {
    CheckResult check = judge(argument, compare(rounded, exact), bound);
    check.verdict = Verdict::Report;
    check.detail += "; not judged: a change of a selected block may reach it";
    return check;
  }
  CheckResult check = judge(
      argument, compare(keepStable(rounded, *rows), keepStable(exact, *rows)),
      bound);
  check.detail += llvm::formatv(
      "; left out: {0} of {1} query rows, whose selected blocks change",
      rows->countUnstable(), rows->isStable.size());
  return check;
}

llvm::Error nsacc::checkStorage(nsa::KernelOp kernel,
                                llvm::ArrayRef<Tensor> inputs,
                                interpreter::Options options,
                                std::vector<CheckResult> &checks) {
  mlir::OwningOpRef<nsa::KernelOp> traced = returnSelections(kernel);
  options.roundStorage = true;
  options.keepF64 = false;
  auto rounded = interpreter::run(*traced, inputs, options);
  if (!rounded)
    return rounded.takeError();
  options.roundStorage = false;
  options.keepF64 = true;
  auto exact = interpreter::run(*traced, inputs, options);
  if (!exact)
    return exact.takeError();

  Signature signature = getSignature(*traced);
  size_t count = kernel.getResultTypes().size();
  llvm::ArrayRef<Argument> results(signature.results);
  double bound = getBound(getSignature(kernel));
  bool hasSelections = results.size() > count;
  std::optional<StableRows> rows;
  if (hasSelections && !mixesRows(kernel))
    rows = findStableRows(results.drop_front(count),
                          llvm::ArrayRef(*rounded).drop_front(count),
                          llvm::ArrayRef(*exact).drop_front(count));
  for (auto [argument, left, right] :
       llvm::zip(results.take_front(count), *rounded, *exact))
    checks.push_back(hasSelections
                         ? judgeStable(argument, left, right, bound, rows)
                         : judge(argument, compare(left, right), bound));
  return llvm::Error::success();
}
