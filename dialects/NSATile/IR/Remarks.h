//===- Remarks.h - Remarks of passes ----------------------------*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_REMARKS_H
#define NSACC_NSATILE_IR_REMARKS_H

#include "NSATile/IR/NSATileOps.h"
#include "mlir/IR/Remarks.h"

namespace nsacc::nsatile {

/// Remarks of a pass on one transformation. If nobody listens to them, only the
/// parts of the messages are computed.
struct PassRemarks {
  llvm::StringLiteral pass, name;

  void passed(mlir::Operation *op, const llvm::Twine &message) const {
    if (auto remark = mlir::remark::passed(op->getLoc(), getOptions(op)))
      remark << llvm::StringRef(message.str());
  }
  /// `reason` is a clause: "its elements don't have 16 bits".
  void missed(mlir::Operation *op, const llvm::Twine &reason) const {
    if (auto remark = mlir::remark::missed(op->getLoc(), getOptions(op)))
      remark << llvm::StringRef(reason.str());
  }

private:
  mlir::remark::RemarkOpts getOptions(mlir::Operation *op) const {
    auto program = llvm::dyn_cast<ProgramOp>(op);
    if (!program)
      program = op->getParentOfType<ProgramOp>();
    return mlir::remark::RemarkOpts::name(name).category(pass).function(
        program ? program.getSymName() : llvm::StringRef());
  }
};

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_REMARKS_H
