//===- ScalarGen.h - Scalar expressions to constants and IR -----*- C++ -*-===//

#ifndef NSACC_LIB_FRONTEND_SCALARGEN_H
#define NSACC_LIB_FRONTEND_SCALARGEN_H

#include "Constant.h"
#include "Problems.h"
#include "Symbols.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <functional>

namespace nsacc::frontend {

/// A warning, which makes those about the clause around it needless.
inline constexpr llvm::StringLiteral kLogarithmOfZero =
    "the logarithm of 0 is -inf";

/// The value of a scalar expression: a known constant, or a value of the IR.
struct Scalar {
  Scalar(Constant constant) : type(constant.type), constant(constant) {}
  Scalar(ScalarType type, mlir::Value value) : type(type), value(value) {}

  bool isNumber() const {
    return type == ScalarType::Int || type == ScalarType::Real;
  }

  ScalarType type;
  std::optional<Constant> constant;
  mlir::Value value;
};

/// The tokens of the keys that a clause ranges over: key `j` has [first + (j -
/// memory) * stride, … + len); memory keys have no token.
struct KeyExtent {
  int64_t len = 1, stride = 1, first = 0, memory = 0;
};

/// The names and features that a scalar expression may use besides constants.
struct ScalarScope {
  /// "in 'where'", for messages.
  std::string place;
  /// The fixed names with a value in this scope: i, j, s, ….
  llvm::StringMap<Scalar> names;
  /// Set if `start(j)` and `end(j)` are available.
  std::optional<KeyExtent> keys;
  /// The batch row, if tables can be read.
  mlir::Value row;
  /// Whether inputs can be read with indices, and inputs without dimensions by
  /// name.
  bool tables = false;
  /// Whether sizes of dimensions are known: not in compile-time constants.
  bool dims = false;
  /// Whether 'softmax' is an expression: in 'weight'.
  bool softmax = false;
  /// The heads of queries and keys, if `G` is available.
  mlir::Attribute queryHeads, keyHeads;
  /// The dimensions of queries and keys that b, t, i, h and j count. Packed
  /// batch rows aren't a dimension.
  llvm::StringMap<mlir::Attribute> counted;
  /// The names of batches, tokens or heads in this kernel.
  llvm::SmallVector<llvm::StringRef> sequenceDims;
  /// Sub-expressions with given values: the operands of elementwise code.
  llvm::DenseMap<const ast::Expr *, Scalar> leaves;
};

/// Whether the name has a meaning in some clause and can't be defined by
/// programs.
bool isFixedName(llvm::StringRef name);
/// Whether `name` is a function of scalars.
bool isScalarFunction(llvm::StringRef name);
/// Whether `name` is a function of tensors: attend, pool and others.
bool isTensorFunction(llvm::StringRef name);
llvm::ArrayRef<llvm::StringRef> getScalarFunctions();
/// Reports a call of a name of the kernel. False for others.
bool reportCalled(Problems &problems, const Symbols &symbols,
                  const ast::CallExpr *call);

/// Evaluates scalar expressions: folds constants, emits the rest. A null result
/// was reported.
class ScalarGen {
public:
  ScalarGen(const Source &source, Problems &problems, const Symbols &symbols,
            const ScalarScope &scope, mlir::OpBuilder &builder);

  std::optional<Scalar> generate(const ast::Expr *expr);
  /// A value of the IR, converted to `type`. Reports other types; the message
  /// says that `what` ("the score") needs it.
  mlir::Value generate(const ast::Expr *expr, ScalarType type,
                       const llvm::Twine &what);

  mlir::Value materialize(const Scalar &scalar, Range range);
  Scalar toReal(const Scalar &scalar, Range range);

private:
  using Result = std::optional<Scalar>;

  // MLIRGenScalar.cpp
  Result generateUnary(const ast::UnaryExpr *expr);
  Result generateBinary(const ast::BinaryExpr *expr);
  Result generateLogic(const ast::BinaryExpr *expr, const Scalar &lhs,
                       const Scalar &rhs);
  Result generateComparison(const ast::ComparisonExpr *expr);
  Result compare(ast::Operator op, Range opRange, Scalar lhs, Scalar rhs,
                 Range range);
  bool expectNumber(const Scalar &scalar, Range range, llvm::StringRef op);
  /// `domain` describes the values that a function takes, if it isn't every
  /// number.
  Result reportFolded(const Folded &folded, Range range,
                      llvm::StringRef domain = "");
  mlir::Value emitMod(mlir::Value lhs, mlir::Value rhs, mlir::Location loc);
  mlir::Value emitArithmetic(ast::Operator op, bool real, mlir::Value lhs,
                             mlir::Value rhs, mlir::Location loc);

  // SemaSums.cpp
  /// These tell whether they warned. Checks for a query's row that is compared
  /// with a key's position.
  bool checkRows(const ast::Expr *lhs, const ast::Expr *rhs);
  /// Checks for S - T that is added to a query's position.
  bool checkDistance(const ast::Expr *lhs, const ast::Expr *rhs);
  /// Checks for an input that seems to say the same, and is added to it.
  bool checkPast(ast::Operator op, const ast::Expr *lhs, const ast::Expr *rhs);
  /// Whether it warned of a pooled key's number that is compared with a
  /// token's.
  bool checkWindows(const ast::Expr *lhs, const ast::Expr *rhs);

  // SemaTables.cpp
  /// Warns of a table's dimension that doesn't count the same things as its
  /// index.
  void checkIndex(const Symbol &table, llvm::StringRef name,
                  const ast::Expr *index, mlir::Attribute dim);

  // MLIRGenScalarNames.cpp
  Result generateName(const ast::NameExpr *expr);
  Result generateFixedName(const ast::NameExpr *expr);
  Result generateGroupSize(Range range);
  mlir::Value emitDimSize(mlir::Attribute dim, Range range);
  Result generateDim(const Symbol &symbol, Range range);
  Result generateTable(const Symbol &symbol, llvm::StringRef name,
                       llvm::ArrayRef<ast::Expr *> indices, Range range);
  Result generateIndex(const ast::IndexExpr *expr);
  Result generateExtent(const ast::CallExpr *expr);
  /// "available in 'score': b, end(j), …"
  std::string describeAvailable() const;
  void reportUnknownName(const ast::NameExpr *expr);
  void reportNoTable(const Symbol &symbol, const ast::NameExpr *base);
  void reportNoScalar(const Symbol &symbol, llvm::StringRef name, Range range);

  // MLIRGenScalarFunctions.cpp
  Result generateCall(const ast::CallExpr *expr);
  /// Whether the cap of softcap allows any number.
  bool checkCap(const Constant &cap, Range range);
  Result generateSelect(const ast::CallExpr *expr,
                        llvm::ArrayRef<Scalar> arguments);
  Result generateConversion(const ast::CallExpr *expr, const Scalar &argument);
  bool checkArguments(const ast::CallExpr *expr);
  mlir::Value emitFunction(llvm::StringRef name,
                           llvm::ArrayRef<mlir::Value> arguments,
                           mlir::Location loc);
  mlir::Value emitIntFunction(llvm::StringRef name,
                              llvm::ArrayRef<mlir::Value> arguments,
                              mlir::Location loc);
  mlir::Value emitReal(double value, mlir::Location loc);
  mlir::Value emitInt(int64_t value, mlir::Location loc);

  mlir::Location getLoc(Range range) const {
    return getLocation(source, range, file);
  }

  const Source &source;
  Problems &problems;
  const Symbols &symbols;
  const ScalarScope &scope;
  mlir::OpBuilder &builder;
  mlir::StringAttr file;
  /// The whole expression, of which others are parts.
  const ast::Expr *clause = nullptr;
};

} // namespace nsacc::frontend

#endif // NSACC_LIB_FRONTEND_SCALARGEN_H
