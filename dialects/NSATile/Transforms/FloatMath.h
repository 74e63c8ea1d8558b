//===- FloatMath.h - Arithmetic on scalars or vectors of reals --*- C++ -*-===//

#ifndef NSATILE_TRANSFORMS_FLOATMATH_H
#define NSATILE_TRANSFORMS_FLOATMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

namespace nsacc::nsatile {

/// Builds arithmetic on f32 or f64, and on integers of the same width, that are
/// scalars or vectors of one shape.
class FloatMath {
public:
  using Value = mlir::Value;
  using Type = mlir::Type;

  /// `type` is the type of the reals.
  FloatMath(mlir::OpBuilder &builder, mlir::Location loc, Type type)
      : builder(builder), loc(loc), type(type) {}

  /// Arithmetic of the same shape in f64.
  FloatMath inF64() const {
    return FloatMath(builder, loc, withElement(builder.getF64Type()));
  }

  Value real(double value) {
    return constant(
        builder.getFloatAttr(mlir::getElementTypeOrSelf(type), value));
  }
  Value integer(int64_t value) {
    return constant(builder.getIntegerAttr(
        mlir::getElementTypeOrSelf(getBitsType()), value));
  }
  Value fma(Value a, Value b, Value c) {
    return mlir::math::FmaOp::create(builder, loc, a, b, c);
  }
  template <typename OpTy> Value make(Value lhs, Value rhs) {
    return OpTy::create(builder, loc, lhs, rhs);
  }
  template <typename OpTy> Value make(Value operand) {
    return OpTy::create(builder, loc, operand);
  }
  /// A conversion to this type of reals, or to its integers.
  template <typename OpTy> Value toReal(Value value) {
    return OpTy::create(builder, loc, type, value);
  }
  template <typename OpTy> Value toInteger(Value value) {
    return OpTy::create(builder, loc, getBitsType(), value);
  }
  Value toBits(Value value) { return toInteger<mlir::arith::BitcastOp>(value); }
  Value fromBits(Value value) { return toReal<mlir::arith::BitcastOp>(value); }

  Value compare(mlir::arith::CmpFPredicate predicate, Value lhs, Value rhs) {
    return mlir::arith::CmpFOp::create(builder, loc, predicate, lhs, rhs);
  }
  Value compare(mlir::arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return mlir::arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
  }
  Value select(Value condition, Value yes, Value no) {
    return mlir::arith::SelectOp::create(builder, loc, condition, yes, no);
  }
  Value selectIf(mlir::arith::CmpFPredicate predicate, Value lhs, Value rhs,
                 Value yes, Value no) {
    return select(compare(predicate, lhs, rhs), yes, no);
  }
  /// Coefficients are in the order of rising powers.
  template <typename RealTy>
  Value polynomial(Value x, llvm::ArrayRef<RealTy> coefficients) {
    Value result = real(coefficients.back());
    for (RealTy coefficient : llvm::reverse(coefficients.drop_back()))
      result = fma(result, x, real(coefficient));
    return result;
  }
  template <typename RealTy, size_t Count>
  Value polynomial(Value x, const RealTy (&coefficients)[Count]) {
    return polynomial(x, llvm::ArrayRef<RealTy>(coefficients));
  }

private:
  Type withElement(Type element) const {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
      return vector.clone(element);
    return element;
  }
  Type getBitsType() const {
    return withElement(builder.getIntegerType(
        mlir::getElementTypeOrSelf(type).getIntOrFloatBitWidth()));
  }
  Value constant(mlir::TypedAttr scalar) {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
      scalar = mlir::DenseElementsAttr::get(vector.clone(scalar.getType()),
                                            mlir::Attribute(scalar));
    return mlir::arith::ConstantOp::create(builder, loc, scalar);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  Type type;
};

/// 1 + r · q(r), which is 2^r for |r| <= 1 / 2.
inline constexpr float kExp2Coefficients[] = {0x1.62e43p-1f,   0x1.ebfbdcp-3f,
                                              0x1.c6aee8p-5f,  0x1.3b2d4cp-7f,
                                              0x1.5f3e52p-10f, 0x1.41fbbcp-13f};

/// Functions of f32 by range reduction and polynomials.
mlir::Value expandSin(FloatMath &m, mlir::Value x);
mlir::Value expandCos(FloatMath &m, mlir::Value x);
mlir::Value expandPow(FloatMath &m, mlir::Value x, mlir::Value y);

} // namespace nsacc::nsatile

#endif // NSATILE_TRANSFORMS_FLOATMATH_H
