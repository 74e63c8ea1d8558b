//===- FoldSyntax.h - Syntax of loops over tiles ----------------*- C++ -*-===//
//
// The custom directives of NSATileFoldOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_NSATILE_IR_FOLDSYNTAX_H
#define NSACC_NSATILE_IR_FOLDSYNTAX_H

#include "mlir/IR/OpImplementation.h"

namespace nsacc::nsatile {

using Operands = mlir::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand>;
using OptionalOperand = std::optional<mlir::OpAsmParser::UnresolvedOperand>;

/// Number of a range's operands: first, end, fullFirst, fullEnd.
constexpr unsigned kRangeOperands = 4;

/// `at %tile`, `in %list[%i] : type count %n from %a with %members : type`,
/// `parts 8`, `over %first to %end full %a to %b, ...`
mlir::ParseResult
parseFoldDomain(mlir::OpAsmParser &parser, Operands &ranges,
                OptionalOperand &at, OptionalOperand &list,
                mlir::Type &listType, Operands &indices, OptionalOperand &count,
                OptionalOperand &first, OptionalOperand &members,
                mlir::Type &membersType, mlir::IntegerAttr &parts);
void printFoldDomain(mlir::OpAsmPrinter &printer, mlir::Operation *,
                     mlir::OperandRange ranges, mlir::Value at,
                     mlir::Value list, mlir::Type listType,
                     mlir::OperandRange indices, mlir::Value count,
                     mlir::Value first, mlir::Value members,
                     mlir::Type membersType, mlir::IntegerAttr parts);

/// `state(%a, %b : T, U)`; results have the types of the state.
mlir::ParseResult
parseFoldState(mlir::OpAsmParser &parser, Operands &inits,
               mlir::SmallVectorImpl<mlir::Type> &initTypes,
               mlir::SmallVectorImpl<mlir::Type> &resultTypes);
void printFoldState(mlir::OpAsmPrinter &printer, mlir::Operation *,
                    mlir::OperandRange inits, mlir::TypeRange initTypes,
                    mlir::TypeRange);

/// `from(%m, %l, %o) : T, U, V`
mlir::ParseResult
parseSoftmaxState(mlir::OpAsmParser &parser, Operands &inits,
                  mlir::SmallVectorImpl<mlir::Type> &initTypes,
                  mlir::SmallVectorImpl<mlir::Type> &resultTypes);
void printSoftmaxState(mlir::OpAsmPrinter &printer, mlir::Operation *,
                       mlir::OperandRange inits, mlir::TypeRange,
                       mlir::TypeRange resultTypes);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_FOLDSYNTAX_H
