//===- MLIRGenScalarNames.cpp - Names and tables in scalar expressions ----===//

#include "NSA/IR/NSATypes.h"
#include "ScalarGen.h"
#include "Spellings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using llvm::Twine;

static constexpr llvm::StringLiteral fixedNames[] = {
    "i", "j", "t", "h", "b", "s", "start", "end", "visible", "sum", "G"};

bool nsacc::frontend::isFixedName(StringRef name) {
  return llvm::is_contained(fixedNames, name);
}

StringRef nsacc::frontend::describe(Bound::Kind kind) {
  switch (kind) {
  case Bound::Kind::Unknown:
    return "something unknown";
  case Bound::Kind::Constant:
    return "a compile-time constant";
  case Bound::Kind::Tensor:
    return "a tensor";
  case Bound::Kind::Attention:
    return "the result of an attention";
  case Bound::Kind::Importance:
    return "an importance of keys";
  case Bound::Kind::Selection:
    return "a selection of blocks";
  }
  llvm_unreachable("unknown kind");
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::optional<Scalar> ScalarGen::generateName(const ast::NameExpr *expr) {
  auto fixed = scope.names.find(expr->name);
  if (fixed != scope.names.end())
    return fixed->second;
  // A fixed name that was declared was reported.
  if (isFixedName(expr->name) && symbols.contains(expr->name))
    return std::nullopt;
  if (isFixedName(expr->name))
    return generateFixedName(expr);

  auto found = symbols.find(expr->name);
  if (found == symbols.end()) {
    reportUnknownName(expr);
    return std::nullopt;
  }
  const Symbol &symbol = found->second;
  symbol.isUsed = true;
  if (symbol.kind == Symbol::Kind::Dim)
    return generateDim(symbol, expr->range);
  if (symbol.bound.isUnknown())
    return std::nullopt;
  if (symbol.bound.kind == Bound::Kind::Constant)
    return Scalar(symbol.bound.constant);
  if (symbol.kind == Symbol::Kind::Input && scope.tables &&
      symbol.bound.getTensorType().getRank() == 0)
    return generateTable(symbol, expr->name, {}, expr->range);
  reportNoScalar(symbol, expr->name, expr->range);
  return std::nullopt;
}

/// The meaning of a fixed name, and the clauses in which it has a value.
static StringRef explainFixedName(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Case("i", "'i' is the absolute position of a query, in clauses of "
                 "attend and topk but 'scale'")
      .Case("j", "'j' is the index of a key, in 'where', 'score' and 'weight'")
      .Case("t", "'t' is the row of a query, in clauses of attend and topk but "
                 "'scale'")
      .Case("h", "'h' is the head, in clauses of attend and topk but 'scale'")
      .Case("b", "'b' is the batch row, in clauses of attend and topk but "
                 "'scale'")
      .Case("s", "'s' is the scaled score, in 'score' and 'weight'")
      .Cases({"start", "end"},
             "start(j) and end(j) are the token extent of key j, in 'where', "
             "'score' and 'weight'")
      .Case("visible", "'visible' is the number of visible keys, in "
                       "'normalize'")
      .Case("sum", "'sum' is the sum of the weights, in 'normalize'")
      .Case("G", "'G' is the number of query heads per key head, in clauses of "
                 "attend")
      .Default("");
}

std::optional<Scalar> ScalarGen::generateFixedName(const ast::NameExpr *expr) {
  if (expr->name == "G" && scope.queryHeads)
    return generateGroupSize(expr->range);
  bool function = expr->name == "start" || expr->name == "end";
  if (function && scope.keys) {
    problems.error(expr->range, quote(expr->name) + " is a function of a key")
        .note("write " + expr->name + "(j)");
    return std::nullopt;
  }
  Problem &problem = problems.error(
      expr->range, quote(expr->name) + " has no value " + scope.place);
  problem.note(explainFixedName(expr->name));
  if (!scope.names.empty())
    problem.note(describeAvailable());
  return std::nullopt;
}

std::string ScalarGen::describeAvailable() const {
  SmallVector<StringRef> available(scope.names.keys());
  if (scope.keys)
    available.append({"start(j)", "end(j)"});
  if (scope.queryHeads)
    available.push_back("G");
  if (scope.softmax)
    available.push_back("softmax");
  llvm::sort(available);
  return "available " + scope.place + ": " + llvm::join(available, ", ");
}

void ScalarGen::reportUnknownName(const ast::NameExpr *expr) {
  if (expr->name == "softmax" && scope.softmax) {
    problems
        .error(expr->range, "'softmax' stands alone in 'weight', and is no "
                            "number")
        .note("leave out 'weight' for a softmax; a weight with another divisor "
              "is written 'weight exp(s) normalize D'");
    return;
  }
  Problem &problem = problems.error(
      expr->range, "unknown name " + quote(expr->name) + " " + scope.place);
  SmallVector<StringRef> known(llvm::make_first_range(symbols));
  SmallVector<StringRef> fixed(scope.names.keys());
  llvm::sort(fixed);
  known.append(fixed);
  StringRef spelling = explainName(expr->name);
  if (!spelling.empty())
    problem.note(spelling);
  else
    problem.suggest(expr->name, known);
  if (!problem.notes.empty())
    return;
  if (isScalarFunction(expr->name))
    problem.note(quote(expr->name) + " is a function: call it with arguments");
  else if (!fixed.empty())
    problem.note(describeAvailable() + ", parameters, dimensions and tables");
  else
    problem.note("declare it as a parameter: kernel name<" + expr->name +
                 " = …>(…); of other names, those of statements before this "
                 "one are known");
}

void ScalarGen::reportNoScalar(const Symbol &symbol, StringRef name,
                               Range range) {
  Problem &problem = problems.error(
      range, "expected a number " + scope.place + ", found " +
                 describe(symbol.bound.kind) + ", " + quote(name));
  if (symbol.kind == Symbol::Kind::Input && scope.tables) {
    problem.note("read one element of it, with an index for each of " +
                 nsa::toString(symbol.getDeclaredDims()) + ": " + name + "[…]" +
                 (scope.names.contains("s")
                      ? "; the product of query and key is 's'"
                      : ""));
  } else if (symbol.kind == Symbol::Kind::Input) {
    problem.note("only parameters and integers are known when the program is "
                 "compiled; make it a parameter");
  } else if (scope.tables) {
    problem.note("scalar expressions read kernel inputs only, as in "
                 "table[h, i]");
  } else {
    problem.note("only parameters, integers and names bound to them are known "
                 "when the program is compiled");
  }
  problem.note(symbol.range, quote(name) + " is defined here");
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

Value ScalarGen::emitDimSize(Attribute dim, Range range) {
  if (auto size = llvm::dyn_cast<IntegerAttr>(dim))
    return emitInt(size.getInt(), getLoc(range));
  return nsa::DimOp::create(builder, getLoc(range), builder.getIndexType(),
                            llvm::cast<nsa::NamedDimAttr>(dim).getName());
}

std::optional<Scalar> ScalarGen::generateDim(const Symbol &symbol,
                                             Range range) {
  StringRef name = symbol.dim.getName();
  if (!scope.dims) {
    problems
        .error(range, "the size of dimension " + quote(name) +
                          " isn't known when the program is compiled")
        .note("make it a parameter: kernel name<" + name + " = …>(…)");
    return std::nullopt;
  }
  if (symbol.dim.getRagged() && !scope.row) {
    problems
        .error(range, "the ragged dimension " + quote(name) +
                          " has no single size " + scope.place)
        .note("each batch row has its own; it is known in 'where', 'score', "
              "'weight', 'normalize' and 'sink'");
    return std::nullopt;
  }
  return Scalar(ScalarType::Int, emitDimSize(symbol.dim, range));
}

std::optional<Scalar> ScalarGen::generateGroupSize(Range range) {
  if (scope.queryHeads == scope.keyHeads)
    return Constant::ofInt(1);
  auto queries = llvm::dyn_cast<IntegerAttr>(scope.queryHeads);
  auto keys = llvm::dyn_cast<IntegerAttr>(scope.keyHeads);
  if (queries && keys && keys.getInt() > 0)
    return Constant::ofInt(queries.getInt() / keys.getInt());
  Value result = arith::FloorDivSIOp::create(
      builder, getLoc(range), emitDimSize(scope.queryHeads, range),
      emitDimSize(scope.keyHeads, range));
  return Scalar(ScalarType::Int, result);
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

std::optional<Scalar> ScalarGen::generateIndex(const ast::IndexExpr *expr) {
  const auto *base = llvm::dyn_cast<ast::NameExpr>(expr->base);
  if (!base) {
    Problem &problem = problems.error(expr->base->range,
                                      "only inputs can be read with indices");
    if (llvm::isa<ast::IndexExpr>(expr->base))
      problem.note("write all indices in one pair of brackets, as in "
                   "'table[b, i]'");
    else
      problem.note("write the name of an input in front of '['");
    return std::nullopt;
  }
  auto found = symbols.find(base->name);
  bool isFunction =
      isScalarFunction(base->name) || isTensorFunction(base->name);
  if (found == symbols.end() && isFunction) {
    problems
        .error(base->range, quote(base->name) + " is a function, not a table")
        .note("arguments stand in round brackets: " + base->name + "(…)");
    return std::nullopt;
  }
  if (found == symbols.end()) {
    reportUnknownName(base);
    return std::nullopt;
  }
  const Symbol &symbol = found->second;
  symbol.isUsed = true;
  if (symbol.kind == Symbol::Kind::Value && symbol.bound.isUnknown())
    return std::nullopt;
  if (symbol.kind != Symbol::Kind::Input || !scope.tables) {
    reportNoTable(symbol, base);
    return std::nullopt;
  }
  return generateTable(symbol, base->name, expr->indices, expr->range);
}

void ScalarGen::reportNoTable(const Symbol &symbol, const ast::NameExpr *base) {
  std::string name = quote(base->name);
  bool isTensor = symbol.bound.isTensor();
  std::string dims = isTensor
                         ? nsa::toString(symbol.bound.getTensorType().getDims())
                         : std::string();
  if (isTensor && scope.dims && !scope.tables) {
    problems
        .error(base->range, name + " can't be read with indices " + scope.place)
        .note("write " + name + " alone: its dimensions " + dims +
              " are matched by name; indices stand in clauses of attend and "
              "topk");
    return;
  }
  if (symbol.kind == Symbol::Kind::Input) {
    problems
        .error(base->range, name + " can't be read with indices " + scope.place)
        .note("inputs are read in clauses of attend and topk");
    return;
  }
  Problem &problem = problems.error(
      base->range,
      name + " can't be read with indices, as it is " +
          (symbol.kind == Symbol::Kind::Dim ? StringRef("a dimension")
           : isTensor                       ? StringRef("computed")
                                            : describe(symbol.bound.kind)));
  problem.note(isTensor ? "only inputs of the kernel are tables; compute it in "
                          "another kernel and hand it in"
                        : "only inputs of the kernel are tables");
  problem.note(symbol.range, name + " is defined here");
}

std::optional<Scalar> ScalarGen::generateTable(const Symbol &symbol,
                                               StringRef name,
                                               ArrayRef<ast::Expr *> indices,
                                               Range range) {
  if (symbol.bound.isUnknown())
    return std::nullopt;
  nsa::NamedTensorType type = symbol.bound.getTensorType();
  if (indices.size() != type.getRank()) {
    problems
        .error(range, quote(name) + " has " + Twine(type.getRank()) +
                          (type.getRank() == 1 ? " dimension" : " dimensions") +
                          ", found " + Twine(indices.size()) +
                          (indices.size() == 1 ? " index" : " indices"))
        .note(symbol.range,
              quote(name) + " is declared as " +
                  nsa::toString(symbol.getDeclaredDims()) +
                  (type.isRagged() && indices.size() == type.getRank() + 1
                       ? "; the index into a ragged dimension counts in the "
                         "batch row of the clause: leave out 'b'"
                   : indices.size() < type.getRank()
                       ? "; write an index for each, as in '[b, i]'"
                       : ""));
    return std::nullopt;
  }
  SmallVector<Value> values(indices.size());
  for (auto [index, dim] : llvm::zip_equal(indices, symbol.order)) {
    checkIndex(symbol, name, index, type.getDims()[dim]);
    values[dim] = generate(index, ScalarType::Int, "an index");
  }
  if (llvm::is_contained(values, Value()))
    return std::nullopt;
  bool ragged = llvm::any_of(type.getDims(), [](Attribute dim) {
    auto named = llvm::dyn_cast<nsa::NamedDimAttr>(dim);
    return named && named.getRagged();
  });
  Value element = nsa::TableReadOp::create(
      builder, getLoc(range), type.getScalarType(), symbol.bound.value, values,
      ragged ? scope.row : Value());
  ScalarType scalar = element.getType().isIndex()      ? ScalarType::Int
                      : element.getType().isInteger(1) ? ScalarType::Bool
                                                       : ScalarType::Real;
  return Scalar(scalar, element);
}

//===----------------------------------------------------------------------===//
// Token extents
//===----------------------------------------------------------------------===//

std::optional<Scalar> ScalarGen::generateExtent(const ast::CallExpr *expr) {
  bool end = expr->callee.text == "end";
  if (!scope.keys) {
    problems
        .error(expr->range,
               quote(expr->callee.text) + " has no value " + scope.place)
        .note(explainFixedName(expr->callee.text));
    return std::nullopt;
  }
  if (expr->arguments.size() != 1 || expr->arguments.front().label) {
    problems.error(expr->range, quote(expr->callee.text) + " takes one key")
        .note("write " + expr->callee.text + "(j)");
    return std::nullopt;
  }
  const ast::Expr *argument = expr->arguments.front().value;
  Value key = generate(argument, ScalarType::Int, "a key");
  if (!key)
    return std::nullopt;

  const KeyExtent &keys = *scope.keys;
  Location loc = getLoc(expr->range);
  Value result = key;
  int64_t shift = (end ? keys.len : 0) + keys.first;
  if (keys.memory != 0)
    result =
        arith::SubIOp::create(builder, loc, result, emitInt(keys.memory, loc));
  if (keys.stride != 1)
    result =
        arith::MulIOp::create(builder, loc, result, emitInt(keys.stride, loc));
  if (shift != 0)
    result = arith::AddIOp::create(builder, loc, result, emitInt(shift, loc));
  if (keys.memory != 0) {
    Value isMemory =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, key,
                              emitInt(keys.memory, loc));
    result = arith::SelectOp::create(builder, loc, isMemory, emitInt(0, loc),
                                     result);
  }
  return Scalar(ScalarType::Int, result);
}
