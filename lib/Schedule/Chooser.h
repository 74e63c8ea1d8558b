//===- Chooser.h - Choice of one kernel's schedules -------------*- C++ -*-===//

#ifndef NSACC_LIB_SCHEDULE_CHOOSER_H
#define NSACC_LIB_SCHEDULE_CHOOSER_H

#include "Tiling.h"
#include "nsacc/Schedule/Choose.h"

namespace nsacc::schedule {

/// Number of windows that neighbouring blocks share, or the reason that none of
/// them is carried.
struct SharedWindows {
  int64_t shared;
  llvm::StringLiteral reason;
};

/// Chooses the schedules of one kernel.
class Chooser {
public:
  Chooser(nsa::KernelOp kernel, const Goal &goal, const Settings &settings)
      : kernel(kernel), goal(goal), settings(settings),
        ops(getScheduledOps(kernel)), cut(kernel, findOwn()) {
    for (const ScheduledOp &op : ops)
      names[op.op] = op.name;
  }

  llvm::Expected<KernelChoice> run();

private:
  llvm::SmallVector<ProgramCut::Own> findOwn();
  bool hasManyAttends();
  bool cutsResult(nsa::AttendOp ranking);
  llvm::Error checkProgram(const ScheduledOp &op);
  llvm::Error checkAgreement(const ScheduledOp &op);

  /// Setting for an op: by its name, for an op that shares a program with it,
  /// or for all ops.
  const Setting *find(const OpChoice &op, Field field) const;
  /// Sets a field to the given value, or to the chosen one.
  void put(OpChoice &op, Field field, int64_t chosen,
           const llvm::Twine &reason);

  Scope getScope(mlir::Operation *op, int64_t group) const;
  bool inverts(nsa::AttendOp op) const;
  nsatile::LoopOrder getOrder(nsa::AttendOp op) const;
  nsatile::LoopOrder getOrder(const Scope &scope) const;
  Tiling tile(const Scope &scope) const;

  llvm::Error chooseAttend(OpChoice &choice);
  llvm::Error chooseImportance(OpChoice &choice);
  llvm::Error chooseTopK(OpChoice &choice);
  llvm::Error chooseSelectingSplits(OpChoice &choice, bool usesThreshold);
  bool chooseMethod(OpChoice &choice);
  void chooseSelectingTokens(OpChoice &choice, int64_t rows, int64_t group,
                             bool usesThreshold);
  void chooseBlocks(OpChoice &choice, const Tiling &tiling, int64_t group,
                    bool usesThreshold);
  SharedWindows findSharedWindows(nsa::TopKOp op, int64_t group,
                                  bool usesThreshold) const;
  llvm::Error chooseHalo(OpChoice &choice, int64_t group, bool usesThreshold);
  const Program &getProgram(nsa::TopKOp op) const;
  int64_t getSelectingKeys(nsa::TopKOp op, const Tiling &tiling) const;
  void chooseSelectingWarps(OpChoice &choice, const Tiling &tiling,
                            int64_t group, bool usesThreshold);
  void choosePooling(OpChoice &choice);
  void chooseMap(OpChoice &choice);
  llvm::Error chooseTile(OpChoice &choice, const Scope &scope,
                         const Tiling &tiling);
  void choosePart(OpChoice &choice, int64_t group);
  void choosePeel(OpChoice &choice, const Scope &scope);
  void chooseExact(OpChoice &choice, const Scope &scope);
  llvm::Error chooseSplits(OpChoice &choice, int64_t group);
  void chooseMergeHeads(OpChoice &choice, int64_t group);
  void chooseChannels(OpChoice &choice, const Scope &scope);
  int64_t chooseHeads(OpChoice &choice, int64_t group);
  void chooseProgram(OpChoice &choice);
  void chooseResultChunks(llvm::MutableArrayRef<OpChoice> choices);

  nsa::KernelOp kernel;
  const Goal &goal;
  const Settings &settings;
  std::vector<ScheduledOp> ops;
  ProgramCut cut;
  llvm::DenseMap<mlir::Operation *, llvm::StringRef> names;
};

int64_t toTokens(int64_t rows, int64_t group);
/// Tokens of a part of about kPartRows rows. All tokens where parts would be
/// much smaller.
int64_t getPartTokens(int64_t tokens, int64_t group);

} // namespace nsacc::schedule

#endif // NSACC_LIB_SCHEDULE_CHOOSER_H
