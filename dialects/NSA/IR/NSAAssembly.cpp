//===- NSAAssembly.cpp - Assembly format of nsa ops -----------------------===//

#include "NSA/IR/NSAAssembly.h"
#include "NSA/IR/NSAClauses.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace nsacc::nsa;

//===----------------------------------------------------------------------===//
// Clauses
//===----------------------------------------------------------------------===//

static ParseResult parseClause(OpAsmParser &parser, Clause clause,
                               Region &region) {
  if (failed(parser.parseOptionalKeyword(getClauseName(clause))))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Type> types = getClauseArgumentTypes(clause, parser.getContext());
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(
          arguments, types.empty() ? OpAsmParser::Delimiter::OptionalParen
                                   : OpAsmParser::Delimiter::Paren))
    return failure();
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
  // Two steps, so that a clause doesn't look like an operation of the kernel.
  printer.increaseIndent();
  printer.increaseIndent();
  printer.printNewline();
  printer << getClauseName(clause) << " ";
  if (region.getNumArguments() != 0) {
    printer << "(";
    llvm::interleaveComma(region.getArguments(), printer, [&](Value argument) {
      printer.printOperand(argument);
    });
    printer << ") ";
  }
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
  printer.decreaseIndent();
  printer.decreaseIndent();
}

ParseResult nsacc::nsa::parseMaskClause(OpAsmParser &parser, Region &mask) {
  return parseClause(parser, Clause::Mask, mask);
}

void nsacc::nsa::printMaskClause(OpAsmPrinter &printer, Operation *,
                                 Region &mask) {
  printClause(printer, Clause::Mask, mask);
}

ParseResult nsacc::nsa::parseScoreClauses(OpAsmParser &parser, Region &scale,
                                          Region &mask, Region &score,
                                          Region &weight) {
  return failure(parseClause(parser, Clause::Scale, scale) ||
                 parseClause(parser, Clause::Mask, mask) ||
                 parseClause(parser, Clause::Score, score) ||
                 parseClause(parser, Clause::Weight, weight));
}

void nsacc::nsa::printScoreClauses(OpAsmPrinter &printer, Operation *,
                                   Region &scale, Region &mask, Region &score,
                                   Region &weight) {
  printClause(printer, Clause::Scale, scale);
  printClause(printer, Clause::Mask, mask);
  printClause(printer, Clause::Score, score);
  printClause(printer, Clause::Weight, weight);
}

ParseResult nsacc::nsa::parseClauses(OpAsmParser &parser, Region &scale,
                                     Region &mask, Region &score,
                                     Region &weight, Region &normalize,
                                     Region &sink) {
  return failure(parseScoreClauses(parser, scale, mask, score, weight) ||
                 parseClause(parser, Clause::Normalize, normalize) ||
                 parseClause(parser, Clause::Sink, sink));
}

void nsacc::nsa::printClauses(OpAsmPrinter &printer, Operation *op,
                              Region &scale, Region &mask, Region &score,
                              Region &weight, Region &normalize, Region &sink) {
  printScoreClauses(printer, op, scale, mask, score, weight);
  printClause(printer, Clause::Normalize, normalize);
  printClause(printer, Clause::Sink, sink);
}

//===----------------------------------------------------------------------===//
// Sharing of selections
//===----------------------------------------------------------------------===//

static ParseResult parseShare(OpAsmParser &parser, StringRef keyword,
                              IntegerAttr &count, ShareByAttr &by) {
  Type i64 = parser.getBuilder().getI64Type();
  if (failed(parser.parseOptionalKeyword(keyword))) {
    count = IntegerAttr::get(i64, 1);
    by = ShareByAttr::get(parser.getContext(), ShareBy::Sum);
    return success();
  }
  return failure(parser.parseAttribute(count, i64) ||
                 parser.parseKeyword("by") || parseWord(parser, by));
}

static void printShare(OpAsmPrinter &printer, StringRef keyword,
                       IntegerAttr count, ShareByAttr by) {
  if (count.getInt() == 1 && by.getValue() == ShareBy::Sum)
    return;
  printer << " " << keyword << " " << count.getInt() << " by "
          << stringifyShareBy(by.getValue());
}

ParseResult nsacc::nsa::parseSharing(OpAsmParser &parser, IntegerAttr &tokens,
                                     ShareByAttr &tokensBy, IntegerAttr &heads,
                                     ShareByAttr &headsBy) {
  return failure(parseShare(parser, "share_tokens", tokens, tokensBy) ||
                 parseShare(parser, "share_heads", heads, headsBy));
}

void nsacc::nsa::printSharing(OpAsmPrinter &printer, Operation *,
                              IntegerAttr tokens, ShareByAttr tokensBy,
                              IntegerAttr heads, ShareByAttr headsBy) {
  printShare(printer, "share_tokens", tokens, tokensBy);
  printShare(printer, "share_heads", heads, headsBy);
}

//===----------------------------------------------------------------------===//
// Names of statements
//===----------------------------------------------------------------------===//

ParseResult nsacc::nsa::parseNamedAttrs(OpAsmParser &parser,
                                        NamedAttrList &attributes) {
  return parser.parseOptionalAttrDict(attributes);
}

void nsacc::nsa::printNamedAttrs(OpAsmPrinter &printer, Operation *op,
                                 DictionaryAttr attributes) {
  NamedAttrList all(attributes);
  if (auto name = op->getLoc()->findInstanceOf<NameLoc>())
    all.set(NSADialect::getNameAttrName(), name.getName());
  // The op's own attributes have their own words.
  SmallVector<StringRef> own;
  for (StringAttr each : op->getName().getAttributeNames())
    own.push_back(each);
  printer.printOptionalAttrDict(all, own);
}

/// {nsa.name = "slc"} -> loc("slc")
static ParseResult moveNameToLocation(OpAsmParser &parser, Operation &op) {
  Attribute attribute = op.removeAttr(NSADialect::getNameAttrName());
  // A location defined at the end of the text has the name, too.
  if (!attribute || isa<OpaqueLoc>(op.getLoc()))
    return success();
  auto name = dyn_cast<StringAttr>(attribute);
  if (!name || name.empty())
    return parser.emitError(parser.getNameLoc())
           << "expected the name of a statement in quotes as "
           << NSADialect::getNameAttrName() << ", found " << attribute;
  auto known = op.getLoc()->findInstanceOf<NameLoc>();
  if (!known || known.getName() != name)
    op.setLoc(NameLoc::get(name, op.getLoc()));
  return success();
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
  if (failed(function_interface_impl::parseFunctionOp(
          parser, result, /*allowVariadic=*/false,
          getFunctionTypeAttrName(result.name), buildType,
          getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name))))
    return failure();
  for (Operation &op : result.regions.front()->getOps())
    if (failed(moveNameToLocation(parser, op)))
      return failure();
  return success();
}

/// One argument a line, since types and names are long.
static void printArguments(OpAsmPrinter &printer, KernelOp kernel) {
  ArrayAttr attributes = kernel.getArgAttrsAttr();
  printer.increaseIndent();
  printer.increaseIndent();
  llvm::interleave(
      kernel.getBody().getArguments(),
      [&](BlockArgument argument) {
        printer.printNewline();
        unsigned index = argument.getArgNumber();
        ArrayRef<NamedAttribute> named;
        if (attributes)
          named = cast<DictionaryAttr>(attributes[index]).getValue();
        printer.printRegionArgument(argument, named);
      },
      [&] { printer << ","; });
  printer.decreaseIndent();
  printer.decreaseIndent();
}

static void printResults(OpAsmPrinter &printer, KernelOp kernel) {
  ArrayRef<Type> types = kernel.getResultTypes();
  if (types.empty())
    return;
  printer.increaseIndent();
  printer.increaseIndent();
  printer.printNewline();
  printer << "-> (";
  ArrayAttr attributes = kernel.getResAttrsAttr();
  llvm::interleaveComma(llvm::enumerate(types), printer, [&](auto result) {
    printer << result.value();
    if (attributes)
      printer.printOptionalAttrDict(
          cast<DictionaryAttr>(attributes[result.index()]).getValue());
  });
  printer << ")";
  printer.decreaseIndent();
  printer.decreaseIndent();
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printSymbolName(getSymName());
  printer << "(";
  printArguments(printer, *this);
  printer << ")";
  printResults(printer, *this);
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getSymNameAttrName(), getFunctionTypeAttrName(),
                            getArgAttrsAttrName(), getResAttrsAttrName()});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}
