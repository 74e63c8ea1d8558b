//===- Problems.h - Errors and warnings of a program ------------*- C++ -*-===//

#ifndef NSACC_LIB_FRONTEND_PROBLEMS_H
#define NSACC_LIB_FRONTEND_PROBLEMS_H

#include "Source.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include <deque>
#include <string>

namespace nsacc::frontend {

/// One error or warning with notes that say how to fix it.
class Problem {
public:
  enum Severity { Error, Warning };

  Problem(Severity severity, Range range, std::string message, size_t order)
      : severity(severity), range(range), message(std::move(message)),
        order(order) {}

  /// A note about the error's own place, or about another one.
  Problem &note(const llvm::Twine &message) { return note(range, message); }
  Problem &note(Range place, const llvm::Twine &message) {
    notes.push_back({place, message.str()});
    return *this;
  }
  /// Suggests the nearest of `known` to `unknown`, if one is near enough.
  Problem &suggest(llvm::StringRef unknown,
                   llvm::ArrayRef<llvm::StringRef> known);

  Severity severity;
  Range range;
  std::string message;
  /// Number of problems that were found before it.
  size_t order;
  struct Note {
    Range range;
    std::string message;
  };
  llvm::SmallVector<Note, 1> notes;
};

/// The errors and warnings of one run, in the order in which they were found.
/// Keeps only the first few of each: more than a screenful doesn't help.
class Problems {
public:
  static constexpr unsigned limit = 20;

  Problem &error(Range range, const llvm::Twine &message);
  /// Adds a warning about valid code that is probably a mistake. The same words
  /// about the same place are kept once, however often they are added. There
  /// are no warnings about code after an error: the code that replaces it isn't
  /// the user's.
  Problem &warning(Range range, const llvm::Twine &message);

  /// Whether code within `range` has a warning of these words.
  bool hasWarning(Range range, llvm::StringRef message) const;

  bool hasErrors() const { return getNumErrors() > 0; }
  size_t getNumErrors() const { return counts[Problem::Error]; }
  /// The error that was found first; null without errors.
  const Problem *getFirstError() const;
  /// No more errors will be kept: checks may stop.
  bool full() const { return dropped[Problem::Error]; }

  /// Reports everything, sorted by place, as diagnostics of `context`.
  void emit(const Source &source, mlir::MLIRContext &context) const;

private:
  Problem &add(Problem::Severity severity, Range range, std::string message);
  /// A problem that takes notes and is dropped.
  Problem &ignore();

  std::deque<Problem> problems;
  Problem ignored{Problem::Warning, {}, "", 0};
  /// For each severity.
  size_t counts[2] = {0, 0};
  bool dropped[2] = {false, false};
};

/// The place as a location of the IR.
mlir::Location getLocation(const Source &source, Range range,
                           mlir::StringAttr file);

/// The place of such a location.
Range getRange(const Source &source, mlir::Location location);

} // namespace nsacc::frontend

#endif // NSACC_LIB_FRONTEND_PROBLEMS_H
