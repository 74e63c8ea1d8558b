//===- Compile.cpp - Tile programs as packages ----------------------------===//

#include "CompileToPTX.h"
#include "NSATile/IR/NSATileOps.h"
#include "OrderByNeed.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;
using namespace nsacc;
using namespace nsacc::cuda;

static Expected<nsatile::PlanOp> findPlan(mlir::ModuleOp module) {
  auto plans = module.getOps<nsatile::PlanOp>();
  if (hasSingleElement(plans))
    return *plans.begin();
  return createStringError("expected a module with one plan, found " +
                           Twine(range_size(plans)));
}

namespace {

/// Kernels of one image.
struct Part {
  std::vector<std::string> kernels;
  rt::Image image;
  AssemblerReport report;
};

class PendingPackage : public Compilation {
public:
  PendingPackage(const Options &options, ModuleParts code, rt::Package package,
                 CompilerThreads &threads);

  Expected<rt::Package> finish() override;

private:
  Error compile(Part &part) const;

  Options options;
  std::optional<std::string> ptxas;
  ModuleParts code;
  rt::Package package;
  std::vector<Part> parts;
  Tasks tasks; ///< declared last: tasks use the other members until they end
};

} // namespace

/// A part for each kernel, or one for all.
static std::vector<Part> makeParts(ArrayRef<std::string> kernels,
                                   bool isOneImage) {
  std::vector<Part> parts(isOneImage ? 1 : kernels.size());
  for (auto [index, kernel] : enumerate(kernels))
    parts[isOneImage ? 0 : index].kernels.push_back(kernel);
  return parts;
}

PendingPackage::PendingPackage(const Options &options, ModuleParts code,
                               rt::Package package, CompilerThreads &threads)
    : options(options), code(std::move(code)), package(std::move(package)),
      parts(makeParts(this->code.getFunctions(), options.isOneImage)),
      tasks(threads) {
  // Without machine code, the driver compiles PTX, but later and each time.
  if (options.assemble)
    ptxas = findPtxas(options.ptxas);
  if (options.isOneImage)
    tasks.add(0, [this] { return compile(parts.front()); });
  else
    for (size_t i : this->code.getLongestFirst())
      tasks.add(i, [this, i] { return compile(parts[i]); });
}

/// The effort for ptxas. Finding the best order of thousands of instructions
/// takes ptxas minutes: for runs of 13 500 with six sines of each score, 45 s
/// of 47. They are already in a good order.
static Effort getEffort(const PTX &ptx) {
  return ptx.longestRun >= OrderByNeedPass::kLong ? Effort::Short
                                                  : Effort::Full;
}

Error PendingPackage::compile(Part &part) const {
  mlir::TimingScope none;
  mlir::TimingScope &timing = options.timing ? *options.timing : none;
  mlir::TimingScope scope = timing.nest("PTX");
  Expected<PTX> ptx = compileToPTX(code, part.kernels, options.device);
  if (!ptx)
    return ptx.takeError();
  part.image.ptx = std::move(ptx->text);
  scope.stop();
  if (!ptxas)
    return Error::success();
  mlir::TimingScope assembling = timing.nest("ptxas");
  Expected<std::optional<MachineCode>> machineCode =
      assemble(*ptxas, part.image.ptx, options.device.getMachineArchitecture(),
               getEffort(*ptx));
  if (!machineCode && options.report && options.mayLackMachineCode)
    return handleErrors(machineCode.takeError(),
                        [&](const NotAskedError &error) {
                          part.report.notAsked = error.message();
                        });
  if (!machineCode)
    return machineCode.takeError();
  // There is none if ptxas doesn't know the device.
  if (*machineCode) {
    part.image.cubin = std::move((*machineCode)->cubin);
    part.report = std::move((*machineCode)->report);
  }
  return Error::success();
}

Expected<rt::Package> PendingPackage::finish() {
  if (Error error = tasks.wait())
    return std::move(error);
  StringMap<uint32_t> images;
  for (auto [index, part] : enumerate(parts)) {
    for (const std::string &kernel : part.kernels)
      images[kernel] = index;
    package.images.push_back(std::move(part.image));
    if (!options.report)
      continue;
    append_range(options.report->kernels, part.report.kernels);
    append_range(options.report->warnings, part.report.warnings);
    if (!part.report.notAsked.empty())
      options.report->notAsked = part.report.notAsked;
  }
  rt::TargetCode &target = package.variants.front().targets.front();
  for (rt::Launch &launch : target.plan.launches)
    launch.image = images.lookup(launch.kernel);
  return std::move(package);
}

Expected<std::unique_ptr<Compilation>>
Compilation::start(mlir::ModuleOp module, const Options &options,
                   CompilerThreads &threads) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  Expected<ModuleParts> code = lowerToLLVM(*copy, options);
  if (!code)
    return code.takeError();
  Expected<nsatile::PlanOp> plan = findPlan(*copy);
  if (!plan)
    return plan.takeError();
  mlir::FailureOr<rt::Package> package = packPlan(*plan, options);
  if (mlir::failed(package))
    return createStringError("the plan can't be packed");
  return std::make_unique<PendingPackage>(options, std::move(*code),
                                          std::move(*package), threads);
}
