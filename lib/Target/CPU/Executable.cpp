//===- Executable.cpp - Compiled plans ------------------------------------===//

#include "Jit.h"
#include "LaunchPlan.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h"
#include "llvm/Support/ThreadPool.h"
#include <atomic>
#include <chrono>
#include <pthread.h>

using namespace llvm;
using namespace nsacc;
using namespace nsacc::cpu;

namespace {

class CompiledPlan : public Executable {
public:
  CompiledPlan(LaunchPlan plan, std::unique_ptr<Jit> jit,
               std::vector<ProgramFunction> programs, int64_t scratchBytes,
               unsigned threads)
      : plan(std::move(plan)), jit(std::move(jit)),
        programs(std::move(programs)), scratchBytes(scratchBytes),
        pool(hardware_concurrency(threads)) {}

  ArrayRef<Argument> getArguments() const override { return plan.arguments; }
  int64_t getScratchBytes() const override { return scratchBytes; }
  Error run(ArrayRef<Tensor> tensors, Usage *usage) const override;

private:
  Error check(ArrayRef<Tensor> tensors) const;
  void launch(unsigned program, ArrayRef<int64_t> grid,
              ArrayRef<uint64_t> slots) const;

  LaunchPlan plan;
  std::unique_ptr<Jit> jit;
  std::vector<ProgramFunction> programs;
  int64_t scratchBytes;
  mutable DefaultThreadPool pool;
};

} // namespace

static std::string describe(ArrayRef<int64_t> shape) {
  std::string text = "[";
  raw_string_ostream stream(text);
  interleaveComma(shape, stream, [&](int64_t size) {
    if (size < 0)
      stream << "?";
    else
      stream << size;
  });
  return text + "]";
}

Error CompiledPlan::check(ArrayRef<Tensor> tensors) const {
  if (tensors.size() != plan.arguments.size())
    return createStringError("expected " + Twine(plan.arguments.size()) +
                             " inputs and results, found " +
                             Twine(tensors.size()));
  for (auto [argument, tensor] : zip_equal(plan.arguments, tensors)) {
    if (tensor.getDType() != argument.dtype)
      return createStringError(
          "'" + argument.name + "': expected elements of " +
          getName(argument.dtype) + ", found " + getName(tensor.getDType()));
    ArrayRef<int64_t> shape = tensor.getShape();
    bool fits = shape.size() == argument.shape.size() &&
                all_of(zip_equal(argument.shape, shape), [](auto pair) {
                  auto [expected, found] = pair;
                  return expected < 0 || expected == found;
                });
    if (!fits)
      return createStringError("'" + argument.name + "': compiled for shape " +
                               describe(argument.shape) + ", found " +
                               describe(shape));
  }
  return Error::success();
}

/// True when a tensor's strides are those that code was compiled for.
static bool fits(const Tensor &tensor, const BufferType &type) {
  return all_of(zip_equal(tensor.getShape(), tensor.getStrides(), type.strides),
                [](auto each) {
                  auto [size, stride, expected] = each;
                  return expected == mlir::ShapedType::kDynamic ||
                         expected == stride || size <= 1;
                });
}

static void copyElements(const Tensor &from, const Tensor &to) {
  int64_t bytes = getSize(from.getDType());
  ArrayRef<int64_t> shape = from.getShape();
  if (is_contained(shape, 0))
    return;
  SmallVector<int64_t> index(shape.size());
  while (true) {
    int64_t source = 0, target = 0;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      source += index[dim] * from.getStrides()[dim];
      target += index[dim] * to.getStrides()[dim];
    }
    std::memcpy(static_cast<char *>(to.getData()) + target * bytes,
                static_cast<const char *>(from.getData()) + source * bytes,
                bytes);
    size_t dim = shape.size();
    while (dim > 0 && ++index[dim - 1] == shape[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

Error CompiledPlan::run(ArrayRef<Tensor> tensors, Usage *usage) const {
  if (Error error = check(tensors))
    return error;
  SmallVector<Tensor> used(tensors);
  std::vector<Buffer> buffers;
  for (auto [tensor, type] : zip_equal(used, plan.argumentTypes)) {
    if (!fits(tensor, type)) {
      Tensor copy = Tensor::zeros(tensor.getDType(), tensor.getShape());
      copyElements(tensor, copy);
      tensor = copy;
    }
    buffers.push_back({static_cast<char *>(tensor.getData()),
                       to_vector<4>(tensor.getShape()),
                       to_vector<4>(tensor.getStrides())});
  }
  Usage ownUsage;
  Usage &measured = usage ? *usage : ownUsage;
  PlanInterpreter interpreter(plan, std::move(buffers));
  Error error = interpreter.run(
      [&](unsigned program, ArrayRef<int64_t> grid, ArrayRef<uint64_t> slots) {
        auto start = std::chrono::steady_clock::now();
        launch(program, grid, slots);
        std::chrono::duration<double> taken =
            std::chrono::steady_clock::now() - start;
        measured.times.push_back({plan.programs[program], taken.count()});
      },
      measured);
  if (error)
    return error;
  for (auto [argument, tensor, copy] : zip_equal(plan.arguments, tensors, used))
    if (argument.isWritten && tensor.getData() != copy.getData())
      copyElements(copy, tensor);
  return Error::success();
}

void CompiledPlan::launch(unsigned program, ArrayRef<int64_t> grid,
                          ArrayRef<uint64_t> slots) const {
  ProgramFunction function = programs[program];
  int64_t total = grid[0] * grid[1] * grid[2];
  int64_t workers = std::min<int64_t>(pool.getMaxConcurrency(), total);
  // Small pieces, so that nobody waits long for the last one.
  int64_t piece = std::max<int64_t>(1, total / (workers * 32));
  std::atomic<int64_t> next = total;
  auto work = [&, function] {
    while (true) {
      // From the end: under a causal mask, the longest programs come first.
      int64_t end = next.fetch_sub(piece);
      if (end <= 0)
        return;
      for (int64_t i = end - 1; i >= std::max<int64_t>(0, end - piece); --i)
        function(slots.data(), i % grid[0], i / grid[0] % grid[1],
                 i / (grid[0] * grid[1]));
    }
  };
  ThreadPoolTaskGroup group(pool);
  for (int64_t worker = 0; worker < workers; ++worker)
    group.async(work);
  group.wait();
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

static Expected<int64_t> getScratch(mlir::ModuleOp module) {
  // For what LLVM spills, and for the frames below.
  constexpr int64_t reserve = 512 << 10;
  int64_t most = 0;
  for (mlir::Operation &op : *module.getBody())
    if (auto bytes = op.getAttrOfType<mlir::IntegerAttr>(kScratchBytesAttrName))
      most = std::max(most, bytes.getInt());
  if (most + reserve > getStackBytes())
    return createStringError("a program's tiles take " + Twine(most) +
                             " bytes of a stack of " + Twine(getStackBytes()) +
                             "; use smaller tiles or raise the stack limit");
  return most;
}

static Error lower(mlir::ModuleOp module, const Processor &processor,
                   mlir::TimingScope &timing) {
  mlir::PassManager passes(module.getContext());
  passes.enableTiming(timing);
  buildLoweringPipeline(passes, processor.getVectorBits());
  if (mlir::failed(passes.run(module)))
    return createStringError("the programs couldn't be lowered for the CPU");
  return Error::success();
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
  mlir::FailureOr<LaunchPlan> plan = readPlan(*planOp);
  if (mlir::failed(plan))
    return createStringError("the plan couldn't be read");

  mlir::DialectRegistry registry;
  registerLowering(registry);
  module.getContext()->appendDialectRegistry(registry);
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  if (Error error = lower(*copy, *processor, timing))
    return error;
  Expected<int64_t> scratchBytes = getScratch(*copy);
  if (!scratchBytes)
    return scratchBytes.takeError();
  Expected<std::unique_ptr<Jit>> jit = Jit::compile(*copy, *processor, timing);
  if (!jit)
    return jit.takeError();
  std::vector<ProgramFunction> programs;
  for (const std::string &name : plan->programs) {
    Expected<ProgramFunction> function = (*jit)->lookup(name);
    if (!function)
      return function.takeError();
    programs.push_back(*function);
  }
  return std::make_unique<CompiledPlan>(std::move(*plan), std::move(*jit),
                                        std::move(programs), *scratchBytes,
                                        options.threads);
}
