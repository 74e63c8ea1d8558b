//===- FoldSyntax.cpp - Syntax of loops over tiles ------------------------===//

#include "NSATile/IR/FoldSyntax.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace nsacc::nsatile;

/// `%first to %end full %a to %b`
static ParseResult parseRange(OpAsmParser &parser, Operands &ranges) {
  auto parseBounds = [&] {
    return failure(parser.parseOperand(ranges.emplace_back()) ||
                   parser.parseKeyword("to") ||
                   parser.parseOperand(ranges.emplace_back()));
  };
  if (failed(parseBounds()))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("full")))
    return parseBounds();
  OpAsmParser::UnresolvedOperand first = ranges[ranges.size() - 2];
  ranges.append(2, first);
  return success();
}

static ParseResult parseList(OpAsmParser &parser, OptionalOperand &list,
                             Type &type, Operands &indices,
                             OptionalOperand &count, OptionalOperand &first,
                             OptionalOperand &members, Type &membersType) {
  if (parser.parseOperand(list.emplace()) ||
      parser.parseOperandList(indices, OpAsmParser::Delimiter::Square) ||
      parser.parseColonType(type))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("count")) &&
      parser.parseOperand(count.emplace()))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("from")) &&
      parser.parseOperand(first.emplace()))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("with")))
    return failure(parser.parseOperand(members.emplace()) ||
                   parser.parseColonType(membersType));
  return success();
}

ParseResult nsacc::nsatile::parseFoldDomain(
    OpAsmParser &parser, Operands &ranges, OptionalOperand &at,
    OptionalOperand &list, Type &listType, Operands &indices,
    OptionalOperand &count, OptionalOperand &first, OptionalOperand &members,
    Type &membersType, IntegerAttr &parts) {
  if (succeeded(parser.parseOptionalKeyword("at"))) {
    if (parser.parseOperand(at.emplace()))
      return failure();
  } else if (succeeded(parser.parseOptionalKeyword("in"))) {
    if (parseList(parser, list, listType, indices, count, first, members,
                  membersType))
      return failure();
  }
  parts = parser.getBuilder().getI64IntegerAttr(1);
  if (succeeded(parser.parseOptionalKeyword("parts")) &&
      parser.parseAttribute(parts, parser.getBuilder().getI64Type()))
    return failure();
  if (failed(parser.parseOptionalKeyword("over")))
    return success();
  return parser.parseCommaSeparatedList(
      [&] { return parseRange(parser, ranges); });
}

void nsacc::nsatile::printFoldDomain(OpAsmPrinter &printer, Operation *,
                                     OperandRange ranges, Value at, Value list,
                                     Type listType, OperandRange indices,
                                     Value count, Value first, Value members,
                                     Type membersType, IntegerAttr parts) {
  bool isFirst = true;
  auto separate = [&] {
    if (!std::exchange(isFirst, false))
      printer << " ";
  };
  if (at) {
    separate();
    printer << "at " << at;
  }
  if (list) {
    separate();
    printer << "in " << list << "[" << indices << "] : " << listType;
    if (count)
      printer << " count " << count;
    if (first)
      printer << " from " << first;
    if (members)
      printer << " with " << members << " : " << membersType;
  }
  if (parts.getInt() != 1) {
    separate();
    printer << "parts " << parts.getInt();
  }
  for (size_t i = 0; i + kRangeOperands <= ranges.size(); i += kRangeOperands) {
    if (i == 0) {
      separate();
      printer << "over ";
    } else {
      printer << ", ";
    }
    printer << ranges[i] << " to " << ranges[i + 1];
    if (ranges[i + 2] != ranges[i] || ranges[i + 3] != ranges[i])
      printer << " full " << ranges[i + 2] << " to " << ranges[i + 3];
  }
}

ParseResult nsacc::nsatile::parseFoldState(OpAsmParser &parser, Operands &inits,
                                           SmallVectorImpl<Type> &initTypes,
                                           SmallVectorImpl<Type> &resultTypes) {
  if (failed(parser.parseOptionalKeyword("state")))
    return success();
  if (parser.parseLParen() || parser.parseOperandList(inits) ||
      parser.parseColonTypeList(initTypes) || parser.parseRParen())
    return failure();
  resultTypes.assign(initTypes.begin(), initTypes.end());
  return success();
}

void nsacc::nsatile::printFoldState(OpAsmPrinter &printer, Operation *,
                                    OperandRange inits, TypeRange initTypes,
                                    TypeRange) {
  if (!inits.empty())
    printer << "state(" << inits << " : " << initTypes << ")";
}

ParseResult
nsacc::nsatile::parseSoftmaxState(OpAsmParser &parser, Operands &inits,
                                  SmallVectorImpl<Type> &initTypes,
                                  SmallVectorImpl<Type> &resultTypes) {
  bool hasInits = succeeded(parser.parseOptionalKeyword("from"));
  if (hasInits && parser.parseOperandList(inits, OpAsmParser::Delimiter::Paren))
    return failure();
  if (parser.parseColonTypeList(resultTypes))
    return failure();
  if (hasInits)
    initTypes.assign(resultTypes.begin(), resultTypes.end());
  return success();
}

void nsacc::nsatile::printSoftmaxState(OpAsmPrinter &printer, Operation *,
                                       OperandRange inits, TypeRange,
                                       TypeRange resultTypes) {
  if (!inits.empty())
    printer << "from(" << inits << ") ";
  printer << ": " << resultTypes;
}
