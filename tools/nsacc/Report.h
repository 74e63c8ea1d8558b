//===- Report.h - Output of `nsacc run` -------------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_REPORT_H
#define NSACC_TOOLS_NSACC_REPORT_H

#include "Check.h"
#include "Inputs.h"

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace nsacc {

struct RunReport {
  std::string file;
  Signature signature;
  std::string target;   ///< its name
  std::string schedule; ///< empty: the compiler's choice
  unsigned threads = 1;
  Inputs inputs;
  std::vector<Tensor> results;
  std::vector<std::string> resultFiles; ///< empty if not written
  double compileSeconds = 0;
  bool isFromCache = false;
  std::vector<double> seconds; ///< of each run
  int64_t workspaceBytes = 0;
  /// Operations of q·k and p·v over visible pairs, if they were counted.
  std::optional<int64_t> usefulOperations;
  std::vector<CheckResult> checks;

  bool hasFailed() const;
  double getBestSeconds() const;
  std::optional<double> getGFlops() const;
};

void printText(const RunReport &report, llvm::raw_ostream &os);
void printJSON(const RunReport &report, llvm::raw_ostream &os);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_REPORT_H
