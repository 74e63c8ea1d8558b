//===- Numbers.h - Numbers with units ---------------------------*- C++ -*-===//

#ifndef NSACC_LIB_EXPLAIN_NUMBERS_H
#define NSACC_LIB_EXPLAIN_NUMBERS_H

#include "nsacc/Explain/Explanation.h"
#include "nsacc/Support/Units.h"

namespace nsacc::explain {

/// Three digits and a prefix of thousands: "137 G", then the unit.
std::string spellCount(double count, llvm::StringRef unit);
/// "7.3 %"
std::string spellPercent(double part, double whole);

/// "about ", "at most "; nothing for what is exact.
llvm::StringRef spellCertainty(tuning::Certainty certainty);
/// "136 GFLOP of products over 266 M visible pairs, 80.5 MiB read or written
/// once"
std::string describeWork(const ProgramExplanation &program);
/// "2.4 times the floor: most of op 'a' is …; try …"; empty where it is near.
std::string describeGap(const Explanation &explanation);
/// "products 904 TFLOP/s, exponentials 3.91 T/s, memory 4.61 TB/s (H200)"
std::string describeRates(const Explanation &explanation);
/// "1984", "about 3.5 M"
std::string spellTiles(const Quantity &tiles, const TileMap &map);
/// "231 us, 591 TFLOP/s, 65 % of it the floor"
std::string describePrediction(const ProgramExplanation &program);
/// "a (attend at flash.nsa:6:7); …", of a main program.
std::string describeOps(const ProgramExplanation &program,
                        const Explanation &explanation);

/// One ceiling of a program's time.
struct Ceiling {
  const char *name;
  double seconds;
};
/// Those that are known, the highest first.
std::vector<Ceiling> listCeilings(const ProgramExplanation &program);

/// Whether it has nothing to do for these sizes, as one of two ways of a plan.
bool isIdle(const ProgramExplanation &program);

/// "grid 128 x 8 x 1 = 1024 tiles, 384 threads, persistent"
std::string describeLaunch(const ProgramExplanation &program, bool isGPU);
/// "168 registers, nothing spilled, 225.0 KiB of shared memory"; empty on a
/// CPU.
std::string describeResources(const ProgramExplanation &program);
/// "1 block of 12 warps … bound by registers; 7.8 waves on 132 multiprocessors"
std::string describeOccupancy(const ProgramExplanation &program,
                              const Explanation &explanation);
/// What a program is of others: "prepares or finishes 'nsa_attend_4'"; empty
/// for those that compute ops.
std::string describeRole(const ProgramExplanation &program);
/// "a (attend at flash.nsa:6:9)"
std::string describeOp(const OpExplanation &op);
/// "tokens=32, keys=128", and why: fields with one reason stand together.
std::vector<std::pair<std::string, std::string>>
groupFields(const OpExplanation &op);
std::string describe(const Place &place);
/// Remarks as lines of a report, those that differ in nothing but their places
/// as one: a program says the same of each of its ops.
std::vector<std::pair<const Remark *, std::string>>
groupRemarks(llvm::ArrayRef<Remark> remarks);
/// "0.8431 ms (0.8411 to 0.8460) …", of a tuned schedule.
std::string describeTuned(const Explanation &explanation);
/// Which rule of many sizes says what the schedule is; empty where none does.
std::string describeRule(const Explanation &explanation);
/// "50 full, 4 partial and 46 empty tiles of 128 tokens and 64 keys"
std::string describeMap(const TileMap &map);
/// " in batch row 3 and any key head": where the cells of a map are; empty
/// where there is one of each.
std::string describeShown(const TileMap &map);
/// "sm_90a, which has 132 multiprocessors"
std::string describeTarget(const Explanation &explanation);
std::string describeBuffers(const Explanation &explanation);

} // namespace nsacc::explain

#endif // NSACC_LIB_EXPLAIN_NUMBERS_H
