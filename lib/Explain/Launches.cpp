//===- Launches.cpp - What a plan launches for some sizes -----------------===//

#include "Parts.h"
#include "nsacc/Driver/PackageSignature.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace nsacc;
using namespace nsacc::explain;

/// The most that workspaces take together while a launch runs.
static llvm::Error addWorkspace(Explanation &explanation, const rt::Plan &plan,
                                const std::vector<int64_t> &numbers) {
  std::vector<int64_t> during(plan.launches.size());
  for (const rt::Workspace &workspace : plan.workspaces) {
    std::vector<int64_t> sizes(workspace.sizes.size()),
        strides(workspace.sizes.size());
    int64_t bytes;
    if (auto problem = rt::computeExtent(workspace, numbers, sizes.data(),
                                         strides.data(), bytes))
      return llvm::createStringError(*problem);
    for (size_t launch = 0; launch < during.size(); ++launch)
      if (workspace.first <= launch && launch <= workspace.last)
        during[launch] += bytes;
  }
  for (int64_t bytes : during)
    explanation.workspaceBytes = std::max(explanation.workspaceBytes, bytes);
  return llvm::Error::success();
}

/// Fills a multiprocessor with a kernel's blocks.
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
  if (llvm::Error error = addWorkspace(explanation, plan, numbers))
    return error;
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
