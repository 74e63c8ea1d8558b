//===- Numbers.h - Numbers with units ---------------------------*- C++ -*-===//

#ifndef NSACC_LIB_EXPLAIN_NUMBERS_H
#define NSACC_LIB_EXPLAIN_NUMBERS_H

#include "nsacc/Explain/Explanation.h"
#include "nsacc/Support/Units.h"

namespace nsacc::explain {

/// Three digits and a prefix for powers of a thousand: "137 G", then the unit.
std::string spellCount(double count, llvm::StringRef unit);
/// "7.3 %"
std::string spellPercent(double part, double whole);

/// "about ", "at most "; empty for exact numbers.
llvm::StringRef spellCertainty(tuning::Certainty certainty);
/// "136 GFLOP of products over 266 M visible pairs, 80.5 MiB read or written
/// once"
std::string describeWork(const ProgramExplanation &program);
/// "2.4 times the floor: most of op 'a' is …; try …"; empty if the time is near
/// the floor.
std::string describeGap(const Explanation &explanation);
/// "products 904 TFLOP/s, exponentials 3.91 T/s, memory 4.61 TB/s (H200)"
std::string describeRates(const Explanation &explanation);
/// "1984", "about 3.5 M"
std::string spellTiles(const Quantity &tiles, const TileMap &map);
/// "231 us, 591 TFLOP/s, 65 % of it the floor"
std::string describePrediction(const ProgramExplanation &program);
/// "a (attend at flash.nsa:6:7); …", for a main program.
std::string describeOps(const ProgramExplanation &program,
                        const Explanation &explanation);

/// One ceiling of a program's time.
struct Ceiling {
  const char *name;
  double seconds;
};
/// The ceilings that are known, the highest first.
std::vector<Ceiling> listCeilings(const ProgramExplanation &program);

/// Whether it has no work for these sizes, as one of two alternatives in a
/// plan.
bool isIdle(const ProgramExplanation &program);

/// "grid 128 x 8 x 1 = 1024 tiles, 384 threads, persistent"
std::string describeLaunch(const ProgramExplanation &program, bool isGPU);
/// "168 registers, nothing spilled, 225.0 KiB of shared memory"; empty on a
/// CPU.
std::string describeResources(const ProgramExplanation &program);
/// "1 block of 12 warps … bound by registers; 7.8 waves on 132 multiprocessors"
std::string describeOccupancy(const ProgramExplanation &program,
                              const Explanation &explanation);
/// The program's relation to others: "prepares or finishes 'nsa_attend_4'";
/// empty for programs that compute ops.
std::string describeRole(const ProgramExplanation &program);
/// "a (attend at flash.nsa:6:9)"
std::string describeOp(const OpExplanation &op);
/// "tokens=32, keys=128", and the reason: fields with the same reason are
/// listed together.
std::vector<std::pair<std::string, std::string>>
groupFields(const OpExplanation &op);
std::string describe(const Place &place);
/// Remarks as lines of a report. Remarks that differ only in their places are
/// one line: a program repeats a remark for each of its ops.
std::vector<std::pair<const Remark *, std::string>>
groupRemarks(llvm::ArrayRef<Remark> remarks);
/// "0.8431 ms (0.8411 to 0.8460) …", for a tuned schedule.
std::string describeTuned(const Explanation &explanation);
/// The rule of many sizes that gives the schedule; empty if none does.
std::string describeRule(const Explanation &explanation);
/// "50 full, 4 partial and 46 empty tiles of 128 tokens and 64 keys"
std::string describeMap(const TileMap &map);
/// " in batch row 3 and any key head": the part that a map's cells show; empty
/// if there is only one batch row and key head.
std::string describeShown(const TileMap &map);
/// "sm_90a, which has 132 multiprocessors"
std::string describeTarget(const Explanation &explanation);
std::string describeBuffers(const Explanation &explanation);

} // namespace nsacc::explain

#endif // NSACC_LIB_EXPLAIN_NUMBERS_H
