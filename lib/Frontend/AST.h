//===- AST.h - The syntax of programs ---------------------------*- C++ -*-===//
//
// Nodes live in the arena of their file. A null expression is one that could
// not be parsed and was reported.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_LIB_FRONTEND_AST_H
#define NSACC_LIB_FRONTEND_AST_H

#include "Source.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/Casting.h"
#include <optional>
#include <vector>

namespace nsacc::frontend::ast {

struct Name {
  llvm::StringRef text;
  Range range;
};

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

struct Expr {
  enum class Kind {
    Integer,
    Real,
    Bool,
    Name,
    Unary,
    Binary,
    Comparison,
    Call,
    Index
  };
  Expr(Kind kind, Range range) : kind(kind), range(range) {}

  const Kind kind;
  /// Levels of nesting at and below this node, which limit recursion.
  unsigned height = 1;
  Range range;
};

struct IntegerExpr : Expr {
  IntegerExpr(Range range, int64_t value)
      : Expr(Kind::Integer, range), value(value) {}
  static bool classof(const Expr *expr) { return expr->kind == Kind::Integer; }
  int64_t value;
};

/// Also `inf`.
struct RealExpr : Expr {
  RealExpr(Range range, double value) : Expr(Kind::Real, range), value(value) {}
  static bool classof(const Expr *expr) { return expr->kind == Kind::Real; }
  double value;
};

struct BoolExpr : Expr {
  BoolExpr(Range range, bool value) : Expr(Kind::Bool, range), value(value) {}
  static bool classof(const Expr *expr) { return expr->kind == Kind::Bool; }
  bool value;
};

struct NameExpr : Expr {
  NameExpr(Name name) : Expr(Kind::Name, name.range), name(name.text) {}
  static bool classof(const Expr *expr) { return expr->kind == Kind::Name; }
  llvm::StringRef name;
};

enum class Operator {
  Negate,
  Not,
  Or,
  And,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDiv,
  CeilDiv,
  Mod
};

/// The operator in a program's spelling.
llvm::StringRef getSpelling(Operator op);

struct UnaryExpr : Expr {
  UnaryExpr(Operator op, Range opRange, Expr *operand)
      : Expr(Kind::Unary, join(opRange, operand->range)), op(op),
        opRange(opRange), operand(operand) {}
  static bool classof(const Expr *expr) { return expr->kind == Kind::Unary; }
  Operator op;
  Range opRange;
  Expr *operand;
};

struct BinaryExpr : Expr {
  BinaryExpr(Operator op, Range opRange, Expr *lhs, Expr *rhs)
      : Expr(Kind::Binary, join(lhs->range, rhs->range)), op(op),
        opRange(opRange), lhs(lhs), rhs(rhs) {}
  static bool classof(const Expr *expr) { return expr->kind == Kind::Binary; }
  Operator op;
  Range opRange;
  Expr *lhs, *rhs;
};

/// `a < b <= c`: one operator fewer than operands; true if each comparison is.
struct ComparisonExpr : Expr {
  ComparisonExpr(llvm::ArrayRef<Operator> ops, llvm::ArrayRef<Range> opRanges,
                 llvm::ArrayRef<Expr *> operands)
      : Expr(Kind::Comparison,
             join(operands.front()->range, operands.back()->range)),
        ops(ops), opRanges(opRanges), operands(operands) {}
  static bool classof(const Expr *expr) {
    return expr->kind == Kind::Comparison;
  }
  llvm::ArrayRef<Operator> ops;
  llvm::ArrayRef<Range> opRanges;
  llvm::ArrayRef<Expr *> operands;
};

struct Argument {
  std::optional<Name> label;
  Expr *value;
};

/// `first 1` or `last 2` after `keep` or `plus`.
struct Forced {
  bool last;
  Range range;
  Expr *count;
};

/// A clause after `attend(…)` or `topk(…)`.
struct Clause {
  enum class Kind {
    In,
    Where,
    Score,
    Scale,
    Weight,
    Normalize,
    Sink,
    Keep,
    Plus,
    Count,
    ShareTokens,
    ShareHeads
  };
  Kind kind;
  Range keyword;
  Expr *value = nullptr;
  llvm::ArrayRef<Forced> forced = {};
  std::optional<Name> by = {};
};

/// The clause in a program's spelling: "share tokens".
llvm::StringRef getSpelling(Clause::Kind kind);

struct CallExpr : Expr {
  CallExpr(Name callee, llvm::ArrayRef<Argument> arguments, Range range,
           llvm::ArrayRef<Clause> clauses)
      : Expr(Kind::Call, range), callee(callee), arguments(arguments),
        clauses(clauses) {}
  static bool classof(const Expr *expr) { return expr->kind == Kind::Call; }
  const Clause *find(Clause::Kind kind) const;

  Name callee;
  llvm::ArrayRef<Argument> arguments;
  /// Clauses of `attend` and `topk`.
  llvm::ArrayRef<Clause> clauses;
};

/// `table[h, i]`
struct IndexExpr : Expr {
  IndexExpr(Expr *base, llvm::ArrayRef<Expr *> indices, Range range)
      : Expr(Kind::Index, range), base(base), indices(indices) {}
  static bool classof(const Expr *expr) { return expr->kind == Kind::Index; }
  Expr *base;
  llvm::ArrayRef<Expr *> indices;
};

/// Whether `expr` is such an expression or has one in it, tables' names aside.
bool anyPart(const Expr *expr, llvm::function_ref<bool(const Expr *)> isMeant);
/// Whether `expr` has such a name in it, tables' and functions' aside.
bool mentions(const Expr *expr,
              llvm::function_ref<bool(llvm::StringRef)> isMeant);

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

struct Dim {
  Range range;
  bool ragged, heads;
  Expr *size;

  /// Empty if the dimension isn't a name.
  llvm::StringRef getName() const {
    const auto *name = llvm::dyn_cast<NameExpr>(size);
    return name ? name->name : llvm::StringRef();
  }
};

/// `bf16[B, T]`; without brackets a scalar.
struct Type {
  Range range;
  std::optional<Name> dtype;
  llvm::ArrayRef<Dim> dims;
};

struct Param {
  Name name;
  std::optional<Name> type;
  /// Null: a value must be given.
  Expr *defaultValue;
};

struct Input {
  Name name;
  const Type *type;
};

struct Result {
  std::optional<Name> name;
  Type type;
};

struct Statement {
  bool isReturn;
  Range range;
  llvm::ArrayRef<Name> names;
  llvm::ArrayRef<Expr *> values;
};

struct Kernel {
  Name name;
  std::vector<Param> params;
  std::vector<Input> inputs;
  std::vector<Result> results;
  std::vector<Statement> body;
  Range end;
  /// The header could not be parsed: the body's names have no known meaning.
  bool broken = false;
  /// A part of the body was skipped; it may have contained `return`.
  bool incomplete = false;
};

struct File {
  template <typename Node, typename... Args> Node *create(Args &&...args) {
    return new (arena.Allocate<Node>()) Node(std::forward<Args>(args)...);
  }
  template <typename Element>
  llvm::ArrayRef<Element> copy(llvm::ArrayRef<Element> elements) {
    return elements.copy(arena);
  }

  std::vector<Kernel> kernels;

private:
  llvm::BumpPtrAllocator arena;
};

} // namespace nsacc::frontend::ast

#endif // NSACC_LIB_FRONTEND_AST_H
