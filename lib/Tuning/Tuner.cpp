//===- Tuner.cpp - Finds the fastest schedule -----------------------------===//

#include "nsacc/Tuning/Tuner.h"
#include "Check.h"
#include "NSA/IR/NSAOps.h"
#include "NSA/Transforms/Passes.h"
#include "ScratchFolder.h"
#include "nsacc/Support/Tasks.h"
#include "nsacc/Tensor/SignatureText.h"
#include "nsacc/Tuning/Shapes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <atomic>
#include <chrono>
#include <map>
#include <thread>

using namespace nsacc;
using namespace nsacc::tuning;

/// Number of rounds that decide, and milliseconds of each.
static constexpr unsigned kFinalRounds = 9;
static constexpr double kFinalVisit = 8;

static constexpr llvm::StringLiteral kTimeOver = "the time was over";
static constexpr llvm::StringLiteral kStopped = "interrupted";

static double getQuantile(std::vector<double> values, double share) {
  if (values.empty())
    return 0;
  llvm::sort(values);
  double place = share * static_cast<double>(values.size() - 1);
  auto low = static_cast<size_t>(place);
  size_t high = std::min(low + 1, values.size() - 1);
  return values[low] +
         (values[high] - values[low]) * (place - static_cast<double>(low));
}

double Trial::getMedian() const { return getQuantile(milliseconds, 0.5); }

static void setMeasured(TunedSchedule &tuned, const Trial &trial,
                        const Trial &chosen) {
  tuned.schedule = trial.candidate.schedule.toString();
  tuned.whole = trial.candidate.whole;
  tuned.milliseconds = trial.getMedian();
  tuned.low = getQuantile(trial.milliseconds, 0.25);
  tuned.high = getQuantile(trial.milliseconds, 0.75);
  tuned.chosenMilliseconds = chosen.getMedian();
  tuned.error = trial.error;
}

TunedSchedule TuneResult::describe(const Trial &trial) const {
  TunedSchedule tuned = best;
  setMeasured(tuned, trial, trials.front());
  return tuned;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

namespace {

/// Limits of an effort.
struct Limits {
  /// Number of a grid's candidates, and how much slower than the first one they
  /// may be by the model.
  size_t candidates;
  double slowdown;
  bool hasSteps;
  /// Groups with a smaller fraction of the time are skipped.
  double leastShare;
};

/// The error with which every part of a search returns when it has to stop.
class StoppedError : public llvm::ErrorInfo<StoppedError> {
public:
  static char ID;

  void log(llvm::raw_ostream &os) const override { os << kStopped; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }
};

char StoppedError::ID = 0;

class Search {
public:
  Search(const CompiledProgram &program, const Signature &signature,
         const DimSizes &sizes, const TuneOptions &options,
         const std::string &key)
      : program(program), signature(signature), sizes(sizes), options(options),
        key(key) {}

  llvm::Expected<TuneResult> run();

private:
  using Clock = std::chrono::steady_clock;

  Limits getLimits() const;
  double getSeconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  ModelOptions getModel() const { return getModelOptions(options); }
  bool isOver() const { return getSeconds() >= options.budgetSeconds; }
  /// Called on the caller's thread only, which alone gets signals.
  bool isInterrupted() const {
    return options.worker.isInterrupted && options.worker.isInterrupted();
  }
  /// Whether current work has to end. The last comparison doesn't: nothing
  /// could be stored without it.
  bool isStopped() const {
    return !isFinishing && options.isStopped && options.isStopped();
  }
  /// A StoppedError if the search has to stop, else `error`.
  llvm::Error stopOr(llvm::Error error) const;
  /// Options of a worker whose jobs end when the search has to stop.
  WorkerOptions getWorker() const;
  void report(const llvm::Twine &what);

  llvm::Error search();
  llvm::Error setUp();
  /// The candidate of a schedule; none if it doesn't fit the program.
  llvm::Expected<std::optional<Candidate>> makeFrom(llvm::StringRef schedule);
  /// Lets the entry that was stored before for such calls compete, even in a
  /// short search.
  llvm::Error addKept();
  bool isCandidate(size_t index) const {
    return trials[index].failure.empty() && !trials[index].isSkipped;
  }
  /// Adds candidates: finds the trial of the same code, or compiles a new one.
  llvm::Error add(std::vector<Candidate> candidates,
                  std::vector<size_t> &added);
  llvm::Error compile(llvm::ArrayRef<size_t> added);
  llvm::Error measure(std::vector<size_t> which, unsigned rounds,
                      double visitMilliseconds);
  /// The trial with the least median.
  size_t findBest(llvm::ArrayRef<size_t> which) const;
  /// Measures trials and narrows them down; the fastest becomes the current
  /// one.
  llvm::Error choose(std::vector<size_t> which);
  /// Checks a candidate's results against the oracle, once. A candidate with
  /// wrong results has failed.
  llvm::Error check(size_t index);
  llvm::Error tryGrid(Grid grid);
  llvm::Error tryGroup(const Group &group, Grid grid);
  llvm::Error trySeeds();
  /// Measures the winner beside the compiler's choice, again and for longer.
  llvm::Error compareLast();
  void finish(TuneResult &result);
  llvm::Error explainNothing() const;

  const CompiledProgram &program;
  const Signature &signature;
  const DimSizes &sizes;
  const TuneOptions &options;
  const std::string &key;
  Clock::time_point start = Clock::now();
  ScratchFolder folder;
  std::vector<std::string> specialized;
  std::vector<Trial> trials;
  /// Path of each trial's package; empty if it has none.
  std::vector<std::string> packages;
  /// Hash of the code of each trial that has a package.
  std::vector<std::string> hashes;
  std::vector<bool> hasLosses;
  /// The largest error of each checked trial.
  std::map<size_t, double> errors;
  /// For each trial, the first trial with the same code.
  std::vector<size_t> sameCode;
  llvm::StringMap<size_t> byWhole, byCode, bySeed;
  /// Index of the best trial so far.
  size_t current = 0;
  /// Whether the stored entry was compared.
  bool isKeptCompared = false;
  /// Number of trials that are compiled even if the time is over.
  size_t alwaysTried = 1;
  /// Whether a trial was compared with the best one before it, to the end.
  bool isCompared = false;
  bool isFinishing = false;
  /// The trials of the last measurement, if its rounds were enough to decide.
  std::vector<size_t> finalists;
  std::optional<Floor> floor;
  /// Lower bound of all runs' times; 0 if it isn't known.
  double leastSeconds = 0, firstSeconds = 0;
  int64_t clock = 0;
  Progress progress;
  std::string ending;
};

} // namespace

llvm::Error Search::stopOr(llvm::Error error) const {
  if (!isStopped())
    return error;
  llvm::consumeError(std::move(error));
  return llvm::make_error<StoppedError>();
}

WorkerOptions Search::getWorker() const {
  WorkerOptions worker = options.worker;
  worker.isInterrupted = [this] { return isInterrupted() || isStopped(); };
  return worker;
}

Limits Search::getLimits() const {
  switch (options.effort) {
  case Effort::Seeds:
  case Effort::Model:
  case Effort::Quick:
    return {32, 2, false, 0.1};
  case Effort::Full:
    return {48, 2.5, true, 0.03};
  case Effort::Exhaustive:
    break;
  }
  return {SIZE_MAX, HUGE_VAL, false, 0};
}

void Search::report(const llvm::Twine &what) {
  progress.seconds = getSeconds();
  progress.what = what.str();
  progress.measured = progress.compiled = progress.failed = 0;
  for (auto [trial, path] : llvm::zip(trials, packages)) {
    progress.compiled += !path.empty();
    progress.measured += trial.isMeasured();
    progress.failed += !trial.failure.empty();
  }
  progress.chosenMilliseconds = trials.empty() ? 0 : trials.front().getMedian();
  progress.bestMilliseconds = trials.empty() ? 0 : trials[current].getMedian();
  if (options.report)
    options.report(progress);
}

llvm::Error Search::setUp() {
  if (llvm::Error error = ScratchFolder::create().moveInto(folder))
    return error;
  auto fit = program.fitSchedule(signature.kernel, sizes.sizes);
  if (!fit)
    return fit.takeError();
  std::optional<Candidate> first;
  auto use = [&](nsa::KernelOp kernel, const schedule::Goal &goal,
                 const schedule::Settings &given) -> llvm::Error {
    for (llvm::StringRef name : nsa::getSpecializedDims(kernel))
      specialized.push_back(name.str());
    schedule::Settings smaller;
    for (const schedule::Setting &setting : fit->getList())
      if (setting.isDerived)
        smaller.set(setting.op, setting.field, setting.value);
    ModelOptions model = getModel();
    if (llvm::Error error =
            makeCandidate(kernel, goal, given, smaller, sizes, model)
                .moveInto(first))
      return error;
    auto chosen = given;
    chosen.addTuned(first->schedule);
    // Code for a named device may be measured on a faster one.
    bool isOwn =
        program.getTargetName() == "cuda" || program.getTarget() == Target::CPU;
    if (!isOwn)
      return llvm::Error::success();
    model.budget = kFloorBudget;
    auto prediction = predict(kernel, goal, chosen, sizes, model);
    if (!prediction)
      return prediction.takeError();
    floor.emplace(prediction->work, Rates::get(goal, model.threads));
    if (floor->areRatesMeasured)
      leastSeconds = prediction->leastSeconds;
    return llvm::Error::success();
  };
  if (llvm::Error error = program.withKernel(signature.kernel, sizes, use))
    return error;
  std::vector<size_t> added;
  return add({*first}, added);
}

llvm::Error Search::add(std::vector<Candidate> candidates,
                        std::vector<size_t> &added) {
  std::vector<size_t> fresh;
  for (Candidate &candidate : candidates) {
    auto [place, isNew] = byWhole.try_emplace(candidate.whole, trials.size());
    if (isNew) {
      fresh.push_back(trials.size());
      trials.push_back({std::move(candidate), {}, ""});
      packages.emplace_back();
      hashes.emplace_back();
      sameCode.push_back(place->second);
      hasLosses.push_back(false);
    }
    added.push_back(place->second);
  }
  if (llvm::Error error = compile(fresh))
    return error;
  // Candidates with the same code are one trial.
  for (size_t &index : added)
    index = sameCode[index];
  llvm::erase_if(added, [&](size_t index) { return !isCandidate(index); });
  llvm::sort(added);
  added.erase(llvm::unique(added), added.end());
  return llvm::Error::success();
}

/// The first line of an error.
static std::string shorten(llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  return llvm::StringRef(text).split('\n').first.str();
}

llvm::Error Search::compile(llvm::ArrayRef<size_t> fresh) {
  if (fresh.empty())
    return llvm::Error::success();
  report("compiling " + llvm::Twine(fresh.size()) + " candidates");
  std::vector<std::optional<CodeFor>> codes(fresh.size());
  CompilerThreads threads(options.threads);
  std::atomic<bool> isEnded = false;
  {
    Tasks tasks(threads);
    for (auto [place, index] : llvm::enumerate(fresh)) {
      isEnded = isEnded || isInterrupted() || isStopped();
      tasks.add(place, [&, place = place, index = index] {
        if (isEnded)
          return llvm::Error::success();
        if (isOver() && index >= alwaysTried) {
          trials[index].isSkipped = true;
          return llvm::Error::success();
        }
        auto code =
            program.compileFor(signature.kernel, sizes,
                               trials[index].candidate.schedule.toString());
        if (code)
          codes[place] = std::move(*code);
        else
          trials[index].failure = shorten(code.takeError());
        return llvm::Error::success();
      });
    }
    while (!tasks.isDone() && !isEnded) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      isEnded = isInterrupted() || isStopped();
    }
    if (llvm::Error error = tasks.wait())
      return error;
  }
  if (isEnded) {
    // Ctrl-C also ends the tools that compile: their failures mean nothing
    // then.
    for (size_t index : fresh)
      trials[index].failure.clear();
    return stopOr(llvm::createStringError("interrupted"));
  }
  for (auto [place, index] : llvm::enumerate(fresh)) {
    if (trials[index].isSkipped)
      ending = kTimeOver;
    if (!codes[place])
      continue;
    std::string hash =
        llvm::utohexstr(llvm::xxh3_64bits(codes[place]->package));
    auto [same, isNew] = byCode.try_emplace(hash, index);
    sameCode[index] = same->second;
    if (!isNew)
      continue;
    std::string path = folder.getPath(llvm::utostr(index) + ".nsapkg");
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    os << codes[place]->package;
    os.close();
    if (error || os.error()) {
      os.clear_error();
      return llvm::createStringError(error ? error : os.error(),
                                     "can't write '" + path + "'");
    }
    packages[index] = std::move(path);
    hashes[index] = std::move(hash);
    hasLosses[index] = !codes[place]->losses.empty();
  }
  return llvm::Error::success();
}

llvm::Error Search::measure(std::vector<size_t> which, unsigned rounds,
                            double visitMilliseconds) {
  llvm::erase_if(which, [&](size_t index) { return !isCandidate(index); });
  if (which.empty())
    return llvm::Error::success();
  finalists.clear();
  Job job;
  for (size_t index : which)
    job.packages.push_back(packages[index]);
  job.signature = writeSignature(signature);
  job.sizes = sizes;
  job.device = *program.getDevice();
  job.threads = options.threads;
  job.policy = options.policy;
  job.seed = options.seed;
  job.rounds = rounds;
  job.visitMilliseconds = visitMilliseconds;
  auto found = runJob(job, getWorker());
  // Ctrl-C also ends a worker: its results mean nothing then.
  if (llvm::Error error = stopOr(found.takeError()))
    return error;
  if (rounds == kFinalRounds)
    finalists = which;
  if (found->clock)
    clock = found->clock;
  for (auto [index, measured] : llvm::zip(which, found->packages)) {
    // Times of different workers are from different moments.
    if (!measured.milliseconds.empty())
      trials[index].milliseconds = std::move(measured.milliseconds);
    if (!measured.failure.empty())
      trials[index].failure = measured.failure;
  }
  return llvm::Error::success();
}

size_t Search::findBest(llvm::ArrayRef<size_t> which) const {
  size_t best = current;
  for (size_t index : which)
    if (trials[index].isMeasured() &&
        (!trials[best].isMeasured() ||
         trials[index].getMedian() < trials[best].getMedian()))
      best = index;
  return best;
}

llvm::Error Search::choose(std::vector<size_t> which) {
  // A schedule that spills isn't taken while another one doesn't.
  bool hasClean = !hasLosses[current];
  for (size_t index : which)
    hasClean |= !hasLosses[index];
  if (hasClean)
    llvm::erase_if(which, [&](size_t index) {
      return hasLosses[index] && index != current;
    });
  if (!llvm::is_contained(which, current))
    which.push_back(current);
  if (which.size() == 1 && trials[current].isMeasured())
    return llvm::Error::success();
  bool hasOthers = which.size() > 1;
  // Number of rounds, milliseconds of each, number of trials that stay, and how
  // much slower than the first they may be.
  struct Stage {
    unsigned rounds;
    double visit;
    size_t stay;
    double slowdown;
  };
  bool isQuick = options.effort == Effort::Quick;
  const Stage stages[] = {{1, 2, isQuick ? size_t{4} : size_t{8}, 1.15},
                          {3, 4, 4, 1.05},
                          {5, 8, 4, 1.05}};
  for (const Stage &stage : stages) {
    if (llvm::Error error = measure(which, stage.rounds, stage.visit))
      return error;
    llvm::erase_if(which,
                   [&](size_t index) { return !trials[index].isMeasured(); });
    if (which.empty())
      return explainNothing();
    llvm::sort(which, [&](size_t lhs, size_t rhs) {
      return std::pair(trials[lhs].getMedian(), lhs) <
             std::pair(trials[rhs].getMedian(), rhs);
    });
    if (which.front() == current)
      break;
    double most = trials[which.front()].getMedian() * stage.slowdown;
    while (which.size() > stage.stay || trials[which.back()].getMedian() > most)
      which.pop_back();
    // The current best is measured beside the others.
    if (!llvm::is_contained(which, current) && trials[current].isMeasured())
      which.push_back(current);
  }
  for (size_t index : which) {
    if (index == current)
      break;
    if (llvm::Error error = check(index))
      return error;
    if (!trials[index].failure.empty())
      continue;
    current = index;
    break;
  }
  isCompared |= hasOthers;
  report("measured");
  return llvm::Error::success();
}

llvm::Error Search::check(size_t index) {
  if (index == 0 || errors.count(index) || !trials[index].failure.empty())
    return llvm::Error::success();
  auto shortSizes = shortenSizes(signature, sizes, specialized);
  if (!shortSizes)
    return llvm::createStringError(
        "no short inputs fit the program, with which the oracle could check a "
        "schedule");
  if (auto known = findChecked(options, hashes[index], *shortSizes)) {
    errors[index] = *known;
    return llvm::Error::success();
  }
  report("checking '" + trials[index].candidate.schedule.toString() + "'");
  TuneOptions own = options;
  own.worker = getWorker();
  auto worst =
      checkPackage(program, signature, *shortSizes, packages[index], own);
  if (isStopped())
    return stopOr(worst.takeError());
  if (!worst) {
    trials[index].failure = llvm::toString(worst.takeError());
    return llvm::Error::success();
  }
  errors[index] = *worst;
  if (options.checked)
    options.checked->push_back({hashes[index], std::move(*shortSizes), *worst});
  return llvm::Error::success();
}

llvm::Error Search::explainNothing() const {
  for (const Trial &trial : trials)
    if (!trial.failure.empty())
      return llvm::createStringError("no candidate can be measured: " +
                                     trial.failure);
  return llvm::createStringError("no candidate can be measured");
}

llvm::Error Search::tryGroup(const Group &group, Grid grid) {
  Limits limits = getLimits();
  std::vector<Candidate> candidates;
  auto use = [&](nsa::KernelOp kernel, const schedule::Goal &goal,
                 const schedule::Settings &given) {
    candidates =
        listCandidates(kernel, goal, given, trials[current].candidate.schedule,
                       group, grid, sizes, getModel());
    return llvm::Error::success();
  };
  if (llvm::Error error = program.withKernel(signature.kernel, sizes, use))
    return error;
  if (candidates.empty())
    return llvm::Error::success();
  // The model doesn't predict effects of steps.
  if (grid == Grid::Tiles) {
    double most = candidates.front().predicted * limits.slowdown;
    while (candidates.size() > limits.candidates ||
           candidates.back().predicted > most)
      candidates.pop_back();
  }
  static constexpr llvm::StringLiteral names[] = {"programs", "tiles", "steps"};
  report(names[static_cast<size_t>(grid)] + " of '" +
         llvm::join(group.ops, "', '") +
         "': " + llvm::Twine(candidates.size()) + " candidates");
  std::vector<size_t> added;
  if (llvm::Error error = add(std::move(candidates), added))
    return error;
  return choose(std::move(added));
}

llvm::Error Search::tryGrid(Grid grid) {
  std::vector<Group> groups;
  auto use = [&](nsa::KernelOp kernel, const schedule::Goal &goal,
                 const schedule::Settings &given) -> llvm::Error {
    auto found =
        listGroups(kernel, goal, given, trials[current].candidate.schedule,
                   sizes, getModel());
    if (!found)
      return found.takeError();
    groups = std::move(*found);
    return llvm::Error::success();
  };
  if (llvm::Error error = program.withKernel(signature.kernel, sizes, use))
    return error;
  double all = 0;
  for (const Group &group : groups)
    all += group.predicted;
  for (const Group &group : groups) {
    if (llvm::Error error = stopOr(llvm::Error::success()))
      return error;
    if (isOver()) {
      ending = kTimeOver;
      return llvm::Error::success();
    }
    if (trials[current].getMedian() * 1e-3 <= 1.02 * leastSeconds &&
        options.effort != Effort::Exhaustive) {
      ending = "nothing can be faster by the model";
      return llvm::Error::success();
    }
    if (group.predicted < getLimits().leastShare * all)
      continue;
    if (llvm::Error error = tryGroup(group, grid))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<std::optional<Candidate>>
Search::makeFrom(llvm::StringRef schedule) {
  auto read = llvm::expectedToOptional(schedule::Settings::parse(schedule));
  if (!read)
    return std::nullopt;
  std::optional<Candidate> candidate;
  auto use = [&](nsa::KernelOp kernel, const schedule::Goal &goal,
                 const schedule::Settings &given) {
    candidate = llvm::expectedToOptional(
        makeCandidate(kernel, goal, given, *read, sizes, getModel()));
    return llvm::Error::success();
  };
  if (llvm::Error error = program.withKernel(signature.kernel, sizes, use))
    return std::move(error);
  return candidate;
}

llvm::Error Search::addKept() {
  std::vector<size_t> added = {0};
  if (auto kept = TunedSchedules(options.store, nullptr).find(key)) {
    auto candidate = makeFrom(kept->schedule);
    if (!candidate)
      return candidate.takeError();
    alwaysTried = 2;
    if (*candidate)
      if (llvm::Error error = add({std::move(**candidate)}, added))
        return error;
  }
  // The rounds are enough to rule out chance: a short search compares nothing
  // else.
  if (added.size() > 1) {
    if (llvm::Error error = measure(added, kFinalRounds, kFinalVisit))
      return error;
    if (llvm::Error error = check(added.back()))
      return error;
    current = findBest(added);
    isCompared = isKeptCompared = true;
  }
  // Seeds alone are measured beside it, equally often.
  if (options.effort == Effort::Seeds)
    return llvm::Error::success();
  return choose({current});
}

llvm::Error Search::trySeeds() {
  std::vector<Candidate> candidates;
  std::vector<std::string> seeds = options.seeds;
  if (options.effort != Effort::Model)
    llvm::append_range(seeds,
                       TunedSchedules(options.store, nullptr).findSeeds(key));
  if (options.effort == Effort::Model) {
    auto preferred =
        chooseByModel(program, signature.kernel, sizes, getModel());
    if (!preferred)
      return preferred.takeError();
    seeds.push_back(*preferred);
  }
  llvm::StringMap<std::string> wholes;
  for (const std::string &seed : seeds) {
    auto candidate = makeFrom(seed);
    if (!candidate)
      return candidate.takeError();
    if (!*candidate)
      continue;
    wholes[seed] = (*candidate)->whole;
    candidates.push_back(std::move(**candidate));
  }
  std::vector<size_t> added;
  if (llvm::Error error = add(std::move(candidates), added))
    return error;
  for (const auto &[seed, whole] : wholes)
    bySeed[seed] = sameCode[byWhole.at(whole)];
  if (options.effort != Effort::Seeds)
    return choose(std::move(added));
  // All trials are measured equally often.
  if (!llvm::is_contained(added, current))
    added.push_back(current);
  if (llvm::Error error = measure(added, kFinalRounds, kFinalVisit))
    return error;
  for (size_t index : added)
    if (llvm::Error error = check(index))
      return error;
  current = findBest(added);
  if (!trials[current].isMeasured())
    return explainNothing();
  isCompared |= added.size() > 1;
  report("measured");
  return llvm::Error::success();
}

llvm::Error Search::compareLast() {
  bool isDecided = llvm::is_contained(finalists, 0) &&
                   llvm::is_contained(finalists, current);
  if (current == 0 || isDecided)
    return llvm::Error::success();
  report("measuring the fastest beside the compiler's choice");
  return measure({0, current}, kFinalRounds, kFinalVisit);
}

void Search::finish(TuneResult &result) {
  constexpr double leastGain = 1.01;
  bool isFaster =
      trials[current].isMeasured() &&
      trials[current].getMedian() * leastGain <= trials[0].getMedian();
  if (!isFaster)
    current = 0;
  for (auto [index, error] : errors)
    trials[index].error = error;
  setMeasured(result.best, trials[current], trials[0]);
  result.best.policy =
      (getName(options.effort) + ", " + toString(options.policy)).str();
  result.best.date = llvm::formatv("{0:%Y-%m-%dT%H:%M:%S}",
                                   llvm::sys::toUtcTime(std::time(nullptr)));
  result.best.clock = clock;
  result.best.sizes = spellSizes(sizes);
  for (const Trial &trial : trials) {
    result.best.measured += trial.isMeasured();
    result.best.failed += !trial.failure.empty();
  }
}

llvm::Error Search::search() {
  if (llvm::Error error = setUp())
    return error;
  if (!trials.front().failure.empty())
    return llvm::createStringError("the compiler's choice can't be compiled: " +
                                   trials.front().failure);
  if (llvm::Error error = addKept())
    return error;
  firstSeconds = getSeconds();
  if (llvm::Error error = trySeeds())
    return error;
  for (Grid grid : {Grid::Programs, Grid::Tiles, Grid::Steps}) {
    if (options.effort <= Effort::Model ||
        (grid == Grid::Steps && !getLimits().hasSteps))
      continue;
    if (llvm::Error error = tryGrid(grid))
      return error;
    if (!ending.empty())
      break;
  }
  return compareLast();
}

llvm::Expected<TuneResult> Search::run() {
  TuneResult result;
  if (llvm::Error error =
          llvm::handleErrors(search(), [&](const StoppedError &) {
            result.isStopped = true;
            ending = kStopped;
          }))
    return std::move(error);
  isFinishing = true;
  if (llvm::Error error = compareLast())
    return std::move(error);
  finish(result);
  result.isKeptCompared = isKeptCompared;
  result.isTimeOver = ending == kTimeOver;
  result.ending = ending.empty() ? "all candidates were tried" : ending;
  result.floor = floor;
  result.trials = std::move(trials);
  result.isCompared = result.isStopped
                          ? isCompared
                          : result.best.measured > 1 || ending != kTimeOver;
  result.firstSeconds = firstSeconds;
  result.bySeed = std::move(bySeed);
  result.seconds = getSeconds();
  return result;
}

llvm::Expected<TuneResult> tuning::tune(const CompiledProgram &program,
                                        llvm::StringRef kernel,
                                        const DimSizes &sizes,
                                        const TuneOptions &options) {
  auto signature = program.getSignature(kernel);
  if (!signature)
    return signature.takeError();
  Signature measured = *signature;
  if (llvm::Error error = setRanges(measured, options.ranges))
    return std::move(error);
  if (llvm::Error error = checkMeasurable(program, measured, sizes, options))
    return std::move(error);
  auto key = program.getTuningKey(kernel, sizes);
  if (!key)
    return key.takeError();
  auto result = Search(program, measured, sizes, options, *key).run();
  if (!result)
    return result;
  result->key = std::move(*key);
  TunedSchedules store(options.store, options.warn);
  // A schedule that wasn't compared with all others isn't stored as the
  // fastest, unless it is faster than a call's schedule would be otherwise.
  bool isCut =
      result->isStopped || (result->isTimeOver && !options.keepsUnfinished);
  bool isDone =
      !isCut || !result->best.schedule.empty() || result->isKeptCompared;
  result->isKept =
      result->isCompared && isDone && store.store(result->key, result->best);
  return result;
}
