//===- IndexMath.h - Arithmetic over indices --------------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_INDEXMATH_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_INDEXMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace nsacc {

/// Index arithmetic at the builder's insertion point.
class IndexMath {
public:
  IndexMath(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::Value constant(int64_t value) const {
    return mlir::arith::ConstantIndexOp::create(builder, loc, value);
  }
  mlir::Value add(mlir::Value lhs, mlir::Value rhs) const {
    return mlir::arith::AddIOp::create(builder, loc, lhs, rhs);
  }
  mlir::Value add(mlir::Value lhs, int64_t rhs) const {
    return rhs == 0 ? lhs : add(lhs, constant(rhs));
  }
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs) const {
    return mlir::arith::SubIOp::create(builder, loc, lhs, rhs);
  }
  mlir::Value mul(mlir::Value lhs, int64_t rhs) const {
    return rhs == 1
               ? lhs
               : mlir::arith::MulIOp::create(builder, loc, lhs, constant(rhs));
  }
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs) const {
    return mlir::arith::MulIOp::create(builder, loc, lhs, rhs);
  }
  mlir::Value min(mlir::Value lhs, mlir::Value rhs) const {
    return mlir::arith::MinSIOp::create(builder, loc, lhs, rhs);
  }
  mlir::Value max(mlir::Value lhs, mlir::Value rhs) const {
    return mlir::arith::MaxSIOp::create(builder, loc, lhs, rhs);
  }
  mlir::Value floorDiv(mlir::Value lhs, int64_t rhs) const {
    return rhs == 1 ? lhs
                    : mlir::arith::FloorDivSIOp::create(builder, loc, lhs,
                                                        constant(rhs));
  }
  mlir::Value ceilDiv(mlir::Value lhs, int64_t rhs) const {
    return mlir::arith::CeilDivSIOp::create(builder, loc, lhs, constant(rhs));
  }
  mlir::Value ceilDiv(mlir::Value lhs, mlir::Value rhs) const {
    return mlir::arith::CeilDivSIOp::create(builder, loc, lhs, rhs);
  }
  mlir::Value floorDiv(mlir::Value lhs, mlir::Value rhs) const {
    return mlir::arith::FloorDivSIOp::create(builder, loc, lhs, rhs);
  }
  /// Divides numbers that aren't negative. A plan has no such division.
  mlir::Value divideUnsigned(mlir::Value lhs, mlir::Value rhs) const {
    return mlir::arith::DivUIOp::create(builder, loc, lhs, rhs);
  }
  /// Nearest number in [low, high]; low where the interval is empty.
  mlir::Value clamp(mlir::Value value, mlir::Value low,
                    mlir::Value high) const {
    return max(min(value, high), low);
  }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value lhs,
                      mlir::Value rhs) const {
    return mlir::arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
  }
  mlir::Value less(mlir::Value lhs, mlir::Value rhs) const {
    return compare(mlir::arith::CmpIPredicate::slt, lhs, rhs);
  }
  mlir::Value select(mlir::Value condition, mlir::Value yes,
                     mlir::Value no) const {
    return mlir::arith::SelectOp::create(builder, loc, condition, yes, no);
  }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_INDEXMATH_H
