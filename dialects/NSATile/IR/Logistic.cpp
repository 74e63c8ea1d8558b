//===- Logistic.cpp - Logistic functions in scalar code -------------------===//

#include "NSATile/IR/Logistic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

bool nsacc::nsatile::isLogistic(Operation *op) {
  auto quotient = dyn_cast<arith::DivFOp>(op);
  auto divisor = quotient ? quotient.getRhs().getDefiningOp<arith::AddFOp>()
                          : arith::AddFOp();
  if (!divisor)
    return false;
  Value power = divisor.getLhs(), one = divisor.getRhs();
  if (matchPattern(power, m_OneFloat()))
    std::swap(power, one);
  auto exp = power.getDefiningOp<math::ExpOp>();
  auto negated =
      exp ? exp.getOperand().getDefiningOp<arith::NegFOp>() : arith::NegFOp();
  return negated && matchPattern(one, m_OneFloat()) &&
         (quotient.getLhs() == negated.getOperand() ||
          matchPattern(quotient.getLhs(), m_OneFloat()));
}
