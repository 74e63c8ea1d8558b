//===- Remarks.h - What passes did, and why they didn't ---------*- C++ -*-===//

#ifndef NSACC_EXPLAIN_REMARKS_H
#define NSACC_EXPLAIN_REMARKS_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>
#include <string>
#include <vector>

namespace nsacc::explain {

/// A place in a source; line 0: none.
struct Place {
  std::string file;
  unsigned line = 0, column = 0;

  bool operator==(const Place &other) const = default;
};

/// What one pass says of a program or a kernel.
struct Remark {
  /// The program's symbol, or the kernel's.
  std::string program;
  /// "WarpSpecialized", and "passed", "missed" or "analysis".
  std::string name, kind;
  std::string text, pass;
  Place place;

  /// "FILE:LINE:COLUMN: remark: PROGRAM: NAME missed: REASON [PASS]"
  std::string toString() const;
};

/// Collects remarks of passes, each once: a kernel that is compiled again with
/// smaller tiles says most of them twice.
class Remarks {
public:
  /// Listens to the context, which must not outlive this. Contexts may run in
  /// threads of their own.
  void listen(mlir::MLIRContext &context);
  /// In the order of passes. To be called when no context runs.
  const std::vector<Remark> &getList() const { return list; }
  /// A line each.
  void print(llvm::raw_ostream &os) const;

private:
  void add(Remark remark);

  std::mutex mutex;
  llvm::StringSet<> known;
  std::vector<Remark> list;
};

} // namespace nsacc::explain

#endif // NSACC_EXPLAIN_REMARKS_H
