//===- NSATypes.cpp - Types of the nsa dialect ----------------------------===//

#include "NSA/IR/NSATypes.h"
#include "NSA/IR/NSADialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc::nsa;

//===----------------------------------------------------------------------===//
// Dimensions in assembly
//===----------------------------------------------------------------------===//

/// `pool(S, 32, 16, drop)`, after the keyword.
static FailureOr<Attribute> parsePool(AsmParser &parser, bool ragged) {
  std::string base;
  int64_t len, stride;
  StringRef tailName;
  SMLoc loc, tailLoc;
  if (parser.getCurrentLocation(&loc) || parser.parseLParen() ||
      parser.parseKeywordOrString(&base) || parser.parseComma() ||
      parser.parseInteger(len) || parser.parseComma() ||
      parser.parseInteger(stride) || parser.parseComma() ||
      parser.getCurrentLocation(&tailLoc) || parser.parseKeyword(&tailName) ||
      parser.parseRParen())
    return failure();
  std::optional<Tail> tail = symbolizeTail(tailName);
  if (!tail)
    return parser.emitError(tailLoc, "expected a tail (drop, average, "
                                     "zeros_left or zeros_right), found '")
           << tailName << "'";
  auto emitError = [&] { return parser.emitError(loc); };
  if (failed(PooledDimAttr::verify(emitError, base, len, stride, *tail, ragged,
                                   StringAttr(), /*offset=*/0, /*memory=*/0)))
    return failure();
  return Attribute(PooledDimAttr::get(parser.getContext(), base, len, stride,
                                      *tail, ragged, StringAttr(), 0, 0));
}

/// `pooled(N of S, 32, 16, 0, 0)`, after the keyword.
static FailureOr<Attribute> parsePooled(AsmParser &parser, bool ragged) {
  std::string base, count;
  int64_t len, stride, offset, memory;
  SMLoc loc;
  if (parser.getCurrentLocation(&loc) || parser.parseLParen() ||
      parser.parseKeywordOrString(&count) || parser.parseKeyword("of") ||
      parser.parseKeywordOrString(&base) || parser.parseComma() ||
      parser.parseInteger(len) || parser.parseComma() ||
      parser.parseInteger(stride) || parser.parseComma() ||
      parser.parseInteger(offset) || parser.parseComma() ||
      parser.parseInteger(memory) || parser.parseRParen())
    return failure();
  auto countName = StringAttr::get(parser.getContext(), count);
  auto emitError = [&] { return parser.emitError(loc); };
  if (failed(PooledDimAttr::verify(emitError, base, len, stride, Tail::Drop,
                                   ragged, countName, offset, memory)))
    return failure();
  return Attribute(PooledDimAttr::get(parser.getContext(), base, len, stride,
                                      Tail::Drop, ragged, countName, offset,
                                      memory));
}

/// `blocks(S, 64)`, after the keyword.
static FailureOr<Attribute> parseBlocks(AsmParser &parser) {
  std::string base;
  int64_t block;
  SMLoc loc;
  if (parser.getCurrentLocation(&loc) || parser.parseLParen() ||
      parser.parseKeywordOrString(&base) || parser.parseComma() ||
      parser.parseInteger(block) || parser.parseRParen())
    return failure();
  if (failed(BlocksDimAttr::verify([&] { return parser.emitError(loc); }, base,
                                   block)))
    return failure();
  return Attribute(BlocksDimAttr::get(parser.getContext(), base, block));
}

static FailureOr<Attribute> parseDim(AsmParser &parser) {
  MLIRContext *context = parser.getContext();
  int64_t size;
  OptionalParseResult integer = parser.parseOptionalInteger(size);
  if (integer.has_value()) {
    if (failed(*integer))
      return failure();
    return Attribute(IntegerAttr::get(IntegerType::get(context, 64), size));
  }

  bool ragged = succeeded(parser.parseOptionalKeyword("ragged"));
  if (succeeded(parser.parseOptionalKeyword("pool")))
    return parsePool(parser, ragged);
  if (succeeded(parser.parseOptionalKeyword("pooled")))
    return parsePooled(parser, ragged);
  if (!ragged && succeeded(parser.parseOptionalKeyword("blocks")))
    return parseBlocks(parser);
  std::string name;
  if (!ragged && succeeded(parser.parseOptionalKeyword("offsets"))) {
    if (parser.parseLParen() || parser.parseKeywordOrString(&name) ||
        parser.parseRParen())
      return failure();
    return Attribute(OffsetsDimAttr::get(context, name));
  }
  if (parser.parseKeywordOrString(&name))
    return failure();
  return Attribute(NamedDimAttr::get(context, name, ragged));
}

static ParseResult parseDims(AsmParser &parser, SmallVector<Attribute> &dims) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        FailureOr<Attribute> dim = parseDim(parser);
        if (failed(dim))
          return failure();
        dims.push_back(*dim);
        return success();
      });
}

static ParseResult parseDimName(AsmParser &parser, StringAttr &name) {
  std::string text;
  if (parser.parseKeywordOrString(&text))
    return failure();
  name = StringAttr::get(parser.getContext(), text);
  return success();
}

static void printDimName(AsmPrinter &printer, StringAttr name) {
  printer.printKeywordOrString(name.getValue());
}

/// A dimension's name in assembly, quoted where the bare word would be read as
/// something else.
static std::string quoteName(StringRef name) {
  bool word =
      !name.empty() && (llvm::isAlpha(name.front()) || name[0] == '_') &&
      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  if (word && !llvm::is_contained(
                  {"ragged", "pool", "pooled", "blocks", "offsets"}, name))
    return name.str();
  std::string quoted;
  llvm::raw_string_ostream os(quoted);
  os << '"';
  llvm::printEscapedString(name, os);
  os << '"';
  return quoted;
}

static std::string getPlainName(StringRef name) { return name.str(); }

/// A spelling of names: assembly quotes some, messages have them as programs
/// do.
using SpellName = function_ref<std::string(StringRef)>;

static void printPooled(raw_ostream &os, PooledDimAttr pooled,
                        SpellName spell) {
  os << (pooled.getRagged() ? "ragged " : "");
  if (pooled.isDeclared())
    os << "pooled(" << spell(pooled.getCount()) << " of ";
  else
    os << "pool(";
  os << spell(pooled.getBase()) << ", " << pooled.getLen() << ", "
     << pooled.getStride() << ", ";
  if (pooled.isDeclared())
    os << pooled.getOffset() << ", " << pooled.getMemory() << ")";
  else
    os << stringifyTail(pooled.getTail()) << ")";
}

static void printDim(raw_ostream &os, Attribute dim, SpellName spell) {
  llvm::TypeSwitch<Attribute>(dim)
      .Case([&](IntegerAttr size) { os << size.getInt(); })
      .Case([&](NamedDimAttr named) {
        os << (named.getRagged() ? "ragged " : "") << spell(named.getName());
      })
      .Case([&](OffsetsDimAttr offsets) {
        os << "offsets(" << spell(offsets.getOf()) << ")";
      })
      .Case([&](PooledDimAttr pooled) { printPooled(os, pooled, spell); })
      .Case([&](BlocksDimAttr blocks) {
        os << "blocks(" << spell(blocks.getBase()) << ", " << blocks.getBlock()
           << ")";
      })
      .Default([&](Attribute other) { os << other; });
}

static void printDims(raw_ostream &os, ArrayRef<Attribute> dims,
                      SpellName spell) {
  os << "[";
  llvm::interleaveComma(dims, os,
                        [&](Attribute dim) { printDim(os, dim, spell); });
  os << "]";
}

static void printDims(AsmPrinter &printer, ArrayRef<Attribute> dims) {
  printDims(printer.getStream(), dims, quoteName);
}

std::string nsacc::nsa::toString(Attribute dim) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printDim(os, dim, getPlainName);
  return text;
}

std::string nsacc::nsa::toString(ArrayRef<Attribute> dims) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printDims(os, dims, getPlainName);
  return text;
}

StringRef nsacc::nsa::getTokenDim(Attribute dim) {
  return llvm::TypeSwitch<Attribute, StringRef>(dim)
      .Case([](NamedDimAttr named) { return named.getName(); })
      .Case([](PooledDimAttr pooled) { return pooled.getBase(); })
      .Case([](BlocksDimAttr blocks) { return blocks.getBase(); })
      .Default([](Attribute) { return StringRef(); });
}

//===----------------------------------------------------------------------===//
// Dimensions of one tensor in another
//===----------------------------------------------------------------------===//

std::optional<DimMatch> nsacc::nsa::matchDims(ArrayRef<Attribute> part,
                                              ArrayRef<Attribute> whole) {
  DimSet first(whole.size()), last(whole.size());
  ArrayRef<Attribute> rest = part;
  for (size_t dim = 0; dim < whole.size() && !rest.empty(); ++dim)
    if (rest.front() == whole[dim]) {
      first.set(dim);
      rest = rest.drop_front();
    }
  if (!rest.empty())
    return std::nullopt;
  for (size_t dim = whole.size(); dim-- > 0 && !part.empty();)
    if (part.back() == whole[dim]) {
      last.set(dim);
      part = part.drop_back();
    }
  return DimMatch{first, first == last};
}

DimSet nsacc::nsa::compose(const DimSet &outer, const DimSet &part) {
  DimSet dims(outer.size());
  for (auto [index, dim] : llvm::enumerate(outer.set_bits()))
    if (part.test(index))
      dims.set(dim);
  return dims;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

#define GET_TYPEDEF_CLASSES
#include "NSA/IR/NSATypes.cpp.inc"

void NSADialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "NSA/IR/NSATypes.cpp.inc"
      >();
}

/// Checks that dimensions are of the known kinds, and that no name occurs
/// twice.
static LogicalResult verifyDims(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<Attribute> dims) {
  llvm::SmallPtrSet<Attribute, 4> seen;
  for (auto [index, dim] : llvm::enumerate(dims)) {
    if (auto size = dyn_cast_or_null<IntegerAttr>(dim)) {
      if (size.getInt() < 0)
        return emitError() << "expected a size of at least 0 for dimension "
                           << index << ", found " << size.getInt();
      continue;
    }
    if (!isa_and_nonnull<NamedDimAttr, OffsetsDimAttr, PooledDimAttr,
                         BlocksDimAttr>(dim))
      return emitError() << "unsupported: " << dim;
    if (!seen.insert(dim).second)
      return emitError() << "expected each dimension once, found '"
                         << toString(dim) << "' twice in " << toString(dims);
  }
  return success();
}

LogicalResult
NamedTensorType::verify(function_ref<InFlightDiagnostic()> emitError,
                        ArrayRef<Attribute> dims, Type elementType) {
  bool known = elementType.isF32() || elementType.isF16() ||
               elementType.isBF16() || elementType.isInteger(1) ||
               elementType.isInteger(32) || elementType.isInteger(64);
  if (!known)
    return emitError() << "expected element type bf16, f16, f32, i32, i64 or "
                          "i1, found "
                       << elementType;
  return verifyDims(emitError, dims);
}

bool NamedTensorType::isRagged() const {
  if (getDims().empty())
    return false;
  if (auto named = dyn_cast<NamedDimAttr>(getDims().front()))
    return named.getRagged();
  if (auto pooled = dyn_cast<PooledDimAttr>(getDims().front()))
    return pooled.getRagged();
  return false;
}

Type NamedTensorType::getScalarType() const {
  if (isa<FloatType>(getElementType()))
    return Float32Type::get(getContext());
  if (getElementType().isInteger(1))
    return getElementType();
  return IndexType::get(getContext());
}

LogicalResult
SelectionType::verify(function_ref<InFlightDiagnostic()> emitError,
                      ArrayRef<Attribute> dims, int64_t top, int64_t block,
                      StringAttr of, int64_t tokens) {
  constexpr int64_t limit = std::numeric_limits<int32_t>::max();
  if (top < 1 || top > limit)
    return emitError() << "expected a selection of at least 1 and below 2^31 "
                          "blocks, found top "
                       << top;
  if (block < 1 || block > limit)
    return emitError() << "expected a selection of blocks of at least 1 and "
                          "below 2^31 tokens, found "
                       << block;
  if (tokens < 1 || tokens > limit)
    return emitError() << "expected a selection of each of at least 1 and "
                          "below 2^31 tokens, found "
                       << tokens;
  return verifyDims(emitError, dims);
}
