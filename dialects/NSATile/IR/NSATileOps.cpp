//===- NSATileOps.cpp - Operations of the nsatile dialect -----------------===//

#include "NSATile/IR/NSATileOps.h"
#include "NSATile/IR/FoldSyntax.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nsacc::nsatile;

/// Whether a name is one that the printer makes: "arg0", "0".
static bool isNumbered(StringRef name) {
  name.consume_front("arg");
  return llvm::all_of(name, llvm::isDigit);
}

static void nameArguments(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    if (auto place = dyn_cast<NameLoc>(argument.getLoc()))
      setName(argument, place.getName());
}

void ProgramOp::getAsmBlockArgumentNames(Region &region,
                                         OpAsmSetValueNameFn setName) {
  nameArguments(region, setName);
}

void PlanOp::getAsmBlockArgumentNames(Region &region,
                                      OpAsmSetValueNameFn setName) {
  nameArguments(region, setName);
}

template <typename OpTy>
static ParseResult parseFunction(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> types, resultTypes;
  SmallVector<DictionaryAttr> resultAttrs;
  bool isVariadic;
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(),
                             result.attributes) ||
      function_interface_impl::parseFunctionSignatureWithArguments(
          parser, /*allowVariadic=*/false, arguments, isVariadic, resultTypes,
          resultAttrs) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  for (OpAsmParser::Argument &argument : arguments) {
    types.push_back(argument.type);
    StringRef spelled = argument.ssaName.name.drop_front();
    if (isNumbered(spelled))
      continue;
    Location place = argument.sourceLoc.value_or(
        parser.getEncodedSourceLoc(argument.ssaName.location));
    argument.sourceLoc = NameLoc::get(builder.getStringAttr(spelled), place);
  }
  result.addAttribute(
      OpTy::getFunctionTypeAttrName(result.name),
      TypeAttr::get(builder.getFunctionType(types, resultTypes)));
  call_interface_impl::addArgAndResultAttrs(
      builder, result, arguments, resultAttrs,
      OpTy::getArgAttrsAttrName(result.name),
      OpTy::getResAttrsAttrName(result.name));
  return parser.parseRegion(*result.addRegion(), arguments);
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

void AtOp::build(OpBuilder &builder, OperationState &state, Value buffer,
                 const TilePlace &place) {
  auto type =
      PlaceType::get(builder.getContext(), place.shape,
                     cast<MemRefType>(buffer.getType()).getElementType());
  build(builder, state, type, buffer, place.offsets, place.limits, place.dims,
        place.steps, place.list, place.entry, place.divisor);
}

Value AtOp::getViewSource() { return getBuffer(); }

Value nsacc::nsatile::loadTile(OpBuilder &builder, Location loc, Value buffer,
                               const TilePlace &place) {
  auto at = AtOp::create(builder, loc, buffer, place);
  auto type = RankedTensorType::get(at.getShape(), at.getElementType());
  return LoadOp::create(builder, loc, type, at);
}

void nsacc::nsatile::storeTile(OpBuilder &builder, Location loc, Value tile,
                               Value buffer, TilePlace place) {
  place.shape =
      llvm::to_vector(cast<RankedTensorType>(tile.getType()).getShape());
  StoreOp::create(builder, loc, tile,
                  AtOp::create(builder, loc, buffer, place));
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
