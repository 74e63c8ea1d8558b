//===- SemaMasks.cpp - Masks that are most likely a mistake ---------------===//

#include "MaskProof.h"
#include "ScalarGen.h"
#include "ScalarTrial.h"
#include "Sequence.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using ast::Operator;

//===----------------------------------------------------------------------===//
// Comparisons of numbers that count different things
//===----------------------------------------------------------------------===//

/// Whether `expr`, or a term of the sum `expr`, is such a name, or a call of
/// such a function with only a name.
static bool hasTerm(const ast::Expr *expr,
                    llvm::function_ref<bool(StringRef)> isMeant) {
  if (auto *leaf = llvm::dyn_cast<ast::NameExpr>(expr))
    return isMeant(leaf->name);
  if (auto *call = llvm::dyn_cast<ast::CallExpr>(expr))
    return isMeant((call->callee.text + "()").str());
  if (auto *unary = llvm::dyn_cast<ast::UnaryExpr>(expr))
    return hasTerm(unary->operand, isMeant);
  auto *binary = llvm::dyn_cast<ast::BinaryExpr>(expr);
  return binary &&
         (binary->op == Operator::Add || binary->op == Operator::Subtract) &&
         (hasTerm(binary->lhs, isMeant) || hasTerm(binary->rhs, isMeant));
}

static bool hasTerm(const ast::Expr *lhs, const ast::Expr *rhs,
                    ArrayRef<StringRef> names) {
  auto isMeant = [&](StringRef name) {
    return llvm::is_contained(names, name);
  };
  return hasTerm(lhs, isMeant) || hasTerm(rhs, isMeant);
}

bool ScalarGen::checkWindows(const ast::Expr *lhs, const ast::Expr *rhs) {
  if (!scope.keys || scope.keys->stride <= 1 || !hasTerm(lhs, rhs, {"j"}) ||
      !hasTerm(lhs, rhs, {"i", "t"}))
    return false;
  problems
      .warning(join(lhs->range, rhs->range),
               "'j' counts windows of " + Twine(scope.keys->len) +
                   " tokens here, and is compared with a token")
      .note("a window's tokens are start(j) to end(j) - 1: 'end(j) <= i' for "
            "those that lie behind; '1 * j' if its number is meant");
  return true;
}

//===----------------------------------------------------------------------===//
// Comparisons of real numbers
//===----------------------------------------------------------------------===//

/// Whether both compute the same function of the same values. `same` holds
/// pairs that are known to be equal: code may use a value more than once.
static bool isSame(Value one, Value other,
                   llvm::DenseSet<std::pair<Value, Value>> &same) {
  if (one == other || same.contains({one, other}))
    return true;
  Operation *left = one.getDefiningOp(), *right = other.getDefiningOp();
  bool isEqual =
      left && right && left->getName() == right->getName() &&
      left->getAttrs() == right->getAttrs() &&
      left->getNumOperands() == right->getNumOperands() &&
      llvm::all_of(llvm::zip_equal(left->getOperands(), right->getOperands()),
                   [&](auto pair) {
                     return isSame(std::get<0>(pair), std::get<1>(pair), same);
                   });
  if (isEqual)
    same.insert({one, other});
  return isEqual;
}

static bool isInteger(Value real) {
  FloatAttr constant;
  return real.getDefiningOp<arith::SIToFPOp>() ||
         (matchPattern(real, m_Constant(&constant)) &&
          constant.getValue().isInteger());
}

/// Whether a quotient of integers is multiplied by its divisor.
static bool isRoundTrip(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product)
    return false;
  for (auto [quotient, factor] :
       {std::pair(product.getLhs(), product.getRhs()),
        std::pair(product.getRhs(), product.getLhs())}) {
    auto division = quotient.getDefiningOp<arith::DivFOp>();
    FloatAttr divisor, times;
    if (division && isInteger(division.getLhs()) &&
        matchPattern(division.getRhs(), m_Constant(&divisor)) &&
        matchPattern(factor, m_Constant(&times)) && divisor == times)
      return true;
  }
  return false;
}

/// Adds the divisors of quotients of integers in a sum whose other terms are
/// all integers; false for other values.
static bool collectDivisors(Value value, SmallVectorImpl<Value> &divisors) {
  if (isInteger(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (isa_and_present<arith::AddFOp, arith::SubFOp, arith::NegFOp>(op))
    return llvm::all_of(op->getOperands(), [&](Value term) {
      return collectDivisors(term, divisors);
    });
  auto quotient = dyn_cast_if_present<arith::DivFOp>(op);
  if (!quotient || !isInteger(quotient.getLhs()) ||
      !isInteger(quotient.getRhs()))
    return false;
  divisors.push_back(quotient.getRhs());
  return true;
}

void ScalarGen::checkQuotients(bool equality, Value lhs, Value rhs,
                               Range range) {
  if (isRoundTrip(lhs) || isRoundTrip(rhs)) {
    problems
        .warning(range, "'/' doesn't round: a number that is divided and "
                        "multiplied again is itself")
        .note("whole quotients are written 'floordiv': 'i floordiv 64 * 64' is "
              "the first token of i's block");
    return;
  }
  SmallVector<Value> divisors;
  if (!collectDivisors(lhs, divisors) || !collectDivisors(rhs, divisors))
    return;
  // In 'i / 4 < n' the fraction may be intended; comparing two quotients only
  // compares their numerators.
  llvm::DenseSet<std::pair<Value, Value>> same;
  auto isFirst = [&](Value divisor) {
    return isSame(divisor, divisors[0], same);
  };
  if (equality ? divisors.empty()
               : divisors.size() < 2 || !llvm::all_of(divisors, isFirst))
    return;
  problems
      .warning(range,
               "quotients of integers are compared here, and '/' doesn't "
               "round them: 3 / 2 is 1.5")
      .note("whole quotients are written 'floordiv': 'i floordiv 64 == j "
            "floordiv 64' for tokens of one block");
}

void ScalarGen::checkEquality(Value lhs, Value rhs, Range range) {
  for (auto [side, other] : {std::pair(lhs, rhs), std::pair(rhs, lhs)}) {
    auto read = side.getDefiningOp<nsa::TableReadOp>();
    if (!read || matchPattern(other, m_Constant()))
      continue;
    const auto *table = llvm::find_if(symbols, [&](const auto &entry) {
      return entry.second.kind == Symbol::Kind::Input &&
             entry.second.bound.value == read.getTable();
    });
    auto type =
        cast<FloatType>(table->second.bound.getTensorType().getElementType());
    std::string element = type.isBF16() ? "bf16" : type.isF16() ? "f16" : "f32";
    int64_t most = int64_t(1) << type.getFPMantissaWidth();
    problems
        .warning(range, quote(table->first) + " has elements of " + element +
                            ", which are compared for equality")
        .note(table->second.range,
              element + " rounds whole numbers above " + Twine(most) +
                  "; labels are declared as i32: " + table->first + ": i32" +
                  nsa::toString(table->second.getDeclaredDims()));
    return;
  }
}

//===----------------------------------------------------------------------===//
// Masks at pairs that are tried
//===----------------------------------------------------------------------===//

/// Positions at which masks are tried: small ones, powers of two, and the
/// constants of a mask, where its edges are.
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
  // Every call has the first head of the first row, unless it is empty.
  MaskTrial one(first.getMask(), 0), other(second.getMask(), 0);
  for (int64_t query : positions)
    for (int64_t key : positions)
      if (one.isVisible(query, key) == true &&
          other.isVisible(query, key) == true)
        return std::pair(query, key);
  return std::nullopt;
}

/// Whether no tried pair can be visible.
static bool hidesTried(Region &region) {
  // Tens of thousands of pairs are tried before a mask counts as hiding all.
  constexpr size_t most = 48;
  if (llvm::range_size(region.front()) > most)
    return false;
  // Every constant's neighbours, and multiples of the usual blocks.
  llvm::SetVector<int64_t> constants, positions;
  addPositions(region, constants);
  for (int64_t position = 0; position < 16; ++position)
    positions.insert(position);
  for (int64_t value : constants)
    for (int64_t near : {value - 1, value, value + 1, 2 * value})
      positions.insert(std::max<int64_t>(0, near));
  for (int64_t position = 32; position <= 4096; position += 32)
    positions.insert(position);
  for (int64_t position = 1 << 13; position <= 1 << 20; position *= 2)
    positions.insert(position);
  MaskTrial mask(region, /*place=*/std::nullopt);
  for (int64_t query : positions)
    for (int64_t key : positions)
      if (mask.isVisible(query, key) != false)
        return false;
  return true;
}

void KernelGen::checkVisible(Region &region, const ast::Clause *where,
                             StringRef keys, MaskProof &proof) {
  if (!where)
    return;
  bool isProven = proof.isAlways(/*visible=*/false);
  if (!isProven && !hidesTried(region))
    return;
  problems
      .warning(where->value->range, "this mask hides every " + Twine(keys) +
                                        " from every query" +
                                        (isProven ? "" : " that was tried"))
      .note((keys == "key" ? "a query that sees no key gets 0; " : "") +
            Twine("are two comparisons, or a "
                  "parameter's value, the wrong way round?"));
}

/// Whether a part of the mask explicitly allows every key: `j < S`.
static bool asksForAll(const ast::Expr *mask, StringRef tokens) {
  if (auto *both = llvm::dyn_cast<ast::BinaryExpr>(mask))
    return both->op == Operator::And &&
           (asksForAll(both->lhs, tokens) || asksForAll(both->rhs, tokens));
  auto *comparison = llvm::dyn_cast<ast::ComparisonExpr>(mask);
  auto isName = [](const ast::Expr *expr, StringRef name) {
    auto *leaf = llvm::dyn_cast<ast::NameExpr>(expr);
    return leaf && leaf->name == name;
  };
  for (size_t i = 0; comparison && i < comparison->ops.size(); ++i) {
    const ast::Expr *less = comparison->operands[i],
                    *more = comparison->operands[i + 1];
    if (comparison->ops[i] == Operator::Greater)
      std::swap(less, more);
    else if (comparison->ops[i] != Operator::Less)
      continue;
    if (isName(less, "j") && isName(more, tokens))
      return true;
  }
  return false;
}

static bool hasOr(const ast::Expr *mask) {
  auto *both = llvm::dyn_cast<ast::BinaryExpr>(mask);
  return both &&
         (both->op == Operator::Or || hasOr(both->lhs) || hasOr(both->rhs));
}

void KernelGen::checkHidden(nsa::AttendOp attend, const Sequence &key,
                            const ast::Clause *where, MaskProof &proof) {
  // A parameter of 0 or false may switch off a part of the mask.
  auto isOff = [&](StringRef name) {
    auto found = symbols.find(name);
    if (found == symbols.end() ||
        found->second.bound.kind != Bound::Kind::Constant)
      return false;
    const Constant &value = found->second.bound.constant;
    return value.type == ScalarType::Bool ||
           (value.type == ScalarType::Int && value.integer <= 0);
  };
  if (!where || attend.getMask().getOps<arith::CmpIOp>().empty() ||
      asksForAll(where->value, nsa::getTokenDim(key.tokens)) ||
      ast::mentions(where->value, isOff) || !proof.isAlways(/*visible=*/true))
    return;
  problems.warning(where->value->range, "this mask hides no key from any query")
      .note((hasOr(where->value)
                 ? "'or' shows what either side shows; a causal window is 'j "
                   "<= i and i - j < N'"
                 : "a causal mask is 'j <= i'") +
            Twine("; leave out 'where' if every key is meant"));
}

/// The distance in tokens from a query at which a window lies completely on one
/// side of it.
static int64_t getReach(Attribute tokens) {
  auto pooled = dyn_cast<nsa::PooledDimAttr>(tokens);
  return pooled ? pooled.getLen() + pooled.getMemory() * pooled.getStride() : 0;
}

int64_t nsacc::frontend::findKey(Attribute tokens, int64_t query,
                                 int64_t distance) {
  auto pooled = dyn_cast<nsa::PooledDimAttr>(tokens);
  int64_t reach = getReach(tokens);
  int64_t token = query + distance + (distance > 0 ? reach : -reach);
  return token / (pooled ? pooled.getStride() : 1);
}

static constexpr int64_t farQueries[] = {3 << 14, 100'003};

/// Whether every key after a query is visible, and none far before it.
static bool showsAllLater(MaskTrial &mask, Attribute tokens) {
  constexpr int64_t near = 1, far = 1 << 20, before = -(1 << 14), count = 32;
  for (int64_t query : farQueries)
    for (int64_t distance : {near, far, before})
      for (int64_t key = 0; key < count; ++key)
        if (mask.isVisible(query, findKey(tokens, query, distance) + key) !=
            (distance > 0))
          return false;
  return true;
}

/// Whether keys after a query are visible and none before it; the query's own
/// may be.
static bool showsOnlyLater(MaskTrial &mask, Attribute tokens) {
  constexpr int64_t near = 256, far = 1 << 15, first = 64;
  llvm::SetVector<int64_t> distances;
  for (int64_t distance = 1; distance <= near; ++distance)
    distances.insert(distance);
  for (int64_t distance = near; distance <= far; distance *= 2)
    distances.insert(distance);
  bool isLater = false;
  for (int64_t query : farQueries) {
    for (int64_t key = 0; key < first; ++key)
      if (mask.isVisible(query, key) != false)
        return false;
    for (int64_t distance : distances) {
      if (mask.isVisible(query, findKey(tokens, query, -distance)) != false)
        return false;
      isLater |=
          mask.isVisible(query, findKey(tokens, query, distance)) != false;
    }
  }
  return isLater;
}

void KernelGen::checkFuture(nsa::AttendOp attend, const Sequence &key,
                            const ast::Clause *where) {
  if (!where)
    return;
  // A mask that mentions a bound of the keys is meant to reach it.
  bool namesSize = attend.getMask()
                       .walk([](nsa::DimOp) { return WalkResult::interrupt(); })
                       .wasInterrupted();
  if (namesSize)
    return;
  MaskTrial mask(attend.getMask(), /*place=*/std::nullopt);
  StringRef shown;
  if (showsAllLater(mask, key.tokens))
    shown = "every key after it, and of those before it only the last ones, "
            "if any";
  else if (showsOnlyLater(mask, key.tokens))
    shown = "keys after it, and none before it";
  else
    return;
  problems.warning(where->value->range, "this mask shows a query " + shown)
      .note("a causal mask is 'j <= i', a causal window '0 <= i - j < N'; if "
            "later keys are meant, add 'and " +
            (isa<nsa::PooledDimAttr>(key.tokens)
                 ? "start(j) < " + nsa::getTokenDim(key.tokens).str()
                 : "j < " + nsa::toString(key.tokens)) +
            "'");
}

void KernelGen::checkOverlap(ArrayRef<nsa::AttendOp> branches,
                             ArrayRef<const ast::Expr *> exprs) {
  // Each pair of branches costs some thousand evaluations, so only a few are
  // compared.
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
