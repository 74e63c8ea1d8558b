//===- ScheduleModels.cpp - Schedules of the nsa dialect's ops ------------===//

#include "Chooser.h"
#include "NSA/IR/NSADialect.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

#include "nsacc/Schedule/ScheduleOpInterface.cpp.inc"

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

llvm::Error schedule::chooseDefault(Chooser &chooser, OpChoice &choice) {
  if (auto op = dyn_cast<ScoringOpInterface>(choice.op)) {
    Scope scope =
        chooser.getScope(op, getQueryShape(chooser.getKernel(), op).group);
    Tiling tiling = chooser.tile(scope);
    choice.isMeasured = tiling.isMeasured;
    chooser.chooseProgram(choice);
    if (llvm::Error error = chooser.chooseTile(choice, scope, tiling))
      return error;
  }
  for (const FieldInfo &info : getFields())
    if (!choice.getInterface().has(info.field))
      choice.fields[static_cast<size_t>(info.field)].reset();
    else if (!choice.has(info.field) &&
             (chooser.getGoal().device || !info.isOfGPU))
      chooser.put(choice, info.field, std::max(info.otherwise, info.least),
                  "the field's usual value");
  return llvm::Error::success();
}

/// Chooses the windows of a program. One program goes over all of a window.
static void choosePooling(Chooser &chooser, OpChoice &choice) {
  constexpr int64_t most = 16, least = 4, tokens = 1024;
  auto pool = cast<PoolOp>(choice.op);
  auto dims = cast<NamedTensorType>(pool.getResult().getType()).getDims();
  const auto *pooled = llvm::find_if(dims, llvm::IsaPred<PooledDimAttr>);
  int64_t len = cast<PooledDimAttr>(*pooled).getLen();
  bool isLong = chooser.getGoal().device && len * most > tokens;
  chooser.put(choice, Field::Windows,
              isLong ? std::clamp(tokens / len, least, most) : most,
              isLong ? "more programs share long windows' tokens"
                     : "enough for whole vectors");
}

static void chooseMap(Chooser &chooser, OpChoice &choice) {
  StringRef reason = "vectors of a few rows; its time is that of memory";
  chooser.put(choice, Field::Rows, 16, reason);
  chooser.put(choice, Field::Columns, 64, reason);
  chooser.chooseProgram(choice);
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

namespace {

template <typename Model, typename OpTy>
using ScheduleModel = ScheduleOpInterface::ExternalModel<Model, OpTy>;

struct AttendModel : ScheduleModel<AttendModel, AttendOp> {
  SmallVector<Value> getOperandsInMemory(Operation *op) const {
    auto attend = cast<AttendOp>(op);
    return {attend.getQuery(), attend.getKey(), attend.getValue()};
  }
  llvm::Error choose(Operation *, Chooser &chooser, OpChoice &choice) const {
    return chooseAttend(chooser, choice);
  }
};

struct ImportanceModel : ScheduleModel<ImportanceModel, ImportanceOp> {
  SmallVector<Value> getOperandsInMemory(Operation *op) const {
    auto importance = cast<ImportanceOp>(op);
    return {importance.getQuery(), importance.getKey()};
  }
};

struct TopKModel : ScheduleModel<TopKModel, TopKOp> {
  SmallVector<Value> getOperandsInMemory(Operation *op) const {
    Value count = cast<TopKOp>(op).getCount();
    return count ? SmallVector<Value>{count} : SmallVector<Value>();
  }
  bool isShared(Operation *) const { return true; }
  StringRef getProgramName(Operation *) const { return "select"; }
  llvm::Error choose(Operation *, Chooser &chooser, OpChoice &choice) const {
    return chooseTopK(chooser, choice);
  }
};

struct PoolModel : ScheduleModel<PoolModel, PoolOp> {
  SmallVector<Value> getOperandsInMemory(Operation *op) const {
    return op->getOperands();
  }
  bool isShared(Operation *) const { return true; }
  llvm::Error choose(Operation *, Chooser &chooser, OpChoice &choice) const {
    choosePooling(chooser, choice);
    chooser.chooseProgram(choice);
    return llvm::Error::success();
  }
};

struct MapModel : ScheduleModel<MapModel, MapOp> {
  llvm::Error choose(Operation *, Chooser &chooser, OpChoice &choice) const {
    chooseMap(chooser, choice);
    return llvm::Error::success();
  }
};

/// Ops without a schedule, with operands that stand in memory, and results that
/// do if `shared`.
template <typename OpTy, bool shared>
struct DeclaredModel : ScheduleModel<DeclaredModel<OpTy, shared>, OpTy> {
  SmallVector<Value> getOperandsInMemory(Operation *op) const {
    return op->getOperands();
  }
  bool isShared(Operation *) const { return shared; }
};

struct UnionModel : ScheduleModel<UnionModel, UnionOp> {
  bool isShared(Operation *) const { return true; }
};

} // namespace

ScheduleOpInterface::Concept *
ScheduleOpInterface::getInterfaceFor(Operation *op) {
  if (Concept *own = OpInterface::getInterfaceFor(op))
    return own;
  static AttendModel attend;
  static ImportanceModel importance;
  static TopKModel topk;
  static PoolModel pool;
  static MapModel map;
  static DeclaredModel<DeclarePooledOp, true> pooled;
  static DeclaredModel<DeclareSelectionOp, true> selection;
  static DeclaredModel<DeclareBlocksOp, false> blocks;
  static UnionModel united;
  static const llvm::DenseMap<TypeID, Concept *> models = {
      {TypeID::get<AttendOp>(), &attend},
      {TypeID::get<ImportanceOp>(), &importance},
      {TypeID::get<TopKOp>(), &topk},
      {TypeID::get<PoolOp>(), &pool},
      {TypeID::get<MapOp>(), &map},
      {TypeID::get<DeclarePooledOp>(), &pooled},
      {TypeID::get<DeclareSelectionOp>(), &selection},
      {TypeID::get<DeclareBlocksOp>(), &blocks},
      {TypeID::get<UnionOp>(), &united}};
  return models.lookup(op->getName().getTypeID());
}
