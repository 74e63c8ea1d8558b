//===- MLIRGenPool.cpp - Pooled keys and values ---------------------------===//

#include "KernelGen.h"
#include "Sequence.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using llvm::Twine;

/// The index of the tokens in [B, S, H, D] and [ragged S, H, D].
static size_t getTokenIndex(nsa::NamedTensorType type) {
  return type.isRagged() ? 0 : 1;
}

bool KernelGen::resolvePooling(const ast::CallExpr *call,
                               const ast::Expr *lenExpr,
                               const ast::Expr *strideExpr, int64_t &len,
                               int64_t &stride) {
  std::optional<int64_t> given = evaluateInt(lenExpr, "the window length", 1);
  std::optional<int64_t> step =
      strideExpr ? evaluateInt(strideExpr, "the stride", 1) : given;
  if (!given || !step)
    return false;
  len = *given;
  stride = *step;
  if (len >= stride && len % stride == 0)
    return true;
  Problem &problem =
      len < stride
          ? problems
                .error(strideExpr->range, "the window length " + Twine(len) +
                                              " is less than the stride " +
                                              Twine(stride))
                .note("tokens between windows would be lost; give a length of "
                      "at least the stride")
          : problems
                .error(strideExpr->range,
                       "the stride " + Twine(stride) +
                           " doesn't divide the window length " + Twine(len))
                .note("give a stride that divides the length, such as " +
                      Twine(len % 2 == 0 && len > 2 ? len / 2 : len));
  explainParams(problem, lenExpr);
  explainParams(problem, strideExpr);
  return false;
}

bool KernelGen::generatePoolKind(const ast::Expr *by,
                                 nsa::NamedTensorType input, int64_t len,
                                 nsa::PoolKind &kind, Value &weights) {
  kind = nsa::PoolKind::Mean;
  if (!by)
    return true;
  const auto *name = llvm::dyn_cast<ast::NameExpr>(by);
  if (name && !symbols.contains(name->name)) {
    if (std::optional<nsa::PoolKind> known = nsa::symbolizePoolKind(name->name);
        known && *known != nsa::PoolKind::Weighted) {
      kind = *known;
      return true;
    }
    problems
        .error(by->range, "'by' must be mean, max or the name of a tensor of "
                          "weights, found " +
                              quote(name->name))
        .note("weights are an input [" + Twine(len) + "] or [H, " + Twine(len) +
              "]");
    return false;
  }
  weights = generateTensor(by, "the weights of a pool");
  if (!weights)
    return false;
  kind = nsa::PoolKind::Weighted;
  auto type = llvm::cast<nsa::NamedTensorType>(weights.getType());
  Attribute window = builder.getI64IntegerAttr(len);
  Attribute heads = input.getDims()[getTokenIndex(input) + 1];
  if (llvm::isa<FloatType>(type.getElementType()) &&
      (type.getDims() == ArrayRef(window) ||
       type.getDims() == ArrayRef<Attribute>({heads, window})))
    return true;
  problems
      .error(by->range, "the weights of a pool must be real numbers [" +
                            Twine(len) + "] or [" + nsa::toString(heads) +
                            ", " + Twine(len) + "], found " +
                            spell(getDeclaredType(weights, symbols)))
      .note("one weight for each place in the window of " + Twine(len) +
            " tokens, for all heads or for each");
  return false;
}

Bound KernelGen::generatePool(const ast::CallExpr *call) {
  auto arguments = bindArguments(call, {{"x"},
                                        {"len"},
                                        {"stride", false},
                                        {"tail", false, true},
                                        {"by", false, true}});
  if (!arguments)
    return {};
  auto [x, lenExpr, strideExpr, tailExpr, by] =
      std::tuple((*arguments)[0], (*arguments)[1], (*arguments)[2],
                 (*arguments)[3], (*arguments)[4]);
  Value input = generateTensor(x, "what is pooled");
  int64_t len, stride;
  if (!resolvePooling(call, lenExpr, strideExpr, len, stride) || !input)
    return {};
  std::optional<unsigned> tail =
      len > stride ? unsigned(nsa::Tail::Drop) : unsigned(nsa::Tail::Average);
  if (tailExpr)
    tail = evaluateChoice(tailExpr, "'tail'",
                          {"drop", "average", "zeros_left", "zeros_right"});
  if (!tail || !getSequence(input, x, "what is pooled"))
    return {};

  auto type = llvm::cast<nsa::NamedTensorType>(input.getType());
  Dims dims(type.getDims());
  Attribute &tokens = dims[getTokenIndex(type)];
  auto named = llvm::dyn_cast<nsa::NamedDimAttr>(tokens);
  if (!named) {
    problems
        .error(x->range, "expected tokens to pool, found dimension " +
                             quote(nsa::toString(tokens)))
        .note(llvm::isa<IntegerAttr>(tokens)
                  ? "give the token dimension a name, such as S"
                  : "these keys are pooled already; pool the tokens with "
                    "another length instead");
    return {};
  }
  nsa::PoolKind kind;
  Value weights;
  if (!generatePoolKind(by, type, len, kind, weights))
    return {};
  auto tailKind = static_cast<nsa::Tail>(*tail);
  tokens = nsa::PooledDimAttr::get(builder.getContext(), named.getName(), len,
                                   stride, tailKind, named.getRagged(),
                                   StringAttr(), 0, 0);
  return bindTensor(nsa::PoolOp::create(
      builder, getLoc(call->range), getTensorType(dims, type.getElementType()),
      kind, input, weights, len, stride, tailKind));
}

Bound KernelGen::generatePooled(const ast::CallExpr *call) {
  auto arguments = bindArguments(call, {{"x"},
                                        {"len"},
                                        {"stride"},
                                        {"offset", false, true},
                                        {"memory", false, true},
                                        {"of", false, true}});
  if (!arguments)
    return {};
  const ast::Expr *x = (*arguments)[0];
  Value input = generateTensor(x, "what holds pooled keys");
  int64_t len, stride;
  if (!resolvePooling(call, (*arguments)[1], (*arguments)[2], len, stride) ||
      !input)
    return {};
  std::optional<int64_t> offset = 0, memory = 0;
  if (const ast::Expr *expr = (*arguments)[3])
    offset =
        evaluateInt(expr, "the offset", -std::numeric_limits<int32_t>::max());
  if (const ast::Expr *expr = (*arguments)[4])
    memory = evaluateInt(expr, "the number of memory tokens", 0);
  if (!offset || !memory || !getSequence(input, x, "what holds pooled keys"))
    return {};
  auto type = llvm::cast<nsa::NamedTensorType>(input.getType());
  Dims dims(type.getDims());
  Attribute &entries = dims[getTokenIndex(type)];
  auto named = llvm::dyn_cast<nsa::NamedDimAttr>(entries);
  if (!named) {
    problems
        .error(x->range, "expected an input with a named dimension of pooled "
                         "keys, found " +
                             spell(getDeclaredType(input, symbols)))
        .note("declare it as [B, N, H, D] or [ragged N, H, D]");
    return {};
  }
  nsa::NamedDimAttr tokens = resolveTokenDim(call, (*arguments)[5], named);
  if (!tokens)
    return {};
  if (tokens.getRagged() != named.getRagged()) {
    problems
        .error(call->range, "pooled keys " + quote(nsa::toString(named)) +
                                " and tokens " + quote(nsa::toString(tokens)) +
                                " must both be ragged or both not")
        .note("all tensors of an attention are packed, or none");
    return {};
  }
  entries = nsa::PooledDimAttr::get(builder.getContext(), tokens.getName(), len,
                                    stride, nsa::Tail::Drop, named.getRagged(),
                                    builder.getStringAttr(named.getName()),
                                    *offset, *memory);
  return bindTensor(nsa::DeclarePooledOp::create(
      builder, getLoc(call->range), getTensorType(dims, type.getElementType()),
      input));
}

//===----------------------------------------------------------------------===//
// Token dimensions
//===----------------------------------------------------------------------===//

/// Visits every call in the expression.
static void forEachCall(const ast::Expr *expr,
                        llvm::function_ref<void(const ast::CallExpr *)> visit) {
  if (!expr)
    return;
  if (const auto *unary = llvm::dyn_cast<ast::UnaryExpr>(expr))
    return forEachCall(unary->operand, visit);
  if (const auto *binary = llvm::dyn_cast<ast::BinaryExpr>(expr)) {
    forEachCall(binary->lhs, visit);
    return forEachCall(binary->rhs, visit);
  }
  const auto *call = llvm::dyn_cast<ast::CallExpr>(expr);
  if (!call)
    return;
  visit(call);
  for (const ast::Argument &argument : call->arguments)
    forEachCall(argument.value, visit);
}

/// The token dimensions of inputs that the kernel uses as keys.
static llvm::SetVector<nsa::NamedDimAttr>
collectKeyDims(const ast::Kernel &kernel, const Symbols &symbols) {
  llvm::SetVector<nsa::NamedDimAttr> dims;
  auto visit = [&](const ast::CallExpr *call) {
    size_t key = call->callee.text == "attend" ? 1 : 0;
    if ((key == 0 && call->callee.text != "pool") ||
        call->arguments.size() <= key)
      return;
    const auto *name =
        llvm::dyn_cast_or_null<ast::NameExpr>(call->arguments[key].value);
    auto found = name ? symbols.find(name->name) : symbols.end();
    if (found == symbols.end() || found->second.kind != Symbol::Kind::Input ||
        !found->second.bound.isTensor())
      return;
    nsa::NamedTensorType type = found->second.bound.getTensorType();
    if (type.getDims().size() > getTokenIndex(type))
      if (auto named = llvm::dyn_cast<nsa::NamedDimAttr>(
              type.getDims()[getTokenIndex(type)]))
        dims.insert(named);
  };
  for (const ast::Statement &statement : kernel.body)
    for (const ast::Expr *value : statement.values)
      forEachCall(value, visit);
  return dims;
}

nsa::NamedDimAttr KernelGen::resolveTokenDim(const ast::CallExpr *call,
                                             const ast::Expr *of,
                                             Attribute except) {
  if (of) {
    const auto *name = llvm::dyn_cast<ast::NameExpr>(of);
    auto found = name ? symbols.find(name->name) : symbols.end();
    if (found != symbols.end() && found->second.kind == Symbol::Kind::Dim) {
      found->second.isUsed = true;
      return found->second.dim;
    }
    StringRef text = source.getText(of->range);
    Problem &problem = problems.error(
        of->range,
        "'of' must be a dimension of the inputs, found " + quote(text));
    if (name && found == symbols.end())
      problem.note("an input gives it its size: declare one with the tokens, "
                   "such as k: [B, " +
                   text + ", H, D]");
    else
      problem.note("name the dimension of the tokens, such as of=S");
    return {};
  }
  if (!keyDims)
    keyDims = collectKeyDims(kernel, symbols);
  nsa::NamedDimAttr only;
  unsigned candidates = 0;
  for (nsa::NamedDimAttr dim : *keyDims)
    if (dim != except) {
      only = dim;
      ++candidates;
    }
  if (candidates == 1)
    return only;
  problems
      .error(call->range, candidates == 0
                              ? "can't tell which dimension the tokens are: "
                                "no input is used as keys"
                              : "can't tell which dimension the tokens are: "
                                "several inputs are used as keys")
      .note("name it with of=…, as in of=S");
  return {};
}
