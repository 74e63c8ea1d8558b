//===- MLIRGenTopK.cpp - Selections by score ------------------------------===//

#include "Sequence.h"
#include "Spellings.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using llvm::Twine;

/// The expression's text, or only the function's name if the text is long.
std::string KernelGen::spellShort(const ast::Expr *expr) const {
  constexpr size_t longest = 40;
  StringRef text = source.getText(expr->range);
  if (text.size() <= longest && !text.contains('\n'))
    return text.str();
  const auto *call = llvm::dyn_cast<ast::CallExpr>(expr);
  return call ? (call->callee.text + "(…)").str() : "…";
}

/// The blocks of the scores: their last dimension, or windows that are blocks
/// themselves.
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

Value KernelGen::generateCount(const ast::Expr *expr,
                               ArrayRef<Attribute> rows) {
  Value count = generateTensor(expr, "'count'");
  if (!count)
    return {};
  auto type = llvm::cast<nsa::NamedTensorType>(count.getType());
  Type element = type.getElementType();
  if (type.getDims() == rows &&
      (element.isInteger(32) || element.isInteger(64)))
    return count;
  Problem &problem =
      problems.error(expr->range, "'count' must be i32" + nsa::toString(rows) +
                                      " or i64, found " +
                                      spell(getDeclaredType(count, symbols)));
  problem.note("it says how many blocks each query and head selects");
  if (std::is_permutation(rows.begin(), rows.end(), type.getDims().begin(),
                          type.getDims().end()))
    problem.note("heads that stand in front of the tokens are marked: 'heads " +
                 nsa::toString(rows.back()) + "'");
  return {};
}

/// The heads of keys whose queries have these heads; null if there are none.
static Attribute findKeyHeads(nsa::KernelOp kernel, Attribute queryHeads) {
  auto getHeads = [](Value tensor) {
    return cast<nsa::NamedTensorType>(tensor.getType()).getDims().end()[-2];
  };
  for (auto op : kernel.getBody().getOps<nsa::ScoringOpInterface>())
    if (getHeads(op.getQuery()) == queryHeads)
      return getHeads(op.getKey());
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
      evaluateInt(number, "the number of blocks to select", 1,
                  /*ofFraction=*/explainFunction("topp"));
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
    count = generateCount(clause->value, dims);
    if (!count)
      return {};
  }
  auto topk = nsa::TopKOp::create(builder, getLoc(call->range), type,
                                  scores.value, count, *top, forced->first,
                                  forced->last, forced->plus, tokens->size,
                                  heads->size, tokens->by, heads->by);
  ScalarScope scope;
  scope.keys = KeyExtent{blocks->getBlock(), blocks->getBlock(), 0, 0};
  scope.keyHeads = findKeyHeads(op, dims.back());
  bool isRagged = scores.getTensorType().isRagged();
  setCounted(scope, isRagged ? Attribute() : dims.front(),
             dims.drop_back().back(), dims.back(), *blocks);
  const ast::Clause *where = call->find(ast::Clause::Kind::Where);
  if (!generateClause(nsa::Clause::Mask, where, topk.getMask(), scope)) {
    topk.erase();
    return {};
  }
  Bound bound;
  bound.kind = Bound::Kind::Selection;
  bound.value = topk.getResult();
  return bound;
}
