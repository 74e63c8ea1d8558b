//===- Interpreter.cpp - Interpreter of nsa programs ----------------------===//

#include "nsacc/Interpreter/Interpreter.h"
#include "Evaluate.h"
#include "Traced.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Threading.h"
#include <new>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::interpreter;

namespace {

/// Runs the ops of a kernel one after the other.
class Interpreter {
public:
  Interpreter(Context context, const Options &options)
      : context(std::move(context)), options(options) {}

  void setInputs(nsa::KernelOp kernel, ArrayRef<Tensor> inputs);
  llvm::Error run(Operation &op);
  std::vector<Tensor> getResults(nsa::KernelOp kernel);
  Context takeContext() { return std::move(context); }

private:
  void set(Value value, TensorValue tensor);
  llvm::Error set(Value value, llvm::Expected<TensorValue> tensor);
  llvm::Error set(Value value, llvm::Expected<SelectionValue> selection);
  llvm::Error set(Value output, Value lse, llvm::Expected<AttendResult> result);

  Context context;
  const Options &options;
};

} // namespace

static llvm::Error makeMemoryError(StringRef what) {
  return makeError("not enough memory for " + what +
                   ": the oracle holds every intermediate tensor in fp64; give "
                   "it fewer tokens");
}

/// Fails if the results of `op` are too large for memory.
static llvm::Error checkSizes(Operation &op, const Environment &environment) {
  constexpr int64_t mostElements = int64_t(1) << 40;
  for (Type type : op.getResultTypes()) {
    auto tensor = dyn_cast<nsa::NamedTensorType>(type);
    if (!tensor)
      continue;
    int64_t elements = 1;
    for (int64_t size : environment.getShape(tensor.getDims()))
      if (llvm::MulOverflow(elements, size, elements) ||
          elements > mostElements)
        return makeMemoryError(nsa::toString(tensor.getDims()));
  }
  return llvm::Error::success();
}

static DType getDType(Type type) {
  if (type.isInteger(1))
    return DType::Bool;
  if (type.isInteger(32))
    return DType::I32;
  if (type.isInteger(64))
    return DType::I64;
  if (type.isF16())
    return DType::F16;
  return type.isBF16() ? DType::BF16 : DType::F32;
}

void Interpreter::setInputs(nsa::KernelOp kernel, ArrayRef<Tensor> inputs) {
  for (auto [argument, given] :
       llvm::zip_equal(kernel.getBody().getArguments(), inputs)) {
    Tensor input =
        given.permuteBack(kernel.getArgumentOrder(argument.getArgNumber()));
    auto tensor = std::make_shared<TensorValue>();
    tensor->shape.assign(input.getShape().begin(), input.getShape().end());
    if (isReal(input.getDType()))
      tensor->reals = input.toReals();
    else
      tensor->integers = input.toIntegers();
    context.tensors[argument] = std::move(tensor);
  }
}

/// Stores a result. Integers become the nearest that the element type holds.
/// With roundStorage, reals have its precision.
void Interpreter::set(Value value, TensorValue tensor) {
  Type type = cast<nsa::NamedTensorType>(value.getType()).getElementType();
  if (type.isInteger(32))
    for (int64_t &x : tensor.integers)
      x = std::clamp<int64_t>(x, INT32_MIN, INT32_MAX);
  if (options.roundStorage)
    for (double &x : tensor.reals)
      x = roundTo(getDType(type), x);
  context.tensors[value] = std::make_shared<TensorValue>(std::move(tensor));
}

llvm::Error Interpreter::set(Value value, llvm::Expected<TensorValue> tensor) {
  if (!tensor)
    return tensor.takeError();
  set(value, std::move(*tensor));
  return llvm::Error::success();
}

llvm::Error Interpreter::set(Value value,
                             llvm::Expected<SelectionValue> selection) {
  if (!selection)
    return selection.takeError();
  context.selections[value] =
      std::make_shared<SelectionValue>(std::move(*selection));
  return llvm::Error::success();
}

llvm::Error Interpreter::set(Value output, Value lse,
                             llvm::Expected<AttendResult> result) {
  if (!result)
    return result.takeError();
  set(output, std::move(result->output));
  if (lse)
    set(lse, std::move(result->lse));
  if (lse)
    context.normalizers[lse] = std::make_shared<std::vector<Normalizer>>(
        std::move(result->normalizers));
  return llvm::Error::success();
}

llvm::Error Interpreter::run(Operation &op) {
  if (llvm::Error error = checkSizes(op, context.environment))
    return error;
  return llvm::TypeSwitch<Operation *, llvm::Error>(&op)
      .Case([&](nsa::PoolOp op) {
        return set(op.getResult(), evaluatePool(op, context));
      })
      .Case([&](nsa::DeclarePooledOp op) {
        context.tensors[op.getResult()] = context.tensors.at(op.getInput());
        return llvm::Error::success();
      })
      .Case([&](nsa::AttendOp op) {
        return set(op.getOutput(), op.getLse(), evaluateAttend(op, context));
      })
      .Case([&](nsa::MergeOp op) {
        return set(op.getOutput(), op.getLse(), evaluateMerge(op, context));
      })
      .Case([&](nsa::ImportanceOp op) {
        return set(op.getResult(), evaluateImportance(op, context));
      })
      .Case([&](nsa::BlocksOp op) {
        return set(op.getResult(), evaluateBlocks(op, context));
      })
      .Case([&](nsa::DeclareBlocksOp op) {
        context.tensors[op.getResult()] = context.tensors.at(op.getInput());
        return llvm::Error::success();
      })
      .Case([&](nsa::TopKOp op) {
        return set(op.getResult(), evaluateTopK(op, context));
      })
      .Case([&](nsa::DeclareSelectionOp op) {
        return set(op.getResult(), evaluateDeclareSelection(op, context));
      })
      .Case([&](nsa::UnionOp op) {
        return set(op.getResult(), evaluateUnion(op, context));
      })
      .Case([&](nsa::IndicesOp op) {
        set(op.getResult(), evaluateIndices(op, context));
        return llvm::Error::success();
      })
      .Case([&](nsa::MapOp op) {
        return set(op.getResult(), evaluateMap(op, context));
      })
      .Default([](Operation *op) -> llvm::Error {
        if (isa<nsa::ReturnOp>(op))
          return llvm::Error::success();
        return makeError("the oracle can't run '" +
                         op->getName().getStringRef() + "'");
      });
}

std::vector<Tensor> Interpreter::getResults(nsa::KernelOp kernel) {
  std::vector<Tensor> results;
  Operation *terminator = kernel.getBody().front().getTerminator();
  for (auto [value, type] :
       llvm::zip_equal(terminator->getOperands(), kernel.getResultTypes())) {
    const TensorValue &tensor = context.getTensor(value);
    DType dtype = getDType(cast<nsa::NamedTensorType>(type).getElementType());
    if (options.keepF64 && isReal(dtype))
      dtype = DType::F64;
    results.push_back(Tensor::zeros(dtype, tensor.shape));
    if (isReal(dtype))
      results.back().setReals(tensor.reals);
    else
      results.back().setIntegers(tensor.integers);
  }
  return results;
}

static llvm::Expected<TracedRun>
runInMemory(nsa::KernelOp kernel, ArrayRef<Tensor> inputs,
            const Options &options, const std::vector<bool> *onlyRows) {
  llvm::Expected<Environment> environment = Environment::create(kernel, inputs);
  if (!environment)
    return environment.takeError();
  unsigned threads = options.threads;
  if (threads == 0)
    threads = llvm::hardware_concurrency().compute_thread_count();
  Interpreter interpreter(Context{.environment = std::move(*environment),
                                  .threads = threads,
                                  .usefulOperations = options.usefulOperations,
                                  .rounding = Rounding(options.eagerSeed),
                                  .onlyRows = onlyRows},
                          options);
  interpreter.setInputs(kernel, inputs);
  for (Operation &op : kernel.getBody().front())
    if (llvm::Error error = interpreter.run(op))
      return std::move(error);
  std::vector<Tensor> results = interpreter.getResults(kernel);
  return TracedRun{std::move(results), interpreter.takeContext()};
}

std::vector<Tensor>
nsacc::interpreter::toCallerOrder(nsa::KernelOp kernel,
                                  ArrayRef<Tensor> results) {
  std::vector<Tensor> views;
  for (auto [index, result] : llvm::enumerate(results))
    views.push_back(result.permute(kernel.getResultOrder(index)));
  return views;
}

llvm::Expected<std::vector<Tensor>>
nsacc::interpreter::run(nsa::KernelOp kernel, ArrayRef<Tensor> inputs,
                        const Options &options) {
  llvm::Expected<TracedRun> traced = runTraced(kernel, inputs, options);
  if (!traced)
    return traced.takeError();
  return toCallerOrder(kernel, traced->results);
}

llvm::Expected<TracedRun>
nsacc::interpreter::runTraced(nsa::KernelOp kernel, ArrayRef<Tensor> inputs,
                              const Options &options,
                              const std::vector<bool> *onlyRows) {
  try {
    return runInMemory(kernel, inputs, options, onlyRows);
  } catch (const std::bad_alloc &) {
    return makeMemoryError("kernel '" + kernel.getName().str() + "'");
  }
}
