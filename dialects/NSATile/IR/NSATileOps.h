//===- NSATileOps.h - Operations of the nsatile dialect ---------*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_NSATILEOPS_H
#define NSACC_NSATILE_IR_NSATILEOPS_H

#include "NSATile/IR/NSATileDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "NSATile/IR/NSATileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "NSATile/IR/NSATileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "NSATile/IR/NSATileTypes.h.inc"

#define GET_OP_CLASSES
#include "NSATile/IR/NSATileOps.h.inc"

#endif // NSACC_NSATILE_IR_NSATILEOPS_H
