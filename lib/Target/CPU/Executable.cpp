//===- Executable.cpp - Compiled plans ------------------------------------===//

#include "Failures.h"
#include "Jit.h"
#include "NSATile/IR/NSATileOps.h"
#include "PlanRun.h"
#include "Workers.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h"
#include "nsacc/Support/CompilerErrors.h"
#include "nsacc/Target/Plan/ReadPlan.h"
#include <ctime>
#include <pthread.h>

using namespace llvm;
using namespace nsacc;
using namespace nsacc::cpu;

namespace {

class CompiledPlan : public Executable {
public:
  CompiledPlan(KernelPlan read, std::unique_ptr<Jit> jit,
               std::vector<ProgramFunction> programs,
               std::vector<rt::Assertion> assertions, int64_t scratchBytes)
      : parameters(std::move(read.parameters)), plan(std::move(read.plan)),
        jit(std::move(jit)), programs(std::move(programs)),
        assertions(std::move(assertions)), scratchBytes(scratchBytes) {}

  ArrayRef<rt::Parameter> getParameters() const override { return parameters; }
  int64_t getScratchBytes() const override { return scratchBytes; }
  Error run(ArrayRef<Tensor> tensors, const RunOptions &options,
            Usage *usage) const override;

private:
  Error check(ArrayRef<Tensor> tensors) const;
  bool launch(size_t index, ArrayRef<int64_t> grid, ArrayRef<uint64_t> slots,
              const RunOptions &options, FailureRecord &failures) const;

  std::vector<rt::Parameter> parameters;
  rt::Plan plan;
  std::unique_ptr<Jit> jit;
  std::vector<ProgramFunction> programs; ///< of each launch
  std::vector<rt::Assertion> assertions;
  int64_t scratchBytes;
};

} // namespace

/// "[?, 64]", with the sizes that any are.
static std::string describe(const rt::Parameter &parameter) {
  std::string text = "[";
  raw_string_ostream stream(text);
  interleaveComma(parameter.sizes, stream, [&](const rt::Size &size) {
    if (size.fixed)
      stream << *size.fixed;
    else
      stream << "?";
  });
  return text + "]";
}

static std::string describe(ArrayRef<int64_t> shape) {
  std::string text = "[";
  raw_string_ostream stream(text);
  interleaveComma(shape, stream);
  return text + "]";
}

static Error checkTensor(const rt::Parameter &parameter, const Tensor &tensor) {
  if (tensor.getDType() != parameter.dtype)
    return createStringError("'" + parameter.name + "': expected elements of " +
                             nsacc::getName(parameter.dtype) + ", found " +
                             nsacc::getName(tensor.getDType()));
  ArrayRef<int64_t> shape = tensor.getShape();
  bool fits = shape.size() == parameter.sizes.size() &&
              all_of(zip_equal(parameter.sizes, shape), [](auto pair) {
                auto &[expected, found] = pair;
                return expected.fixed.value_or(found) == found;
              });
  if (!fits)
    return createStringError("'" + parameter.name + "': compiled for shape " +
                             describe(parameter) + ", found " +
                             describe(shape));
  return Error::success();
}

Error CompiledPlan::check(ArrayRef<Tensor> tensors) const {
  if (tensors.size() != parameters.size())
    return createStringError("expected " + Twine(parameters.size()) +
                             " inputs and results, found " +
                             Twine(tensors.size()));
  for (auto [parameter, tensor] : zip_equal(parameters, tensors))
    if (Error error = checkTensor(parameter, tensor))
      return error;
  return Error::success();
}

/// True when a tensor's strides are those that code was compiled for.
static bool fits(const Tensor &tensor, const rt::Parameter &parameter) {
  return all_of(
      zip_equal(tensor.getShape(), tensor.getStrides(), parameter.strides),
      [](auto each) {
        auto &[size, stride, expected] = each;
        return expected.value_or(stride) == stride || size <= 1;
      });
}

/// The tensor with its dimensions in the order of the programs' buffer.
static Buffer makeBuffer(const Tensor &given, const rt::Parameter &parameter) {
  SmallVector<int64_t> order(parameter.order.begin(), parameter.order.end());
  Tensor tensor = given.permuteBack(order);
  return {static_cast<char *>(tensor.getData()),
          to_vector<4>(tensor.getShape()), to_vector<4>(tensor.getStrides())};
}

Error CompiledPlan::run(ArrayRef<Tensor> tensors, const RunOptions &options,
                        Usage *usage) const {
  if (Error error = check(tensors))
    return error;
  SmallVector<Tensor> used(tensors);
  std::vector<Buffer> buffers;
  for (auto [tensor, parameter] : zip_equal(used, parameters)) {
    if (!fits(tensor, parameter)) {
      Tensor copy = Tensor::zeros(tensor.getDType(), tensor.getShape());
      copyElements(tensor, copy);
      tensor = copy;
    }
    buffers.push_back(makeBuffer(tensor, parameter));
  }
  Usage ownUsage;
  Usage &measured = usage ? *usage : ownUsage;
  FailureRecord failures(assertions);
  PlanRun planRun(plan, std::move(buffers));
  Error error = planRun.run(
      [&](size_t index, ArrayRef<int64_t> grid, ArrayRef<uint64_t> slots) {
        std::clock_t start = std::clock();
        bool isDone = launch(index, grid, slots, options, failures);
        double seconds =
            static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        measured.times.push_back({plan.launches[index].kernel, seconds});
        // What later launches would read isn't there.
        return isDone && failures.isEmpty();
      },
      measured);
  if (!failures.isEmpty()) {
    consumeError(std::move(error));
    return failures.take();
  }
  if (error)
    return error;
  for (auto [parameter, tensor, copy] : zip_equal(parameters, tensors, used))
    if (parameter.isResult && tensor.getData() != copy.getData())
      copyElements(copy, tensor);
  return Error::success();
}

bool CompiledPlan::launch(size_t index, ArrayRef<int64_t> grid,
                          ArrayRef<uint64_t> slots, const RunOptions &options,
                          FailureRecord &failures) const {
  ProgramFunction function = programs[index];
  auto work = [&](int64_t begin, int64_t end) {
    FailureScope scope(failures);
    for (int64_t i = end - 1; i >= begin; --i)
      function(slots.data(), i % grid[0], i / grid[0] % grid[1],
               i / (grid[0] * grid[1]));
  };
  return runInParallel(grid[0] * grid[1] * grid[2], options.threads,
                       options.isInterrupted, work);
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static Expected<nsatile::PlanOp> findPlan(mlir::ModuleOp module,
                                          StringRef name) {
  SmallVector<nsatile::PlanOp> plans;
  for (auto plan : module.getOps<nsatile::PlanOp>())
    if (name.empty() || plan.getSymName() == name)
      plans.push_back(plan);
  if (plans.size() == 1)
    return plans.front();
  if (plans.empty())
    return createStringError(name.empty()
                                 ? "the module has no plan to run"
                                 : "the module has no plan '" + name + "'");
  return createStringError("the module has " + Twine(plans.size()) +
                           " plans; expected the name of one");
}

/// The stack of a new thread.
static int64_t getStackBytes() {
  pthread_attr_t attributes;
  size_t size = 0;
  pthread_attr_init(&attributes);
  pthread_attr_getstacksize(&attributes, &size);
  pthread_attr_destroy(&attributes);
  return size;
}

/// "64 x 128"
static std::string describeLargest(mlir::Operation *function) {
  auto type = function->getAttrOfType<mlir::TypeAttr>(kLargestScratchAttrName);
  std::string text;
  raw_string_ostream stream(text);
  interleave(cast<mlir::MemRefType>(type.getValue()).getShape(), stream, " x ");
  return text;
}

static Expected<int64_t> getScratch(mlir::ModuleOp module) {
  // For what LLVM spills, and for the frames below.
  constexpr int64_t reserve = 512 << 10;
  int64_t most = 0;
  mlir::Operation *largest = nullptr;
  for (mlir::Operation &op : *module.getBody()) {
    auto bytes = op.getAttrOfType<mlir::IntegerAttr>(kScratchBytesAttrName);
    if (!bytes || bytes.getInt() <= most)
      continue;
    most = bytes.getInt();
    largest = &op;
  }
  if (most + reserve <= getStackBytes())
    return most;
  std::string message =
      ("a program's tiles take " + Twine(most) + " bytes of a stack of " +
       Twine(getStackBytes()) + ", the largest of them " +
       describeLargest(largest) +
       " elements; use smaller tiles or raise the stack limit")
          .str();
  largest->emitError(message);
  auto name = largest->getAttrOfType<mlir::StringAttr>(
      mlir::SymbolTable::getSymbolAttrName());
  return make_error<NoRoomError>(message, std::vector<std::string>{name.str()});
}

using BuildPipeline = void(mlir::OpPassManager &, unsigned vectorBits);

/// Returns the bytes of stack that a program takes.
static Expected<int64_t> lower(mlir::ModuleOp module, BuildPipeline build,
                               const Processor &processor,
                               const Options &options,
                               mlir::TimingScope &timing) {
  mlir::DialectRegistry registry;
  registerLowering(registry);
  module.getContext()->appendDialectRegistry(registry);
  mlir::PassManager passes(module.getContext());
  passes.enableTiming(timing);
  build(passes, processor.getVectorBits());
  if (options.preparePasses)
    options.preparePasses(passes, module);
  if (mlir::failed(passes.run(module)))
    return createStringError("the programs couldn't be lowered for the CPU");
  return getScratch(module);
}

/// Vectors tell what is on the stack; to go on to LLVM would take twenty times
/// as long.
Error nsacc::cpu::checkRoom(mlir::ModuleOp module, const Options &options) {
  mlir::TimingScope none;
  Expected<Processor> processor = getProcessor(options.cpu, options.features);
  if (!processor)
    return processor.takeError();
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  return lower(*copy, buildVectorPipeline, *processor, options, none)
      .takeError();
}

Expected<std::unique_ptr<Executable>>
nsacc::cpu::compile(mlir::ModuleOp module, const Options &options) {
  mlir::TimingScope none;
  mlir::TimingScope &timing = options.timing ? *options.timing : none;
  Expected<Processor> processor = getProcessor(options.cpu, options.features);
  if (!processor)
    return processor.takeError();
  Expected<nsatile::PlanOp> planOp = findPlan(module, options.plan);
  if (!planOp)
    return planOp.takeError();
  mlir::FailureOr<KernelPlan> plan =
      readPlan(*planOp, {.target = "the CPU target"});
  if (mlir::failed(plan))
    return createStringError("the plan couldn't be read");

  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  Expected<int64_t> scratchBytes =
      lower(*copy, buildLoweringPipeline, *processor, options, timing);
  if (!scratchBytes)
    return scratchBytes.takeError();
  Expected<std::unique_ptr<Jit>> jit =
      Jit::compile(*copy, *processor, options.threads, timing);
  if (!jit)
    return jit.takeError();
  std::vector<ProgramFunction> programs;
  for (const rt::Launch &launch : plan->plan.launches) {
    Expected<ProgramFunction> function = (*jit)->lookup(launch.kernel);
    if (!function)
      return function.takeError();
    programs.push_back(*function);
  }
  return std::make_unique<CompiledPlan>(std::move(*plan), std::move(*jit),
                                        std::move(programs),
                                        readAssertions(*copy), *scratchBytes);
}
