//===- Launches.cpp - Launches of a plan for some sizes -------------------===//

#include "Parts.h"
#include "nsacc/Driver/PackageSignature.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace nsacc;
using namespace nsacc::explain;

/// Adds resources, and how many blocks a multiprocessor runs.
static void addResources(ProgramExplanation &program, const gpu::Device &device,
                         const CodeDetails &details) {
  auto report =
      llvm::find_if(details.kernels, [&](const cuda::KernelReport &each) {
        return each.kernel == program.name;
      });
  BlockResources block = {program.threads, 0, program.sharedBytes};
  if (report != details.kernels.end()) {
    program.report = *report;
    block.registers = report->registers;
    block.sharedBytes += report->sharedBytes;
  }
  program.occupancy = computeOccupancy(device, block);
  double points = 1;
  for (int64_t size : program.grid)
    points *= static_cast<double>(size);
  double together =
      static_cast<double>(program.occupancy->blocks *
                          std::max<int64_t>(device.limits.multiprocessors, 1));
  program.waves = together > 0 ? points / together : 0;
}

llvm::Error explain::addLaunches(Explanation &explanation,
                                 const Signature &signature,
                                 const DimSizes &sizes,
                                 const CodeDetails &details) {
  auto bound = BufferSizes::get(details.package, signature, sizes);
  if (!bound)
    return bound.takeError();
  for (auto [index, parameter] : llvm::enumerate(details.package.parameters))
    explanation.buffers.push_back(
        {parameter.name, bound->getBytes(index), parameter.isResult});
  const rt::Plan &plan = details.package.variants.front().targets.front().plan;
  std::vector<int64_t> numbers;
  if (auto problem = rt::computeNumbers(plan, bound->getPointers(), numbers))
    return llvm::createStringError(*problem);
  if (auto problem = rt::computeWorkspace(
          plan, numbers,
          explanation.device ? rt::kDeviceAlignment : rt::kHostAlignment,
          explanation.workspaceBytes))
    return llvm::createStringError(*problem);
  if (explanation.device) {
    explanation.refusal = findTooLarge(details.package, *bound);
    if (auto problem = rt::findGridProblem(plan, numbers);
        problem && explanation.refusal.empty())
      explanation.refusal = *problem;
  }
  std::vector<int64_t> times(plan.launches.size());
  auto count = [&](size_t launch) -> rt::Problem {
    ++times[launch];
    return std::nullopt;
  };
  std::vector<int64_t> running = numbers;
  if (auto problem =
          rt::forEachLaunch(plan, bound->getPointers(), running, count))
    return llvm::createStringError(*problem);
  for (auto [index, launch] : llvm::enumerate(plan.launches)) {
    ProgramExplanation &program = explanation.programs.emplace_back();
    program.name = launch.kernel;
    for (size_t dim = 0; dim < 3; ++dim)
      program.grid[dim] = numbers[launch.grid[dim]];
    program.launches = times[index];
    program.isPersistent = rt::isPersistent(launch);
    program.threads = launch.threads;
    program.sharedBytes = launch.sharedBytes;
    if (explanation.device)
      addResources(program, *explanation.device, details);
  }
  return llvm::Error::success();
}
