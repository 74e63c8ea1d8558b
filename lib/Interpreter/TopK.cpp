//===- TopK.cpp - nsa.topk (docs/spec.md, 3.6) ----------------------------===//

#include "Clause.h"
#include "Evaluate.h"
#include "NSA/IR/NSANames.h"
#include "Parallel.h"
#include "Reduction.h"
#include "SharedScores.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::interpreter;

namespace {

/// Packed query rows [begin, end) of batch entry `b` that share a selection.
struct RowGroup {
  int64_t b, begin, end;
};

/// Data that the rows of a topk share.
struct TopK {
  nsa::TopKOp op;
  const TensorValue *importance;
  const TensorValue *count;
  Rounding rounding;
  RowOffsets rows;
  int64_t heads;
  /// For each batch entry.
  std::vector<int64_t> tokens, blocks, entries;
  int64_t block;
  Clause mask;

  int64_t getPosition(int64_t b, int64_t row) const {
    return row - rows.getStart(b) + tokens[b] - rows.getLength(b);
  }
  std::vector<RowGroup> groupRows(int64_t share) const;
};

/// For each block, the importance of rows and heads that share a selection.
class SharedScores {
public:
  explicit SharedScores(const TopK &topk) : topk(topk), op(topk.op) {}

  /// Reduces the heads that share with `firstHead`. The result is valid until
  /// the next call.
  ArrayRef<double> reduce(const RowGroup &group, int64_t firstHead);

private:
  void reduceRows(const RowGroup &group, int64_t head);

  const TopK &topk;
  nsa::TopKOp op;
  std::vector<double> headScores, scores;
};

/// Selects for one group of rows after the other.
class TopKRow {
public:
  TopKRow(const TopK &topk, SelectionValue &result)
      : topk(topk), op(topk.op), result(result), shared(topk),
        mask(topk.mask, /*lanes=*/64) {}

  llvm::Error run(const RowGroup &group);

private:
  llvm::Error findAllowed(const Position &position);
  std::vector<int64_t> getForced(const Position &position);
  std::vector<int64_t> select(const Position &position, int64_t count);

  const TopK &topk;
  nsa::TopKOp op;
  SelectionValue &result;
  SharedScores shared;
  ArrayRef<double> scores;
  ClauseRunner mask;
  std::vector<int64_t> allBlocks, allowed;
};

} // namespace

//===----------------------------------------------------------------------===//
// Sharing
//===----------------------------------------------------------------------===//

/// Rows with equal i floordiv `share` share a selection.
std::vector<RowGroup> TopK::groupRows(int64_t share) const {
  std::vector<RowGroup> groups;
  for (int64_t b = 0; b < rows.getBatch(); ++b) {
    int64_t end = rows.getStart(b) + rows.getLength(b);
    int64_t begin = rows.getStart(b);
    while (begin < end) {
      int64_t index = llvm::divideFloorSigned(getPosition(b, begin), share);
      int64_t next = begin + (index + 1) * share - getPosition(b, begin);
      groups.push_back({b, begin, std::min(next, end)});
      begin = groups.back().end;
    }
  }
  return groups;
}

static Reduce getReduce(nsa::ShareBy by) {
  switch (by) {
  case nsa::ShareBy::First: // of one member
  case nsa::ShareBy::Last:
  case nsa::ShareBy::Sum:
    return Reduce::Sum;
  case nsa::ShareBy::Mean:
    return Reduce::Mean;
  case nsa::ShareBy::Max:
    return Reduce::Max;
  }
  llvm_unreachable("unknown way to share");
}

/// The members [begin, end) whose importance counts.
static std::pair<int64_t, int64_t> getMembers(nsa::ShareBy by, int64_t begin,
                                              int64_t end) {
  if (by == nsa::ShareBy::First)
    return {begin, begin + 1};
  if (by == nsa::ShareBy::Last)
    return {end - 1, end};
  return {begin, end};
}

/// Fills `headScores` with the importance of one head over the group's rows.
void SharedScores::reduceRows(const RowGroup &group, int64_t head) {
  nsa::ShareBy by = op.getShareTokensBy();
  auto [begin, end] = getMembers(by, group.begin, group.end);
  int64_t width = topk.importance->shape.back();
  headScores.clear();
  // Entries after the last block have no tokens.
  int64_t entries = std::min(topk.entries[group.b], topk.blocks[group.b]);
  for (int64_t entry = 0; entry < entries; ++entry) {
    Reduction reduction(getReduce(by), topk.rounding);
    for (int64_t row = begin; row < end; ++row)
      reduction.add(
          topk.importance->reals[(row * topk.heads + head) * width + entry]);
    headScores.push_back(reduction.get());
  }
}

ArrayRef<double> SharedScores::reduce(const RowGroup &group,
                                      int64_t firstHead) {
  nsa::ShareBy by = op.getShareHeadsBy();
  auto [begin, end] = getMembers(by, firstHead, firstHead + op.getShareHeads());
  std::vector<Reduction> reductions(topk.blocks[group.b],
                                    Reduction(getReduce(by), topk.rounding));
  for (int64_t head = begin; head < end; ++head) {
    reduceRows(group, head);
    for (auto [entry, score] : llvm::enumerate(headScores))
      reductions[entry].add(score);
  }
  scores.clear();
  for (const Reduction &reduction : reductions)
    scores.push_back(reduction.get());
  return scores;
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

/// Sets `allowed` to the value of `where` for each block.
llvm::Error TopKRow::findAllowed(const Position &position) {
  allBlocks.resize(topk.blocks[position.b]);
  std::iota(allBlocks.begin(), allBlocks.end(), 0);
  allowed.assign(allBlocks.size(), true);
  if (mask.isEmpty())
    return llvm::Error::success();
  mask.setPosition(position);
  return mask.run(allBlocks, allowed);
}

/// Blocks 0, 1, … then own, own - 1, … that exist and are allowed.
std::vector<int64_t> TopKRow::getForced(const Position &position) {
  int64_t blocks = allowed.size();
  std::vector<int64_t> forced;
  std::vector<bool> isForced(blocks);
  auto add = [&](int64_t block) {
    if (block < 0 || block >= blocks || !allowed[block] || isForced[block])
      return;
    forced.push_back(block);
    isForced[block] = true;
  };
  int64_t own = llvm::divideFloorSigned(position.i, topk.block);
  for (int64_t n = 0, e = std::min<int64_t>(op.getFirst(), blocks); n < e; ++n)
    add(n);
  for (int64_t n = 0, e = std::min<int64_t>(op.getLast(), own + 1); n < e; ++n)
    add(own - n);
  return forced;
}

/// Order: score descending, NaN after every number, then lower index.
static bool ranksBefore(double score, int64_t block, double otherScore,
                        int64_t otherBlock) {
  bool isNaN = std::isnan(score), otherIsNaN = std::isnan(otherScore);
  if (isNaN != otherIsNaN)
    return otherIsNaN;
  if (!isNaN && score != otherScore)
    return score > otherScore;
  return block < otherBlock;
}

std::vector<int64_t> TopKRow::select(const Position &position, int64_t count) {
  std::vector<int64_t> chosen = getForced(position);
  int64_t limit = op.getPlus() ? chosen.size() + count : count;
  if (static_cast<int64_t>(chosen.size()) > limit)
    chosen.resize(limit);

  std::vector<int64_t> others;
  for (int64_t block : chosen)
    allowed[block] = false;
  for (int64_t block : allBlocks)
    if (scores[block] != absent && allowed[block])
      others.push_back(block);
  int64_t more = std::min<int64_t>(limit - chosen.size(), others.size());
  std::partial_sort(others.begin(), others.begin() + more, others.end(),
                    [&](int64_t a, int64_t b) {
                      return ranksBefore(scores[a], a, scores[b], b);
                    });
  chosen.insert(chosen.end(), others.begin(), others.begin() + more);
  llvm::sort(chosen);
  return chosen;
}

llvm::Error TopKRow::run(const RowGroup &group) {
  int64_t share = op.getShareHeads();
  // One row and one head stand for all that share a selection.
  int64_t row = op.getShareTokensBy() == nsa::ShareBy::First ? group.begin
                                                             : group.end - 1;
  bool byLastHead = op.getShareHeadsBy() == nsa::ShareBy::Last;
  for (int64_t first = 0; first < topk.heads; first += share) {
    Position position = {.b = group.b,
                         .h = byLastHead ? first + share - 1 : first,
                         .t = row - topk.rows.getStart(group.b),
                         .i = topk.getPosition(group.b, row)};
    scores = shared.reduce(group, first);
    if (llvm::Error error = findAllowed(position))
      return error;
    int64_t count = op.getTop();
    if (topk.count)
      count = topk.count->integers[row * topk.heads + position.h];
    std::vector<int64_t> chosen = select(position, count);
    for (int64_t member = group.begin; member < group.end; ++member)
      for (int64_t head = first; head < first + share; ++head)
        llvm::copy(chosen, result.get(member, head).begin());
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

static llvm::Error checkSharedHeads(nsa::TopKOp op, int64_t heads) {
  int64_t share = op.getShareHeads();
  if (heads % share == 0)
    return llvm::Error::success();
  return makeError("share heads " + llvm::Twine(share) +
                   " doesn't divide the " + llvm::Twine(heads) +
                   " heads of the importance");
}

/// A topk without its mask.
static TopK makeTopK(nsa::TopKOp op, const Context &context) {
  const Environment &environment = context.environment;
  ArrayRef<Attribute> dims =
      cast<nsa::NamedTensorType>(op.getImportance().getType()).getDims();
  TopK topk{.op = op,
            .importance = &context.getTensor(op.getImportance()),
            .count =
                op.getCount() ? &context.getTensor(op.getCount()) : nullptr,
            .rounding = context.rounding,
            .rows = environment.getRows(dims),
            .heads = environment.getSize(dims.end()[-2]),
            .tokens = {},
            .blocks = {},
            .entries = {},
            .block = op.getResult().getType().getBlock(),
            .mask = {}};
  for (int64_t b = 0; b < topk.rows.getBatch(); ++b) {
    topk.tokens.push_back(environment.getTokens(dims.back(), b));
    topk.blocks.push_back(llvm::divideCeil(topk.tokens[b], topk.block));
    topk.entries.push_back(environment.getEntries(dims.back(), b));
  }
  return topk;
}

void nsacc::interpreter::compareSharedScores(
    nsa::TopKOp op, const Context &one, const Context &other,
    llvm::function_ref<void(const SharingGroup &, ArrayRef<double>,
                            ArrayRef<double>)>
        visit) {
  TopK left = makeTopK(op, one), right = makeTopK(op, other);
  SharedScores leftScores(left), rightScores(right);
  int64_t heads = op.getShareHeads();
  for (const RowGroup &group : left.groupRows(op.getShareTokens()))
    for (int64_t first = 0; first < left.heads; first += heads)
      visit({group.begin, group.end, first, heads},
            leftScores.reduce(group, first), rightScores.reduce(group, first));
}

llvm::Expected<SelectionValue>
nsacc::interpreter::evaluateTopK(nsa::TopKOp op, const Context &context) {
  llvm::Expected<Clause> mask =
      Clause::compile(nsa::Clause::Mask, op.getMask(), context);
  if (!mask)
    return mask.takeError();
  TopK topk = makeTopK(op, context);
  topk.mask = std::move(*mask);
  if (llvm::Error error = checkSharedHeads(op, topk.heads))
    return std::move(error);
  if (topk.count)
    if (llvm::Error error =
            checkCounts(op.getCount(), *topk.count, op.getTop()))
      return std::move(error);

  // A row has at most as many blocks as there are, however large `top` is.
  int64_t width = 0;
  for (int64_t blocks : topk.blocks)
    width =
        std::max(width, std::min(blocks, op.getResult().getType().getTop()));
  SelectionValue result(topk.heads, width, topk.rows.getNumRows());
  std::vector<RowGroup> groups = topk.groupRows(op.getShareTokens());
  auto makeWorker = [&]() -> RowWorker {
    auto worker = std::make_shared<TopKRow>(topk, result);
    return [&, worker](int64_t group) { return worker->run(groups[group]); };
  };
  if (llvm::Error error =
          forEachRow(groups.size(), context.threads, makeWorker))
    return std::move(error);
  return result;
}
