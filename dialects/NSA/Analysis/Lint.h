//===- Lint.h - Valid code that is most likely a mistake --------*- C++ -*-===//

#ifndef NSACC_NSA_ANALYSIS_LINT_H
#define NSACC_NSA_ANALYSIS_LINT_H

#include "NSA/IR/NSAOps.h"
#include <deque>
#include <string>

namespace nsacc::nsa {

/// A warning with notes that say how to write what may be meant.
struct Finding {
  struct Note {
    mlir::Location place;
    std::string message;
  };

  Finding &note(const llvm::Twine &message) { return note(place, message); }
  Finding &note(mlir::Location at, const llvm::Twine &message) {
    notes.push_back({at, message.str()});
    return *this;
  }

  mlir::Location place;
  std::string message;
  llvm::SmallVector<Note, 1> notes = {};
  /// Whether it says that a clause is infinite or NaN: a part that makes it so
  /// and has a warning is enough.
  bool isOutcome = false;
};

/// Warnings in the order in which they were found.
using Findings = std::deque<Finding>;

/// Finds code of a kernel that is most likely a mistake. Reads the IR only, so
/// that programs of any origin get the same warnings; changes nothing.
Findings lint(KernelOp kernel);

/// Emits a kernel's findings as warnings.
void emitFindings(KernelOp kernel);

//===----------------------------------------------------------------------===//
// Places that ops keep for warnings, in their locations
//===----------------------------------------------------------------------===//

/// The location of an op whose operands are written at `operands`.
mlir::Location addOperandPlaces(mlir::Location place,
                                llvm::ArrayRef<mlir::Location> operands);

/// The place of an operand, by its index among those with a place; the place of
/// `operand` itself if the op's location tells none.
mlir::Location getOperandPlace(mlir::Operation *op, unsigned index,
                               mlir::Value operand);

/// The location of a clause's result, with the constants in its text that are 0
/// or false: they may switch off a part of it, and may be folded away.
mlir::Location addSwitches(mlir::Location place,
                           llvm::ArrayRef<llvm::StringRef> constants);
bool hasSwitches(mlir::Location place);

} // namespace nsacc::nsa

#endif // NSACC_NSA_ANALYSIS_LINT_H
