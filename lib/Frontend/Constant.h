//===- Constant.h - Compile-time values and their arithmetic ----*- C++ -*-===//

#ifndef NSACC_LIB_FRONTEND_CONSTANT_H
#define NSACC_LIB_FRONTEND_CONSTANT_H

#include "AST.h"
#include "mlir/IR/Types.h"
#include <string>

namespace nsacc::frontend {

/// The types of scalar expressions; DType is for parameters alone.
enum class ScalarType { Int, Real, Bool, DType };

/// "an integer", "a real number", …
llvm::StringRef describe(ScalarType type);

/// A value known while compiling.
struct Constant {
  static Constant ofInt(int64_t value) {
    Constant constant{ScalarType::Int};
    constant.integer = value;
    return constant;
  }
  static Constant ofReal(double value) {
    Constant constant{ScalarType::Real};
    constant.real = value;
    return constant;
  }
  /// A real that the program writes as a literal: code at run time has the
  /// nearest f32.
  static Constant ofLiteral(double value) {
    Constant constant = ofReal(value);
    constant.isLiteral = true;
    return constant;
  }
  static Constant ofBool(bool value) {
    Constant constant{ScalarType::Bool};
    constant.boolean = value;
    return constant;
  }
  static Constant ofDType(mlir::Type value) {
    Constant constant{ScalarType::DType};
    constant.dtype = value;
    return constant;
  }

  /// The value of an integer or a real.
  double asReal() const {
    return type == ScalarType::Int ? static_cast<double>(integer) : real;
  }

  ScalarType type = ScalarType::Int;
  int64_t integer = 0;
  double real = 0;
  bool isLiteral = false;
  bool boolean = false;
  mlir::Type dtype = {};
};

/// The constant in a program's spelling.
std::string toString(const Constant &constant);

/// A folded value, or the reason why there is none.
struct Folded {
  Folded(Constant value) : value(value) {}
  Folded(std::string error) : error(std::move(error)) {}
  std::optional<Constant> value;
  std::string error;
};

/// Operands have types that the operator takes; two numbers have the same type.
/// Integers are exact: a result that doesn't fit into 64 bits is an error.
Folded foldUnary(ast::Operator op, const Constant &operand);
Folded foldBinary(ast::Operator op, const Constant &lhs, const Constant &rhs);

/// Folds a function of reals, or `min`, `max` and `abs` of integers.
Folded foldFunction(llvm::StringRef name, llvm::ArrayRef<Constant> arguments);

/// Folds `int(x)`, which rounds towards zero.
Folded foldTruncate(double value);

} // namespace nsacc::frontend

#endif // NSACC_LIB_FRONTEND_CONSTANT_H
