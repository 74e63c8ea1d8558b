//===- MLIRGenAttend.cpp - Attention and its clauses ----------------------===//

#include "KernelGen.h"
#include "NSA/Analysis/Lint.h"
#include "Sequence.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using llvm::Twine;

Value KernelGen::generateSelectionOperand(const ast::CallExpr *call,
                                          const Sequence &query,
                                          const Sequence &key) {
  const ast::Expr *expr = call->find(ast::Clause::Kind::In)->value;
  Bound bound = generate(expr);
  if (bound.isUnknown())
    return {};
  if (bound.kind != Bound::Kind::Selection) {
    problems
        .error(expr->range, "'in' takes a selection of blocks, found " +
                                describe(bound.kind))
        .note("topk(…) computes a selection; selection(idx, block) makes one "
              "of an input of block indices");
    return {};
  }
  auto type = llvm::cast<nsa::SelectionType>(bound.value.getType());
  if (auto pooled = llvm::dyn_cast<nsa::PooledDimAttr>(key.tokens)) {
    problems
        .error(expr->range, "a selection of blocks of " +
                                Twine(type.getBlock()) +
                                " tokens can't choose among pooled keys")
        .note(key.expr->range, "these keys are " + nsa::toString(pooled) +
                                   "; attend to the unpooled keys, or leave "
                                   "out 'in'");
    return {};
  }
  if (nsa::getTokenDim(key.tokens) != type.getOf().getValue()) {
    problems
        .error(expr->range, "a selection of blocks of dimension " +
                                quote(type.getOf().getValue()) +
                                " can't choose among keys of dimension " +
                                quote(nsa::toString(key.tokens)))
        .note(key.expr->range, "attend to the keys that the selection was "
                               "made for");
    return {};
  }
  SmallVector<Attribute> rows;
  if (!query.isRagged())
    rows.push_back(query.batch);
  ArrayRef<Attribute> dims = type.getDims();
  Attribute groups = type.getRowDim();
  if (groups == query.tokens && nsa::hasRowsOfOffsets(bound.value)) {
    std::string tokens = nsa::toString(query.tokens);
    problems
        .error(expr->range, "offsets of lists are one more than lists, found "
                            "one for each of " +
                                quote(tokens))
        .note("give the offsets a dimension of their own, as P in indptr: "
              "i32[" +
              Twine(query.isRagged() ? "ragged P" : "B, P") + ", " +
              nsa::toString(dims.back()) + "]; it has ceildiv(" + tokens +
              ", " + Twine(type.getTokens()) + ") + 1 entries");
    return {};
  }
  if (type.getTokens() > 1 && groups == query.tokens) {
    problems
        .error(expr->range, "each " + Twine(type.getTokens()) +
                                " tokens have one row of indices, found a row "
                                "for each of " +
                                quote(nsa::toString(query.tokens)))
        .note("give the indices a dimension of their own, as M in idx: i32[" +
              Twine(query.isRagged() ? "ragged M" : "B, M") + ", " +
              nsa::toString(dims.back()) + ", " + Twine(type.getTop()) +
              "]; it has ceildiv(" + nsa::toString(query.tokens) + ", " +
              Twine(type.getTokens()) + ") rows");
    return {};
  }
  rows.push_back(bound.hasGroups ? groups : query.tokens);
  auto heads = llvm::dyn_cast<IntegerAttr>(dims.back());
  bool isForAll = heads && heads.getInt() == 1;
  if (dims.drop_back() == ArrayRef(rows) &&
      (isForAll || llvm::is_contained({query.heads, key.heads}, dims.back())))
    return bound.value;
  rows.push_back(key.heads);
  Problem &problem = problems.error(
      expr->range, "expected a selection for " + nsa::toString(rows) +
                       ", found one for " + nsa::toString(dims));
  problem.note(query.expr->range,
               "one choice for each query and each key head (" +
                   nsa::toString(key.heads) + ") or query head (" +
                   nsa::toString(query.heads) + "), or one for all heads (1)");
  if (nsa::isHandedIn(bound.value) && !bound.hasGroups &&
      groups != query.tokens)
    problem.note("where each n tokens have one row of indices, say so: "
                 "selection(…, tokens=n)");
  return {};
}

//===----------------------------------------------------------------------===//
// attend
//===----------------------------------------------------------------------===//

static bool isSoftmax(const ast::CallExpr *call) {
  const ast::Clause *weight = call->find(ast::Clause::Kind::Weight);
  const auto *name =
      weight ? llvm::dyn_cast<ast::NameExpr>(weight->value) : nullptr;
  return !weight || (name && name->name == "softmax");
}

bool KernelGen::checkClauses(const ast::CallExpr *call, bool softmax) {
  const ast::Clause *normalize = call->find(ast::Clause::Kind::Normalize);
  const ast::Clause *sink = call->find(ast::Clause::Kind::Sink);
  if (normalize && softmax)
    problems.error(normalize->keyword, "a softmax is normalized already")
        .note("leave out 'normalize', or give another 'weight', such as "
              "'weight silu(s)'");
  if (sink && !softmax)
    problems.error(sink->keyword, "only a softmax has a sink")
        .note("leave out 'sink' or 'weight'");
  return !(normalize && softmax) && !(sink && !softmax);
}

Bound KernelGen::generateAttend(const ast::CallExpr *call) {
  auto arguments = bindArguments(call, {{"q"}, {"k"}, {"v", false}});
  if (!arguments)
    return {};
  const ast::Expr *valueExpr = (*arguments)[2];
  Value q = generateTensor((*arguments)[0], "the queries");
  Value k = generateTensor((*arguments)[1], "the keys");
  // Without values the keys take their place: only scores will be used.
  Value v = valueExpr ? generateTensor(valueExpr, "the values") : k;
  bool softmax = isSoftmax(call);
  bool valid = checkClauses(call, softmax);
  if (!q || !k || !v)
    return {};
  auto query = getSequence(q, (*arguments)[0], "the queries", "T, HQ");
  // An error in all three is reported once.
  auto key = query ? getSequence(k, (*arguments)[1], "the keys") : query;
  auto value = key && valueExpr ? getSequence(v, valueExpr, "the values") : key;
  if (!query || !key || !value || !checkQueryKey(*query, *key) ||
      !checkKeyValue(*key, *value))
    return {};
  checkElementTypes(
      valueExpr ? ArrayRef<Value>{q, k, v} : ArrayRef<Value>{q, k}, *arguments);
  Value selection;
  if (call->find(ast::Clause::Kind::In)) {
    selection = generateSelectionOperand(call, *query, *key);
    valid &= bool(selection);
  }

  Dims dims = query->getRows();
  dims.push_back(query->heads);
  dims.push_back(value->features);
  if (!checkComputedDims(dims, call->range))
    return {};
  Type lse =
      softmax ? getTensorType(ArrayRef(dims).drop_back(), getF32()) : Type();
  Location loc = getLoc(call->range);
  if (const ast::Clause *in = call->find(ast::Clause::Kind::In))
    loc = nsa::addOperandPlaces(loc, getLoc(in->value->range));
  auto attend = nsa::AttendOp::create(
      builder, loc, getTensorType(dims, getF32()), lse, q, k, v, selection);
  valid &= generateClauses(call, attend, *query, *key);
  if (!valid) {
    attend.erase();
    return {};
  }
  Bound bound;
  bound.kind = Bound::Kind::Attention;
  bound.value = attend.getOutput();
  bound.lse = attend.getLse();
  bound.attend = attend;
  bound.scoresOnly = !valueExpr;
  return bound;
}

//===----------------------------------------------------------------------===//
// Clauses
//===----------------------------------------------------------------------===//

ScalarScope KernelGen::makeScope(nsa::Clause clause, Region &region,
                                 StringRef keyword) {
  ScalarScope scope;
  scope.place = "in " + quote(keyword);
  scope.tables = scope.dims = true;
  Block &body = region.front();
  auto bind = [&](ArrayRef<StringRef> names) {
    for (auto [name, argument] : llvm::zip_equal(names, body.getArguments())) {
      ScalarType type =
          argument.getType().isIndex() ? ScalarType::Int : ScalarType::Real;
      scope.names.try_emplace(name, Scalar(type, argument));
      if (name == "b")
        scope.row = argument;
    }
  };
  switch (clause) {
  case nsa::Clause::Scale:
    break;
  case nsa::Clause::Mask:
    bind({"b", "h", "t", "i", "j"});
    break;
  case nsa::Clause::Score:
  case nsa::Clause::Weight:
    bind({"s", "b", "h", "t", "i", "j"});
    break;
  case nsa::Clause::Normalize:
    bind({"sum", "visible", "b", "h", "t", "i"});
    break;
  case nsa::Clause::Sink:
    bind({"b", "h", "t", "i"});
    break;
  }
  return scope;
}

SmallVector<StringRef> KernelGen::findSwitches(const ast::Expr *expr) const {
  SmallVector<StringRef> found;
  ast::mentions(expr, [&](StringRef name) {
    const auto *symbol = symbols.find(name);
    if (symbol == symbols.end() ||
        symbol->second.bound.kind != Bound::Kind::Constant)
      return false;
    const Constant &value = symbol->second.bound.constant;
    if (value.type == ScalarType::Bool ||
        (value.type == ScalarType::Int && value.integer <= 0))
      found.push_back(symbol->first);
    return false;
  });
  return found;
}

bool KernelGen::generateClause(nsa::Clause clause, const ast::Clause *syntax,
                               Region &region, ScalarScope given) {
  if (!syntax)
    return true;
  MLIRContext *context = builder.getContext();
  SmallVector<Type> types = nsa::getClauseArgumentTypes(clause, context);
  Location loc = getLoc(syntax->value->range);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&region, {}, types,
                                    SmallVector<Location>(types.size(), loc));
  StringRef keyword = getSpelling(syntax->kind);
  ScalarScope scope = makeScope(clause, region, keyword);
  bool pairs = clause == nsa::Clause::Mask || clause == nsa::Clause::Score ||
               clause == nsa::Clause::Weight;
  if (pairs)
    scope.keys = given.keys;
  scope.softmax = clause == nsa::Clause::Weight;
  scope.queryHeads = given.queryHeads;
  scope.keyHeads = given.keyHeads;
  scope.counted = given.counted;
  scope.sequenceDims = given.sequenceDims;
  builder.setInsertionPointToStart(body);
  ScalarGen scalars(source, problems, symbols, scope, builder);
  ScalarType type =
      clause == nsa::Clause::Mask ? ScalarType::Bool : ScalarType::Real;
  Value value = scalars.generate(syntax->value, type, quote(keyword));
  if (!value)
    return false;
  nsa::YieldOp::create(
      builder, nsa::addSwitches(loc, findSwitches(syntax->value)), value);
  return true;
}

static KeyExtent getKeyExtent(Attribute tokens) {
  auto pooled = llvm::dyn_cast<nsa::PooledDimAttr>(tokens);
  if (!pooled)
    return {};
  return {pooled.getLen(), pooled.getStride(), pooled.getFirstStart(),
          pooled.getMemory()};
}

bool KernelGen::generateClauses(const ast::CallExpr *call, nsa::AttendOp attend,
                                const Sequence &query, const Sequence &key) {
  using Kind = ast::Clause::Kind;
  ScalarScope scope;
  scope.keys = getKeyExtent(key.tokens);
  scope.queryHeads = query.heads;
  scope.keyHeads = key.heads;
  setCounted(scope, query.batch, query.tokens, query.heads, key.tokens);
  bool valid = true;
  auto generate = [&](nsa::Clause clause, Kind kind, Region &region) {
    valid &= generateClause(clause, call->find(kind), region, scope);
  };
  generate(nsa::Clause::Scale, Kind::Scale, attend.getScale());
  generate(nsa::Clause::Mask, Kind::Where, attend.getMask());
  generate(nsa::Clause::Score, Kind::Score, attend.getScore());
  if (!isSoftmax(call))
    generate(nsa::Clause::Weight, Kind::Weight, attend.getWeight());
  generate(nsa::Clause::Normalize, Kind::Normalize, attend.getNormalize());
  generate(nsa::Clause::Sink, Kind::Sink, attend.getSink());
  return valid;
}

//===----------------------------------------------------------------------===//
// lse and merge
//===----------------------------------------------------------------------===//

Bound KernelGen::generateLse(const ast::CallExpr *call) {
  auto arguments = bindArguments(call, {{"a"}});
  Bound bound = arguments ? generate(arguments->front()) : Bound();
  if (bound.isUnknown())
    return {};
  if (bound.lse)
    return bindTensor(bound.lse);
  bool attention = bound.kind == Bound::Kind::Attention;
  problems
      .error(arguments->front()->range,
             "'lse' takes an attention with softmax, found " +
                 (attention ? StringRef("one with another weight")
                            : describe(bound.kind)))
      .note(attention ? "weights other than softmax have no log-sum-exp; "
                        "leave out 'weight'"
                      : "give it attend(…), merge(…) or a name bound to one");
  return {};
}

Bound KernelGen::generateMerge(const ast::CallExpr *call) {
  SmallVector<Value> outputs, lses;
  SmallVector<Location> places;
  SmallVector<const ast::Expr *> exprs;
  bool valid = true;
  for (const ast::Argument &argument : call->arguments) {
    if (argument.label)
      problems.error(argument.label->range, "'merge' has no named arguments")
          .note("write merge(a, b)");
    Bound bound = generate(argument.value);
    if (bound.isUnknown() || argument.label) {
      valid = false;
      continue;
    }
    if (!bound.lse || bound.scoresOnly) {
      bool attention = bound.kind == Bound::Kind::Attention;
      problems
          .error(argument.value->range,
                 "'merge' takes attentions with softmax and values, found " +
                     (bound.scoresOnly ? StringRef("one without values")
                      : attention      ? StringRef("one with another weight")
                                       : describe(bound.kind)))
          .note(bound.scoresOnly
                    ? "give it values: attend(q, k, v)"
                    : "one softmax is taken over the keys of all branches; add "
                      "gated outputs with '+' instead if that is meant");
      valid = false;
      continue;
    }
    if (!outputs.empty() &&
        outputs.front().getType() != bound.value.getType()) {
      problems
          .error(argument.value->range,
                 "branches of a merge must have the same dimensions, found " +
                     nsa::toString(bound.getTensorType().getDims()))
          .note(exprs.front()->range,
                "the first has " +
                    nsa::toString(llvm::cast<nsa::NamedTensorType>(
                                      outputs.front().getType())
                                      .getDims()));
      valid = false;
      continue;
    }
    exprs.push_back(argument.value);
    places.push_back(getLoc(argument.value->range));
    outputs.push_back(bound.value);
    lses.push_back(bound.lse);
  }
  if (call->arguments.empty()) {
    problems.error(call->range, "'merge' needs at least one attention")
        .note("write merge(a, b)");
    return {};
  }
  if (!valid)
    return {};
  Location loc = nsa::addOperandPlaces(getLoc(call->range), places);
  auto merge = nsa::MergeOp::create(builder, loc, outputs.front().getType(),
                                    lses.front().getType(), outputs, lses);
  Bound bound;
  bound.kind = Bound::Kind::Attention;
  bound.value = merge.getOutput();
  bound.lse = merge.getLse();
  return bound;
}
