//===- MaskProof.cpp - Masks that hide no pair, or every pair -------------===//

#include "NSA/Analysis/MaskProof.h"
#include "NSA/Analysis/MaskArguments.h"
#include "NSA/IR/NSAOps.h"
#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace nsacc::nsa;

/// With more conjunctions than this, a proof isn't tried.
static constexpr size_t kMaxConjunctions = 32;

/// Masks of more ops are skipped: proofs take time, and recurse into operands.
static constexpr unsigned kMostOps = 128;

/// Larger numbers might wrap around in the mask.
static constexpr int64_t kLargest = int64_t(1) << 32;

MaskProof::MaskProof(Region &mask, Attribute queries, Attribute heads,
                     Attribute keys)
    : mask(mask) {
  for (MaskArgument index : {kBatchRow, kHead, kQueryRow, kPosition, kKey}) {
    places.push_back(addVariable());
    if (!mask.empty())
      sums[mask.getArgument(index)] = places[index];
  }
  auto argument = [&](MaskArgument index) -> const Sum & {
    return places[index];
  };
  for (MaskArgument index : {kBatchRow, kHead, kQueryRow, kKey})
    addFact(argument(index), {0}, 0);
  addFact(getSize(heads), argument(kHead), -1, -1);
  addFact(getSize(queries), argument(kQueryRow), -1, -1);
  Sum tokens = getSize(keys);
  if (isa<nsa::NamedDimAttr, IntegerAttr>(keys))
    addFact(tokens, argument(kKey), -1, -1);
  // i = t + S - T
  std::optional<Sum> ahead = add(tokens, getSize(queries), -1);
  std::optional<Sum> position =
      ahead ? add(*ahead, argument(kQueryRow)) : std::nullopt;
  if (!position)
    return;
  addFact(*position, argument(kPosition), -1);
  addFact(argument(kPosition), *position, -1);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

MaskProof::Sum MaskProof::addVariable() {
  Sum sum(++variables + 1, 0);
  sum.back() = 1;
  return sum;
}

MaskProof::Sum MaskProof::getSize(StringRef dim) {
  auto [size, isNew] = sizes.try_emplace(dim);
  if (isNew) {
    size->second = addVariable();
    addFact(size->second, {0}, 0);
  }
  return size->second;
}

MaskProof::Sum MaskProof::getSize(Attribute dim) {
  auto fixed = dyn_cast<IntegerAttr>(dim);
  return fixed ? Sum{fixed.getInt()} : getSize(nsa::getTokenDim(dim));
}

std::optional<MaskProof::Sum> MaskProof::add(const Sum &lhs, const Sum &rhs,
                                             int64_t factor) {
  Sum sum(std::max(lhs.size(), rhs.size()), 0);
  for (size_t i = 0; i < sum.size(); ++i) {
    int64_t left = i < lhs.size() ? lhs[i] : 0;
    int64_t right = i < rhs.size() ? rhs[i] : 0;
    auto number = llvm::checkedMulAdd(right, factor, left);
    if (!number || std::abs(*number) > kLargest)
      return std::nullopt;
    sum[i] = *number;
  }
  return sum;
}

void MaskProof::addFact(const Sum &one, const Sum &other, int64_t factor,
                        int64_t constant) {
  std::optional<Sum> fact = add(one, other, factor);
  fact = fact ? add(*fact, {constant}) : fact;
  if (fact)
    facts.push_back(std::move(*fact));
}

static bool isConstant(ArrayRef<int64_t> sum) {
  return llvm::all_of(sum.drop_front(), [](int64_t n) { return n == 0; });
}

std::optional<MaskProof::Sum> MaskProof::getOperation(Value value) {
  APInt integer;
  if (matchPattern(value, m_ConstantInt(&integer))) {
    if (!integer.isSignedIntN(32))
      return std::nullopt;
    return Sum{integer.getSExtValue()};
  }
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast<nsa::DimOp>(op))
    return getSize(dim.getDim());
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::FloorDivSIOp,
           arith::CeilDivSIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return std::nullopt;
  Sum lhs = getSum(op->getOperand(0)), rhs = getSum(op->getOperand(1));
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return add(lhs, rhs, isa<arith::SubIOp>(op) ? -1 : 1);
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op)) {
    Sum result = addVariable();
    bool least = isa<arith::MinSIOp>(op);
    for (const Sum &side : {lhs, rhs})
      addFact(least ? side : result, least ? result : side, -1);
    return result;
  }
  if (isa<arith::MulIOp>(op)) {
    if (isConstant(lhs))
      std::swap(lhs, rhs);
    return isConstant(rhs) ? add({0}, lhs, rhs[0]) : std::nullopt;
  }
  if (!isConstant(rhs) || rhs[0] <= 0)
    return std::nullopt;
  // x - (c - 1) <= c q <= x if it rounds down, x <= c q <= x + c - 1 if up.
  Sum quotient = addVariable();
  std::optional<Sum> product = add({0}, quotient, rhs[0]);
  if (!product)
    return std::nullopt;
  bool down = isa<arith::FloorDivSIOp>(op);
  addFact(lhs, *product, -1, down ? 0 : rhs[0] - 1);
  addFact(*product, lhs, -1, down ? rhs[0] - 1 : 0);
  return quotient;
}

MaskProof::Sum MaskProof::getSum(Value value) {
  auto found = sums.find(value);
  if (found != sums.end())
    return found->second;
  std::optional<Sum> sum = getOperation(value);
  return sums[value] = sum ? *sum : addVariable();
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

MaskProof::Union MaskProof::compare(Value value, bool expected) {
  auto op = value.getDefiningOp<arith::CmpIOp>();
  if (!op || !op.getLhs().getType().isIndex())
    return {Conjunction()};
  Sum lhs = getSum(op.getLhs()), rhs = getSum(op.getRhs());
  auto holds = [&](const Sum &least, const Sum &most,
                   int64_t distance) -> Conjunction {
    std::optional<Sum> sum = add(most, least, -1);
    sum = sum ? add(*sum, {-distance}) : sum;
    return sum ? Conjunction{*sum} : Conjunction();
  };
  arith::CmpIPredicate predicate = op.getPredicate();
  switch (expected ? predicate : arith::invertPredicate(predicate)) {
  case arith::CmpIPredicate::sle:
    return {holds(lhs, rhs, 0)};
  case arith::CmpIPredicate::slt:
    return {holds(lhs, rhs, 1)};
  case arith::CmpIPredicate::sge:
    return {holds(rhs, lhs, 0)};
  case arith::CmpIPredicate::sgt:
    return {holds(rhs, lhs, 1)};
  case arith::CmpIPredicate::eq: {
    Conjunction both = holds(lhs, rhs, 0);
    llvm::append_range(both, holds(rhs, lhs, 0));
    return {both};
  }
  case arith::CmpIPredicate::ne:
    return {holds(lhs, rhs, 1), holds(rhs, lhs, 1)};
  default:
    return {Conjunction()};
  }
}

MaskProof::Union MaskProof::visit(Value value, bool expected) {
  Union anything = {Conjunction()};
  APInt known;
  if (matchPattern(value, m_ConstantInt(&known)))
    return known.isOne() == expected ? anything : Union();
  Operation *op = value.getDefiningOp();
  if (isa_and_present<arith::XOrIOp>(op) &&
      matchPattern(op->getOperand(1), m_One())) // not
    return visit(op->getOperand(0), !expected);
  if (!isa_and_present<arith::AndIOp, arith::OrIOp>(op))
    return compare(value, expected);
  Union lhs = visit(op->getOperand(0), expected);
  Union rhs = visit(op->getOperand(1), expected);
  // not (a and b) = not a or not b
  if (isa<arith::AndIOp>(op) != expected) {
    llvm::append_range(lhs, rhs);
    return lhs.size() <= kMaxConjunctions ? lhs : anything;
  }
  // One side alone shows at least the pairs that both show.
  if (lhs.size() * rhs.size() > kMaxConjunctions)
    return lhs;
  Union product;
  for (const Conjunction &left : lhs)
    for (const Conjunction &right : rhs)
      llvm::append_range(product.emplace_back(left), right);
  return product;
}

bool MaskProof::isEmpty(const Conjunction &conjunction) const {
  auto space = presburger::PresburgerSpace::getSetSpace(variables);
  presburger::IntegerPolyhedron pairs(space);
  // An inequality of a polyhedron ends with its constant.
  for (const Conjunction *part : {&conjunction, &facts})
    for (const Sum &sum : *part) {
      SmallVector<int64_t, 8> row(variables + 1, 0);
      llvm::copy(ArrayRef(sum).drop_front(), row.begin());
      row.back() = sum.front();
      pairs.addInequality(row);
    }
  return pairs.isEmpty();
}

bool MaskProof::isAlways(bool visible) {
  if (mask.empty())
    return visible;
  if (llvm::hasNItemsOrMore(mask.front(), kMostOps + 1))
    return false;
  Union others = visit(mask.front().getTerminator()->getOperand(0), !visible);
  return llvm::all_of(others,
                      [&](const Conjunction &each) { return isEmpty(each); });
}

bool MaskProof::isNegative(Value index, Region &clause) {
  if (llvm::hasNItemsOrMore(clause.front(), kMostOps + 1) ||
      (!mask.empty() && llvm::hasNItemsOrMore(mask.front(), kMostOps + 1)))
    return false;
  for (auto [argument, place] :
       llvm::zip_equal(clause.getArguments().take_back(places.size()), places))
    sums[argument] = place;
  Union visible = {Conjunction()};
  if (!mask.empty())
    visible = visit(mask.front().getTerminator()->getOperand(0), true);
  Sum sum = getSum(index);
  return llvm::all_of(visible, [&](Conjunction each) {
    each.push_back(sum);
    return isEmpty(each);
  });
}
