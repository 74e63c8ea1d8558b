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

/// The value of a scalar expression: known now, or computed by the IR.
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

/// The token extents of the keys that a clause ranges over: key `j` stands for
/// [first + (j - memory) * stride, … + len); memory keys for no token.
struct KeyExtent {
  int64_t len = 1, stride = 1, first = 0, memory = 0;
};

/// What a scalar expression may use besides constants.
struct ScalarScope {
  /// "in 'where'", for messages.
  std::string place;
  /// The fixed names that have a value here: i, j, s, ….
  llvm::StringMap<Scalar> names;
  /// Set where `start(j)` and `end(j)` have a meaning.
  std::optional<KeyExtent> keys;
  /// The batch row, where tables may be read.
  mlir::Value row;
  /// Inputs can be read with indices, and those without dimensions by name.
  bool tables = false;
  /// Sizes of dimensions are known: all but in compile-time constants.
  bool dims = false;
  /// 'softmax' stands for an expression: in 'weight'.
  bool softmax = false;
  /// The heads of queries and keys, where `G` has a meaning.
  mlir::Attribute queryHeads, keyHeads;
  /// What b, t, i, h and j count: dimensions of the queries and keys. Batch
  /// rows that are packed are no dimension.
  llvm::StringMap<mlir::Attribute> counted;
  /// The names that stand for batches, tokens or heads in this kernel.
  llvm::SmallVector<llvm::StringRef> sequenceDims;
  /// Sub-expressions whose value is given: the operands of elementwise code.
  llvm::DenseMap<const ast::Expr *, Scalar> leaves;
};

/// The names that have a meaning in some clause and can't be given otherwise.
bool isFixedName(llvm::StringRef name);
/// Whether `name` is a function of scalars.
bool isScalarFunction(llvm::StringRef name);
/// attend, pool and the like.
bool isTensorFunction(llvm::StringRef name);
llvm::ArrayRef<llvm::StringRef> getScalarFunctions();
/// Reports a call of what is a name of the kernel. False for others.
bool reportCalled(Problems &problems, const Symbols &symbols,
                  const ast::CallExpr *call);

/// Evaluates scalar expressions: folds what is known, emits the rest. Null
/// results were reported.
class ScalarGen {
public:
  ScalarGen(const Source &source, Problems &problems, const Symbols &symbols,
            const ScalarScope &scope, mlir::OpBuilder &builder);

  std::optional<Scalar> generate(const ast::Expr *expr);
  /// As a value of the IR, converted to `type`. Reports other types, saying
  /// that `what` ("the score") needs it.
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
  /// `domain`: what a function takes, where that isn't every number.
  Result reportFolded(const Folded &folded, Range range,
                      llvm::StringRef domain = "");
  mlir::Value emitMod(mlir::Value lhs, mlir::Value rhs, mlir::Location loc);
  mlir::Value emitArithmetic(ast::Operator op, bool real, mlir::Value lhs,
                             mlir::Value rhs, mlir::Location loc);

  // SemaMasks.cpp
  /// Whether they warned: of a pooled key's number that is compared with a
  /// token's.
  bool checkWindows(const ast::Expr *lhs, const ast::Expr *rhs);
  /// Of a query's row that is compared with a key's position.
  bool checkRows(const ast::Expr *lhs, const ast::Expr *rhs);
  /// Warns of quotients with a fraction that are compared.
  void checkQuotients(bool equality, mlir::Value lhs, mlir::Value rhs,
                      Range range);
  /// Warns of a real table's element that is to be equal to something.
  void checkEquality(mlir::Value lhs, mlir::Value rhs, Range range);

  // SemaSums.cpp
  /// Whether they warned: of S - T that is added to a query's position.
  bool checkOffset(const ast::Expr *lhs, const ast::Expr *rhs);
  /// Warns of a number that positions can't be added to.
  void checkWrapping(mlir::Value sum, Range range);

  // SemaTables.cpp
  /// Warns of a table's dimension that counts something else than its index.
  void checkIndex(const Symbol &table, llvm::StringRef name,
                  const ast::Expr *index, mlir::Attribute dim);
  /// Warns of an index that is always in front of the first element.
  void checkFirst(llvm::StringRef table, mlir::Value index, Range range,
                  mlir::Attribute dim);

  // SemaFunctions.cpp
  /// Warns of logarithms and roots that have no number, whatever is given.
  void checkArgument(llvm::StringRef function, mlir::Value argument,
                     Range range);
  /// Warns of a logarithm that is -inf.
  void checkInfinite(llvm::StringRef function, const Constant &argument,
                     Range range);

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
  /// Whether there is a number that the cap of softcap limits.
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
};

} // namespace nsacc::frontend

#endif // NSACC_LIB_FRONTEND_SCALARGEN_H
