//===- NSAOps.h - Operations of the nsa dialect -----------------*- C++ -*-===//

#ifndef NSACC_NSA_IR_NSAOPS_H
#define NSACC_NSA_IR_NSAOPS_H

#include "NSA/IR/NSADialect.h"
#include "NSA/IR/NSATypes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "NSA/IR/NSAInterfaces.h.inc"

namespace nsacc::nsa {

/// Ops whose regions are scalar code.
template <typename OpTy>
class HasScalarCode : public mlir::OpTrait::TraitBase<OpTy, HasScalarCode> {};

} // namespace nsacc::nsa

#define GET_OP_CLASSES
#include "NSA/IR/NSAOps.h.inc"

namespace nsacc::nsa {

/// The parts of a union, nested ones included; for any other selection, the
/// selection itself.
llvm::SmallVector<mlir::Value> getParts(mlir::Value selection);
/// Whether a part of it is an input of indices.
bool isHandedIn(mlir::Value selection);
/// Whether a selection's rows are counted by offsets of lists: there is one
/// more offset than lists.
bool hasRowsOfOffsets(mlir::Value selection);

/// The ops that compute a selection's importance; none if it is an input.
llvm::SmallVector<ImportanceOp> findImportances(TopKOp topk);

} // namespace nsacc::nsa

#endif // NSACC_NSA_IR_NSAOPS_H
