//===- TunedStore.cpp - nsacc tune ls and clear ---------------------------===//

#include "TunedStore.h"
#include "Messages.h"
#include "nsacc/Driver/CompiledProgram.h"
#include "nsacc/Driver/TunedSchedules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace nsacc;

std::string TunedStore::describe() const {
  return llvm::formatv("{0} tuned schedule{1} in {2}", entries.size(),
                       entries.size() == 1 ? "" : "s", options.folder);
}

std::string nsacc::explainReadOnly(const CacheOptions &options) {
  const char *mode = options.mode == CacheMode::ReadOnly  ? "readonly"
                     : options.mode == CacheMode::Require ? "require"
                                                          : nullptr;
  if (!mode)
    return "";
  return "NSACC_CACHE=" + std::string(mode) + " forbids to write into '" +
         options.folder + "'";
}

llvm::Error nsacc::checkMayWrite(const CacheOptions &options,
                                 llvm::StringRef what) {
  std::string why = explainReadOnly(options);
  if (why.empty())
    return llvm::Error::success();
  return makeError(what + ": " + why,
                   "NSACC_CACHE=readwrite, the default, allows it");
}

llvm::Expected<TunedStore> nsacc::readTunedStore() {
  auto options = lookupTuning();
  if (!options)
    return options.takeError();
  TunedStore store{std::move(options->store), {}};
  if (store.options.folder.empty())
    return makeError("this user has no folder for tuned schedules",
                     "set NSACC_CACHE_DIR");
  auto entries = listCache(store.options.folder);
  if (!entries)
    return entries.takeError();
  for (CacheEntry &entry : *entries)
    if (!llvm::StringRef(entry.key).starts_with("seeds: "))
      store.entries.push_back(std::move(entry));
  return store;
}

//===-- ls ----------------------------------------------------------------===//

/// "0.1167 ms, 1.05 times as fast as the compiler's choice: 'a: keys=80'"
static std::string describeTuned(const TunedSchedule &tuned) {
  std::string text = llvm::formatv("{0:f4} ms, ", tuned.milliseconds);
  if (tuned.schedule.empty())
    return text + "the compiler's choice, " + describeOthers(tuned);
  return text + llvm::formatv("{0:f2} times as fast as the compiler's choice: "
                              "'{1}'",
                              tuned.chosenMilliseconds / tuned.milliseconds,
                              tuned.schedule)
                    .str();
}

static void printLines(const CacheEntry &entry, llvm::StringRef date,
                       llvm::StringRef sizes, llvm::StringRef policy,
                       llvm::StringRef found) {
  llvm::StringRef given = getLine(entry.key, "schedule");
  llvm::outs() << date << "  " << getLine(entry.key, "target") << ", " << sizes
               << ", " << policy
               << (given.empty() ? "" : (", with '" + given + "' given").str())
               << ": " << getLine(entry.key, "kernel") << "\n  " << found
               << '\n';
}

/// Prints an entry, or why it can't be read.
static void printEntry(const CacheEntry &entry,
                       const TunedSchedules &schedules) {
  if (!entry.problem.empty())
    llvm::outs() << entry.problem << ": " << entry.path << '\n';
  else if (isRuleKey(entry.key)) {
    if (auto rule = schedules.findRule(entry.key))
      printLines(entry, rule->date,
                 "a rule of " + std::to_string(rule->shapes.size()) + " shapes",
                 rule->policy, rule->describe());
  } else if (auto tuned = schedules.find(entry.key)) {
    printLines(entry, tuned->date, tuned->sizes, tuned->policy,
               describeTuned(*tuned));
  }
}

static ExitCode listTuned() {
  auto store = readTunedStore();
  if (!store)
    return reportError(store.takeError());
  // Listing doesn't count as use, and writes nothing.
  store->options.mode = CacheMode::ReadOnly;
  TunedSchedules schedules(store->options, printWarning);
  llvm::outs() << store->describe() << '\n';
  for (const CacheEntry &entry : store->entries)
    printEntry(entry, schedules);
  return ExitCode::Success;
}

//===-- clear -------------------------------------------------------------===//

static ExitCode clearTuned() {
  auto store = readTunedStore();
  if (!store)
    return reportError(store.takeError());
  if (llvm::Error error = checkMayWrite(store->options, "nothing is removed"))
    return reportError(std::move(error));
  if (llvm::Error error = clearCache(store->options.folder))
    return reportError(std::move(error));
  llvm::outs() << "removed " << store->describe() << '\n';
  return ExitCode::Success;
}

void nsacc::addTunedStoreCommands(CLI::App &tune, Invocation &invocation) {
  tune.add_subcommand("ls", "list tuned schedules, those used last first")
      ->callback([&invocation] { invocation.status = listTuned(); });
  tune.add_subcommand("clear", "remove all tuned schedules")
      ->callback([&invocation] { invocation.status = clearTuned(); });
}
