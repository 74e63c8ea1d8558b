//===- CarriedValues.h - Tiles that loops and branches carry ----*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_CARRIEDVALUES_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_CARRIEDVALUES_H

#include "CodeBuilder.h"
#include "ProgramValues.h"

namespace nsacc {

/// Turns the program's values into values that `scf` carries, and back:
/// scalars, and registers of tiles without their padding. Left operands of
/// products are carried two in a register, the form that products read.
class CarriedValues {
public:
  CarriedValues(CodeBuilder &b, ProgramValues &program)
      : b(b), program(program) {}

  llvm::SmallVector<mlir::Type> getTypes(mlir::TypeRange types) const;
  llvm::SmallVector<mlir::Value> take(mlir::ValueRange values) const;
  /// Sets `values` from the values that were carried for them.
  void give(mlir::ValueRange values, mlir::ValueRange carried) const;

private:
  CodeBuilder &b;
  ProgramValues &program;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_CARRIEDVALUES_H
