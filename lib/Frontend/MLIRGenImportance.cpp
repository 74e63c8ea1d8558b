//===- MLIRGenImportance.cpp - Importance of keys and of blocks -----------===//

#include "KernelGen.h"
#include "Sequence.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using llvm::Twine;

/// Drops `ragged`: the importance of one query row has only one batch row.
static Attribute dropRagged(nsa::PooledDimAttr dim) {
  return nsa::PooledDimAttr::get(dim.getContext(), dim.getBase(), dim.getLen(),
                                 dim.getStride(), dim.getTail(),
                                 /*ragged=*/false, dim.getCount(),
                                 dim.getOffset(), dim.getMemory());
}

Bound KernelGen::generateImportance(const ast::CallExpr *call) {
  auto arguments = bindArguments(call, {{"a"}, {"heads", false, true}});
  if (!arguments)
    return {};
  StringRef name = call->callee.text;
  auto kind = *nsa::symbolizeImportanceKind(name);
  std::optional<unsigned> heads = 0;
  if ((*arguments)[1])
    heads = evaluateChoice((*arguments)[1], "'heads'",
                           {"sum", "mean", "max", "none"});
  const ast::Expr *expr = (*arguments)[0];
  Bound bound = generate(expr);
  if (bound.isUnknown() || !heads)
    return {};
  if (!bound.attend) {
    problems
        .error(expr->range, quote(name) + " takes an attention, found " +
                                (bound.kind == Bound::Kind::Attention
                                     ? "a merge of several"
                                     : describe(bound.kind)))
        .note("give it attend(…) or a name bound to one");
    return {};
  }
  bool softmax = bound.attend.isSoftmax();
  if (softmax == (kind == nsa::ImportanceKind::Activation) &&
      kind != nsa::ImportanceKind::Score) {
    problems
        .error(expr->range, softmax ? "this attention has softmax "
                                      "probabilities, not activations"
                                    : "this attention has no softmax "
                                      "probabilities: its weight is another "
                                      "one")
        .note(softmax ? "write prob(…) for the probabilities or score(…) for "
                        "the scores"
                      : "write activation(…) for the weights or score(…) for "
                        "the scores");
    return {};
  }
  auto query =
      getSequence(bound.attend.getQuery(), expr, "the queries", "T, HQ");
  auto key = getSequence(bound.attend.getKey(), expr, "the keys");
  if (!query || !key)
    return {};
  auto pooled = llvm::dyn_cast<nsa::PooledDimAttr>(key->tokens);
  if (!pooled) {
    problems
        .error(expr->range, quote(name) +
                                " takes an attention to pooled keys, "
                                "found keys of dimension " +
                                quote(nsa::toString(key->tokens)))
        .note("attend to pool(k, 64) for blocks of 64 tokens, or to pool(k, 1) "
              "for single tokens");
    return {};
  }

  Dims dims = query->getRows();
  dims.push_back(*heads == unsigned(nsa::HeadReduction::None) ? query->heads
                                                              : key->heads);
  dims.push_back(dropRagged(pooled));
  bool isProb = kind == nsa::ImportanceKind::Prob;
  auto importance = nsa::ImportanceOp::create(
      builder, getLoc(call->range), getTensorType(dims, getF32()), kind,
      static_cast<nsa::HeadReduction>(*heads), bound.attend.getQuery(),
      bound.attend.getKey(), isProb ? bound.lse : Value(),
      bound.attend.getSelection());
  if (!copyClauses(bound.attend, importance, call->range))
    return {};
  Bound result;
  result.kind = Bound::Kind::Importance;
  result.value = importance.getResult();
  result.importance = kind;
  return result;
}

bool KernelGen::copyClauses(nsa::ScoringOpInterface from, nsa::ImportanceOp to,
                            Range range) {
  constexpr size_t maxCopiedOps = 1 << 18;
  IRMapping mapping;
  for (auto [source, target] :
       {std::pair(&from.getScale(), &to.getScale()),
        std::pair(&from.getMask(), &to.getMask()),
        std::pair(&from.getScore(), &to.getScore()),
        std::pair(&from.getWeight(), &to.getWeight())}) {
    if (source->empty())
      continue;
    copiedOps += source->front().getOperations().size();
    if (copiedOps > maxCopiedOps) {
      problems.error(range, "this program is too large")
          .note("its attentions' clauses are used too often; split the kernel "
                "into several");
      to.erase();
      return false;
    }
    source->cloneInto(target, mapping);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// blocks
//===----------------------------------------------------------------------===//

Bound KernelGen::generateBlocks(const ast::CallExpr *call) {
  auto arguments = bindArguments(
      call, {{"p"}, {"block"}, {"map", false, true}, {"of", false, true}});
  if (!arguments)
    return {};
  constexpr unsigned identity = 4;
  std::optional<unsigned> map = unsigned(nsa::BlockMap::Overlap);
  if (const ast::Expr *expr = (*arguments)[2])
    map = evaluateChoice(expr, "'map'",
                         {"overlap", "sum", "mean", "max", "identity"});
  const ast::Expr *expr = (*arguments)[0];
  std::optional<int64_t> block =
      evaluateInt((*arguments)[1], "the block size", 1);
  if (!map || !block) {
    generate(expr);
    return {};
  }
  if (*map == identity)
    return declareBlocks(call, expr, *block, (*arguments)[3]);
  if ((*arguments)[3]) {
    problems.error((*arguments)[3]->range, "'of' goes with map=identity only")
        .note("the importance says which tokens it is about; leave 'of' out");
    return {};
  }
  Bound bound = generate(expr);
  if (bound.isUnknown())
    return {};
  auto pooled = bound.kind == Bound::Kind::Importance
                    ? llvm::dyn_cast<nsa::PooledDimAttr>(
                          bound.getTensorType().getDims().back())
                    : nsa::PooledDimAttr();
  if (!pooled) {
    bool blocks = bound.kind == Bound::Kind::Importance;
    problems
        .error(expr->range,
               "'blocks' takes an importance of pooled keys, "
               "found " +
                   (blocks ? "one of blocks" : describe(bound.kind)))
        .note(blocks ? "it is over blocks already; leave out one 'blocks'"
                     : "prob, score and activation give one; blocks(x, 64, "
                       "map=identity) declares an input to hold scores of "
                       "blocks");
    return {};
  }
  Dims dims(bound.getTensorType().getDims());
  dims.back() =
      nsa::BlocksDimAttr::get(builder.getContext(), pooled.getBase(), *block);
  bound.value = nsa::BlocksOp::create(
      builder, getLoc(call->range), getTensorType(dims, getF32()),
      static_cast<nsa::BlockMap>(*map), bound.value, *block);
  return bound;
}

Bound KernelGen::declareBlocks(const ast::CallExpr *call,
                               const ast::Expr *scores, int64_t block,
                               const ast::Expr *of) {
  Value input = generateTensor(scores, "the scores of blocks");
  if (!input)
    return {};
  auto type = llvm::cast<nsa::NamedTensorType>(input.getType());
  size_t rank = type.isRagged() ? 3 : 4;
  if (type.getRank() != rank || !type.getElementType().isF32()) {
    problems
        .error(scores->range, "scores of blocks must be f32[B, T, H, N] or "
                              "f32[ragged T, H, N], found " +
                                  spell(getDeclaredType(input, symbols)))
        .note("declare the input with four dimensions, or three if it is "
              "ragged, and f32 elements");
    return {};
  }
  if (!llvm::isa<nsa::NamedDimAttr, IntegerAttr>(type.getDims().back())) {
    problems
        .error(scores->range, "the last dimension of scores of blocks must be "
                              "a name or a number, found " +
                                  quote(nsa::toString(type.getDims().back())))
        .note("map=identity is for scores that were handed in");
    return {};
  }
  nsa::NamedDimAttr tokens = resolveTokenDim(call, of, {});
  if (!tokens)
    return {};
  Dims dims(type.getDims());
  dims.back() =
      nsa::BlocksDimAttr::get(builder.getContext(), tokens.getName(), block);
  Bound bound;
  bound.kind = Bound::Kind::Importance;
  bound.value = nsa::DeclareBlocksOp::create(
      builder, getLoc(call->range), getTensorType(dims, getF32()), input);
  return bound;
}
