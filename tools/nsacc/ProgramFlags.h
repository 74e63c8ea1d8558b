//===- ProgramFlags.h - Flags that name a program ---------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_PROGRAMFLAGS_H
#define NSACC_TOOLS_NSACC_PROGRAMFLAGS_H

#include "Program.h"
#include "nsacc/Tuning/Tuner.h"

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace nsacc {

struct TargetInfo;

/// FILE, --kernel, --set, --dtype and --warnings-as-errors.
void addProgramFlags(CLI::App &command, ProgramOptions &options);

/// The target of --target. If there is none of this name, fails with a
/// suggestion.
llvm::Expected<const TargetInfo *> findKnownTarget(llvm::StringRef name);

/// --device.
CLI::Option *addDeviceFlag(CLI::App &command,
                           std::optional<std::string> &device,
                           const std::string &group);

/// --schedule.
void addScheduleFlag(CLI::App &command, std::string &schedule);

/// --threads, 0 if it isn't given.
void addThreadsFlag(CLI::App &command, unsigned &threads,
                    const std::string &description, const std::string &group);
/// The number of threads that was asked for, else NSACC_THREADS, else 0. Fails
/// if that isn't a number of threads.
llvm::Expected<unsigned> chooseThreads(unsigned asked);

/// The process that `nsacc tune` measures in.
tuning::WorkerOptions getWorker();
/// Sets the source of schedules by NSACC_TUNE.
llvm::Error chooseTuning(mlir::ModuleOp module, CompileOptions &options);

/// A flag that takes one value and may be given several times.
CLI::Option *addRepeatedFlag(CLI::App &command, const std::string &name,
                             std::vector<std::string> &values,
                             const std::string &description);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_PROGRAMFLAGS_H
