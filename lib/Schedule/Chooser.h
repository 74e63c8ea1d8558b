//===- Chooser.h - Choice of one kernel's schedules -------------*- C++ -*-===//

#ifndef NSACC_LIB_SCHEDULE_CHOOSER_H
#define NSACC_LIB_SCHEDULE_CHOOSER_H

#include "Tiling.h"
#include "nsacc/Schedule/Choose.h"

namespace nsacc::schedule {

/// Chooses the schedules of one kernel. Ops choose their fields by
/// ScheduleOpInterface::choose, with the help of what all ops share.
class Chooser {
public:
  Chooser(nsa::KernelOp kernel, const Goal &goal, const Settings &settings)
      : kernel(kernel), goal(goal), settings(settings),
        ops(getScheduledOps(kernel)), cut(kernel, findOwn()) {
    for (const ScheduledOp &op : ops)
      names[op.op] = op.name;
  }

  llvm::Expected<KernelChoice> run();

  nsa::KernelOp getKernel() const { return kernel; }
  const Goal &getGoal() const { return goal; }
  const Settings &getSettings() const { return settings; }
  const ProgramCut &getCut() const { return cut; }

  /// Setting for an op: by its name, for an op that shares a program with it,
  /// or for all ops.
  const Setting *find(const OpChoice &op, Field field) const;
  /// Setting for an op, by its name or for all ops.
  const Setting *findOwn(mlir::Operation *op, Field field) const {
    return settings.find(names.lookup(op), field);
  }
  /// Sets a field to the given value, or to the chosen one.
  void put(OpChoice &op, Field field, int64_t chosen,
           const llvm::Twine &reason);

  /// Ops that tiles are chosen for together. An op that was given its own
  /// program, or has one as a ranking or as a wide band, is alone.
  Scope getScope(mlir::Operation *op, int64_t group) const;
  /// Order of an op's loops, if its schedule has one.
  nsatile::LoopOrder getOrder(nsa::ScoringOpInterface op) const;
  nsatile::LoopOrder getOrder(const Scope &scope) const;
  Tiling tile(const Scope &scope) const;
  /// Reason of an op's tile. Ops without a selection may have the tile of one
  /// that has, so that they can share a program.
  std::string explainTile(const OpChoice &choice, const Tiling &tiling) const;

  /// Chooses the fields of a tile. Warps belong to the rows that they were
  /// chosen for. Parts belong to tiles whose rows aren't distributed over
  /// warps.
  llvm::Error chooseTile(OpChoice &choice, const Scope &scope,
                         const Tiling &tiling);
  /// Called after the warps are chosen, since parts depend on them.
  void choosePart(OpChoice &choice, int64_t group, int64_t warps);
  void chooseProgram(OpChoice &choice);

private:
  llvm::SmallVector<ProgramCut::Own> findOwn();
  bool hasManyAttends();
  bool cutsResult(nsa::ScoringOpInterface ranking);
  llvm::Error checkProgram(const ScheduledOp &op);
  llvm::Error checkAgreement(const ScheduledOp &op);
  bool inverts(nsa::ScoringOpInterface op) const;
  void chooseResultChunks(llvm::MutableArrayRef<OpChoice> choices);

  nsa::KernelOp kernel;
  const Goal &goal;
  const Settings &settings;
  std::vector<ScheduledOp> ops;
  ProgramCut cut;
  llvm::DenseMap<mlir::Operation *, llvm::StringRef> names;
};

/// Chooses the schedule of one op.
class OpChooser {
protected:
  OpChooser(Chooser &chooser, OpChoice &choice)
      : chooser(chooser), choice(choice), kernel(chooser.getKernel()),
        goal(chooser.getGoal()), settings(chooser.getSettings()) {}

  void put(Field field, int64_t chosen, const llvm::Twine &reason) {
    chooser.put(choice, field, chosen, reason);
  }
  /// Setting of the field for the op or for all ops.
  const Setting *find(Field field) const {
    return settings.find(choice.name, field);
  }

  Chooser &chooser;
  OpChoice &choice;
  nsa::KernelOp kernel;
  const Goal &goal;
  const Settings &settings;
};

llvm::Error chooseAttend(Chooser &chooser, OpChoice &choice);
llvm::Error chooseTopK(Chooser &chooser, OpChoice &choice);

int64_t toTokens(int64_t rows, int64_t group);
/// Greatest divisor of `tokens` that isn't above `most`.
int64_t findDivisor(int64_t tokens, int64_t most);
/// Tokens of a part of about kPartRows rows. All tokens where parts would be
/// much smaller.
int64_t getPartTokens(int64_t tokens, int64_t group);
/// Whether only unions take an op's lists.
bool hasWideLists(nsa::ScoringOpInterface op);

} // namespace nsacc::schedule

#endif // NSACC_LIB_SCHEDULE_CHOOSER_H
