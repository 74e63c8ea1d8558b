//===- Remarks.h - What passes did, and why they didn't ---------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_REMARKS_H
#define NSACC_TOOLS_NSACC_REMARKS_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

namespace nsacc {

/// Collects remarks of passes, each once: a kernel that is compiled again with
/// smaller tiles says most of them twice.
class Remarks {
public:
  /// Listens to the context, which must not outlive this. Contexts may run in
  /// threads of their own.
  void listen(mlir::MLIRContext &context);
  /// "FILE:LINE:COLUMN: remark: PROGRAM: NAME missed: REASON [PASS]", a line
  /// each, in the order of passes.
  void print(llvm::raw_ostream &os) const;

private:
  void add(std::string line);

  std::mutex mutex;
  llvm::StringSet<> known;
  std::vector<std::string> lines;
};

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_REMARKS_H
