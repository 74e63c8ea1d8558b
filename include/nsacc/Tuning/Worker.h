//===- Worker.h - Measures packages in a process of its own -----*- C++ -*-===//
//
// Code that a tuner tries may hang a device or end the process. So a worker
// runs it: a job goes to it as a file of JSON, and what it finds comes back as
// lines of JSON, each written when it is known.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_TUNING_WORKER_H
#define NSACC_TUNING_WORKER_H

#include "nsacc/Driver/TunedSchedules.h"
#include "nsacc/Tensor/Signature.h"
#include <functional>
#include <string>
#include <vector>

namespace nsacc::tuning {

/// What a worker does with packages of one kernel.
struct Job {
  /// Files of packages of one variant.
  std::vector<std::string> packages;
  /// The kernel, as signature texts have it.
  std::string signature;
  DimSizes sizes;
  /// nsacc_rt's number of the device; NSACC_RT_HOST: the processor.
  int device = -2;
  /// Threads of the processor; 0: all.
  unsigned threads = 0;
  TunePolicy policy;
  uint64_t seed = 0;
  /// How often each package is measured, in an order that is random for each
  /// round, and for how long each time.
  unsigned rounds = 1;
  double visitMilliseconds = 5;
  /// A folder of inputs, NAME.npy: instead of being measured, the first package
  /// runs on them once and writes its results there. Empty: none.
  std::string inputFolder;
};

/// What a worker found for one package.
struct Measured {
  std::vector<double> milliseconds;
  /// Why it has no times, or no more; empty where nothing went wrong.
  std::string failure;
};

struct JobResult {
  /// In the order of the packages.
  std::vector<Measured> packages;
  /// Clock of the device's multiprocessors after the last round, in MHz; 0:
  /// unknown.
  int64_t clock = 0;
};

struct WorkerOptions {
  /// Its program and arguments; the paths of the job and of what is found
  /// follow.
  std::vector<std::string> command;
  /// A worker that writes nothing for so long is ended, and the package that it
  /// was at has failed.
  double timeoutSeconds = 60;
  /// Asked now and then; may be empty.
  std::function<bool()> isInterrupted;
};

/// Starts workers until each package is measured or has failed. Fails where
/// none can be started, or where it is interrupted.
llvm::Expected<JobResult> runJob(const Job &job, const WorkerOptions &options);

/// What a worker's process does. Returns its exit status.
int runWorker(llvm::StringRef jobFile, llvm::StringRef resultFile);

/// The least and the greatest of the integers that are drawn for inputs.
using IntegerRanges = std::map<std::string, std::pair<int64_t, int64_t>>;

/// Gives inputs of integers these values. Fails where a name is none of them,
/// and for inputs whose values nobody tells.
llvm::Error setRanges(Signature &signature, const IntegerRanges &ranges);

/// Inputs that are large without taking long to make: numbers repeat after some
/// millions. Of a query's variance, and of the blocks of lists that are handed
/// in, `agreement` is common to 32 neighbouring tokens. Lists of causal
/// attentions name blocks that are seen. Other integers are drawn as
/// makeRandomInput draws them.
llvm::Expected<std::vector<Tensor>>
makeMeasuredInputs(const Signature &signature, const DimSizes &sizes,
                   uint64_t seed, double agreement);

} // namespace nsacc::tuning

#endif // NSACC_TUNING_WORKER_H
