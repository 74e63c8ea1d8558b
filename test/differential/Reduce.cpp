//===- Reduce.cpp - Reduction of failing cases ----------------------------===//

#include "Reduce.h"
#include "Generator.h"
#include "Workers.h"
#include "llvm/ADT/StringRef.h"

using namespace nsacc::differential;

namespace {

using List = std::vector<uint32_t>;

class Reducer {
public:
  Reducer(uint64_t seed, const Verdict &verdict, unsigned trials,
          unsigned seconds)
      : wanted(getKind(verdict)), trials(trials), seconds(seconds) {
    Choices choices(seed);
    best = generate(choices);
    keep(choices);
  }

  Case run();

private:
  /// The kind of a failure; equal kinds are the same failure.
  static std::string getKind(const Verdict &verdict) {
    return llvm::StringRef(verdict.message).split(':').first.str();
  }
  void keep(const Choices &choices) {
    list = choices.getDrawn();
    ranges = choices.getRanges();
  }
  /// Keeps the case that `candidate` makes if it still fails.
  bool tryList(List candidate);
  bool dropRuns();
  bool dropRanges();
  bool lowerNumbers();

  std::string wanted;
  unsigned trials, seconds;
  Case best;
  List list;
  std::vector<Choices::Range> ranges;
};

} // namespace

bool Reducer::tryList(List candidate) {
  if (trials == 0)
    return false;
  Choices choices(std::move(candidate));
  Case made = generate(choices);
  // An equal program has been run already.
  if (print(made) == print(best))
    return false;
  --trials;
  Verdict verdict = runApart(made, seconds);
  if (verdict.kind != Verdict::Kind::Failed || getKind(verdict) != wanted)
    return false;
  best = std::move(made);
  keep(choices);
  return true;
}

/// Removes ranges, or sets them to the simplest choice: outer ranges first.
bool Reducer::dropRanges() {
  bool any = false;
  for (size_t n = ranges.size(); n-- > 0 && trials > 0;) {
    if (n >= ranges.size())
      continue;
    auto [begin, end] = ranges[n];
    if (begin == end)
      continue;
    List simple = list;
    std::fill(simple.begin() + begin, simple.begin() + end, 0);
    List shorter = list;
    shorter.erase(shorter.begin() + begin, shorter.begin() + end);
    any |= tryList(std::move(simple)) || tryList(std::move(shorter));
  }
  return any;
}

bool Reducer::lowerNumbers() {
  bool any = false;
  for (size_t n = 0; n < list.size() && trials > 0; ++n) {
    if (list[n] == 0)
      continue;
    for (uint32_t lower : {0u, 1u, list[n] / 2}) {
      if (lower >= list[n])
        continue;
      List candidate = list;
      candidate[n] = lower;
      if (tryList(std::move(candidate))) {
        any = true;
        break;
      }
    }
  }
  return any;
}

/// Keeps only one run. The choices no longer match the case then, so this is
/// the last step.
bool Reducer::dropRuns() {
  for (const Run &run : best.runs) {
    if (trials == 0 || best.runs.size() == 1)
      return false;
    --trials;
    Case single = best;
    single.runs = {run};
    Verdict verdict = runApart(single, seconds);
    if (verdict.kind != Verdict::Kind::Failed || getKind(verdict) != wanted)
      continue;
    best = single;
    return true;
  }
  return false;
}

Case Reducer::run() {
  unsigned last = 5;
  trials = trials > last ? trials - last : 0;
  for (bool any = true; any && trials > 0;) {
    any = dropRanges();
    any |= lowerNumbers();
  }
  trials += last;
  dropRuns();
  return best;
}

Case nsacc::differential::reduce(uint64_t seed, const Verdict &verdict,
                                 unsigned trials, unsigned seconds) {
  return Reducer(seed, verdict, trials, seconds).run();
}
