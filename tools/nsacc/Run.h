//===- Run.h - Running a kernel ---------------------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_RUN_H
#define NSACC_TOOLS_NSACC_RUN_H

#include "Program.h"

namespace nsacc {

struct RunFlags {
  ProgramOptions program;
  InstrumentOptions instruments;
  std::string target, schedule;
  std::optional<std::string> device;
  std::vector<std::string> dims, inputs, ranges, outputs;
  std::string outputDir, inputDir;
  uint64_t seed = 0;
  unsigned threads = 0; ///< 0: by NSACC_THREADS, or all
  unsigned repeat = 1;
  bool roundStorage = false, check = false, json = false;
};

ExitCode runKernel(const RunFlags &flags,
                   llvm::ArrayRef<std::string> commandLine);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_RUN_H
