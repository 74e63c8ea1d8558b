//===- SemaWarnings.cpp - What is allowed, and most likely a mistake ------===//

#include "Sequence.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;

//===----------------------------------------------------------------------===//
// Names that nothing uses
//===----------------------------------------------------------------------===//

static StringRef describeNamed(Symbol::Kind kind) {
  switch (kind) {
  case Symbol::Kind::Param:
    return "parameter";
  case Symbol::Kind::Input:
    return "input";
  default:
    return "value";
  }
}

void KernelGen::checkUnused() {
  for (const auto &[name, symbol] : symbols) {
    if (symbol.isUsed || symbol.kind == Symbol::Kind::Dim ||
        name.starts_with("_"))
      continue;
    problems
        .warning(symbol.range,
                 describeNamed(symbol.kind) + " " + quote(name) + " isn't used")
        .note("remove it, or write '_" + name + "' if that is meant");
  }
}

//===----------------------------------------------------------------------===//
// Types of queries, keys and values
//===----------------------------------------------------------------------===//

void KernelGen::checkElementTypes(ArrayRef<Value> operands,
                                  ArrayRef<const ast::Expr *> exprs) {
  // What is computed has the type that its formula gives it.
  auto isInput = [](Value value) { return isa<BlockArgument>(value); };
  for (size_t i = 1; i < operands.size(); ++i) {
    Type first =
             cast<nsa::NamedTensorType>(operands[0].getType()).getElementType(),
         type =
             cast<nsa::NamedTensorType>(operands[i].getType()).getElementType();
    if (first == type || !isInput(operands[0]) || !isInput(operands[i]))
      continue;
    auto print = [](Type type) {
      std::string text;
      llvm::raw_string_ostream(text) << type;
      return text;
    };
    problems
        .warning(exprs[i]->range, quote(source.getText(exprs[i]->range)) +
                                      " has elements of " + print(type) +
                                      " but " +
                                      quote(source.getText(exprs[0]->range)) +
                                      " of " + print(first))
        .note("each is rounded to its own type before they are multiplied; "
              "declare both alike");
  }
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

namespace {
/// Evaluates a mask at pairs of a query and a key, in the first row and head.
class MaskAt {
public:
  explicit MaskAt(Region &mask) : mask(mask) {}

  /// Whether the pair is visible, where that is sure; a table's element may be
  /// anything.
  std::optional<bool> isVisible(int64_t query, int64_t key);

private:
  Attribute evaluate(Operation &op);

  Region &mask;
  /// Folding may change an op in place: swap its operands, say, of which the
  /// second of an 'and' may have no value. The mask itself stays as it is.
  llvm::DenseMap<Operation *, OwningOpRef<Operation *>> copies;
  llvm::DenseMap<Value, Attribute> values;
};
} // namespace

Attribute MaskAt::evaluate(Operation &op) {
  if (op.getNumResults() != 1 || op.getNumRegions() != 0)
    return {};
  OwningOpRef<Operation *> &copy = copies[&op];
  if (!copy)
    copy = op.clone();
  SmallVector<OpFoldResult> results;
  bool isChanged = false;
  constexpr int most = 3; // changes in place
  for (int i = 0; i < most && results.empty(); ++i) {
    auto operands = llvm::map_to_vector(
        copy->getOperands(), [&](Value value) { return values.lookup(value); });
    if (failed(copy->fold(operands, results)))
      break;
    isChanged |= results.empty();
  }
  // What holds for one pair says nothing of the next.
  if (isChanged)
    copy = {};
  if (results.size() != 1)
    return {};
  if (auto value = dyn_cast<Value>(results.front()))
    return values.lookup(value);
  return cast<Attribute>(results.front());
}

std::optional<bool> MaskAt::isVisible(int64_t query, int64_t key) {
  if (mask.empty())
    return true;
  values.clear();
  Block &body = mask.front();
  auto index = IndexType::get(mask.getContext());
  // Batch row, head, row of the query, its position, key.
  const int64_t place[] = {0, 0, query, query, key};
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), place))
    values[argument] = IntegerAttr::get(index, value);
  for (Operation &op : body.without_terminator())
    if (Attribute result = evaluate(op))
      values[op.getResult(0)] = result;
  Value result = body.getTerminator()->getOperand(0);
  auto visible = dyn_cast_or_null<IntegerAttr>(values.lookup(result));
  if (!visible)
    return std::nullopt;
  return !visible.getValue().isZero();
}

/// Positions at which masks are tried: small ones, powers of two, and the
/// constants of a mask, at which its edges are.
static void addPositions(Region &mask, llvm::SetVector<int64_t> &positions) {
  constexpr size_t most = 32;
  mask.walk([&](arith::ConstantOp op) {
    auto value = dyn_cast<IntegerAttr>(op.getValue());
    if (value && value.getValue().isSignedIntN(24) &&
        !value.getValue().isNegative() && positions.size() < most)
      positions.insert(value.getInt());
  });
}

static std::optional<std::pair<int64_t, int64_t>>
findSharedPair(nsa::AttendOp first, nsa::AttendOp second) {
  llvm::SetVector<int64_t> positions;
  for (int64_t position : {0, 1, 2, 3, 7, 8, 16, 63, 64, 128, 256, 512, 1024})
    positions.insert(position);
  addPositions(first.getMask(), positions);
  addPositions(second.getMask(), positions);
  MaskAt one(first.getMask()), other(second.getMask());
  for (int64_t query : positions)
    for (int64_t key : positions)
      if (one.isVisible(query, key) == true &&
          other.isVisible(query, key) == true)
        return std::pair(query, key);
  return std::nullopt;
}

void KernelGen::checkVisible(nsa::AttendOp attend, const ast::Clause *where) {
  // Tens of thousands of pairs are tried before a mask is said to hide all.
  constexpr size_t most = 48;
  if (!where || llvm::range_size(attend.getMask().front()) > most)
    return;
  // Every constant's neighbours, and multiples of the usual blocks.
  llvm::SetVector<int64_t> constants, positions;
  addPositions(attend.getMask(), constants);
  for (int64_t position = 0; position < 16; ++position)
    positions.insert(position);
  for (int64_t value : constants)
    for (int64_t near : {value - 1, value, value + 1, 2 * value})
      positions.insert(std::max<int64_t>(0, near));
  for (int64_t position = 32; position <= 4096; position += 32)
    positions.insert(position);
  for (int64_t position = 1 << 13; position <= 1 << 20; position *= 2)
    positions.insert(position);
  MaskAt mask(attend.getMask());
  for (int64_t query : positions)
    for (int64_t key : positions)
      if (mask.isVisible(query, key) != false)
        return;
  problems
      .warning(where->value->range,
               "this mask hides every key from every query that was tried")
      .note("a query that sees no key gets 0; are two comparisons, or a "
            "parameter's value, the wrong way round?");
}

void KernelGen::checkFuture(nsa::AttendOp attend, const Sequence &key,
                            const ast::Clause *where) {
  // Numbers of windows say little of tokens.
  if (!where || isa<nsa::PooledDimAttr>(key.tokens))
    return;
  // A mask that names a bound of the keys is meant to reach there.
  bool namesSize = attend.getMask()
                       .walk([](nsa::DimOp) { return WalkResult::interrupt(); })
                       .wasInterrupted();
  if (namesSize)
    return;
  constexpr int64_t queries[] = {3 << 14, 100'003}, near = 1, far = 1 << 20,
                    before = -(1 << 14), count = 32;
  MaskAt mask(attend.getMask());
  for (int64_t query : queries)
    for (int64_t distance : {near, far, before})
      for (int64_t key = query + distance; key < query + distance + count;
           ++key)
        if (mask.isVisible(query, key) != (distance > 0))
          return;
  std::string size = nsa::toString(key.tokens);
  problems
      .warning(where->value->range,
               "this mask shows a query every key after it, and of those "
               "before it only the last ones, if any")
      .note("a causal mask is 'j <= i', a causal window '0 <= i - j < N'; if "
            "later keys are meant, add 'and j < " +
            size + "'");
}

void KernelGen::checkScale(nsa::AttendOp attend, const ast::Clause *scale) {
  llvm::APFloat value(0.0f);
  if (!scale ||
      !matchPattern(attend.getScale().front().getTerminator()->getOperand(0),
                    m_ConstantFloat(&value)))
    return;
  if (value.isZero())
    problems.warning(scale->value->range, "scale 0 makes all scores equal")
        .note(
            "leave out 'scale' for D^-0.5; scores as they are have 'scale 1'");
  else if (value.isNegative())
    problems
        .warning(scale->value->range, "with a negative scale, the keys that "
                                      "match a query least weigh most")
        .note("a scale multiplies q · k, and is D^-0.5 without the clause");
}

void KernelGen::checkOverlap(ArrayRef<nsa::AttendOp> branches,
                             ArrayRef<const ast::Expr *> exprs) {
  // Each pair of branches costs some thousand evaluations: a few tell enough.
  constexpr size_t most = 4;
  for (size_t i = 0; i < std::min(branches.size(), most); ++i)
    for (size_t j = 0; j < i; ++j) {
      nsa::AttendOp one = branches[j], other = branches[i];
      if (!one || !other || one.getKey() != other.getKey() ||
          one.getValue() != other.getValue() ||
          one.getSelection() != other.getSelection())
        continue;
      auto pair = findSharedPair(one, other);
      if (!pair)
        continue;
      problems
          .warning(
              exprs[i]->range,
              "two branches of this merge see the same keys, such as key " +
                  Twine(pair->second) + " from query " + Twine(pair->first) +
                  ": they count twice")
          .note(exprs[j]->range, "the other branch is here; let the masks "
                                 "exclude each other, or join them with 'or' "
                                 "in one attend");
    }
}
