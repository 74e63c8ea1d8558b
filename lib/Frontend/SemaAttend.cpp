//===- SemaAttend.cpp - Dimensions of queries, keys and values ------------===//

#include "Sequence.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using llvm::Twine;

std::optional<KernelGen::Sequence> KernelGen::getSequence(Value tensor,
                                                          const ast::Expr *expr,
                                                          StringRef what,
                                                          StringRef rows) {
  auto type = llvm::cast<nsa::NamedTensorType>(tensor.getType());
  Sequence sequence{expr, {}, {}, {}, {}};
  ArrayRef<Attribute> dims = type.getDims();
  bool ragged = type.isRagged();
  auto isPlain = [](Attribute dim) {
    auto named = llvm::dyn_cast<nsa::NamedDimAttr>(dim);
    return llvm::isa<IntegerAttr>(dim) || (named && !named.getRagged());
  };
  if (dims.size() == (ragged ? 3 : 4)) {
    sequence.batch = ragged ? Attribute() : dims[0];
    sequence.tokens = dims[dims.size() - 3];
    sequence.heads = dims[dims.size() - 2];
    sequence.features = dims[dims.size() - 1];
    if (!llvm::isa<FloatType>(type.getElementType())) {
      problems
          .error(expr->range,
                 what.str() + " must have real elements, found " +
                     (type.getElementType().isInteger(1) ? "bool" : "integers"))
          .note("declare it as bf16, f16 or f32; float(x) converts integers");
      return std::nullopt;
    }
    if ((ragged || isPlain(sequence.batch)) && isPlain(sequence.heads) &&
        isPlain(sequence.features)) {
      if (!noteRoles(sequence))
        return std::nullopt;
      checkNames(sequence);
      return sequence;
    }
  }
  Problem &problem =
      problems
          .error(expr->range,
                 what + " must have dimensions [B, " + rows +
                     ", D] or [ragged " + rows + ", D], found " +
                     nsa::toString(getDeclaredType(tensor, symbols).getDims()))
          .note("batch, tokens, heads and features, in this order, or with "
                "'heads "
                "H' in front of the tokens; found " +
                Twine(dims.size()) +
                (dims.size() == 1 ? " dimension" : " dimensions"));
  auto first = dims.size() == 3 ? llvm::dyn_cast<nsa::NamedDimAttr>(dims[0])
                                : nsa::NamedDimAttr();
  if (first && !ragged && soundsLikeTokens(first.getName()))
    problem.note("rows of a batch that are packed behind each other are "
                 "written [ragged " +
                 first.getName() +
                 ", H, D]; their offsets are an input that "
                 "comes along with it, " +
                 first.getName() + "_offsets");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static Problem &reportDim(Problems &problems, const ast::Expr *expr,
                          const Twine &what, Attribute expected,
                          Attribute found) {
  return problems.error(expr->range,
                        what + " must be " + quote(nsa::toString(expected)) +
                            ", found " + quote(nsa::toString(found)));
}

bool KernelGen::checkComputedDims(ArrayRef<Attribute> dims, Range range) {
  llvm::SmallDenseSet<Attribute> seen;
  for (Attribute dim : dims) {
    if (llvm::isa<IntegerAttr>(dim) || seen.insert(dim).second)
      continue;
    problems
        .error(range, "dimension " + quote(nsa::toString(dim)) +
                          " would stand twice in the result, " +
                          nsa::toString(dims))
        .note("dimensions are told apart by name; give one of them another "
              "name in the inputs");
    return false;
  }
  return true;
}

bool KernelGen::checkQueryKey(const Sequence &query, const Sequence &key) {
  if (llvm::isa<nsa::PooledDimAttr>(query.tokens)) {
    problems
        .error(query.expr->range, "queries can't be pooled, found dimension " +
                                      quote(nsa::toString(query.tokens)))
        .note("each query has a position; attend with the unpooled queries");
    return false;
  }
  if (query.isRagged() != key.isRagged()) {
    problems
        .error(key.expr->range, "queries and keys must both be ragged or both "
                                "have a batch dimension")
        .note(query.expr->range,
              Twine("the queries ") +
                  (query.isRagged() ? "are ragged" : "have a batch dimension"));
    return false;
  }
  if (query.batch != key.batch) {
    reportDim(problems, key.expr, "the batch dimension of the keys",
              query.batch, key.batch)
        .note(query.expr->range, "as in the queries; give both one name");
    return false;
  }
  if (query.features != key.features) {
    reportDim(problems, key.expr, "the last dimension of the keys",
              query.features, key.features)
        .note(query.expr->range, "as in the queries, which are multiplied with "
                                 "the keys; give both one name");
    return false;
  }
  auto queryHeads = llvm::dyn_cast<IntegerAttr>(query.heads);
  auto keyHeads = llvm::dyn_cast<IntegerAttr>(key.heads);
  if (!queryHeads || !keyHeads)
    return true;
  int64_t many = queryHeads.getInt(), few = keyHeads.getInt();
  if (many % few == 0)
    return true;
  problems
      .error(query.expr->range, Twine(many) +
                                    " query heads are not a multiple "
                                    "of " +
                                    Twine(few) + " key heads")
      .note(key.expr->range, "each key head serves a group of as many query "
                             "heads; change one of the numbers");
  return false;
}

bool KernelGen::checkKeyValue(const Sequence &key, const Sequence &value) {
  StringRef fix = "as in the keys: each key has one value";
  if (key.isRagged() != value.isRagged()) {
    problems
        .error(value.expr->range, "keys and values must both be ragged or both "
                                  "have a batch dimension")
        .note(key.expr->range, fix);
    return false;
  }
  if (key.batch != value.batch) {
    reportDim(problems, value.expr, "the batch dimension of the values",
              key.batch, value.batch)
        .note(key.expr->range, fix);
    return false;
  }
  if (key.tokens != value.tokens) {
    reportDim(problems, value.expr, "the tokens of the values", key.tokens,
              value.tokens)
        .note(key.expr->range, fix + "; pool both alike");
    return false;
  }
  if (key.heads != value.heads) {
    reportDim(problems, value.expr, "the heads of the values", key.heads,
              value.heads)
        .note(key.expr->range, fix);
    return false;
  }
  return true;
}
