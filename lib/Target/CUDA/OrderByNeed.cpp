//===- OrderByNeed.cpp - Order of long straight code ----------------------===//

#include "OrderByNeed.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;
using namespace nsacc::cuda;

namespace {

/// Consecutive instructions of a block, none of which has an effect.
class Run {
public:
  explicit Run(ArrayRef<Instruction *> instructions);

  /// Moves each value to just before its first user.
  void reorder(BasicBlock::iterator end);

private:
  bool contains(const Value *value) const { return needs.contains(value); }
  /// Operands in the run; the one that needs most registers comes first.
  SmallVector<Instruction *> getOperands(Instruction *instruction) const;
  bool isUsedBehind(Instruction *instruction) const;
  void place(Instruction *root, BasicBlock::iterator end);

  ArrayRef<Instruction *> instructions;
  /// Number of registers needed to compute a value, as if none were shared
  /// (Sethi and Ullman: The generation of optimal code for arithmetic
  /// expressions).
  DenseMap<const Value *, unsigned> needs;
  DenseSet<const Value *> placed;
};

} // namespace

Run::Run(ArrayRef<Instruction *> instructions) : instructions(instructions) {
  for (Instruction *instruction : instructions) {
    unsigned need = 1, held = 0;
    for (Instruction *operand : getOperands(instruction))
      need = std::max(need, needs.lookup(operand) + held++);
    needs[instruction] = need;
  }
}

SmallVector<Instruction *> Run::getOperands(Instruction *instruction) const {
  SmallVector<Instruction *> operands;
  for (Value *operand : instruction->operands()) {
    if (!contains(operand) || is_contained(operands, operand))
      continue;
    auto *place = find_if(operands, [&](Instruction *other) {
      return needs.lookup(other) < needs.lookup(operand);
    });
    operands.insert(place, cast<Instruction>(operand));
  }
  return operands;
}

bool Run::isUsedBehind(Instruction *instruction) const {
  return any_of(instruction->users(),
                [&](User *user) { return !contains(user); });
}

void Run::place(Instruction *root, BasicBlock::iterator end) {
  SmallVector<std::pair<Instruction *, SmallVector<Instruction *>>> open;
  auto start = [&](Instruction *instruction) {
    if (!placed.insert(instruction).second)
      return;
    SmallVector<Instruction *> operands = getOperands(instruction);
    std::reverse(operands.begin(), operands.end());
    open.push_back({instruction, std::move(operands)});
  };
  start(root);
  while (!open.empty()) {
    if (open.back().second.empty())
      open.pop_back_val().first->moveBefore(end);
    else
      start(open.back().second.pop_back_val());
  }
}

void Run::reorder(BasicBlock::iterator end) {
  for (Instruction *instruction : instructions)
    if (isUsedBehind(instruction) || instruction->use_empty())
      place(instruction, end);
}

/// The runs of a block, each with the instruction after it.
static SmallVector<std::pair<SmallVector<Instruction *>, Instruction *>>
getRuns(BasicBlock &block) {
  SmallVector<std::pair<SmallVector<Instruction *>, Instruction *>> runs(1);
  for (Instruction &instruction : block) {
    bool isFree = !isa<PHINode>(instruction) && !instruction.isTerminator() &&
                  !instruction.mayHaveSideEffects();
    if (isFree) {
      runs.back().first.push_back(&instruction);
      continue;
    }
    runs.back().second = &instruction;
    runs.emplace_back();
  }
  runs.pop_back();
  return runs;
}

size_t nsacc::cuda::getLongestRun(Module &module) {
  size_t longest = 0;
  for (Function &function : module)
    for (BasicBlock &block : function)
      for (const auto &[run, end] : getRuns(block))
        longest = std::max(longest, run.size());
  return longest;
}

PreservedAnalyses OrderByNeedPass::run(Function &function,
                                       FunctionAnalysisManager &) {
  for (BasicBlock &block : function)
    for (const auto &[run, end] : getRuns(block))
      if (run.size() >= kLong)
        Run(run).reorder(end->getIterator());
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}
