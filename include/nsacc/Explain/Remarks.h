//===- Remarks.h - Remarks of passes ----------------------------*- C++ -*-===//

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

/// A remark of one pass about a program or a kernel.
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
/// smaller tiles repeats most of them.
class Remarks {
public:
  /// Listens to the context, which must not outlive this object. Contexts may
  /// run in other threads.
  void listen(mlir::MLIRContext &context);
  /// In the order of passes. Must not be called while a context runs.
  const std::vector<Remark> &getList() const { return list; }
  /// Prints each remark on a line.
  void print(llvm::raw_ostream &os) const;

private:
  void add(Remark remark);

  std::mutex mutex;
  llvm::StringSet<> known;
  std::vector<Remark> list;
};

} // namespace nsacc::explain

#endif // NSACC_EXPLAIN_REMARKS_H
