//===- MLIRGenElementwise.cpp - Arithmetic on whole tensors ---------------===//
//
// A tree of operators and scalar functions becomes one nsa.map, so that gates
// and sums of branches are fused. Its leaves are tensors; scalar code is
// generated as in clauses, with the leaves' elements as given values.
//
//===----------------------------------------------------------------------===//

#include "KernelGen.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using llvm::Twine;

struct KernelGen::Operands {
  /// The index of each tensor among the operands.
  llvm::MapVector<Value, unsigned> tensors;
  llvm::MapVector<const ast::Expr *, unsigned> leaves;
  /// Operands with absent entries; the result has absent entries, too.
  SmallVector<Bound> importances;
};

bool KernelGen::isElementwise(const ast::Expr *expr) const {
  if (const auto *call = llvm::dyn_cast<ast::CallExpr>(expr)) {
    StringRef name = call->callee.text;
    return isScalarFunction(name) || name == "start" || name == "end";
  }
  return !llvm::isa<ast::NameExpr>(expr);
}

//===----------------------------------------------------------------------===//
// Operands and dimensions
//===----------------------------------------------------------------------===//

bool KernelGen::collectLeaf(const ast::Expr *expr, Operands &operands,
                            Dims &dims) {
  if (const auto *name = llvm::dyn_cast<ast::NameExpr>(expr)) {
    // Constants, dimensions and unknown names are left to scalar code.
    auto found = symbols.find(name->name);
    if (found == symbols.end() || found->second.kind == Symbol::Kind::Dim ||
        found->second.bound.kind == Bound::Kind::Constant)
      return true;
  }
  Bound bound = generate(expr);
  if (bound.isUnknown())
    return false;
  if (bound.kind == Bound::Kind::Importance)
    operands.importances.push_back(bound);
  Value tensor = bound.kind == Bound::Kind::Importance
                     ? bound.value
                     : asTensor(bound, expr->range, "an operand");
  if (!tensor)
    return false;
  unsigned next = operands.tensors.size();
  operands.leaves[expr] = operands.tensors.insert({tensor, next}).first->second;
  llvm::append_range(
      dims, llvm::cast<nsa::NamedTensorType>(tensor.getType()).getDims());
  return true;
}

bool KernelGen::collectChildren(ArrayRef<ast::Expr *> children, Range range,
                                Operands &operands, Dims &dims) {
  bool valid = true;
  for (const ast::Expr *child : children) {
    Dims childDims;
    if (!collect(child, operands, childDims)) {
      valid = false;
      continue;
    }
    if (nsa::matchDims(childDims, dims))
      continue;
    if (nsa::matchDims(dims, childDims)) {
      dims = childDims;
      continue;
    }
    Problem &problem =
        problems
            .error(child->range, "dimensions " + nsa::toString(childDims) +
                                     " don't fit " + nsa::toString(dims))
            .note(range,
                  "in arithmetic on tensors, one operand's dimensions must "
                  "be among the other's, by name and in order");
    adviseHeads(problem, childDims, dims);
    valid = false;
  }
  return valid;
}

bool KernelGen::collect(const ast::Expr *expr, Operands &operands, Dims &dims) {
  if (!expr)
    return false;
  if (!isElementwise(expr))
    return collectLeaf(expr, operands, dims);
  SmallVector<ast::Expr *> children;
  if (const auto *unary = llvm::dyn_cast<ast::UnaryExpr>(expr)) {
    children.push_back(unary->operand);
  } else if (const auto *binary = llvm::dyn_cast<ast::BinaryExpr>(expr)) {
    children = {binary->lhs, binary->rhs};
  } else if (const auto *comparison =
                 llvm::dyn_cast<ast::ComparisonExpr>(expr)) {
    llvm::append_range(children, comparison->operands);
  } else if (const auto *call = llvm::dyn_cast<ast::CallExpr>(expr)) {
    for (const ast::Argument &argument : call->arguments)
      children.push_back(argument.value);
  }
  return collectChildren(children, expr->range, operands, dims);
}

/// A number that occurs twice in `dims`, if a tensor may have either of the
/// two.
static Attribute getRepeated(ArrayRef<Attribute> dims) {
  for (auto [index, dim] : llvm::enumerate(dims))
    if (llvm::is_contained(dims.drop_front(index + 1), dim))
      return dim;
  return {};
}

bool KernelGen::checkPlaces(const Operands &operands, ArrayRef<Attribute> dims,
                            Range range) {
  for (auto [leaf, index] : operands.leaves) {
    Value tensor = operands.tensors.begin()[index].first;
    ArrayRef<Attribute> own =
        llvm::cast<nsa::NamedTensorType>(tensor.getType()).getDims();
    if (nsa::matchDims(own, dims)->isUnique)
      continue;
    problems
        .error(leaf->range, "dimensions " + nsa::toString(own) + " stand in " +
                                nsa::toString(dims) + " in more than one way")
        .note(range, "in arithmetic on tensors, dimensions are matched by "
                     "name, and numbers by size: declare one of the "
                     "dimensions of size " +
                         nsa::toString(getRepeated(dims)) +
                         " with a name that isn't a parameter");
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// nsa.map
//===----------------------------------------------------------------------===//

static ScalarType getScalarType(Type type) {
  return type.isIndex()      ? ScalarType::Int
         : type.isInteger(1) ? ScalarType::Bool
                             : ScalarType::Real;
}

/// The element type of a result of scalar type `found` if `wanted` is
/// requested; none if there is no conversion.
std::optional<Type> KernelGen::getMapElement(ScalarType found, Type wanted,
                                             Range range) {
  if (!wanted) {
    if (found == ScalarType::Int)
      return builder.getI64Type();
    return found == ScalarType::Bool ? builder.getI1Type() : getF32();
  }
  bool wantsReal = llvm::isa<FloatType>(wanted);
  bool wantsBool = wanted.isInteger(1);
  bool fits = found == ScalarType::Bool  ? wantsBool
              : found == ScalarType::Int ? !wantsBool
                                         : wantsReal;
  if (fits)
    return wanted;
  std::string spelling;
  llvm::raw_string_ostream(spelling) << wanted;
  problems
      .error(range, "expected elements of type " +
                        (wantsBool ? "bool" : spelling) + ", found " +
                        describe(found))
      .note(wantsBool ? "compare it with something, as in 'x != 0'"
            : found == ScalarType::Bool
                ? "select(condition, 1, 0) makes a number of a condition"
                : "int(x) cuts off the fraction of a real number");
  return std::nullopt;
}

/// Whether a value that isn't a tensor is computed of sizes, which is said.
bool KernelGen::reportSizes(const ast::Expr *expr) {
  auto isDim = [&](StringRef name) {
    auto found = symbols.find(name);
    return found != symbols.end() && found->second.kind == Symbol::Kind::Dim;
  };
  if (!ast::mentions(expr, isDim))
    return false;
  StringRef text = source.getText(expr->range);
  const auto *difference = llvm::dyn_cast<ast::BinaryExpr>(expr);
  bool isDistance = difference && difference->op == ast::Operator::Subtract &&
                    llvm::isa<ast::NameExpr>(difference->lhs) &&
                    llvm::isa<ast::NameExpr>(difference->rhs);
  problems
      .error(expr->range,
             "expected a tensor or a number that is known when the program is "
             "compiled, found sizes of dimensions, which a run tells")
      .note("clauses know them: write " + quote(text) + " where it is needed" +
            (isDistance ? ", as in 'where j <= t + " + text +
                              "', which is 'where j <= i'"
                        : Twine()));
  return true;
}

Bound KernelGen::generateElementwise(const ast::Expr *expr, Type element) {
  Operands operands;
  Dims dims;
  if (!collect(expr, operands, dims))
    return {};
  if (operands.tensors.empty()) {
    if (reportSizes(expr))
      return {};
    std::optional<Constant> constant = evaluate(expr);
    Bound bound;
    if (constant) {
      bound.kind = Bound::Kind::Constant;
      bound.constant = *constant;
    }
    return bound;
  }

  if (!checkPlaces(operands, dims, expr->range))
    return {};
  Location loc = getLoc(expr->range);
  SmallVector<Value> inputs(llvm::make_first_range(operands.tensors));
  auto map =
      nsa::MapOp::create(builder, loc, getTensorType(dims, getF32()), inputs);
  OpBuilder::InsertionGuard guard(builder);
  Block &body = map.getBody().emplaceBlock();
  builder.setInsertionPointToStart(&body);
  ScalarScope scope;
  scope.place = "in arithmetic on tensors";
  scope.dims = true;
  for (Value input : inputs)
    body.addArgument(
        llvm::cast<nsa::NamedTensorType>(input.getType()).getScalarType(),
        input.getLoc());
  for (auto [leaf, index] : operands.leaves) {
    Value entry = body.getArgument(index);
    scope.leaves.try_emplace(leaf,
                             Scalar(getScalarType(entry.getType()), entry));
  }

  ScalarGen scalars(source, problems, symbols, scope, builder);
  std::optional<Scalar> scalar = scalars.generate(expr);
  bool importance = !operands.importances.empty();
  std::optional<Type> result;
  if (scalar && importance && scalar->type == ScalarType::Bool)
    problems
        .error(expr->range,
               "arithmetic with an importance gives reals, found a condition")
        .note("select(condition, x, -inf) leaves out what a condition doesn't "
              "hold for; select(condition, 1, 0) makes a number of it");
  else if (scalar)
    result = getMapElement(scalar->type, importance ? getF32() : element,
                           expr->range);
  if (result && llvm::isa<FloatType>(*result))
    scalar = scalars.toReal(*scalar, expr->range);
  Value value = result ? scalars.materialize(*scalar, expr->range) : Value();
  if (!value) {
    map.erase();
    return {};
  }
  Bound bound = bindTensor(map.getResult());
  for (const Bound &operand : operands.importances) {
    unsigned index = operands.tensors.lookup(operand.value);
    Value absent = arith::ConstantOp::create(
        builder, loc,
        builder.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
    Value isAbsent =
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                              body.getArgument(index), absent);
    value = arith::SelectOp::create(builder, loc, isAbsent, absent, value);
    bound.kind = Bound::Kind::Importance;
  }
  nsa::YieldOp::create(builder, loc, value);
  map.getResult().setType(getTensorType(dims, *result));
  return bound;
}

/// Returns `tensor` with another element type.
Value KernelGen::convert(Value tensor, Type element, Range range) {
  auto type = llvm::cast<nsa::NamedTensorType>(tensor.getType());
  if (type.getElementType() == element)
    return tensor;
  ScalarType found = getScalarType(type.getScalarType());
  if (!getMapElement(found, element, range))
    return {};
  Location loc = getLoc(range);
  auto map = nsa::MapOp::create(builder, loc,
                                getTensorType(type.getDims(), element), tensor);
  OpBuilder::InsertionGuard guard(builder);
  Block &body = map.getBody().emplaceBlock();
  Value entry = body.addArgument(type.getScalarType(), loc);
  builder.setInsertionPointToStart(&body);
  ScalarScope scope;
  ScalarGen scalars(source, problems, symbols, scope, builder);
  Scalar scalar(found, entry);
  if (llvm::isa<FloatType>(element))
    scalar = scalars.toReal(scalar, range);
  nsa::YieldOp::create(builder, loc, scalar.value);
  return map.getResult();
}
