//===- nsacc-differential.cpp - Compiled programs against the oracle ------===//

#include "Emit.h"
#include "Generator.h"
#include "Reduce.h"
#include "Workers.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace nsacc::differential;

namespace {

struct Settings {
  std::vector<std::string> files;
  uint64_t seed = 1, cases = 100;
  unsigned jobs = 1, seconds = 60, trials = 200, mostReduced = 10;
  std::string folder, emitted;
  bool allowRefused = false, printOnly = false;
};

/// Counts verdicts and keeps the failures.
class Summary {
public:
  explicit Summary(const Settings &settings) : settings(settings) {}

  void add(uint64_t seed, const Verdict &verdict);
  void reduceFailures();
  void print() const;
  bool isGood() const {
    return failures.empty() && (settings.allowRefused || refused.empty());
  }

private:
  const Settings &settings;
  uint64_t passed = 0, runs = 0;
  std::map<std::string, uint64_t> refused;
  std::vector<std::pair<uint64_t, Verdict>> failures;
};

} // namespace

static Case makeCase(uint64_t seed) {
  Choices choices(seed);
  return generate(choices);
}

void Summary::add(uint64_t seed, const Verdict &verdict) {
  runs += verdict.runs;
  switch (verdict.kind) {
  case Verdict::Kind::Passed:
    ++passed;
    return;
  case Verdict::Kind::Refused:
    ++refused[verdict.message];
    return;
  case Verdict::Kind::Failed:
    failures.emplace_back(seed, verdict);
    llvm::outs() << "seed " << seed << ": " << verdict.message << "\n";
    llvm::outs().flush();
  }
}

static void write(const std::string &path, const std::string &text) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (error)
    llvm::errs() << "can't write " << path << ": " << error.message() << "\n";
  else
    os << text;
}

void Summary::reduceFailures() {
  unsigned left = settings.mostReduced;
  for (const auto &[seed, verdict] : failures) {
    Case found = left > 0
                     ? reduce(seed, verdict, settings.trials, settings.seconds)
                     : makeCase(seed);
    left -= left > 0;
    std::string text = "// RUN: nsacc-differential %s\n// seed " +
                       std::to_string(seed) + ": " + verdict.message + "\n" +
                       ::print(found);
    if (settings.folder.empty()) {
      llvm::outs() << "\n" << text;
      continue;
    }
    llvm::sys::fs::create_directories(settings.folder);
    llvm::SmallString<128> path(settings.folder);
    llvm::sys::path::append(path, "seed-" + std::to_string(seed) + ".nsa");
    write(path.str().str(), text);
    llvm::outs() << "kept as " << path << "\n";
  }
}

void Summary::print() const {
  uint64_t refusals = 0;
  for (const auto &[message, count] : refused) {
    llvm::outs() << "refused " << count << ": " << message << "\n";
    refusals += count;
  }
  llvm::outs() << llvm::formatv(
      "{0} passed ({1} runs), {2} refused, {3} failed\n", passed, runs,
      refusals, failures.size());
}

static llvm::Expected<Case> readCase(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError("can't read '" + path +
                                   "': " + buffer.getError().message());
  return parseCase((*buffer)->getBuffer());
}

/// Runs kept cases.
static int runFiles(const Settings &settings) {
  int status = 0;
  for (const std::string &path : settings.files) {
    llvm::Expected<Case> found = readCase(path);
    if (!found) {
      llvm::errs() << path << ": " << llvm::toString(found.takeError()) << "\n";
      return 2;
    }
    Verdict verdict = runApart(*found, settings.seconds);
    bool isGood =
        verdict.kind == Verdict::Kind::Passed ||
        (verdict.kind == Verdict::Kind::Refused && settings.allowRefused);
    llvm::outs() << path << ": "
                 << (verdict.message.empty() ? "passed" : verdict.message)
                 << "\n";
    if (!isGood)
      status = 1;
  }
  return status;
}

/// Writes random programs and their inputs without running them.
static int emitCases(const Settings &settings) {
  for (uint64_t n = 0; n < settings.cases; ++n) {
    uint64_t seed = settings.seed + n;
    if (llvm::Error error = emit(makeCase(seed), settings.emitted + "/" +
                                                     std::to_string(seed))) {
      llvm::errs() << "seed " << seed << ": "
                   << llvm::toString(std::move(error)) << "\n";
      return 2;
    }
  }
  return 0;
}

int main(int argc, char **argv) {
  Settings settings;
  CLI::App app("Compares compiled programs with the oracle: random ones, or "
               "those of files");
  app.add_option("files", settings.files, "kept cases to run");
  app.add_option("--seed", settings.seed, "seed of the first random program");
  app.add_option("--cases", settings.cases, "number of random programs");
  app.add_option("--jobs", settings.jobs, "processes side by side")
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", settings.seconds,
                 "the most processor time that one case may take");
  app.add_option("--keep", settings.folder,
                 "folder for failing programs, reduced; printed without it");
  app.add_option("--reduce", settings.mostReduced,
                 "the most failures to reduce");
  app.add_option("--trials", settings.trials,
                 "the most runs to reduce one failure");
  app.add_flag("--allow-refused", settings.allowRefused,
               "what the compiler can't do yet is no failure");
  app.add_flag("--print", settings.printOnly, "print the programs alone");
  app.add_option("--emit", settings.emitted,
                 "folder for programs and their inputs as .npy, instead of "
                 "running them");
  CLI11_PARSE(app, argc, argv);
  if (!settings.files.empty())
    return runFiles(settings);
  if (settings.printOnly) {
    for (uint64_t n = 0; n < settings.cases; ++n)
      llvm::outs() << print(makeCase(settings.seed + n)) << "\n";
    return 0;
  }
  if (!settings.emitted.empty())
    return emitCases(settings);
  Summary summary(settings);
  runAll(settings.seed, settings.cases, settings.jobs, settings.seconds,
         makeCase, [&](uint64_t seed, const Verdict &verdict) {
           summary.add(seed, verdict);
         });
  summary.reduceFailures();
  summary.print();
  return summary.isGood() ? 0 : 1;
}
