//===- NSAOps.cpp - Operations of the nsa dialect -------------------------===//

#include "NSA/IR/NSAOps.h"
#include "NSA/IR/NSAClauses.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace nsacc::nsa;

//===----------------------------------------------------------------------===//
// Clauses in assembly: `mask (%b, %h, %t, %i, %j) { … }`, absent when empty
//===----------------------------------------------------------------------===//

static ParseResult parseClause(OpAsmParser &parser, Clause clause,
                               Region &region) {
  if (failed(parser.parseOptionalKeyword(getClauseName(clause))))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  SmallVector<Type> types = getClauseArgumentTypes(clause, parser.getContext());
  if (arguments.size() != types.size())
    return parser.emitError(loc)
           << "expected " << types.size() << " arguments of '"
           << getClauseName(clause) << "', found " << arguments.size();
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  return parser.parseRegion(region, arguments);
}

static void printClause(OpAsmPrinter &printer, Clause clause, Region &region) {
  if (region.empty())
    return;
  printer.printNewline();
  printer << "    " << getClauseName(clause) << " (";
  llvm::interleaveComma(region.getArguments(), printer, [&](Value argument) {
    printer.printOperand(argument);
  });
  printer << ") ";
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
}

static ParseResult parseMaskClause(OpAsmParser &parser, Region &mask) {
  return parseClause(parser, Clause::Mask, mask);
}

static void printMaskClause(OpAsmPrinter &printer, Operation *, Region &mask) {
  printClause(printer, Clause::Mask, mask);
}

static ParseResult parseScoreClauses(OpAsmParser &parser, Region &scale,
                                     Region &mask, Region &score,
                                     Region &weight) {
  return failure(parseClause(parser, Clause::Scale, scale) ||
                 parseClause(parser, Clause::Mask, mask) ||
                 parseClause(parser, Clause::Score, score) ||
                 parseClause(parser, Clause::Weight, weight));
}

static void printScoreClauses(OpAsmPrinter &printer, Operation *, Region &scale,
                              Region &mask, Region &score, Region &weight) {
  printClause(printer, Clause::Scale, scale);
  printClause(printer, Clause::Mask, mask);
  printClause(printer, Clause::Score, score);
  printClause(printer, Clause::Weight, weight);
}

static ParseResult parseClauses(OpAsmParser &parser, Region &scale,
                                Region &mask, Region &score, Region &weight,
                                Region &normalize, Region &sink) {
  return failure(parseScoreClauses(parser, scale, mask, score, weight) ||
                 parseClause(parser, Clause::Normalize, normalize) ||
                 parseClause(parser, Clause::Sink, sink));
}

static void printClauses(OpAsmPrinter &printer, Operation *op, Region &scale,
                         Region &mask, Region &score, Region &weight,
                         Region &normalize, Region &sink) {
  printScoreClauses(printer, op, scale, mask, score, weight);
  printClause(printer, Clause::Normalize, normalize);
  printClause(printer, Clause::Sink, sink);
}

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs,
                      ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

std::string KernelOp::getArgumentName(unsigned index) {
  if (auto name =
          getArgAttrOfType<StringAttr>(index, NSADialect::getNameAttrName()))
    return name.str();
  return "arg" + std::to_string(index);
}

std::string KernelOp::getResultName(unsigned index) {
  if (auto name =
          getResultAttrOfType<StringAttr>(index, NSADialect::getNameAttrName()))
    return name.str();
  return "out" + (getNumResults() == 1 ? "" : std::to_string(index));
}

//===----------------------------------------------------------------------===//
// TableReadOp
//===----------------------------------------------------------------------===//

LogicalResult TableReadOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &inferred) {
  NamedTensorType table =
      operands.empty() ? NamedTensorType()
                       : dyn_cast<NamedTensorType>(operands[0].getType());
  if (!table)
    return emitOptionalError(location, "expected a table of type !nsa.tensor");
  inferred.push_back(table.getScalarType());
  return success();
}

#include "NSA/IR/NSAInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "NSA/IR/NSAOps.cpp.inc"
