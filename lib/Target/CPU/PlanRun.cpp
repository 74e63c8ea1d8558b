//===- PlanRun.cpp - Runs a plan in host memory ---------------------------===//

#include "PlanRun.h"
#include "llvm/Support/MathExtras.h"
#include <cstdlib>

using namespace llvm;
using namespace nsacc;
using namespace nsacc::cpu;

PlanRun::PlanRun(const rt::Plan &plan, std::vector<Buffer> arguments)
    : plan(plan), numArguments(arguments.size()), buffers(std::move(arguments)),
      bytes(plan.workspaces.size()) {
  buffers.resize(numArguments + plan.workspaces.size());
}

PlanRun::~PlanRun() {
  for (size_t i = 0; i < plan.workspaces.size(); ++i)
    release(i);
}

Error PlanRun::run(Launcher launch, Usage &usage) {
  if (Error error = computeNumbers())
    return error;
  rt::Problem problem =
      rt::forEachLaunch(plan, sizes, numbers, [&](size_t index) -> rt::Problem {
        if (Error error = runLaunch(index, launch, usage))
          return toString(std::move(error));
        return std::nullopt;
      });
  return problem ? createStringError(*problem) : Error::success();
}

Error PlanRun::runLaunch(size_t index, Launcher launch, Usage &usage) {
  for (size_t i = 0; i < plan.workspaces.size(); ++i)
    if (plan.workspaces[i].last < index)
      release(i);
  for (size_t i = 0; i < plan.workspaces.size(); ++i)
    if (plan.workspaces[i].first <= index && index <= plan.workspaces[i].last)
      if (Error error = allocate(i, usage))
        return error;
  ++usage.launches;
  const rt::Launch &each = plan.launches[index];
  if (rt::isEmpty(each, numbers))
    return Error::success();
  int64_t grid[] = {numbers[each.grid[0]], numbers[each.grid[1]],
                    numbers[each.grid[2]]};
  usage.programs += grid[0] * grid[1] * grid[2];
  return launch(index, grid, getSlots(each)) ? Error::success()
                                             : createStringError("interrupted");
}

Error PlanRun::computeNumbers() {
  for (const Buffer &argument : ArrayRef(buffers).take_front(numArguments))
    sizes.push_back(argument.sizes.data());
  if (rt::Problem problem = rt::computeNumbers(plan, sizes, numbers))
    return createStringError(*problem);
  return Error::success();
}

Error PlanRun::allocate(size_t workspace, Usage &usage) {
  constexpr size_t alignment = 64;
  Buffer &buffer = buffers[numArguments + workspace];
  if (buffer.data)
    return Error::success(); // of a launch before this one
  const rt::Workspace &planned = plan.workspaces[workspace];
  buffer.sizes.resize(planned.sizes.size());
  buffer.strides.resize(planned.sizes.size());
  int64_t exact;
  if (rt::Problem problem = rt::computeExtent(
          planned, numbers, buffer.sizes.data(), buffer.strides.data(), exact))
    return createStringError(*problem);
  // An empty buffer has an address, too.
  int64_t size = alignTo(std::max<int64_t>(exact, 1), alignment);
  buffer.data = static_cast<char *>(std::aligned_alloc(alignment, size));
  if (!buffer.data)
    return createStringError("no memory for a workspace of " + Twine(size) +
                             " bytes");
  bytes[workspace] = size;
  allBytes += size;
  usage.peakWorkspaceBytes = std::max(usage.peakWorkspaceBytes, allBytes);
  return Error::success();
}

void PlanRun::release(size_t workspace) {
  Buffer &buffer = buffers[numArguments + workspace];
  std::free(buffer.data);
  buffer = Buffer();
  allBytes -= bytes[workspace];
  bytes[workspace] = 0;
}

/// A buffer is base, aligned address, offset, sizes and strides.
SmallVector<uint64_t> PlanRun::getSlots(const rt::Launch &launch) const {
  SmallVector<uint64_t> slots;
  for (const rt::Argument &argument : launch.arguments) {
    if (!argument.isBuffer) {
      slots.push_back(numbers[argument.index]);
      continue;
    }
    const Buffer &buffer = buffers[argument.index];
    auto address = reinterpret_cast<uintptr_t>(buffer.data);
    slots.append({address, address, 0});
    slots.append(buffer.sizes.begin(), buffer.sizes.end());
    slots.append(buffer.strides.begin(), buffer.strides.end());
  }
  return slots;
}
