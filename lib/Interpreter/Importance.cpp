//===- Importance.cpp - nsa.importance and nsa.blocks ---------------------===//
//
// docs/spec.md, 3.4 and 3.5.
//
//===----------------------------------------------------------------------===//

#include "Evaluate.h"
#include "NSA/IR/NSANames.h"
#include "Parallel.h"
#include "Reduction.h"
#include "Scoring.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::interpreter;

//===----------------------------------------------------------------------===//
// nsa.importance
//===----------------------------------------------------------------------===//

namespace {

/// Computes the entries of one query row after the other.
class ImportanceRow {
public:
  ImportanceRow(nsa::ImportanceOp op, const Scoring &scoring,
                const Context &context, TensorValue &result)
      : op(op), kind(op.getKind()), heads(op.getHeads()), scoring(scoring),
        context(context), result(result), scorer(scoring) {}

  llvm::Error run(int64_t row);

private:
  llvm::Error runHead(int64_t row, const Position &position);

  nsa::ImportanceOp op;
  nsa::ImportanceKind kind;
  nsa::HeadReduction heads;
  const Scoring &scoring;
  const Context &context;
  TensorValue &result;
  RowScorer scorer;
  std::vector<double> values;
};

} // namespace

/// Fills `values` for the keys that take part.
llvm::Error ImportanceRow::runHead(int64_t row, const Position &position) {
  if (llvm::Error error = scorer.run(row, position))
    return error;
  ArrayRef<double> scores = scorer.getScores();
  switch (kind) {
  case nsa::ImportanceKind::Activation:
    return scorer.runWeight(values);
  case nsa::ImportanceKind::Score:
    values.assign(scores.begin(), scores.end());
    return llvm::Error::success();
  case nsa::ImportanceKind::Prob: {
    Normalizer normalizer = context.getNormalizer(
        op.getLse(), row * scoring.queryHeads + position.h);
    values.clear();
    for (double score : scores)
      values.push_back(normalizer.getShare(score, scoring.rounding));
    return llvm::Error::success();
  }
  }
  llvm_unreachable("unknown importance");
}

static Reduce getReduce(nsa::HeadReduction heads) {
  switch (heads) {
  case nsa::HeadReduction::None: // of one head
  case nsa::HeadReduction::Sum:
    return Reduce::Sum;
  case nsa::HeadReduction::Mean:
    return Reduce::Mean;
  case nsa::HeadReduction::Max:
    return Reduce::Max;
  }
  llvm_unreachable("unknown reduction");
}

llvm::Error ImportanceRow::run(int64_t row) {
  int64_t numHeads = result.shape.end()[-2], width = result.shape.back();
  if (numHeads == 0)
    return llvm::Error::success();
  int64_t group = scoring.queryHeads / numHeads;
  Position position = scoring.getPosition(row);
  for (int64_t head = 0; head < numHeads; ++head) {
    std::vector<Reduction> entries(
        width, Reduction(getReduce(heads), scoring.rounding));
    for (int64_t member = 0; member < group; ++member) {
      position.h = head * group + member;
      if (llvm::Error error = runHead(row, position))
        return error;
      for (auto [j, value] : llvm::zip_equal(scorer.getKeys(), values))
        entries[j].add(value);
    }
    double *out = result.reals.data() + (row * numHeads + head) * width;
    for (const Reduction &entry : entries)
      *out++ = entry.get();
  }
  return llvm::Error::success();
}

llvm::Expected<TensorValue>
nsacc::interpreter::evaluateImportance(nsa::ImportanceOp op,
                                       const Context &context) {
  llvm::Expected<Scoring> scoring = Scoring::create(op, context);
  if (!scoring)
    return scoring.takeError();
  auto type = cast<nsa::NamedTensorType>(op.getResult().getType());
  TensorValue result = TensorValue::makeReal(
      context.environment.getShape(type.getDims()), absent);
  auto makeWorker = [&]() -> RowWorker {
    auto worker =
        std::make_shared<ImportanceRow>(op, *scoring, context, result);
    return [worker, &context](int64_t row) {
      return context.needsRow(row) ? worker->run(row) : llvm::Error::success();
    };
  };
  if (llvm::Error error = forEachRow(scoring->queryRows.getNumRows(),
                                     context.threads, makeWorker))
    return std::move(error);
  return result;
}

//===----------------------------------------------------------------------===//
// nsa.blocks
//===----------------------------------------------------------------------===//

/// Tokens [start, end).
struct Extent {
  int64_t start, end;
};

static Extent getExtent(Attribute dim, int64_t entry) {
  if (auto pooled = dyn_cast<nsa::PooledDimAttr>(dim))
    return {pooled.getStart(entry), pooled.getEnd(entry)};
  return {entry, entry + 1};
}

static Reduce getReduce(nsa::BlockMap map) {
  switch (map) {
  case nsa::BlockMap::Overlap:
  case nsa::BlockMap::Sum:
    return Reduce::Sum;
  case nsa::BlockMap::Mean:
    return Reduce::Mean;
  case nsa::BlockMap::Max:
    return Reduce::Max;
  }
  llvm_unreachable("unknown block map");
}

/// Maps a row of entries to blocks. Block `n` holds the tokens [n·block,
/// (n+1)·block).
static void mapRowToBlocks(nsa::BlocksOp op, Attribute dim, Rounding rounding,
                           ArrayRef<double> entries,
                           MutableArrayRef<double> blocks) {
  int64_t block = op.getBlock();
  auto pooled = dyn_cast<nsa::PooledDimAttr>(dim);
  double stride = pooled ? pooled.getStride() : 1;
  std::vector<Reduction> sums(blocks.size(),
                              Reduction(getReduce(op.getMap()), rounding));
  for (auto [entry, value] : llvm::enumerate(entries)) {
    Extent extent = getExtent(dim, entry);
    int64_t first = std::max<int64_t>(extent.start, 0) / block;
    for (int64_t n = first, e = blocks.size(); n < e; ++n) {
      int64_t overlap = std::min(extent.end, (n + 1) * block) -
                        std::max(extent.start, n * block);
      if (overlap <= 0)
        break;
      bool weighted = op.getMap() == nsa::BlockMap::Overlap;
      sums[n].add(value, weighted ? overlap / stride : 1);
    }
  }
  for (auto [out, sum] : llvm::zip_equal(blocks, sums))
    out = sum.get();
}

llvm::Expected<TensorValue>
nsacc::interpreter::evaluateBlocks(nsa::BlocksOp op, const Context &context) {
  const Environment &environment = context.environment;
  const TensorValue &importance = context.getTensor(op.getImportance());
  ArrayRef<Attribute> dims =
      cast<nsa::NamedTensorType>(op.getImportance().getType()).getDims();
  auto type = cast<nsa::NamedTensorType>(op.getResult().getType());
  Attribute from = dims.back(), to = type.getDims().back();
  RowOffsets rows = environment.getRows(dims);
  TensorValue result =
      TensorValue::makeReal(environment.getShape(type.getDims()), absent);

  int64_t heads = result.shape.end()[-2];
  int64_t width = importance.shape.back(), newWidth = result.shape.back();
  auto runRow = [&](int64_t row) {
    if (!context.needsRow(row))
      return llvm::Error::success();
    int64_t b = rows.findBatch(row);
    int64_t entries = environment.getEntries(from, b);
    int64_t blocks = environment.getEntries(to, b);
    for (int64_t line = row * heads; line < (row + 1) * heads; ++line)
      mapRowToBlocks(
          op, from, context.rounding,
          ArrayRef(importance.reals).slice(line * width, entries),
          MutableArrayRef(result.reals).slice(line * newWidth, blocks));
    return llvm::Error::success();
  };
  if (llvm::Error error = forEachRow(rows.getNumRows(), context.threads,
                                     [&]() -> RowWorker { return runRow; }))
    return std::move(error);
  return result;
}
