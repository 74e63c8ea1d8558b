//===- MLIRGenSelection.cpp - Selections from inputs, unions and indices --===//

#include "Sequence.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// selection
//===----------------------------------------------------------------------===//

/// Integers that are numbers of blocks or of lists' entries.
Value KernelGen::generateIntegers(const ast::Expr *expr, const Twine &what) {
  Value value = generateTensor(expr, what);
  if (!value)
    return {};
  Type element =
      llvm::cast<nsa::NamedTensorType>(value.getType()).getElementType();
  if (element.isInteger(32) || element.isInteger(64))
    return value;
  std::string found = spell(getDeclaredType(value, symbols));
  Problem &problem =
      problems.error(expr->range, what + " must be i32 or i64, found " + found);
  size_t dims = found.find('[');
  if (llvm::isa<BlockArgument>(value) && dims != std::string::npos)
    problem.note("declare the input as i32" + found.substr(dims));
  return {};
}

/// Lists of one length: [.., tokens, heads, indices].
std::optional<KernelGen::Lists> KernelGen::generateLists(const ast::Expr *expr,
                                                         const ast::Expr *count,
                                                         bool hasGroups) {
  StringRef row = hasGroups ? "M" : "T";
  Lists lists;
  lists.indices = generateIntegers(expr, "the indices of a selection");
  if (!lists.indices)
    return std::nullopt;
  auto type = llvm::cast<nsa::NamedTensorType>(lists.indices.getType());
  ArrayRef<Attribute> dims = type.getDims();
  if (dims.size() != (type.isRagged() ? 3 : 4)) {
    problems
        .error(expr->range, "the indices of a selection must have dimensions "
                            "[B, " +
                                row + ", H, K] or [ragged " + row +
                                ", H, K], found " +
                                spell(getDeclaredType(lists.indices, symbols)))
        .note(hasGroups ? "K block indices for each group of tokens and head"
                        : "K block indices for each query and head")
        .note("lists of different lengths, behind each other, have offsets: "
              "selection(idx, 64, offsets=indptr, top=16)");
    return std::nullopt;
  }
  auto width = llvm::dyn_cast<IntegerAttr>(dims.back());
  if (!width || width.getInt() < 1) {
    problems
        .error(expr->range, "the number of indices must be known when the "
                            "program is compiled and at least 1, found " +
                                quote(nsa::toString(dims.back())))
        .note("make it a parameter, as in kernel name<top = 16>(idx: i32[B, T, "
              "H, top], …)");
    return std::nullopt;
  }
  lists.top = width.getInt();
  lists.rows = Dims(dims.drop_back());
  if (!count)
    return lists;
  lists.count = generateCount(count, lists.rows);
  if (!lists.count)
    return std::nullopt;
  return lists;
}

/// Lists one after the other, divided by offsets.
std::optional<KernelGen::Lists>
KernelGen::generatePackedLists(const ast::Expr *expr, const ast::Expr *offsets,
                               const ast::Expr *top) {
  Lists lists;
  lists.indices = generateIntegers(expr, "the indices of a selection");
  lists.offsets = generateIntegers(offsets, "the offsets of lists");
  std::optional<int64_t> most =
      evaluateInt(top, "the most blocks that a row selects", 1);
  if (!lists.indices || !lists.offsets || !most)
    return std::nullopt;
  auto entries = llvm::cast<nsa::NamedTensorType>(lists.indices.getType());
  auto bounds = llvm::cast<nsa::NamedTensorType>(lists.offsets.getType());
  size_t rank = bounds.isRagged() ? 2 : 3;
  lists.rows = Dims(bounds.getDims());
  bool isAlike = lists.rows.size() == rank && entries.getRank() == rank &&
                 bounds.isRagged() == entries.isRagged();
  // Heads are the dimension that both have; they may come first.
  if (isAlike && rank == 3 &&
      !llvm::is_contained(entries.getDims().take_back(2), lists.rows.back()))
    std::swap(lists.rows[1], lists.rows[2]);
  if (!isAlike ||
      !llvm::is_contained(entries.getDims().take_back(2), lists.rows.back()) ||
      (rank == 3 && lists.rows.front() != entries.getDims().front())) {
    problems
        .error(offsets->range,
               "offsets of lists must be [B, P, H] beside indices [B, N, H], "
               "with heads first in either, or [ragged P, H] beside [ragged N, "
               "H], found " +
                   spell(getDeclaredType(lists.offsets, symbols)) + " beside " +
                   spell(getDeclaredType(lists.indices, symbols)))
        .note("N indices of all lists of a head, and P offsets, one more than "
              "there are lists: list r is entries offsets[r] to offsets[r + 1] "
              "- 1");
    return std::nullopt;
  }
  lists.top = *most;
  return lists;
}

Bound KernelGen::generateSelection(const ast::CallExpr *call) {
  auto arguments = bindArguments(call, {{"idx"},
                                        {"block"},
                                        {"tokens", false, true},
                                        {"of", false, true},
                                        {"count", false, true},
                                        {"offsets", false, true},
                                        {"top", false, true}});
  if (!arguments)
    return {};
  const ast::Expr *expr = (*arguments)[0], *given = (*arguments)[2],
                  *count = (*arguments)[4], *offsets = (*arguments)[5],
                  *top = (*arguments)[6];
  if (!offsets != !top) {
    problems
        .error((offsets ? offsets : top)->range,
               "'offsets' and 'top' belong together")
        .note("offsets say where each row's list begins, and top how many "
              "blocks a list has at most: selection(idx, 64, offsets=indptr, "
              "top=16); without offsets, the last dimension of the indices is "
              "the top");
    return {};
  }
  if (offsets && count) {
    problems.error(count->range, "'count' and 'offsets' exclude each other")
        .note(offsets->range, "offsets say how many indices each row has");
    return {};
  }
  std::optional<int64_t> block =
      evaluateInt((*arguments)[1], "the block size", 1);
  std::optional<int64_t> group = 1;
  if (given)
    group = evaluateInt(given, "the number of tokens that share indices", 1);
  if (!block || !group)
    return {};
  std::optional<Lists> lists =
      offsets ? generatePackedLists(expr, offsets, top)
              : generateLists(expr, count, /*hasGroups=*/given);
  if (!lists)
    return {};
  nsa::NamedDimAttr tokens = resolveTokenDim(call, (*arguments)[3], {});
  if (!tokens)
    return {};
  auto selection = nsa::SelectionType::get(
      builder.getContext(), lists->rows, lists->top, *block,
      builder.getStringAttr(tokens.getName()), *group);
  Bound bound;
  bound.kind = Bound::Kind::Selection;
  bound.hasGroups = given || offsets;
  bound.value = nsa::DeclareSelectionOp::create(builder, getLoc(call->range),
                                                selection, lists->indices,
                                                lists->count, lists->offsets);
  return bound;
}

//===----------------------------------------------------------------------===//
// union
//===----------------------------------------------------------------------===//

/// "blocks of 64 tokens of S, for [B, T, H]"
static std::string describeSelection(nsa::SelectionType type) {
  std::string text = "blocks of " + std::to_string(type.getBlock()) +
                     " tokens of " + type.getOf().str() + " for " +
                     nsa::toString(type.getDims());
  if (type.getTokens() > 1)
    text += ", a row for each " + std::to_string(type.getTokens()) + " tokens";
  return text;
}

/// The selection whose rows the union has: the one with the fewest tokens per
/// row, and a computed one rather than an input.
static const Bound &findFinest(ArrayRef<Bound> parts) {
  auto getKey = [](const Bound &part) {
    auto type = llvm::cast<nsa::SelectionType>(part.value.getType());
    return std::pair(type.getTokens(), part.hasGroups);
  };
  return *llvm::min_element(parts, [&](const Bound &a, const Bound &b) {
    return getKey(a) < getKey(b);
  });
}

Bound KernelGen::generateUnion(const ast::CallExpr *call) {
  SmallVector<Bound> parts;
  SmallVector<Value> values;
  bool isKnown = true;
  for (const ast::Argument &argument : call->arguments) {
    if (argument.label) {
      problems.error(argument.label->range, "'union' has no named arguments")
          .note("write union(a, b)");
      return {};
    }
    Bound part = generate(argument.value);
    isKnown &= !part.isUnknown();
    if (part.isUnknown())
      continue;
    if (part.kind != Bound::Kind::Selection) {
      problems
          .error(argument.value->range,
                 "'union' takes selections of blocks, found " +
                     describe(part.kind))
          .note("topk(…) computes a selection; selection(idx, block) makes one "
                "of an input of block indices");
      return {};
    }
    parts.push_back(part);
    values.push_back(part.value);
  }
  if (!isKnown)
    return {};
  if (parts.empty()) {
    problems.error(call->range, "'union' needs a selection")
        .note("write union(topk(p, 16), selection(idx, 64)), for example");
    return {};
  }
  const Bound &finest = findFinest(parts);
  auto rows = llvm::cast<nsa::SelectionType>(finest.value.getType());
  auto isForAll = [](Attribute heads) {
    auto size = llvm::dyn_cast<IntegerAttr>(heads);
    return size && size.getInt() == 1;
  };
  Attribute heads = rows.getDims().back();
  int64_t top = 0;
  for (Value value : values) {
    auto type = llvm::cast<nsa::SelectionType>(value.getType());
    top += type.getTop();
    if (isForAll(heads))
      heads = type.getDims().back();
  }
  for (auto [index, value] : llvm::enumerate(values)) {
    auto type = llvm::cast<nsa::SelectionType>(value.getType());
    Attribute own = type.getDims().back();
    StringRef reason =
        type.getBlock() != rows.getBlock() || type.getOf() != rows.getOf()
            ? "a union's blocks are the same"
        : type.getDims().drop_back(2) != rows.getDims().drop_back(2)
            ? "a union's selections are of the same batch"
        : own != heads && !isForAll(own)
            ? "a union's selections have the same heads, or one for all"
        : type.getTokens() % rows.getTokens() != 0
            ? "a union's rows are those of the selection with the fewest "
              "tokens a row, and all others' tokens a multiple of them"
            : "";
    if (reason.empty())
      continue;
    const ast::Expr *expr = call->arguments[index].value;
    problems
        .error(expr->range, "can't unite " + describeSelection(type) +
                                " with " + describeSelection(rows))
        .note(reason);
    return {};
  }
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (top > most) {
    problems
        .error(call->range, "a row selects at most " + Twine(most) +
                                " blocks, found " + Twine(top))
        .note("all selections together count");
    return {};
  }
  Dims dims(rows.getDims());
  dims.back() = heads;
  Bound bound;
  bound.kind = Bound::Kind::Selection;
  bound.hasGroups = finest.hasGroups;
  bound.value = nsa::UnionOp::create(
      builder, getLoc(call->range),
      nsa::SelectionType::get(builder.getContext(), dims, top, rows.getBlock(),
                              rows.getOf(), rows.getTokens()),
      values);
  return bound;
}

//===----------------------------------------------------------------------===//
// indices
//===----------------------------------------------------------------------===//

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
