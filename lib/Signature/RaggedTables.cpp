//===- RaggedTables.cpp - Dense tables read by ragged rows ----------------===//

#include "RaggedTables.h"
#include "NSA/Analysis/AssertionNeed.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace nsacc;
using nsa::ScalarPlaces;

/// Calls `visit` with each region of scalar code over rows.
static void
forEachClause(Operation *op,
              llvm::function_ref<void(Region &, const ScalarPlaces &)> visit) {
  if (auto scoring = dyn_cast<nsa::ScoringOpInterface>(op))
    for (Region &region : op->getRegions())
      if (!region.empty() && &region != &scoring.getScale())
        visit(region,
              ScalarPlaces::get(scoring, region, scoring.countLeading(region)));
  auto topk = dyn_cast<nsa::TopKOp>(op);
  if (topk && !topk.getMask().empty())
    visit(topk.getMask(), ScalarPlaces::get(topk));
}

/// The dimension of the tokens that an index counts, as in j, t, i - 1 and
/// start(j); empty for other indices.
static std::string getCountedTokens(Value index, const ScalarPlaces &places) {
  auto takeConstant = [&](auto... kinds) {
    Operation *op = index.getDefiningOp();
    bool isMeant = op && (isa<decltype(kinds)>(op) || ...) &&
                   op->getNumOperands() == 2 &&
                   matchPattern(op->getOperand(1), m_Constant());
    if (isMeant)
      index = op->getOperand(0);
    return isMeant;
  };
  while (takeConstant(arith::AddIOp(), arith::SubIOp()))
    ;
  if (index == places.token)
    return nsa::getTokenDim(places.tokenDim).str();
  Attribute keys = places.keyDim ? places.keyDim : places.positionDim;
  if (index == places.position)
    return keys ? nsa::getTokenDim(keys).str() : "";
  // Windows and blocks have other indices than their tokens.
  bool isStart = takeConstant(arith::MulIOp());
  while (isStart && takeConstant(arith::AddIOp(), arith::SubIOp()))
    ;
  bool isOfTokens = isa_and_present<nsa::NamedDimAttr>(keys);
  return index == places.key && keys && isOfTokens != isStart
             ? nsa::getTokenDim(keys).str()
             : "";
}

/// Whether an index is the batch row, by sums, differences and multiples by
/// constants: b, b + h - h.
static bool isBatchRow(Value index, const ScalarPlaces &places) {
  // The index is the sum of these multiples of values. Integers wrap around.
  llvm::MapVector<Value, uint64_t> factors;
  factors[index] = 1;
  uint64_t constant = 0;
  for (Operation &op : llvm::reverse(*index.getParentBlock())) {
    if (op.getNumResults() != 1 || !factors.contains(op.getResult(0)))
      continue;
    uint64_t factor = std::exchange(factors[op.getResult(0)], 0);
    APInt number;
    auto isNumber = [&](unsigned operand) {
      return matchPattern(op.getOperand(operand), m_ConstantInt(&number));
    };
    if (isa<arith::AddIOp, arith::SubIOp>(op)) {
      factors[op.getOperand(0)] += factor;
      factors[op.getOperand(1)] += isa<arith::AddIOp>(op) ? factor : -factor;
    } else if (isa<arith::MulIOp>(op) && isNumber(1)) {
      factors[op.getOperand(0)] += factor * number.getSExtValue();
    } else if (isa<arith::MulIOp>(op) && isNumber(0)) {
      factors[op.getOperand(1)] += factor * number.getSExtValue();
    } else if (matchPattern(&op, m_ConstantInt(&number))) {
      constant += factor * number.getSExtValue();
    } else {
      factors[op.getResult(0)] = factor;
    }
  }
  auto isMeant = [&](const auto &term) {
    return term.second == (term.first == places.batchRow ? 1 : 0);
  };
  return factors.contains(places.batchRow) && constant == 0 &&
         llvm::all_of(factors, isMeant);
}

RaggedTables nsacc::findRaggedTables(nsa::KernelOp kernel) {
  RaggedTables found;
  auto isRagged = [](Type type) {
    return cast<nsa::NamedTensorType>(type).isRagged();
  };
  if (llvm::none_of(kernel.getArgumentTypes(), isRagged))
    return found;
  auto add = [](auto &tables, auto table) {
    if (!llvm::is_contained(tables, table))
      tables.push_back(std::move(table));
  };
  auto addRead = [&](nsa::TableReadOp read, const ScalarPlaces &places) {
    auto type = cast<nsa::NamedTensorType>(read.getTable().getType());
    if (type.isRagged())
      return;
    auto argument = cast<BlockArgument>(read.getTable());
    std::string name = kernel.getArgumentName(argument.getArgNumber());
    for (auto [place, dim] :
         llvm::enumerate(kernel.getArgumentOrder(argument.getArgNumber()))) {
      Value index = read.getIndices()[dim];
      std::string tokens = getCountedTokens(index, places);
      if (isBatchRow(index, places))
        add(found.rows, RowTable{name, place});
      else if (!tokens.empty())
        add(found.positions, PositionTable{name, place, tokens});
    }
  };
  kernel.walk([&](Operation *op) {
    forEachClause(op, [&](Region &region, const ScalarPlaces &places) {
      region.walk([&](nsa::TableReadOp read) { addRead(read, places); });
    });
  });
  return found;
}
