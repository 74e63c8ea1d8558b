//===- MLIRGenSelection.cpp - Selections of blocks ------------------------===//

#include "MaskProof.h"
#include "Sequence.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// topk
//===----------------------------------------------------------------------===//

/// The expression as it stands, or the function alone where that is long.
std::string KernelGen::spellShort(const ast::Expr *expr) const {
  constexpr size_t longest = 40;
  StringRef text = source.getText(expr->range);
  if (text.size() <= longest && !text.contains('\n'))
    return text.str();
  const auto *call = llvm::dyn_cast<ast::CallExpr>(expr);
  return call ? (call->callee.text + "(…)").str() : "…";
}

/// The blocks that the scores are about: as they stand, or windows that are
/// blocks themselves.
std::optional<nsa::BlocksDimAttr> KernelGen::getBlocks(const Bound &scores,
                                                       const ast::Expr *expr) {
  if (scores.kind != Bound::Kind::Importance) {
    problems
        .error(expr->range, "'topk' takes an importance of blocks, found " +
                                describe(scores.kind))
        .note(scores.kind == Bound::Kind::Attention
                  ? "write topk(blocks(prob(a), 64), 16), for example"
                  : "prob, score and activation give one; topk(blocks(x, 64, "
                    "map=identity), 16) takes an input of scores");
    return std::nullopt;
  }
  Attribute keys = scores.getTensorType().getDims().back();
  if (auto blocks = llvm::dyn_cast<nsa::BlocksDimAttr>(keys))
    return blocks;
  auto pooled = llvm::cast<nsa::PooledDimAttr>(keys);
  if (pooled.getLen() == pooled.getStride() && pooled.getFirstStart() == 0 &&
      pooled.getMemory() == 0)
    return nsa::BlocksDimAttr::get(builder.getContext(), pooled.getBase(),
                                   pooled.getLen());
  problems
      .error(expr->range, "pooled keys " + nsa::toString(keys) +
                              " are not blocks: a selection needs windows "
                              "that neither overlap nor leave gaps")
      .note("map them to blocks first: topk(blocks(" + spellShort(expr) +
            ", 64), …)");
  return std::nullopt;
}

std::optional<KernelGen::Forced>
KernelGen::evaluateForced(const ast::CallExpr *call, int64_t top) {
  const ast::Clause *keep = call->find(ast::Clause::Kind::Keep);
  const ast::Clause *plus = call->find(ast::Clause::Kind::Plus);
  Forced forced;
  if (keep && plus) {
    problems.error(plus->keyword, "'keep' and 'plus' exclude each other")
        .note(keep->keyword, "'keep' counts blocks within top, 'plus' in "
                             "addition to it; choose one");
    return std::nullopt;
  }
  const ast::Clause *clause = keep ? keep : plus;
  if (!clause)
    return forced;
  forced.plus = plus;
  const ast::Forced *seen[2] = {};
  for (const ast::Forced &part : clause->forced) {
    if (seen[part.last]) {
      problems
          .error(part.range, part.last ? "a second 'last'" : "a second 'first'")
          .note(seen[part.last]->range, "the first one is here; give one "
                                        "number");
      return std::nullopt;
    }
    seen[part.last] = &part;
    std::optional<int64_t> count =
        evaluateInt(part.count, "a number of blocks", 0);
    if (!count)
      return std::nullopt;
    (part.last ? forced.last : forced.first) = *count;
  }
  int64_t all = top + forced.first + forced.last;
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (forced.plus && all > most) {
    problems
        .error(join(clause->keyword, clause->forced.back().range),
               "a row selects at most " + Twine(most) + " blocks, found " +
                   Twine(all) + " with those added by 'plus'")
        .note("add fewer blocks, or give a smaller top");
    return std::nullopt;
  }
  if (forced.plus || forced.first + forced.last <= top)
    return forced;
  Problem &problem = problems.error(
      join(clause->keyword, clause->forced.back().range),
      Twine(forced.first + forced.last) + " blocks are kept, but only " +
          Twine(top) + " are selected");
  problem.note("give a larger top, keep fewer, or write 'plus' to add them to "
               "the top ones");
  explainParams(problem, call->arguments[1].value);
  return std::nullopt;
}

std::optional<KernelGen::Sharing>
KernelGen::evaluateSharing(const ast::Clause *clause) {
  Sharing sharing;
  if (!clause)
    return sharing;
  std::optional<int64_t> size =
      evaluateInt(clause->value, quote(getSpelling(clause->kind)), 1);
  if (!size)
    return std::nullopt;
  sharing.size = *size;
  if (!clause->by)
    return sharing;
  if (std::optional<nsa::ShareBy> by =
          nsa::symbolizeShareBy(clause->by->text)) {
    sharing.by = *by;
    return sharing;
  }
  problems
      .error(clause->by->range, "'by' must be one of sum, mean, max, first, "
                                "last, found " +
                                    quote(clause->by->text))
      .note("it says how those who share a selection agree on it");
  return std::nullopt;
}

Value KernelGen::generateCount(const ast::Clause *clause, Type selection) {
  Value count = generateTensor(clause->value, "'count'");
  if (!count)
    return {};
  auto type = llvm::cast<nsa::NamedTensorType>(count.getType());
  ArrayRef<Attribute> rows =
      llvm::cast<nsa::SelectionType>(selection).getDims();
  Type element = type.getElementType();
  if (type.getDims() == rows &&
      (element.isInteger(32) || element.isInteger(64)))
    return count;
  problems
      .error(clause->value->range, "'count' must be i32" + nsa::toString(rows) +
                                       " or i64, found " +
                                       spell(getDeclaredType(count, symbols)))
      .note("it says how many blocks each query and head selects");
  return {};
}

Bound KernelGen::generateTopK(const ast::CallExpr *call) {
  auto arguments = bindArguments(call, {{"p"}, {"top"}});
  if (!arguments)
    return {};
  const ast::Expr *expr = (*arguments)[0], *number = (*arguments)[1];
  if (llvm::isa<ast::IntegerExpr>(expr) && llvm::isa<ast::CallExpr>(number)) {
    problems
        .error(expr->range, "'topk' takes an importance first and a number of "
                            "blocks second")
        .note("write topk(" + spellShort(number) + ", " +
              source.getText(expr->range) + ")");
    return {};
  }
  Bound scores = generate(expr);
  std::optional<int64_t> top =
      evaluateInt(number, "the number of blocks to select", 1);
  auto tokens = evaluateSharing(call->find(ast::Clause::Kind::ShareTokens));
  auto heads = evaluateSharing(call->find(ast::Clause::Kind::ShareHeads));
  if (scores.isUnknown() || !top)
    return {};
  auto blocks = getBlocks(scores, expr);
  auto forced = evaluateForced(call, *top);
  if (!blocks || !tokens || !heads || !forced)
    return {};

  int64_t width = *top + (forced->plus ? forced->first + forced->last : 0);
  ArrayRef<Attribute> dims = scores.getTensorType().getDims().drop_back();
  if (auto size = llvm::dyn_cast<IntegerAttr>(dims.back());
      size && size.getInt() % heads->size != 0) {
    const ast::Clause *clause = call->find(ast::Clause::Kind::ShareHeads);
    problems
        .error(clause->value->range, Twine(size.getInt()) +
                                         " heads can't share selections in "
                                         "groups of " +
                                         Twine(heads->size))
        .note("give a number that divides the number of heads");
    return {};
  }
  auto type = nsa::SelectionType::get(builder.getContext(), dims, width,
                                      blocks->getBlock(),
                                      builder.getStringAttr(blocks->getBase()),
                                      /*tokens=*/1);
  Value count;
  if (const ast::Clause *clause = call->find(ast::Clause::Kind::Count)) {
    count = generateCount(clause, type);
    if (!count)
      return {};
  }
  auto topk = nsa::TopKOp::create(builder, getLoc(call->range), type,
                                  scores.value, count, *top, forced->first,
                                  forced->last, forced->plus, tokens->size,
                                  heads->size, tokens->by, heads->by);
  ScalarScope scope;
  scope.keys = KeyExtent{blocks->getBlock(), blocks->getBlock(), 0, 0};
  bool isRagged = scores.getTensorType().isRagged();
  setCounted(scope, isRagged ? Attribute() : dims.front(),
             dims.drop_back().back(), dims.back(), *blocks);
  const ast::Clause *where = call->find(ast::Clause::Kind::Where);
  if (!generateClause(nsa::Clause::Mask, where, topk.getMask(), scope)) {
    topk.erase();
    return {};
  }
  if (!problems.hasErrors()) {
    MaskProof proof(topk.getMask(), dims.drop_back().back(), dims.back(),
                    *blocks);
    checkVisible(topk.getMask(), where, "block", proof);
  }
  Bound bound;
  bound.kind = Bound::Kind::Selection;
  bound.value = topk.getResult();
  return bound;
}

//===----------------------------------------------------------------------===//
// Selections as tensors
//===----------------------------------------------------------------------===//

Bound KernelGen::generateSelection(const ast::CallExpr *call) {
  auto arguments = bindArguments(
      call, {{"idx"}, {"block"}, {"tokens", false, true}, {"of", false, true}});
  if (!arguments)
    return {};
  const ast::Expr *expr = (*arguments)[0];
  Value indices = generateTensor(expr, "the indices of a selection");
  std::optional<int64_t> block =
      evaluateInt((*arguments)[1], "the block size", 1);
  std::optional<int64_t> group = 1;
  const ast::Expr *given = (*arguments)[2];
  if (given)
    group = evaluateInt(given, "the number of tokens that share indices", 1);
  if (!indices || !block || !group)
    return {};
  auto type = llvm::cast<nsa::NamedTensorType>(indices.getType());
  Type element = type.getElementType();
  if (!element.isInteger(32) && !element.isInteger(64)) {
    problems
        .error(expr->range,
               "the indices of a selection must be i32 or i64, found " +
                   spell(getDeclaredType(indices, symbols)))
        .note("declare the input as i32[" +
              Twine(type.isRagged() ? "ragged " : "B, ") + (given ? "M" : "T") +
              ", H, 16], for example");
    return {};
  }
  if (type.getRank() != (type.isRagged() ? 3 : 4)) {
    problems
        .error(expr->range,
               "the indices of a selection must have dimensions " +
                   Twine(given ? "[B, M, H, K] or [ragged M, H, K]"
                               : "[B, T, H, K] or [ragged T, H, K]") +
                   ", found " + spell(getDeclaredType(indices, symbols)))
        .note(given ? "K block indices for each group of tokens and head"
                    : "K block indices for each query and head");
    return {};
  }
  auto width = llvm::dyn_cast<IntegerAttr>(type.getDims().back());
  if (!width || width.getInt() < 1) {
    problems
        .error(expr->range, "the number of indices must be known when the "
                            "program is compiled and at least 1, found " +
                                quote(nsa::toString(type.getDims().back())))
        .note("make it a parameter, as in kernel name<top = 16>(idx: i32[B, T, "
              "H, top], …)");
    return {};
  }
  nsa::NamedDimAttr tokens = resolveTokenDim(call, (*arguments)[3], {});
  if (!tokens)
    return {};
  auto selection = nsa::SelectionType::get(
      builder.getContext(), type.getDims().drop_back(), width.getInt(), *block,
      builder.getStringAttr(tokens.getName()), *group);
  Bound bound;
  bound.kind = Bound::Kind::Selection;
  bound.hasGroups = given != nullptr;
  bound.value = nsa::DeclareSelectionOp::create(builder, getLoc(call->range),
                                                selection, indices);
  return bound;
}

Bound KernelGen::generateIndices(const ast::CallExpr *call) {
  auto arguments = bindArguments(call, {{"sel"}});
  Bound bound = arguments ? generate(arguments->front()) : Bound();
  if (bound.isUnknown())
    return {};
  if (bound.kind != Bound::Kind::Selection) {
    problems
        .error(arguments->front()->range,
               "'indices' takes a selection of blocks, found " +
                   describe(bound.kind))
        .note("topk(…) computes a selection");
    return {};
  }
  auto type = llvm::cast<nsa::SelectionType>(bound.value.getType());
  Dims dims(type.getDims());
  dims.push_back(builder.getI64IntegerAttr(type.getTop()));
  return bindTensor(nsa::IndicesOp::create(
      builder, getLoc(call->range), getTensorType(dims, builder.getI32Type()),
      bound.value));
}
