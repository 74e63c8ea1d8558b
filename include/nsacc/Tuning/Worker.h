//===- Worker.h - Measures packages in another process ----------*- C++ -*-===//
//
// Runs code for a tuner in a worker's process, because that code may hang a
// device or end the process. A job goes to the worker as a file of JSON. Its
// results come back as lines of JSON, each written as soon as it is known.
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

/// Work of a worker on packages of one kernel.
struct Job {
  /// Paths of packages of one variant.
  std::vector<std::string> packages;
  /// Signature of the kernel, in the format of signature texts.
  std::string signature;
  DimSizes sizes;
  /// Number of the device in nsacc_rt; NSACC_RT_HOST: the processor.
  int device = -2;
  /// Number of the processor's threads; 0: all.
  unsigned threads = 0;
  TunePolicy policy;
  uint64_t seed = 0;
  /// Number of times that each package is measured, in an order that is random
  /// for each round, and the duration of each.
  unsigned rounds = 1;
  double visitMilliseconds = 5;
  /// Folder of inputs, NAME.npy. If it is given, the first package isn't
  /// measured: it runs on them once and writes its results there. Empty: none.
  std::string inputFolder;
};

/// Measurements of one package.
struct Measured {
  std::vector<double> milliseconds;
  /// Reason why it has no times, or no more of them; empty if nothing went
  /// wrong.
  std::string failure;
};

struct JobResult {
  /// Results in the order of the packages.
  std::vector<Measured> packages;
  /// Clock of the device's multiprocessors after the last round, in MHz; 0:
  /// unknown.
  int64_t clock = 0;
};

struct WorkerOptions {
  /// Its program and arguments; the paths of the job's file and of the results
  /// follow.
  std::vector<std::string> command;
  /// A worker that writes nothing for this time is ended, and its current
  /// package has failed.
  double timeoutSeconds = 60;
  /// Called now and then; may be empty.
  std::function<bool()> isInterrupted;
};

/// Starts workers until each package is measured or has failed. Fails if no
/// worker can be started, or if it is interrupted.
llvm::Expected<JobResult> runJob(const Job &job, const WorkerOptions &options);

/// Entry point of a worker's process. Returns its exit status.
int runWorker(llvm::StringRef jobFile, llvm::StringRef resultFile);

/// The least and the greatest integer that may be drawn for inputs, by name.
using IntegerRanges = std::map<std::string, std::pair<int64_t, int64_t>>;

/// Sets the ranges of inputs of integers. Fails if a name isn't such an input,
/// and for inputs without known values.
llvm::Error setRanges(Signature &signature, const IntegerRanges &ranges);

/// Makes large inputs quickly: numbers repeat after some millions. 32
/// neighbouring tokens share the fraction `agreement` of a query's variance,
/// and of the blocks of lists that are inputs. Lists of causal attentions name
/// blocks that are seen. Other integers are drawn like makeRandomInput's.
llvm::Expected<std::vector<Tensor>>
makeMeasuredInputs(const Signature &signature, const DimSizes &sizes,
                   uint64_t seed, double agreement);

} // namespace nsacc::tuning

#endif // NSACC_TUNING_WORKER_H
