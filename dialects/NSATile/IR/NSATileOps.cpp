//===- NSATileOps.cpp - Operations of the nsatile dialect -----------------===//

#include "NSATile/IR/NSATileOps.h"
#include "NSATile/IR/FoldSyntax.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace nsacc::nsatile;

template <typename OpTy>
static ParseResult parseFunction(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs,
                      ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      OpTy::getFunctionTypeAttrName(result.name), buildType,
      OpTy::getArgAttrsAttrName(result.name),
      OpTy::getResAttrsAttrName(result.name));
}

template <typename OpTy>
static void printFunction(OpAsmPrinter &printer, OpTy op) {
  function_interface_impl::printFunctionOp(
      printer, op, /*isVariadic=*/false, op.getFunctionTypeAttrName(),
      op.getArgAttrsAttrName(), op.getResAttrsAttrName());
}

ParseResult ProgramOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunction<ProgramOp>(parser, result);
}

void ProgramOp::print(OpAsmPrinter &printer) { printFunction(printer, *this); }

ParseResult PlanOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunction<PlanOp>(parser, result);
}

void PlanOp::print(OpAsmPrinter &printer) { printFunction(printer, *this); }

void RepeatOp::build(OpBuilder &builder, OperationState &state, Value count) {
  state.addOperands(count);
  state.addRegion()->emplaceBlock().addArgument(builder.getIndexType(),
                                                state.location);
}

ParseResult RepeatOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::Argument number;
  OpAsmParser::UnresolvedOperand count;
  number.type = parser.getBuilder().getIndexType();
  return failure(parser.parseArgument(number) || parser.parseKeyword("below") ||
                 parser.parseOperand(count) ||
                 parser.resolveOperand(count, number.type, result.operands) ||
                 parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
                 parser.parseRegion(*result.addRegion(), number));
}

void RepeatOp::print(OpAsmPrinter &printer) {
  printer << " " << getNumber() << " below " << getCount();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void RepeatOp::inlineBody(RewriterBase &rewriter, Value number) {
  rewriter.inlineBlockBefore(&getBody().front(), *this, number);
  rewriter.eraseOp(*this);
}

/// `TYPE`, or `TYPE sums TYPE` if sums have another type than maxima.
static ParseResult parseRowTypes(OpAsmParser &parser, Type &max, Type &sum) {
  if (parser.parseType(max))
    return failure();
  sum = max;
  if (failed(parser.parseOptionalKeyword("sums")))
    return success();
  return parser.parseType(sum);
}

static void printRowTypes(OpAsmPrinter &printer, Operation *, Type max,
                          Type sum) {
  printer << max;
  if (sum != max)
    printer << " sums " << sum;
}

#define GET_OP_CLASSES
#include "NSATile/IR/NSATileOps.cpp.inc"
