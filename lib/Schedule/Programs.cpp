//===- Programs.cpp - Programs that a kernel is cut into ------------------===//

#include "nsacc/Schedule/Programs.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::optional<OpKind> schedule::getKind(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<OpKind>>(op)
      .Case([](AttendOp) { return OpKind::Attend; })
      .Case([](ImportanceOp) { return OpKind::Importance; })
      .Case([](TopKOp) { return OpKind::TopK; })
      .Case([](PoolOp) { return OpKind::Pool; })
      .Case([](MapOp) { return OpKind::Map; })
      .Default([](Operation *) { return std::nullopt; });
}

std::vector<ScheduledOp> schedule::getScheduledOps(KernelOp kernel) {
  std::vector<ScheduledOp> ops;
  llvm::DenseMap<unsigned, unsigned> counts;
  for (Operation &op : kernel.getBody().front()) {
    std::optional<OpKind> kind = getKind(&op);
    if (!kind)
      continue;
    unsigned number = ++counts[static_cast<unsigned>(*kind)];
    auto name = op.getLoc()->findInstanceOf<NameLoc>();
    ops.push_back({&op, *kind,
                   name ? name.getName().str()
                        : (getName(*kind) + "." + Twine(number)).str()});
  }
  return ops;
}

//===----------------------------------------------------------------------===//
// Values in memory
//===----------------------------------------------------------------------===//

/// Whether the op's results are shared between query tiles.
static bool isShared(Operation *op) {
  return isa<PoolOp, TopKOp, DeclarePooledOp, DeclareSelectionOp, UnionOp>(op);
}

bool ProgramCut::isInMemory(Value value) const {
  Operation *op = value.getDefiningOp();
  return !op || isShared(op) || memory.contains(value);
}

void ProgramCut::putInMemory(Operation *op, StringRef reason) {
  if (isShared(op))
    return;
  reasons.try_emplace(op, reason);
  for (Value result : op->getResults())
    if (!result.use_empty())
      memory.insert(result);
}

void ProgramCut::readFromMemory(Value value) {
  if (Operation *op = value.getDefiningOp();
      isa_and_present<MapOp, AttendOp, MergeOp, BlocksOp, ImportanceOp,
                      IndicesOp>(op))
    putInMemory(op, "another op reads it from memory, in tiles of keys or "
                    "query tiles of its own");
}

void ProgramCut::separate(Value tensor) {
  if (isa<SelectionType>(tensor.getType()))
    return;
  FoundShape found = findQueryShape(kernel, tensor, [&](Value value) {
    return value != tensor && isInMemory(value);
  });
  for (Operation *other : found.others)
    if (isa<AttendOp, MergeOp>(other))
      putInMemory(other, "it's computed over other query tiles than its "
                         "readers are");
}

ProgramCut::ProgramCut(KernelOp kernel, ArrayRef<Own> own) : kernel(kernel) {
  for (const Own &each : own)
    putInMemory(each.op, each.reason);
  Block &body = kernel.getBody().front();
  for (Operation &op : body)
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](AttendOp attend) {
          for (Value read :
               {attend.getQuery(), attend.getKey(), attend.getValue()})
            readFromMemory(read);
        })
        .Case([&](ImportanceOp importance) {
          readFromMemory(importance.getQuery());
          readFromMemory(importance.getKey());
        })
        .Case([&](TopKOp topk) {
          if (topk.getCount())
            readFromMemory(topk.getCount());
        })
        .Case<PoolOp, DeclarePooledOp, DeclareSelectionOp, DeclareBlocksOp>(
            [&](Operation *declare) {
              for (Value read : declare->getOperands())
                readFromMemory(read);
            });
  // Values in memory are computed from other values.
  for (size_t known = memory.size() + 1; known != memory.size();) {
    known = memory.size();
    for (Value result : body.getTerminator()->getOperands())
      separate(result);
    for (Value value : llvm::to_vector(memory))
      separate(value);
  }
  addPrograms();
  share();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Adds a program of the ops that the tensors are computed from, up to values
/// in memory.
void ProgramCut::addProgram(llvm::StringLiteral what, ArrayRef<Value> tensors) {
  Program program = {what, {}};
  SmallVector<Value> open(tensors);
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second ||
        (isInMemory(value) && !llvm::is_contained(tensors, value)))
      continue;
    program.ops.insert(op);
    open.append(op->operand_begin(), op->operand_end());
  }
  programs.push_back(std::move(program));
}

static bool isImportance(Value tensor) {
  auto type = dyn_cast<NamedTensorType>(tensor.getType());
  return type && isa<PooledDimAttr, BlocksDimAttr>(type.getDims().back());
}

void ProgramCut::addPrograms() {
  auto addOne = [&](ArrayRef<Value> tensors) {
    Value first = tensors.front();
    FoundShape found;
    if (!isa<SelectionType>(first.getType()))
      found = findQueryShape(kernel, first, [&](Value value) {
        return !llvm::is_contained(tensors, value) && isInMemory(value);
      });
    if (!found.shape)
      addProgram("map", tensors);
    else
      addProgram(isImportance(first) ? llvm::StringLiteral("importance")
                                     : llvm::StringLiteral("attend"),
                 tensors);
  };
  Block &body = kernel.getBody().front();
  for (Operation &op : body) {
    if (isa<PoolOp>(op))
      addProgram("pool", op.getResult(0));
    else if (isa<TopKOp>(op))
      addProgram("select", op.getResult(0));
    SmallVector<Value> kept;
    for (Value result : op.getResults())
      if (memory.contains(result))
        kept.push_back(result);
    if (!kept.empty())
      addOne(kept);
  }
  // Results over the same query tiles share a program.
  SmallVector<std::pair<QueryShape, SmallVector<Value>>> fused;
  for (Value result : body.getTerminator()->getOperands()) {
    Operation *op = result.getDefiningOp();
    if (op && isShared(op))
      continue;
    FoundShape found = findQueryShape(
        kernel, result, [&](Value value) { return isInMemory(value); });
    if (!found.shape || isImportance(result)) {
      addOne(result);
      continue;
    }
    auto *group = llvm::find_if(
        fused, [&](auto &entry) { return entry.first == *found.shape; });
    if (group == fused.end()) {
      fused.push_back({*found.shape, {}});
      group = &fused.back();
    }
    group->second.push_back(result);
  }
  for (auto &[shape, results] : fused)
    addProgram("attend", results);
}

void ProgramCut::share() {
  llvm::EquivalenceClasses<Operation *> classes;
  for (const Program &program : programs) {
    Operation *first = nullptr;
    for (Operation *op : program.ops) {
      if (program.what != "attend" || !isa<AttendOp>(op))
        continue;
      classes.insert(op);
      if (first)
        classes.unionSets(first, op);
      first = op;
    }
  }
  for (const auto &leader : classes)
    if (leader->isLeader())
      sharing.emplace_back(classes.member_begin(*leader), classes.member_end());
}

ArrayRef<Operation *> ProgramCut::getSharing(Operation *op) const {
  for (const auto &ops : sharing)
    if (llvm::is_contained(ops, op))
      return ops;
  return {};
}
