//===- SemaSums.cpp - Sums of positions that are most likely a mistake ----===//

#include "ScalarGen.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using ast::Operator;

//===----------------------------------------------------------------------===//
// Terms of sums
//===----------------------------------------------------------------------===//

/// Calls `visit` with each term of a sum and its sign.
static void
visitTerms(const ast::Expr *expr, int64_t sign,
           llvm::function_ref<void(const ast::Expr *, int64_t)> visit) {
  if (auto *unary = llvm::dyn_cast<ast::UnaryExpr>(expr))
    return visitTerms(unary->operand,
                      unary->op == Operator::Negate ? -sign : sign, visit);
  auto *binary = llvm::dyn_cast<ast::BinaryExpr>(expr);
  if (!binary ||
      (binary->op != Operator::Add && binary->op != Operator::Subtract))
    return visit(expr, sign);
  visitTerms(binary->lhs, sign, visit);
  visitTerms(binary->rhs, binary->op == Operator::Add ? sign : -sign, visit);
}

static bool mentionsAny(const ast::Expr *expr, ArrayRef<StringRef> names) {
  return ast::mentions(
      expr, [&](StringRef name) { return llvm::is_contained(names, name); });
}

/// Whether the input has a number for each head, and none for each row of the
/// batch: a window, and not the length of a cache.
static bool isOfHeads(const ast::Expr *input) {
  return mentionsAny(input, {"h"}) && !mentionsAny(input, {"b"});
}

static bool readsIntegers(const ast::Expr *expr, const Symbols &symbols) {
  return ast::anyPart(expr, [&](const ast::Expr *part) {
    if (auto *index = llvm::dyn_cast<ast::IndexExpr>(part))
      part = index->base;
    auto *leaf = llvm::dyn_cast<ast::NameExpr>(part);
    const auto *found = leaf ? symbols.find(leaf->name) : symbols.end();
    return found != symbols.end() &&
           found->second.kind == Symbol::Kind::Input &&
           found->second.bound.isTensor() &&
           isa<IntegerType>(
               found->second.bound.getTensorType().getElementType());
  });
}

namespace {
/// The terms of both sides of a comparison, as those of one sum.
struct Difference {
  Difference(const ast::Expr *lhs, const ast::Expr *rhs,
             const Symbols &symbols) {
    for (auto [side, sign] : {std::pair(lhs, 1), std::pair(rhs, -1)})
      visitTerms(side, sign, [&](const ast::Expr *term, int64_t sign) {
        if (auto *leaf = llvm::dyn_cast<ast::NameExpr>(term))
          names[leaf->name] += sign;
        else if (auto *call = llvm::dyn_cast<ast::CallExpr>(term);
                 call &&
                 (call->callee.text == "start" || call->callee.text == "end"))
          names["j"] += sign;
        if (readsIntegers(term, symbols))
          inputs.push_back({term, sign});
      });
  }

  bool has(StringRef name) const { return names.contains(name); }
  /// Whether a position, and nothing else of the query, bounds keys.
  bool isOfPosition() const {
    int64_t position = names.lookup("i");
    return std::abs(position) == 1 && names.lookup("j") == -position &&
           !has("t");
  }

  /// Counts each name, with its sign; extents of a key count as the key.
  llvm::SmallMapVector<StringRef, int64_t, 8> names;
  /// Terms that read integers of a run, with their signs.
  SmallVector<std::pair<const ast::Expr *, int64_t>, 2> inputs;
};

/// The dimensions of rows and of positions, as a program writes them.
struct Places {
  std::string queries, tokens;
  std::string getDistance() const { return tokens + " - " + queries; }
};
} // namespace

/// None where rows are positions.
static std::optional<Places> findPlaces(const ScalarScope &scope) {
  auto rows = scope.counted.find("t"), keys = scope.counted.find("j");
  if (rows == scope.counted.end() || keys == scope.counted.end())
    return std::nullopt;
  Places places{nsa::toString(rows->second),
                nsa::getTokenDim(keys->second).str()};
  if (auto named = dyn_cast<nsa::NamedDimAttr>(rows->second))
    places.queries = named.getName().str();
  if (places.queries == places.tokens || places.tokens.empty())
    return std::nullopt;
  return places;
}

//===----------------------------------------------------------------------===//
// Rows that are taken for positions
//===----------------------------------------------------------------------===//

bool ScalarGen::checkRows(const ast::Expr *lhs, const ast::Expr *rhs) {
  std::optional<Places> places = findPlaces(scope);
  Difference found(lhs, rhs, symbols);
  // A sum with a size, or with the number of keys in front of row 0, says
  // itself how rows stand to keys.
  if (!places || !found.has("t") || !found.has("j") || found.has("i") ||
      found.has(places->queries) || found.has(places->tokens) ||
      llvm::any_of(found.inputs, [&](auto input) {
        return input.second == found.names.lookup("t") &&
               !isOfHeads(input.first);
      }))
    return false;
  problems
      .warning(join(lhs->range, rhs->range),
               "'t' is the query's row of " + places->queries +
                   ", and is compared with a position in " + places->tokens)
      .note("'i' is the query's position among the keys, t + " +
            places->getDistance() +
            "; 't + n[b]' in a cache with room behind its keys, with an input "
            "n that counts those in front of row 0; '1 * t' if its row is "
            "meant");
  return true;
}

//===----------------------------------------------------------------------===//
// Keys in front of the queries, counted twice
//===----------------------------------------------------------------------===//

/// `j <= i + (S - T)`, however it is written: i = t + S - T.
bool ScalarGen::checkDistance(const ast::Expr *lhs, const ast::Expr *rhs) {
  std::optional<Places> places = findPlaces(scope);
  Difference found(lhs, rhs, symbols);
  int64_t position = found.names.lookup("i");
  if (!places || std::abs(position) != 1 ||
      found.names.lookup("j") != -position ||
      found.names.lookup(places->tokens) != position ||
      found.names.lookup(places->queries) != -position)
    return false;
  std::string distance = places->getDistance();
  problems
      .warning(join(lhs->range, rhs->range),
               distance +
                   " is added to 'i', which has it already: 'i' is the "
                   "query's position among the keys, t + " +
                   distance)
      .note("leave it out: 'j <= i' is causal for any " + places->tokens +
            " and " + places->queries + ", and 'j <= i + " + distance +
            "' shows later keys where " + places->queries + " < " +
            places->tokens + "; '1 * i' if the bound is to lie " + distance +
            " keys further on");
  return true;
}

/// Tells the side of the keys that an operator bounds: 1 for those after, -1
/// for those before, 0 for neither.
static int64_t getSide(Operator op, int64_t keySign) {
  switch (op) {
  case Operator::Less:
  case Operator::LessEqual:
    return keySign;
  case Operator::Greater:
  case Operator::GreaterEqual:
    return -keySign;
  default:
    return 0;
  }
}

/// Calls `visit` with the bounds of keys by positions in a clause, and the side
/// of each.
static void
visitBounds(const ast::Expr *clause, const Symbols &symbols,
            llvm::function_ref<void(const Difference &, int64_t)> visit) {
  ast::anyPart(clause, [&](const ast::Expr *part) {
    if (auto *chain = llvm::dyn_cast<ast::ComparisonExpr>(part))
      for (auto [index, op] : llvm::enumerate(chain->ops)) {
        Difference bound(chain->operands[index], chain->operands[index + 1],
                         symbols);
        if (bound.isOfPosition())
          visit(bound, getSide(op, bound.names.lookup("j")));
      }
    return false;
  });
}

bool ScalarGen::checkPast(Operator op, const ast::Expr *lhs,
                          const ast::Expr *rhs) {
  std::optional<Places> places = findPlaces(scope);
  Difference found(lhs, rhs, symbols);
  if (!places || !found.isOfPosition() || found.has(places->queries) ||
      found.has(places->tokens))
    return false;
  // Caches have lengths for rows of the batch, or one for all; what belongs to
  // a head, a query or a key is a window.
  auto isPast = [&](const ast::Expr *input) {
    return !mentionsAny(input, {"i", "j", "t"}) && !isOfHeads(input);
  };
  const auto *past = llvm::find_if(found.inputs, [&](auto input) {
    return input.second == found.names.lookup("i") && isPast(input.first);
  });
  if (past == found.inputs.end())
    return false;
  // `i - left <= j <= i + right` is a window, of two inputs.
  int64_t side = getSide(op, found.names.lookup("j"));
  bool isWindow = false;
  visitBounds(clause, symbols, [&](const Difference &other, int64_t otherSide) {
    isWindow |= side * otherSide < 0 && !other.inputs.empty() &&
                llvm::all_of(
                    other.inputs,
                    [&](auto input) {
                      return input.second != other.names.lookup("i") &&
                             isPast(input.first) &&
                             mentionsAny(input.first, {"b"}) ==
                                 mentionsAny(past->first, {"b"});
                    });
  });
  if (isWindow)
    return false;
  std::string text = source.getText(past->first->range).str();
  problems
      .warning(join(lhs->range, rhs->range),
               quote(text) +
                   " is added to 'i', which has the keys in front of "
                   "the queries in it already: 'i' is t + " +
                   places->getDistance())
      .note("'t + " + text +
            "' if it counts the keys in front of row 0, in a cache with room "
            "behind its keys; '1 * i + " +
            text + "' if the query's bound is to lie so far from its position");
  return true;
}

//===----------------------------------------------------------------------===//
// Windows that are taken for tokens
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
