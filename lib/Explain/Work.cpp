//===- Work.cpp - Work of each program ------------------------------------===//

#include "Numbers.h"
#include "Parts.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace nsacc;
using namespace nsacc::explain;

namespace {

/// Matches launched programs to the programs of a kernel's cut.
class Roles {
public:
  Roles(Explanation &explanation, const schedule::KernelChoice &choice,
        const std::vector<TileProgram> &tiles)
      : explanation(explanation), choice(choice), tiles(tiles),
        mains(choice.cut.getPrograms().size()) {}

  void find();
  /// The launched program that does most of a program's work; none if none of
  /// its work is launched.
  std::optional<size_t> getMain(size_t program) const { return mains[program]; }

private:
  const TileProgram *findTiles(llvm::StringRef name) const {
    auto found = llvm::find_if(
        tiles, [&](const TileProgram &each) { return each.name == name; });
    return found == tiles.end() ? nullptr : &*found;
  }
  std::optional<size_t> findCut(const TileProgram &tile) const;
  std::vector<size_t> listOps(size_t program) const;

  Explanation &explanation;
  const schedule::KernelChoice &choice;
  const std::vector<TileProgram> &tiles;
  std::vector<std::optional<size_t>> mains;
};

} // namespace

std::vector<size_t> Roles::listOps(size_t program) const {
  std::vector<size_t> ops;
  for (auto [index, op] : llvm::enumerate(choice.ops))
    if (choice.cut.getPrograms()[program].ops.contains(op.op))
      ops.push_back(index);
  return ops;
}

/// The program of the cut that a launched one belongs to: of the same kind if
/// there is one, else any that computes its ops. The last such program is
/// taken: the others prepare it.
std::optional<size_t> Roles::findCut(const TileProgram &tile) const {
  std::optional<size_t> same, other;
  for (auto [index, program] : llvm::enumerate(choice.cut.getPrograms())) {
    std::vector<size_t> ops = listOps(index);
    bool hasAll = llvm::all_of(tile.ops, [&](const std::string &name) {
      return llvm::any_of(
          ops, [&](size_t op) { return choice.ops[op].name == name; });
    });
    if (tile.ops.empty() || !hasAll)
      continue;
    (program.what == tile.what ? same : other) = index;
  }
  return same ? same : other;
}

void Roles::find() {
  llvm::StringMap<std::string> exactOf;
  for (const TileProgram &tile : tiles)
    if (!tile.exact.empty())
      exactOf[tile.exact] = tile.name;
  std::vector<std::optional<size_t>> cutOf(explanation.programs.size());
  // Partial states and candidate lists are most of the work; the program that
  // merges them has the cut's name. If a plan has two alternatives, only one
  // runs.
  auto rank = [&](const ProgramExplanation &program, const TileProgram &tile,
                  size_t cut) {
    if (isIdle(program))
      return 0;
    return tile.what == "partial" || tile.what == "candidates" ? 2
           : tile.what == choice.cut.getPrograms()[cut].what   ? 1
                                                               : 0;
  };
  std::vector<int> ranks(mains.size(), -1);
  for (auto [index, program] : llvm::enumerate(explanation.programs)) {
    const TileProgram *tile = findTiles(program.name);
    program.role = ProgramExplanation::Role::Helper;
    if (!tile)
      continue;
    program.place = tile->place;
    if (auto found = exactOf.find(program.name); found != exactOf.end()) {
      program.role = ProgramExplanation::Role::Exact;
      program.of = found->second;
      continue;
    }
    std::optional<size_t> cut = findCut(*tile);
    cutOf[index] = cut;
    if (cut && rank(program, *tile, *cut) >= ranks[*cut]) {
      ranks[*cut] = rank(program, *tile, *cut);
      mains[*cut] = index;
    }
  }
  for (auto [index, program] : llvm::enumerate(explanation.programs)) {
    if (!cutOf[index])
      continue;
    program.ops = listOps(*cutOf[index]);
    size_t main = *mains[*cutOf[index]];
    if (main == index)
      program.role = ProgramExplanation::Role::Main;
    else
      program.of = explanation.programs[main].name;
  }
}

/// Values of ops with schedules, and arguments, that an operand is computed
/// from.
static void listSources(mlir::Value value,
                        llvm::SmallSetVector<mlir::Value, 8> &sources) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op || schedule::hasSchedule(op)) {
    sources.insert(value);
    return;
  }
  for (mlir::Value operand : op->getOperands())
    listSources(operand, sources);
}

namespace {

/// The tensors that programs pass to each other and to the caller.
class Traffic {
public:
  Traffic(llvm::ArrayRef<schedule::Program> programs,
          const tuning::CallSizes &sizes, const Explanation &explanation,
          const schedule::KernelChoice &choice)
      : programs(programs), sizes(sizes) {
    for (auto [op, found] : llvm::zip(choice.ops, explanation.ops))
      seenKeys[op.op] = found.predicted.seenKeys;
  }

  /// Bytes that a program reads and writes, each tensor once.
  double count(size_t program) const;

private:
  bool isStored(mlir::Value value, mlir::Operation *maker,
                size_t program) const;

  /// The share of an operand that an op reads: keys and values that no query
  /// sees aren't read.
  double getShare(mlir::Operation *op, mlir::Value operand) const;

  llvm::ArrayRef<schedule::Program> programs;
  const tuning::CallSizes &sizes;
  llvm::DenseMap<mlir::Operation *, double> seenKeys;
};

} // namespace

double Traffic::getShare(mlir::Operation *op, mlir::Value operand) const {
  auto scoring = mlir::dyn_cast<nsa::ScoringOpInterface>(op);
  auto found = seenKeys.find(op);
  bool isPart = scoring && tuning::isOfKeys(scoring, operand);
  return isPart && found != seenKeys.end() ? found->second : 1;
}

/// Whether the caller gets a value from this program, the last that computes
/// it, or another program reads it instead of computing it.
bool Traffic::isStored(mlir::Value value, mlir::Operation *maker,
                       size_t program) const {
  auto computes = [&](const schedule::Program &each, mlir::Operation *op) {
    return each.ops.contains(op);
  };
  return llvm::any_of(value.getUsers(), [&](mlir::Operation *user) {
    if (schedule::hasSchedule(user))
      return llvm::any_of(programs, [&](const schedule::Program &each) {
        return computes(each, user) && !computes(each, maker);
      });
    if (user->getNumResults() == 0)
      return llvm::none_of(
          programs.drop_front(program + 1),
          [&](const schedule::Program &each) { return computes(each, maker); });
    return llvm::any_of(user->getResults(), [&](mlir::Value result) {
      return isStored(result, maker, program);
    });
  });
}

double Traffic::count(size_t program) const {
  const auto &ops = programs[program].ops;
  llvm::MapVector<mlir::Value, double> shares;
  for (mlir::Operation *op : ops) {
    for (mlir::Value operand : op->getOperands()) {
      llvm::SmallSetVector<mlir::Value, 8> sources;
      listSources(operand, sources);
      for (mlir::Value source : sources)
        if (!source.getDefiningOp() || !ops.contains(source.getDefiningOp()))
          shares[source] = std::max(shares[source], getShare(op, operand));
    }
    for (mlir::Value result : op->getResults())
      if (isStored(result, op, program))
        shares[result] = 1;
  }
  double bytes = 0;
  for (auto [tensor, share] : shares)
    bytes += share * tuning::countBytes(tensor.getType(), sizes);
  return bytes;
}

void explain::addWork(Explanation &explanation, nsa::KernelOp kernel,
                      const schedule::KernelChoice &choice,
                      const tuning::CallSizes &sizes,
                      const std::vector<TileProgram> &tiles) {
  Roles roles(explanation, choice, tiles);
  roles.find();
  // An op counts in the last program that computes it: other programs read its
  // result, or recompute it on the way.
  std::vector<std::optional<size_t>> countedIn(choice.ops.size());
  auto programs = choice.cut.getPrograms();
  Traffic traffic(programs, sizes, explanation, choice);
  for (size_t program = 0; program < programs.size(); ++program)
    for (auto [index, op] : llvm::enumerate(choice.ops))
      if (programs[program].ops.contains(op.op) && roles.getMain(program))
        countedIn[index] = program;
  for (size_t program = 0; program < programs.size(); ++program) {
    std::optional<size_t> main = roles.getMain(program);
    if (!main)
      continue;
    ProgramExplanation &found = explanation.programs[*main];
    for (auto [index, counted] : llvm::enumerate(countedIn)) {
      if (counted != program)
        continue;
      const tuning::Prediction::Op &op = explanation.ops[index].predicted;
      found.counted.push_back(index);
      found.work.addProducts(op.work);
      found.predictedSeconds += op.seconds;
      found.cacheBytes += op.cacheBytes;
    }
    found.work.bytes = traffic.count(program);
    found.floors = found.work.getFloors(explanation.rates);
    const tuning::Rates &rates = explanation.rates;
    if (explanation.device)
      found.cacheSeconds =
          found.cacheBytes / rates.cacheBytes / rates.units / rates.clock;
    else
      found.cacheBytes = 0;
  }
}
