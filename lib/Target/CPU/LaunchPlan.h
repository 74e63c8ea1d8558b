//===- LaunchPlan.h - A plan as data to interpret ---------------*- C++ -*-===//

#ifndef NSACC_LIB_TARGET_CPU_LAUNCHPLAN_H
#define NSACC_LIB_TARGET_CPU_LAUNCHPLAN_H

#include "NSATile/IR/NSATileOps.h"
#include "nsacc/Target/CPU/CPU.h"

namespace nsacc::cpu {

/// A strided buffer at run time.
struct Buffer {
  char *data = nullptr;
  llvm::SmallVector<int64_t, 4> sizes, strides;
};

/// What a plan's buffers look like; dynamic sizes and strides are
/// ShapedType::kDynamic.
struct BufferType {
  int64_t elementBytes;
  llvm::SmallVector<int64_t, 4> sizes, strides;
};

/// Values of a plan are numbers or buffers, each with an index of its own kind.
struct PlanStep {
  enum class Kind {
    Constant,
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    CeilDiv,
    Rem,
    Min,
    Max,
    And,
    Or,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Select,
    Copy,
    Dim,
    Workspace,
    Release,
    Launch
  };
  struct Operand {
    bool isBuffer;
    unsigned index;
  };

  Kind kind = Kind::Constant;
  unsigned result = 0;
  llvm::SmallVector<Operand, 4> operands;
  int64_t value = 0;    // Constant: the number; Dim: the dimension
  unsigned program = 0; // Launch; its operands are the grid, then arguments
  BufferType type;      // Workspace
};

struct LaunchPlan {
  std::vector<Argument> arguments;
  std::vector<BufferType> argumentTypes;
  std::vector<PlanStep> steps;
  std::vector<std::string> programs;
  unsigned numNumbers = 0, numBuffers = 0;
};

/// Reads a plan. What a CPU can't do is told by diagnostics.
mlir::FailureOr<LaunchPlan> readPlan(nsatile::PlanOp plan);

/// Runs a plan's steps in order.
class PlanInterpreter {
public:
  /// Runs a program at every point of a grid, with its arguments in slots.
  /// False where it was interrupted.
  using Launcher =
      llvm::function_ref<bool(unsigned program, llvm::ArrayRef<int64_t> grid,
                              llvm::ArrayRef<uint64_t> slots)>;

  PlanInterpreter(const LaunchPlan &plan, std::vector<Buffer> arguments);
  ~PlanInterpreter();
  llvm::Error run(Launcher launch, Usage &usage);

private:
  llvm::Error compute(const PlanStep &step);
  llvm::Error allocate(const PlanStep &step, Usage &usage);
  void release(unsigned buffer);
  llvm::SmallVector<uint64_t> getSlots(const PlanStep &step) const;
  int64_t number(const PlanStep &step, unsigned operand) const {
    return numbers[step.operands[operand].index];
  }

  const LaunchPlan &plan;
  std::vector<int64_t> numbers;
  std::vector<Buffer> buffers;
  llvm::DenseMap<unsigned, int64_t> workspace; // buffer to bytes
  int64_t workspaceBytes = 0;
};

} // namespace nsacc::cpu

#endif // NSACC_LIB_TARGET_CPU_LAUNCHPLAN_H
