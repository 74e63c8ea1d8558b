//===- PlanInterpreter.cpp - Runs a plan's steps --------------------------===//

#include "LaunchPlan.h"
#include "llvm/Support/MathExtras.h"
#include <cstdlib>

using namespace llvm;
using namespace nsacc;
using namespace nsacc::cpu;
using Kind = PlanStep::Kind;

PlanInterpreter::PlanInterpreter(const LaunchPlan &plan,
                                 std::vector<Buffer> arguments)
    : plan(plan), numbers(plan.numNumbers), buffers(std::move(arguments)) {
  buffers.resize(plan.numBuffers);
}

PlanInterpreter::~PlanInterpreter() {
  for (auto [buffer, bytes] : workspace)
    std::free(buffers[buffer].data);
}

Error PlanInterpreter::run(Launcher launch, Usage &usage) {
  for (const PlanStep &step : plan.steps) {
    switch (step.kind) {
    case Kind::Workspace:
      if (Error error = allocate(step, usage))
        return error;
      break;
    case Kind::Release:
      release(step.operands[0].index);
      break;
    case Kind::Launch: {
      int64_t grid[] = {number(step, 0), number(step, 1), number(step, 2)};
      ++usage.launches;
      if (grid[0] <= 0 || grid[1] <= 0 || grid[2] <= 0)
        break;
      usage.programs += grid[0] * grid[1] * grid[2];
      if (!launch(step.program, grid, getSlots(step)))
        return createStringError("interrupted");
      break;
    }
    default:
      if (Error error = compute(step))
        return error;
    }
  }
  return Error::success();
}

Error PlanInterpreter::compute(const PlanStep &step) {
  int64_t &result = numbers[step.result];
  auto lhs = [&] { return number(step, 0); };
  auto rhs = [&] { return number(step, 1); };
  switch (step.kind) {
  case Kind::Div:
  case Kind::FloorDiv:
  case Kind::CeilDiv:
  case Kind::Rem:
    if (rhs() == 0)
      return createStringError("the launch plan divides by zero");
    break;
  default:
    break;
  }
  switch (step.kind) {
  case Kind::Constant:
    result = step.value;
    break;
  case Kind::Add:
    result = lhs() + rhs();
    break;
  case Kind::Sub:
    result = lhs() - rhs();
    break;
  case Kind::Mul:
    result = lhs() * rhs();
    break;
  case Kind::Div:
    result = lhs() / rhs();
    break;
  case Kind::FloorDiv:
    result = divideFloorSigned(lhs(), rhs());
    break;
  case Kind::CeilDiv:
    result = divideCeilSigned(lhs(), rhs());
    break;
  case Kind::Rem:
    result = lhs() % rhs();
    break;
  case Kind::Min:
    result = std::min(lhs(), rhs());
    break;
  case Kind::Max:
    result = std::max(lhs(), rhs());
    break;
  case Kind::And:
    result = lhs() & rhs();
    break;
  case Kind::Or:
    result = lhs() | rhs();
    break;
  case Kind::Equal:
    result = lhs() == rhs();
    break;
  case Kind::NotEqual:
    result = lhs() != rhs();
    break;
  case Kind::Less:
    result = lhs() < rhs();
    break;
  case Kind::LessEqual:
    result = lhs() <= rhs();
    break;
  case Kind::Select:
    result = lhs() ? rhs() : number(step, 2);
    break;
  case Kind::Copy:
    result = lhs();
    break;
  case Kind::Dim:
    result = buffers[step.operands[0].index].sizes[step.value];
    break;
  case Kind::Workspace:
  case Kind::Release:
  case Kind::Launch:
    llvm_unreachable("not a computation");
  }
  return Error::success();
}

/// Row-major strides, and the bytes of the whole.
static int64_t setStrides(Buffer &buffer, int64_t elementBytes) {
  int64_t stride = 1;
  buffer.strides.resize(buffer.sizes.size());
  for (size_t dim = buffer.sizes.size(); dim-- > 0;) {
    buffer.strides[dim] = stride;
    stride *= buffer.sizes[dim];
  }
  return stride * elementBytes;
}

Error PlanInterpreter::allocate(const PlanStep &step, Usage &usage) {
  constexpr size_t alignment = 64;
  Buffer &buffer = buffers[step.result];
  unsigned next = 0;
  for (int64_t size : step.type.sizes) {
    int64_t actual =
        size == mlir::ShapedType::kDynamic ? number(step, next++) : size;
    if (actual < 0)
      return createStringError("the launch plan asks for a buffer of size " +
                               Twine(actual));
    buffer.sizes.push_back(actual);
  }
  int64_t bytes =
      alignTo(setStrides(buffer, step.type.elementBytes), alignment);
  // An empty buffer has an address, too.
  bytes = std::max<int64_t>(bytes, alignment);
  buffer.data = static_cast<char *>(std::aligned_alloc(alignment, bytes));
  if (!buffer.data)
    return createStringError("no memory for a workspace of " + Twine(bytes) +
                             " bytes");
  workspace[step.result] = bytes;
  workspaceBytes += bytes;
  usage.peakWorkspaceBytes = std::max(usage.peakWorkspaceBytes, workspaceBytes);
  return Error::success();
}

void PlanInterpreter::release(unsigned buffer) {
  std::free(buffers[buffer].data);
  buffers[buffer] = Buffer();
  workspaceBytes -= workspace.lookup(buffer);
  workspace.erase(buffer);
}

/// A buffer is base, aligned address, offset, sizes and strides.
SmallVector<uint64_t> PlanInterpreter::getSlots(const PlanStep &step) const {
  SmallVector<uint64_t> slots;
  for (PlanStep::Operand operand : ArrayRef(step.operands).drop_front(3)) {
    if (!operand.isBuffer) {
      slots.push_back(numbers[operand.index]);
      continue;
    }
    const Buffer &buffer = buffers[operand.index];
    auto address = reinterpret_cast<uintptr_t>(buffer.data);
    slots.append({address, address, 0});
    slots.append(buffer.sizes.begin(), buffer.sizes.end());
    slots.append(buffer.strides.begin(), buffer.strides.end());
  }
  return slots;
}
