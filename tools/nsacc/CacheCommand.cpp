//===- CacheCommand.cpp - nsacc cache -------------------------------------===//

#include "Commands.h"
#include "Messages.h"
#include "TunedStore.h"
#include "nsacc/Schedule/Queries.h"
#include "nsacc/Support/DiskCache.h"
#include "nsacc/Support/Environment.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace nsacc;

namespace {
struct Cache {
  CacheOptions options;
  std::vector<CacheEntry> entries;
  /// In a subfolder of the cache's folder.
  TunedStore tuned;

  uint64_t getBytes() const {
    uint64_t bytes = 0;
    for (const CacheEntry &entry : entries)
      bytes += entry.bytes;
    return bytes;
  }
};
} // namespace

static llvm::Expected<Cache> readCache() {
  auto options = lookupCache();
  if (!options)
    return options.takeError();
  if (options->folder.empty())
    return makeError("this user has no folder for a cache",
                     "set NSACC_CACHE_DIR");
  auto entries = listCache(options->folder);
  if (!entries)
    return entries.takeError();
  auto tuned = readTunedStore();
  if (!tuned)
    return tuned.takeError();
  return Cache{std::move(*options), std::move(*entries), std::move(*tuned)};
}

/// Calls `use` with each line of a key, "kernel: flash".
static void
forEachLine(llvm::StringRef key,
            llvm::function_ref<void(llvm::StringRef, llvm::StringRef)> use) {
  while (!key.empty()) {
    llvm::StringRef line;
    std::tie(line, key) = key.split('\n');
    auto [name, value] = line.split(": ");
    use(name, value);
  }
}

/// "3 files, 512.3 KB"
static std::string describeFiles(const Cache &cache) {
  return llvm::formatv("{0} file{1}, {2:f1} KB", cache.entries.size(),
                       cache.entries.size() == 1 ? "" : "s",
                       static_cast<double>(cache.getBytes()) / 1000);
}

//===-- ls ----------------------------------------------------------------===//

static std::string describeQueries(llvm::StringRef name) {
  for (const QueriesInfo &info : kQueries)
    if (info.name == name)
      return describeQueries(info.queries);
  return name.str();
}

/// "sm_90a, HQ=8,H=8, schedule keys=64: flash(q: bf16[B, T, HQ, D], …)"
static std::string describe(const CacheEntry &entry) {
  if (!entry.problem.empty())
    return entry.problem + ": " + entry.path;
  std::string kernel, sizes, target, schedule;
  forEachLine(entry.key, [&](llvm::StringRef name, llvm::StringRef value) {
    if (name == "kernel")
      kernel = ": " + value.str();
    else if (name == "target")
      target = value.str();
    else if (name == "sizes" && !value.empty())
      sizes = ", " + value.str();
    else if (name == "queries" && !value.empty())
      sizes += ", " + describeQueries(value);
    else if (name == "schedule" && !value.empty())
      schedule = ", schedule " + value.str();
  });
  return target + sizes + schedule + kernel;
}

static void printList(const Cache &cache) {
  llvm::outs() << cache.options.folder << ": " << describeFiles(cache) << '\n';
  for (const CacheEntry &entry : cache.entries)
    llvm::outs() << llvm::formatv(
        "{0:%Y-%m-%d %H:%M} {1,10:f1} KB  {2}\n", entry.lastUse,
        static_cast<double>(entry.bytes) / 1000, describe(entry));
  if (!cache.tuned.entries.empty())
    llvm::outs() << cache.tuned.describe()
                 << ": nsacc tune ls lists them, nsacc tune clear removes "
                    "them\n";
}

static void printEntry(llvm::json::OStream &json, const CacheEntry &entry) {
  json.object([&] {
    json.attribute("path", toUTF8(entry.path));
    json.attribute("bytes", static_cast<int64_t>(entry.bytes));
    json.attribute("last_use",
                   llvm::formatv("{0:%Y-%m-%dT%H:%M:%S}", entry.lastUse).str());
    if (!entry.problem.empty()) {
      json.attribute("problem", toUTF8(entry.problem));
      return;
    }
    json.attributeObject("key", [&] {
      forEachLine(entry.key, [&](llvm::StringRef name, llvm::StringRef value) {
        json.attribute(toUTF8(name), toUTF8(value));
      });
    });
  });
}

static void printListAsJSON(const Cache &cache) {
  llvm::json::OStream json(llvm::outs(), /*IndentSize=*/2);
  json.object([&] {
    json.attribute("folder", toUTF8(cache.options.folder));
    json.attribute("bytes", static_cast<int64_t>(cache.getBytes()));
    json.attributeArray("files", [&] {
      for (const CacheEntry &entry : cache.entries)
        printEntry(json, entry);
    });
    json.attributeObject("tuned", [&] {
      json.attribute("folder", toUTF8(cache.tuned.options.folder));
      json.attribute("schedules",
                     static_cast<int64_t>(cache.tuned.entries.size()));
    });
  });
  llvm::outs() << '\n';
}

static ExitCode list(bool isJSON) {
  auto cache = readCache();
  if (!cache)
    return reportError(cache.takeError());
  (isJSON ? printListAsJSON : printList)(*cache);
  return ExitCode::Success;
}

//===-- clear and verify --------------------------------------------------===//

static ExitCode clear() {
  auto cache = readCache();
  if (!cache)
    return reportError(cache.takeError());
  if (llvm::Error error = checkMayWrite(cache->options, "nothing is removed"))
    return reportError(std::move(error));
  if (llvm::Error error = clearCache(cache->options.folder))
    return reportError(std::move(error));
  llvm::outs() << "removed " << describeFiles(*cache) << " of "
               << cache->options.folder << '\n';
  if (!cache->tuned.entries.empty())
    llvm::outs() << cache->tuned.describe()
                 << (cache->tuned.entries.size() == 1
                         ? " stays: nsacc tune clear removes it\n"
                         : " stay: nsacc tune clear removes them\n");
  return ExitCode::Success;
}

static ExitCode verify() {
  auto cache = readCache();
  if (!cache)
    return reportError(cache.takeError());
  size_t bad = 0;
  for (const CacheEntry &entry : cache->entries)
    if (!entry.problem.empty()) {
      ++bad;
      llvm::outs() << entry.path << ": " << entry.problem << '\n';
    }
  llvm::outs() << cache->options.folder << ": " << describeFiles(*cache) << ", "
               << bad << " that can't be used\n";
  return bad ? ExitCode::UserError : ExitCode::Success;
}

void nsacc::addCacheCommand(CLI::App &app, Invocation &invocation) {
  CLI::App *command =
      app.add_subcommand("cache", "manage the cache of compiled code");
  command->require_subcommand(1);
  CLI::App *ls = command->add_subcommand(
      "ls", "list the files and their purpose, the last used ones first");
  auto json = std::make_shared<bool>(false);
  ls->add_flag("--json", *json, "print JSON");
  ls->callback([json, &invocation] { invocation.status = list(*json); });
  command->add_subcommand("clear", "remove all files")->callback([&invocation] {
    invocation.status = clear();
  });
  command
      ->add_subcommand("verify", "read all files; exit status 1 if one of "
                                 "them is damaged")
      ->callback([&invocation] { invocation.status = verify(); });
}
