//===- ScalarAssertions.cpp - Assertions of scalar code -------------------===//

#include "NSA/IR/NSANames.h"
#include "ScalarTiler.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

AssertionNeed nsacc::getAssertionNeed(Region &region,
                                      const ScalarPlaces &places) {
  AssertionNeed greatest = AssertionNeed::Never;
  for (Operation &op : region.getOps())
    greatest = std::max(greatest, getAssertionNeed(&op, places));
  return greatest;
}

int64_t nsacc::getOpNumber(Operation *op) {
  return std::distance(op->getBlock()->begin(), op->getIterator());
}

namespace {

/// Asserts that ops have a value where the result of their region needs it.
class ScalarAssertions {
public:
  ScalarAssertions(const TileMap &tiles, TileMath &math,
                   const ScalarContext &context)
      : tiles(tiles), math(math), builder(math.getBuilder()),
        loc(math.getLoc()), context(context), demand(*context.demand) {}

  void check(Operation *op);

private:
  /// A tile of booleans; a null value is true everywhere.
  using Condition = Tile;
  Condition getNeed(Operation *op);
  /// Condition under which a use needs its operand, if its result is needed:
  /// `and`, `or` and `select` ignore operands that can't change the result.
  Condition getGuard(OpOperand &use);
  Condition both(Condition lhs, Condition rhs);
  Tile negate(Tile condition);

  void checkIndex(TableReadOp read, unsigned dim);
  void checkDivisor(Operation *op);
  /// `text` says {0}, {1}, … for values.
  void addAssertion(Operation *op, Tile condition, const std::string &text,
                    ArrayRef<Tile> values);
  std::string placeValues(std::string text, unsigned first);
  std::string describePosition();

  Tile number(int64_t value) {
    return math.integer(builder.getIndexType(), value);
  }

  const TileMap &tiles;
  TileMath &math;
  OpBuilder &builder;
  Location loc;
  const ScalarContext &context;
  const Demand &demand;
  DenseMap<Operation *, Condition> needs;
  int64_t checks = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Elements that need a value
//===----------------------------------------------------------------------===//

Tile ScalarAssertions::negate(Tile condition) {
  return math.apply<arith::XOrIOp>(condition,
                                   math.integer(builder.getI1Type(), 1));
}

ScalarAssertions::Condition ScalarAssertions::both(Condition lhs,
                                                   Condition rhs) {
  if (!lhs.value)
    return rhs;
  return rhs.value ? math.apply<arith::AndIOp>(lhs, rhs) : lhs;
}

ScalarAssertions::Condition ScalarAssertions::getGuard(OpOperand &use) {
  Operation *user = use.getOwner();
  if (use.getOperandNumber() == 0)
    return {};
  Tile first = tiles.lookup(user->getOperand(0));
  if (isa<arith::SelectOp>(user))
    return use.getOperandNumber() == 1 ? first : negate(first);
  bool isLogic = use.get().getType().isInteger(1);
  if (isLogic && isa<arith::AndIOp>(user))
    return first;
  if (isLogic && isa<arith::OrIOp>(user))
    return negate(first);
  return {};
}

ScalarAssertions::Condition ScalarAssertions::getNeed(Operation *op) {
  auto known = needs.find(op);
  if (known != needs.end())
    return known->second;
  std::optional<Condition> any;
  for (OpOperand &use : op->getResult(0).getUses()) {
    Operation *user = use.getOwner();
    Condition need =
        isa<YieldOp>(user) ? demand.active : both(getNeed(user), getGuard(use));
    if (any && any->value && need.value)
      need = math.apply<arith::OrIOp>(*any, need);
    else if (any && !any->value)
      need = *any;
    any = need;
  }
  // Values without influence on a result aren't needed.
  return needs[op] = any.value_or(math.integer(builder.getI1Type(), 0));
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Renumbers values 0, 1, … of the text to first, first + 1, …
std::string ScalarAssertions::placeValues(std::string text, unsigned first) {
  std::string placed;
  StringRef rest = text;
  while (true) {
    auto [before, after] = rest.split('{');
    placed += before;
    if (after.empty())
      return placed;
    auto [name, behind] = after.split('}');
    unsigned index = 0;
    name.getAsInteger(10, index);
    placed += "{" + std::to_string(first + index) + "}";
    rest = behind;
  }
}

/// Uses the order of the values that every assertion starts with.
std::string ScalarAssertions::describePosition() {
  if (demand.clause.empty()) {
    std::string text = " for element [";
    for (size_t dim = 0; dim < demand.positions.size(); ++dim)
      text += (dim ? ", {" : "{") + std::to_string(1 + dim) + "}";
    return text + "]";
  }
  std::string text = " in '" + demand.clause.str() + "' at b = {1}";
  if (demand.positions.size() > 1)
    text += ", h = {3}, t = {2}, i = {7}";
  if (demand.key.value)
    text += ", j = {5}";
  return text;
}

void ScalarAssertions::addAssertion(Operation *op, Tile condition,
                                    const std::string &text,
                                    ArrayRef<Tile> values) {
  Condition need = getNeed(op);
  // A scalar condition is one comparison for all elements. It hardly ever
  // fails.
  OpBuilder::InsertionGuard guard(builder);
  if (condition.axes == TileAxes::Scalar && need.value &&
      need.axes != TileAxes::Scalar) {
    auto fails = scf::IfOp::create(builder, loc, negate(condition).value);
    builder.setInsertionPoint(fails.thenYield());
  }
  if (need.value)
    condition = math.apply<arith::OrIOp>(condition, negate(need));
  TileAxes axes = condition.axes;
  for (Tile value : values)
    axes = join(axes, value.axes);
  for (Tile position : demand.positions)
    if (position.axes == TileAxes::Row)
      axes = join(axes, TileAxes::Row);
  bool hasColumns = axes == TileAxes::Column || axes == TileAxes::Matrix;

  SmallVector<Tile> all = {number(demand.op)};
  if (demand.clause.empty()) {
    llvm::append_range(all, demand.positions);
    all.push_back(number(checks));
  } else {
    Tile none = number(0);
    bool hasRows = demand.positions.size() > 1;
    Tile key = none;
    if (demand.key.value)
      key = hasColumns ? demand.key : Tile{demand.firstKey, TileAxes::Scalar};
    all.append({demand.positions[0], hasRows ? demand.positions[2] : none,
                hasRows ? demand.positions[1] : none, number(demand.rank), key,
                number(checks), hasRows ? demand.positions[3] : none});
  }
  ++checks;
  unsigned first = all.size();
  llvm::append_range(all, values);

  SmallVector<Value> operands;
  for (Tile value : all) {
    // Elementwise code with a value for each row reports the first channel.
    if (value.axes == TileAxes::Column && !hasColumns)
      value = number(0);
    operands.push_back(value.axes == TileAxes::Scalar
                           ? value.value
                           : math.broadcastTo(value, axes));
  }
  nsatile::AssertOp::create(
      builder, op->getLoc(), math.broadcastTo(condition, axes),
      builder.getStringAttr(placeValues(text, first) + describePosition()),
      operands);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void ScalarAssertions::checkIndex(TableReadOp read, unsigned dim) {
  auto type = cast<NamedTensorType>(read.getTable().getType());
  Attribute dimAttr = type.getDims()[dim];
  ProgramBuilder &program = context.program;
  auto named = dyn_cast<NamedDimAttr>(dimAttr);
  Tile size = {named && named.getRagged()
                   ? program.getRow(dimAttr, context.batchRow).size
                   : program.getSize(dimAttr),
               TileAxes::Scalar};
  Tile index = tiles.lookup(read.getIndices()[dim]);
  Type width = getElementTypeOrSelf(index.value.getType());
  Tile inside = math.apply<arith::AndIOp>(
      math.compare(arith::CmpIPredicate::sge, index, math.integer(width, 0)),
      math.compare(arith::CmpIPredicate::slt, index,
                   math.castInteger(size, width)));

  std::string text = "table " + describeTensor(read.getTable()) +
                     " is read at " +
                     describeElement(read.getTable(), /*first=*/0);
  SmallVector<Tile> values;
  for (Value operand : read.getIndices())
    values.push_back(tiles.lookup(operand));
  text += ", but dimension " + describeDim(read.getTable(), dim) +
          " has size {" + std::to_string(values.size()) + "}";
  values.push_back(size);
  addAssertion(read, inside, text, values);
}

void ScalarAssertions::checkDivisor(Operation *op) {
  Tile divisor = tiles.lookup(op->getOperand(1));
  Type type = getElementTypeOrSelf(divisor.value.getType());
  Tile divides =
      math.compare(arith::CmpIPredicate::ne, divisor, math.integer(type, 0));
  addAssertion(op, divides, "integer {0} is divided by zero",
               tiles.lookup(op->getOperand(0)));
}

void ScalarAssertions::check(Operation *op) {
  if (op->use_empty())
    return;
  if (mayDivideByZero(op))
    return checkDivisor(op);
  auto read = dyn_cast<TableReadOp>(op);
  if (!read)
    return;
  auto type = cast<NamedTensorType>(read.getTable().getType());
  auto table = cast<BlockArgument>(read.getTable());
  auto kernel = cast<KernelOp>(table.getOwner()->getParentOp());
  // Indices are checked in the source's order, since the first failure is
  // reported.
  for (int64_t index : kernel.getArgumentOrder(table.getArgNumber()))
    if (getIndexNeed(read.getIndices()[index], type.getDims()[index],
                     demand.places) != AssertionNeed::Never)
      checkIndex(read, index);
}

void nsacc::addScalarAssertions(Region &region, const TileMap &tiles,
                                TileMath &math, const ScalarContext &context) {
  ScalarAssertions checker(tiles, math, context);
  for (Operation &op : region.front().without_terminator())
    checker.check(&op);
}
