//===- Problems.h - What is wrong with a program ----------------*- C++ -*-===//

#ifndef NSACC_LIB_FRONTEND_PROBLEMS_H
#define NSACC_LIB_FRONTEND_PROBLEMS_H

#include "Source.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include <deque>
#include <string>

namespace nsacc::frontend {

/// One error with the notes that say how to mend it.
class Problem {
public:
  Problem(Range range, std::string message, size_t order)
      : range(range), message(std::move(message)), order(order) {}

  /// A note about the error's own place, or about another one.
  Problem &note(const llvm::Twine &message) { return note(range, message); }
  Problem &note(Range place, const llvm::Twine &message) {
    notes.push_back({place, message.str()});
    return *this;
  }
  /// Suggests the nearest of `known` to `unknown`, if one is near enough.
  Problem &suggest(llvm::StringRef unknown,
                   llvm::ArrayRef<llvm::StringRef> known);

  Range range;
  std::string message;
  /// How many were found before it.
  size_t order;
  struct Note {
    Range range;
    std::string message;
  };
  llvm::SmallVector<Note, 1> notes;
};

/// The errors of one run, in the order in which they were found. Keeps the
/// first few only: more than a screenful helps nobody.
class Problems {
public:
  static constexpr unsigned limit = 20;

  Problem &error(Range range, const llvm::Twine &message);

  bool empty() const { return problems.empty(); }
  /// Nothing more will be kept: time to stop looking.
  bool full() const { return dropped; }
  size_t size() const { return problems.size(); }
  const std::deque<Problem> &get() const { return problems; }

  /// Reports everything, sorted by place, as diagnostics of `context`.
  void emit(const Source &source, mlir::MLIRContext &context) const;

private:
  std::deque<Problem> problems;
  Problem overflow{{}, "", limit};
  bool dropped = false;
};

/// The place as a location of the IR.
mlir::Location getLocation(const Source &source, Range range,
                           mlir::StringAttr file);

} // namespace nsacc::frontend

#endif // NSACC_LIB_FRONTEND_PROBLEMS_H
