//===- LintMasks.cpp - Masks that are most likely a mistake ---------------===//

#include "NSA/Analysis/LintChecks.h"
#include "NSA/Analysis/MaskArguments.h"
#include "NSA/Analysis/MaskProof.h"
#include "NSA/Analysis/ScalarTrial.h"
#include "NSA/IR/NSANames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace nsacc::nsa;

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

/// `keys` is the word for them in the message. Needs a mask.
static void checkVisible(Region &mask, StringRef keys, MaskProof &proof,
                         LintReport &report) {
  bool isProven = proof.isAlways(/*visible=*/false);
  if (!isProven && !hidesTried(mask))
    return;
  report
      .warning(getPlace(mask), "this mask hides every " + Twine(keys) +
                                   " from every query" +
                                   (isProven ? "" : " that was tried"))
      .note((keys == "key" ? "a query that sees no key gets 0; " : "") +
            Twine("are two comparisons, or a "
                  "parameter's value, the wrong way round?"));
}

//===----------------------------------------------------------------------===//
// Masks that hide nothing
//===----------------------------------------------------------------------===//

/// Whether a part of the mask explicitly allows every key: `j < S`.
static bool asksForAll(Value part, BlockArgument key, StringRef tokens) {
  if (auto both = part.getDefiningOp<arith::AndIOp>())
    return asksForAll(both.getLhs(), key, tokens) ||
           asksForAll(both.getRhs(), key, tokens);
  auto comparison = part.getDefiningOp<arith::CmpIOp>();
  if (!comparison)
    return false;
  Value less = comparison.getLhs(), more = comparison.getRhs();
  if (comparison.getPredicate() == arith::CmpIPredicate::sgt)
    std::swap(less, more);
  else if (comparison.getPredicate() != arith::CmpIPredicate::slt)
    return false;
  auto size = more.getDefiningOp<DimOp>();
  return less == key && size && size.getDim() == tokens;
}

static bool hasOr(Value condition) {
  if (condition.getDefiningOp<arith::OrIOp>())
    return true;
  auto both = condition.getDefiningOp<arith::AndIOp>();
  return both && (hasOr(both.getLhs()) || hasOr(both.getRhs()));
}

/// Warns of a mask that compares positions but hides nothing.
static void checkHidden(Region &mask, Attribute tokens, MaskProof &proof,
                        LintReport &report) {
  Value shown = mask.front().getTerminator()->getOperand(0);
  if (mask.getOps<arith::CmpIOp>().empty() ||
      asksForAll(shown, mask.getArgument(kKey), getTokenDim(tokens)) ||
      hasSwitches(getPlace(mask)) || !proof.isAlways(/*visible=*/true))
    return;
  report.warning(getPlace(mask), "this mask hides no key from any query")
      .note((hasOr(shown)
                 ? "'or' shows what either side shows; a causal window is 'j "
                   "<= i and i - j < N'"
                 : "a causal mask is 'j <= i'") +
            Twine("; leave out 'where' if every key is meant"));
}

//===----------------------------------------------------------------------===//
// Masks of later keys
//===----------------------------------------------------------------------===//

/// The distance in tokens from a query at which a window lies completely on one
/// side of it.
static int64_t getReach(Attribute tokens) {
  auto pooled = dyn_cast<PooledDimAttr>(tokens);
  return pooled ? pooled.getLen() + pooled.getMemory() * pooled.getStride() : 0;
}

int64_t nsacc::nsa::findKey(Attribute tokens, int64_t query, int64_t distance) {
  auto pooled = dyn_cast<PooledDimAttr>(tokens);
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

/// Warns of a mask that shows the keys after a query, but few or none before
/// it.
static void checkFuture(Region &region, Attribute tokens, LintReport &report) {
  // A mask that mentions a bound of the keys is meant to reach it.
  bool namesSize = region.walk([](DimOp) { return WalkResult::interrupt(); })
                       .wasInterrupted();
  if (namesSize)
    return;
  MaskTrial mask(region, /*place=*/std::nullopt);
  StringRef shown;
  if (showsAllLater(mask, tokens))
    shown = "every key after it, and of those before it only the last ones, "
            "if any";
  else if (showsOnlyLater(mask, tokens))
    shown = "keys after it, and none before it";
  else
    return;
  report.warning(getPlace(region), "this mask shows a query " + shown)
      .note("a causal mask is 'j <= i', a causal window '0 <= i - j < N'; if "
            "later keys are meant, add 'and " +
            (isa<PooledDimAttr>(tokens)
                 ? "start(j) < " + getTokenDim(tokens).str()
                 : "j < " + toString(tokens)) +
            "'");
}

//===----------------------------------------------------------------------===//
// Indices at visible pairs
//===----------------------------------------------------------------------===//

/// Whether a condition decides if a clause uses a value.
static bool isChosen(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<arith::SelectOp>(user) ||
           (user->getNumResults() == 1 && isChosen(user->getResult(0)));
  });
}

/// Warns of an index that is in front of a table at each visible pair, though
/// not at all pairs.
static void checkIndices(Region &clause, MaskProof &proof, LintReport &report) {
  if (clause.empty())
    return;
  for (auto read : clause.getOps<TableReadOp>())
    for (Value index : read.getIndices()) {
      if (isAlwaysInFront(index) || !proof.isNegative(index, clause) ||
          isChosen(read))
        continue;
      report
          .warning(index.getLoc(),
                   "this index of " + describeTensor(read.getTable()) +
                       " is negative, in front of its first element, for each "
                       "visible pair")
          .note("indices count from 0, and not from the end; the distance of "
                "a key that 'j <= i' shows is 'i - j'");
    }
}

void nsacc::nsa::lintMask(ScoringOpInterface op, LintReport &report) {
  Region &mask = op.getMask();
  SequenceDims query(op.getQuery()), key(op.getKey());
  MaskProof proof(mask, query.tokens, query.heads, key.tokens);
  if (mask.empty() || !proof.isAlways(/*visible=*/false)) {
    checkIndices(op.getScore(), proof, report);
    checkIndices(op.getWeight(), proof, report);
  }
  if (mask.empty())
    return;
  checkVisible(mask, "key", proof, report);
  checkHidden(mask, key.tokens, proof, report);
  checkFuture(mask, key.tokens, report);
}

void nsacc::nsa::lintMask(TopKOp op, LintReport &report) {
  Region &mask = op.getMask();
  if (mask.empty())
    return;
  // Scores are [B, T, H, blocks] or [ragged T, H, blocks].
  SequenceDims scores(op.getImportance());
  MaskProof proof(mask, scores.tokens, scores.heads, scores.features);
  checkVisible(mask, "block", proof, report);
}

//===----------------------------------------------------------------------===//
// Branches of a merge
//===----------------------------------------------------------------------===//

static std::optional<std::pair<int64_t, int64_t>>
findSharedPair(AttendOp first, AttendOp second) {
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

void nsacc::nsa::lintBranches(MergeOp merge, LintReport &report) {
  // Each pair of branches costs some thousand evaluations, so only a few are
  // compared.
  constexpr size_t most = 4;
  auto branches = llvm::map_to_vector(merge.getOutputs(), [](Value output) {
    return output.getDefiningOp<AttendOp>();
  });
  auto getBranch = [&](size_t index) {
    return getOperandPlace(merge, index, branches[index].getOutput());
  };
  for (size_t i = 0; i < std::min(branches.size(), most); ++i)
    for (size_t j = 0; j < i; ++j) {
      AttendOp one = branches[j], other = branches[i];
      if (!one || !other || one.getKey() != other.getKey() ||
          one.getValue() != other.getValue() ||
          one.getSelection() != other.getSelection())
        continue;
      auto pair = findSharedPair(one, other);
      if (!pair)
        continue;
      report
          .warning(getBranch(i), "two branches of this merge see the same "
                                 "keys, such as key " +
                                     Twine(pair->second) + " from query " +
                                     Twine(pair->first) + ": they count twice")
          .note(getBranch(j), "the other branch is here; let the masks exclude "
                              "each other, or join them with 'or' in one "
                              "attend");
    }
}
