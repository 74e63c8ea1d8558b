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

#define GET_OP_CLASSES
#include "NSA/IR/NSAOps.h.inc"

namespace nsacc::nsa {

/// What a selection is a union of, to the last part: itself where it is none.
llvm::SmallVector<mlir::Value> getParts(mlir::Value selection);
/// Whether a part of it is handed in as indices.
bool isHandedIn(mlir::Value selection);
/// Whether a selection's rows are counted by offsets of lists, one more than
/// there are lists.
bool hasRowsOfOffsets(mlir::Value selection);

/// What a selection's importance is computed of; none where it is handed in.
llvm::SmallVector<ImportanceOp> findImportances(TopKOp topk);

} // namespace nsacc::nsa

#endif // NSACC_NSA_IR_NSAOPS_H
