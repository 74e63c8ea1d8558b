//===- StateSlices.cpp - States that stand in memory in parts -------------===//

#include "StateSlices.h"
#include "QueryGrid.h"
#include <numeric>

using namespace mlir;
using namespace nsacc;

/// Greatest number of heads of a slice for whose states there is room. It
/// divides the number of all heads, so that slices are alike.
static Value getHeadsOfSlice(IndexMath m, Value tokens, int64_t heads,
                             Value most) {
  Value found = m.constant(1);
  for (int64_t each = 2; each <= heads; ++each)
    if (heads % each == 0)
      found = m.select(
          m.compare(arith::CmpIPredicate::sle, m.mul(tokens, each), most),
          m.constant(each), found);
  return found;
}

/// Number of slices of at most `most` of `all`, and the size of each. Sizes are
/// about equal.
static std::pair<Value, Value> divide(IndexMath m, Value all, Value most) {
  Value one = m.constant(1);
  Value count = m.max(m.ceilDiv(all, m.max(most, one)), one);
  return {count, m.ceilDiv(all, count)};
}

/// Number of slices of at most `most` tokens of a batch row, and the multiples
/// of `unit` that each has.
static std::pair<Value, Value> divideTokens(IndexMath m, Value tokens,
                                            Value most, int64_t unit) {
  Value units = m.ceilDiv(tokens, unit);
  Value room = m.select(m.compare(arith::CmpIPredicate::sle, tokens, most),
                        units, m.floorDiv(most, unit));
  return divide(m, units, room);
}

/// Stops at a large number of tokens, which no batch row has.
static int64_t getLeastCommonMultiple(ArrayRef<int64_t> numbers,
                                      int64_t multiple) {
  constexpr int64_t most = int64_t{1} << 46;
  for (int64_t each : numbers)
    if (multiple < most)
      multiple = std::lcm(multiple, each);
  return multiple;
}

StateSlices nsacc::createSlices(PlanBuilder &plan, const QueryShape &shape,
                                int64_t mostBytes,
                                ArrayRef<int64_t> tileTokens) {
  int64_t numHeads = *plan.getStaticSize(shape.keyHead);
  Value tokens = plan.getSize(shape.dims.token);
  Value batch = shape.dims.batch ? plan.getSize(shape.dims.batch) : Value();
  OpBuilder &builder = plan.getBuilder();
  IndexMath m = plan.math();
  StateSlices slices;
  slices.mostBytes = mostBytes;
  slices.mostTokens = arith::ConstantIndexOp::create(builder, plan.getLoc(), 0);
  Value most = slices.mostTokens, one = m.constant(1);
  slices.heads = getHeadsOfSlice(m, tokens, numHeads, most);
  slices.queryHeads = m.mul(slices.heads, shape.group);
  slices.tokens = tokens;
  Value headSlices =
      m.floorDiv(m.constant(std::max<int64_t>(numHeads, 1)), slices.heads);
  Value count = headSlices;
  if (batch) {
    Value rows = m.floorDiv(most, m.max(m.mul(tokens, numHeads), one)), number;
    std::tie(number, slices.rows) = divide(m, batch, rows);
    count = m.mul(count, number);
    slices.leastTokens = getLeastCommonMultiple(tileTokens, slices.leastTokens);
    int64_t unit = slices.leastTokens;
    auto [tokenSlices, unitsOfSlice] = divideTokens(m, tokens, most, unit);
    slices.tokenSlices = tokenSlices;
    slices.chunks = m.mul(unitsOfSlice, unit / StateSlices::chunkTokens);
    slices.tokens =
        m.min(m.mul(slices.chunks, StateSlices::chunkTokens), tokens);
    count = m.mul(count, tokenSlices);
  }

  slices.repeat = nsatile::RepeatOp::create(builder, plan.getLoc(), count);
  OpBuilder inner = OpBuilder::atBlockEnd(&slices.repeat.getBody().front());
  IndexMath n(inner, plan.getLoc());
  Value rest = slices.repeat.getNumber();
  auto takeNumber = [&](Value count) {
    Value quotient = n.floorDiv(rest, count);
    Value number = n.sub(rest, n.mul(quotient, count));
    rest = quotient;
    return number;
  };
  if (batch) {
    slices.tokenSlice = takeNumber(slices.tokenSlices);
    slices.firstToken = n.mul(n.mul(slices.tokenSlice, slices.chunks),
                              StateSlices::chunkTokens);
  }
  slices.firstHead = n.mul(takeNumber(headSlices), slices.heads);
  slices.firstQueryHead = n.mul(slices.firstHead, shape.group);
  if (batch) {
    slices.firstRow = n.mul(rest, slices.rows);
    slices.rowsLeft = n.sub(batch, slices.firstRow);
  }
  return slices;
}

StateSlices nsacc::createResultSlices(PlanBuilder &plan, const QueryDims &dims,
                                      int64_t mostTokens,
                                      ArrayRef<int64_t> tileTokens) {
  Value batch = plan.getSize(dims.batch), tokens = plan.getSize(dims.token);
  IndexMath m = plan.math();
  StateSlices slices;
  slices.leastTokens = getLeastCommonMultiple(tileTokens, 1);
  Value most = m.constant(mostTokens);
  auto [rowSlices, rows] =
      divide(m, batch, m.floorDiv(most, m.max(tokens, m.constant(1))));
  auto [tokenSlices, units] = divideTokens(m, tokens, most, slices.leastTokens);
  Value step = m.mul(units, slices.leastTokens);
  slices.rows = rows;
  slices.tokens = m.min(step, tokens);
  slices.tokenSlices = tokenSlices;
  slices.repeat = nsatile::RepeatOp::create(plan.getBuilder(), plan.getLoc(),
                                            m.mul(rowSlices, tokenSlices));
  OpBuilder inner = OpBuilder::atBlockEnd(&slices.repeat.getBody().front());
  IndexMath n(inner, plan.getLoc());
  Value number = slices.repeat.getNumber();
  Value row = n.floorDiv(number, tokenSlices);
  slices.tokenSlice = n.sub(number, n.mul(row, tokenSlices));
  slices.firstToken = n.mul(slices.tokenSlice, step);
  slices.tokensLeft = n.sub(tokens, slices.firstToken);
  slices.firstRow = n.mul(row, slices.rows);
  slices.rowsLeft = n.sub(batch, slices.firstRow);
  return slices;
}

void StateSlices::setBytes(int64_t bytesOfToken) {
  mostTokens.setValueAttr(IntegerAttr::get(
      mostTokens.getType(), mostBytes / std::max<int64_t>(bytesOfToken, 1)));
}

/// Moves the loop behind all values of the plan, which its programs may use.
static void moveToEnd(nsatile::RepeatOp repeat) {
  Block *block = repeat->getBlock();
  repeat->moveBefore(block, block->end());
}

Value nsacc::computeInLoop(PlanBuilder &plan, const StateSlices &slices,
                           llvm::function_ref<Value(IndexMath)> compute) {
  OpBuilder::InsertionGuard guard(plan.getBuilder());
  nsatile::RepeatOp repeat = slices.repeat;
  plan.getBuilder().setInsertionPointToEnd(&repeat.getBody().front());
  return compute(plan.math());
}

void nsacc::launch(ProgramBuilder &program, StateSlices &slices, Value x,
                   Value y, Value z) {
  PlanBuilder &plan = program.getPlan();
  IndexMath m = plan.math();
  if (!z)
    z = m.constant(1);
  // The greatest size stands in front of the loop.
  Value most = slices.rows ? m.mul(slices.rows, z) : z;
  moveToEnd(slices.repeat);
  OpBuilder::InsertionGuard guard(plan.getBuilder());
  plan.getBuilder().setInsertionPointToEnd(&slices.repeat.getBody().front());
  z = slices.rowsLeft ? m.min(most, m.mul(slices.rowsLeft, z)) : most;
  program.launch(x, y, z);
}

bool nsacc::canMergeNext(const StateSlices &slices, int64_t tileTokens) {
  if (slices.firstToken && slices.leastTokens % tileTokens != 0)
    return false;
  if (!slices.isMerged)
    return true;
  for (Operation *op = slices.repeat; op; op = op->getNextNode())
    if (isa<nsatile::LaunchOp>(op))
      return false;
  return true;
}

void nsacc::joinSlices(PlanBuilder &plan, StateSlices &slices) {
  IRRewriter rewriter(plan.getBuilder().getContext());
  rewriter.setInsertionPoint(slices.repeat);
  Value zero = arith::ConstantIndexOp::create(rewriter, plan.getLoc(), 0);
  slices.repeat.inlineBody(rewriter, zero);
  slices.repeat = {};
  slices.mostTokens.setValueAttr(rewriter.getIndexAttr(INT64_MAX));
}
