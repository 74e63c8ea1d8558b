//===- ProgramFlags.cpp - Flags that name a program -----------------------===//

#include "ProgramFlags.h"
#include "nsacc/Pipelines/Targets.h"
#include "nsacc/Schedule/Settings.h"
#include "nsacc/Support/Environment.h"
#include "nsacc/Support/Suggestions.h"
#include "llvm/Support/FileSystem.h"
#include <CLI/CLI.hpp>

using namespace nsacc;

CLI::Option *nsacc::addRepeatedFlag(CLI::App &command, const std::string &name,
                                    std::vector<std::string> &values,
                                    const std::string &description) {
  return command.add_option(name, values, description)
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

llvm::Expected<const TargetInfo *>
nsacc::findKnownTarget(llvm::StringRef name) {
  if (const TargetInfo *target = findTarget(name))
    return target;
  std::vector<std::string> names;
  for (const TargetInfo &info : getTargets())
    names.push_back(info.name);
  return makeError(explainMissingTarget(name),
                   "use --target " +
                       suggestTarget(name).value_or(names.front()) +
                       "; this nsacc has " + quoteList(names));
}

CLI::Option *nsacc::addDeviceFlag(CLI::App &command,
                                  std::optional<std::string> &device,
                                  const std::string &group) {
  return command
      .add_option("--device", device,
                  "with --target cuda: compile for the GPU that a JSON file "
                  "describes, as nsacc device writes them")
      ->type_name("FILE.json")
      ->group(group);
}

void nsacc::addThreadsFlag(CLI::App &command, unsigned &threads,
                           const std::string &description,
                           const std::string &group) {
  command.add_option("--threads", threads, description)
      ->type_name("N")
      ->check(CLI::Range(1u, 1024u))
      ->group(group);
}

llvm::Expected<unsigned> nsacc::chooseThreads(unsigned asked) {
  if (asked > 0)
    return asked;
  return lookupThreads();
}

void nsacc::addScheduleFlag(CLI::App &command, std::string &schedule) {
  command
      .add_option("--schedule", schedule,
                  "schedules of ops: keys=32 for all, 'slc: order=union, "
                  "tokens=8; cmp: keys=128' for ops of these names; the "
                  "compiler chooses the other fields")
      ->type_name("[NAME:]FIELD=VALUE,...;...")
      ->check([](const std::string &given) {
        auto settings = schedule::Settings::parse(given);
        return settings ? std::string() : llvm::toString(settings.takeError());
      })
      ->group("Compiler");
}

void nsacc::addProgramFlags(CLI::App &command, ProgramOptions &options) {
  command
      .add_option("FILE", options.file,
                  "program (.nsa), or IR of the nsa dialect (.mlir); '-': "
                  "program on standard input")
      ->required();
  command
      .add_option("--kernel", options.kernel,
                  "name of the kernel; needed if the program has several")
      ->type_name("NAME")
      ->group("Program");
  addRepeatedFlag(command, "--set", options.settings,
                  "values of compile-time parameters")
      ->type_name("NAME=VALUE,...")
      ->group("Program");
  command
      .add_option("--dtype", options.dtype,
                  "type of tensors that name none (bf16)")
      ->type_name("bf16|f16|f32")
      ->check([](const std::string &given) {
        bool isKnown = given == findStorageType(given);
        return isKnown && !given.empty()
                   ? std::string()
                   : "unknown type '" + given +
                         "': " + explainStorageType(given);
      })
      ->group("Program");
  command
      .add_flag("--warnings-as-errors", options.warningsAsErrors,
                "treat warnings about likely mistakes as errors")
      ->group("Program");
}

tuning::WorkerOptions nsacc::getWorker() {
  tuning::WorkerOptions worker;
  worker.command = {llvm::sys::fs::getMainExecutable(nullptr, nullptr),
                    "tune-worker"};
  return worker;
}

llvm::Error nsacc::chooseTuning(mlir::ModuleOp module,
                                CompileOptions &options) {
  if (llvm::Error error = lookupTuning().moveInto(options.tuning))
    return error;
  return tuning::addTuner(module, options, getWorker());
}
