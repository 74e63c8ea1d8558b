//===- Report.h - What `nsacc run` prints -----------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_REPORT_H
#define NSACC_TOOLS_NSACC_REPORT_H

#include "Check.h"
#include "Inputs.h"
#include "nsacc/Pipelines/Targets.h"

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace nsacc {

struct RunReport {
  std::string file;
  Signature signature;
  Target target = Target::Oracle;
  unsigned threads = 1;
  Inputs inputs;
  std::vector<Tensor> results;
  std::vector<std::string> resultFiles; ///< empty where not written
  double seconds = 0;
  std::vector<CheckResult> checks;

  bool hasFailed() const;
};

void printText(const RunReport &report, llvm::raw_ostream &os);
void printJSON(const RunReport &report, llvm::raw_ostream &os);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_REPORT_H
