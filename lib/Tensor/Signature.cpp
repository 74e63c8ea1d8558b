//===- Signature.cpp - Inputs, results and dimensions of a kernel ---------===//

#include "nsacc/Tensor/Signature.h"
#include "Errors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace nsacc;

//===-- Spelling ----------------------------------------------------------===//

llvm::StringRef nsacc::getName(Dim::Tail tail) {
  switch (tail) {
  case Dim::Tail::Drop:
    return "drop";
  case Dim::Tail::Average:
    return "average";
  case Dim::Tail::ZerosLeft:
    return "zeros_left";
  case Dim::Tail::ZerosRight:
    return "zeros_right";
  }
  llvm_unreachable("not a tail");
}

std::string nsacc::toString(const Dim &dim) {
  const char *ragged = dim.ragged ? "ragged " : "";
  switch (dim.kind) {
  case Dim::Kind::Constant:
    return std::to_string(dim.size);
  case Dim::Kind::Named:
    return dim.name;
  case Dim::Kind::Ragged:
    return "ragged " + dim.name;
  case Dim::Kind::Offsets:
    return "offsets(" + dim.name + ")";
  case Dim::Kind::Pool:
    return llvm::formatv("{0}pool({1}, {2}, {3}, {4})", ragged, dim.name,
                         dim.len, dim.stride, getName(dim.tail));
  case Dim::Kind::Pooled:
    return ragged + dim.count;
  case Dim::Kind::Blocks:
    return llvm::formatv("blocks({0}, {1})", dim.name, dim.block);
  }
  llvm_unreachable("not a kind of dimension");
}

std::string nsacc::toString(const Argument &argument) {
  if (argument.dims.empty())
    return llvm::formatv("{0}: {1}", argument.name, getName(argument.dtype));
  auto dims = llvm::map_range(argument.dims,
                              [](const Dim &dim) { return toString(dim); });
  return llvm::formatv("{0}: {1}[{2}]", argument.name, getName(argument.dtype),
                       llvm::join(dims, ", "));
}

static std::string spell(llvm::ArrayRef<int64_t> shape) {
  auto sizes =
      llvm::map_range(shape, [](int64_t size) { return std::to_string(size); });
  return "[" + llvm::join(sizes, ", ") + "]";
}

const Dim *nsacc::findDim(const Signature &signature, llvm::StringRef tensor,
                          size_t place) {
  for (const Argument &input : signature.inputs)
    if (input.name == tensor && place < input.dims.size())
      return &input.dims[place];
  return nullptr;
}

//===-- Sizes -------------------------------------------------------------===//

/// The number of pooled keys over `tokens` tokens (docs/spec.md, pool).
static int64_t countWindows(const Dim &dim, int64_t tokens) {
  switch (dim.tail) {
  case Dim::Tail::Drop:
    return tokens < dim.len ? 0 : (tokens - dim.len) / dim.stride + 1;
  case Dim::Tail::ZerosLeft:
    return tokens / dim.stride;
  case Dim::Tail::Average:
  case Dim::Tail::ZerosRight:
    return tokens == 0
               ? 0
               : llvm::divideCeil(std::max<int64_t>(tokens - dim.len, 0),
                                  dim.stride) +
                     1;
  }
  llvm_unreachable("not a tail");
}

static std::optional<int64_t> findSize(const DimSizes &sizes,
                                       llvm::StringRef name) {
  auto found = sizes.sizes.find(name);
  if (found == sizes.sizes.end())
    return std::nullopt;
  return found->second;
}

/// Applies `size` to each row of a ragged dimension and adds the results, or
/// takes the largest if the rows aren't packed. A dense dimension is one row.
template <typename Fn>
static std::optional<int64_t> sizeOverRows(const DimSizes &sizes,
                                           llvm::StringRef name, bool packed,
                                           Fn size) {
  auto offsets = sizes.offsets.find(name);
  if (offsets == sizes.offsets.end()) {
    if (std::optional<int64_t> tokens = findSize(sizes, name))
      return size(*tokens);
    return std::nullopt;
  }
  int64_t sum = 0, largest = 0;
  for (size_t row = 1; row < offsets->second.size(); ++row) {
    int64_t rowSize = size(offsets->second[row] - offsets->second[row - 1]);
    sum += rowSize;
    largest = std::max(largest, rowSize);
  }
  return packed ? sum : largest;
}

static std::optional<int64_t> getDimSize(const Dim &dim,
                                         const DimSizes &sizes) {
  auto same = [](int64_t size) { return size; };
  switch (dim.kind) {
  case Dim::Kind::Constant:
    return dim.size;
  case Dim::Kind::Named:
  case Dim::Kind::Ragged:
    return findSize(sizes, dim.name);
  case Dim::Kind::Offsets:
    if (!sizes.batchRows)
      return std::nullopt;
    return *sizes.batchRows + 1;
  case Dim::Kind::Pool:
    return sizeOverRows(sizes, dim.name, dim.ragged, [&](int64_t tokens) {
      return countWindows(dim, tokens);
    });
  case Dim::Kind::Pooled:
    return sizeOverRows(sizes, dim.count, dim.ragged, same);
  case Dim::Kind::Blocks:
    return sizeOverRows(sizes, dim.name, /*packed=*/false,
                        [&](int64_t tokens) -> int64_t {
                          return llvm::divideCeil(tokens, dim.block);
                        });
  }
  llvm_unreachable("not a kind of dimension");
}

llvm::Expected<std::vector<int64_t>> nsacc::getShape(const Argument &argument,
                                                     const DimSizes &sizes) {
  // Any tensor's number of bytes fits int64 with room to spare.
  constexpr int64_t mostElements = int64_t(1) << 56;
  std::vector<int64_t> shape;
  int64_t elements = 1;
  for (const Dim &dim : argument.dims) {
    std::optional<int64_t> size = getDimSize(dim, sizes);
    if (!size)
      return makeError("the size of dimension {0} of '{1}' isn't known",
                       toString(dim), argument.name);
    shape.push_back(*size);
    if (llvm::MulOverflow(elements, std::max<int64_t>(*size, 1), elements) ||
        elements > mostElements)
      return makeError("'{0}' is too large: more than 2^56 elements",
                       toString(argument));
  }
  return shape;
}

//===-- Binding -----------------------------------------------------------===//

namespace {
class Binder {
public:
  Binder(const Signature &signature, llvm::ArrayRef<const Tensor *> inputs,
         DimSizes known)
      : signature(signature), inputs(inputs), result(std::move(known)) {}

  llvm::Expected<DimSizes> bind();

private:
  llvm::Error checkCount() const;
  llvm::Error checkType(const Argument &argument, const Tensor &input) const;
  llvm::Error bindDims(const Argument &argument, const Tensor &input);
  llvm::Error bindDim(const Argument &argument, const Dim &dim, int64_t size);
  llvm::Error bindOffsets(const Argument &argument, const Tensor &input);
  llvm::Error checkOffsets(const Argument &argument);
  llvm::Error checkShape(const Argument &argument, const Tensor &input) const;
  std::string suggestOrder(const Multiple &multiple) const;
  llvm::Error checkMultiple(const Multiple &multiple) const;
  llvm::Error checkTokenGroups(const TokenGroups &groups) const;
  llvm::Error checkBlockScores(const BlockScores &scores) const;
  llvm::Error bindRows(const RowTable &table);

  const Signature &signature;
  llvm::ArrayRef<const Tensor *> inputs;
  DimSizes result;
  /// "in 'q'": which input bound a dimension, for messages.
  std::string getBinder(llvm::StringRef dim) const;
  llvm::StringMap<const Argument *> boundBy;
  /// The input that told the number of rows, and how messages name what did.
  std::string rowsBoundBy;
  std::string getRowsBinder() const;
};
} // namespace

llvm::Error Binder::checkCount() const {
  if (inputs.size() == signature.inputs.size())
    return llvm::Error::success();
  auto names = llvm::map_range(
      signature.inputs, [](const Argument &argument) { return argument.name; });
  return makeError("kernel '{0}' takes {1} {2} ({3}), found {4}",
                   signature.kernel, signature.inputs.size(),
                   signature.inputs.size() == 1 ? "input" : "inputs",
                   llvm::join(names, ", "), inputs.size());
}

llvm::Error Binder::checkType(const Argument &argument,
                              const Tensor &input) const {
  if (input.getRank() != int64_t(argument.dims.size()))
    return makeError(
        "'{0}' has {1} {2}, expected {3}: found shape {4}, the program "
        "declares {5}",
        argument.name, input.getRank(),
        input.getRank() == 1 ? "dimension" : "dimensions", argument.dims.size(),
        spell(input.getShape()), toString(argument));
  if (input.getDType() != argument.dtype)
    return makeError("'{0}' holds {1}, expected {2}: the program declares {3}",
                     argument.name, getName(input.getDType()),
                     getName(argument.dtype), toString(argument));
  return llvm::Error::success();
}

llvm::Error Binder::bindDim(const Argument &argument, const Dim &dim,
                            int64_t size) {
  auto [found, isNew] = result.sizes.try_emplace(dim.name, size);
  if (isNew) {
    boundBy[dim.name] = &argument;
    return llvm::Error::success();
  }
  if (found->second == size)
    return llvm::Error::success();
  return makeError("dimension {0} is {1} {2} but {3} in '{4}': equal "
                   "names must have equal sizes",
                   dim.name, found->second, getBinder(dim.name), size,
                   argument.name);
}

llvm::Error Binder::bindDims(const Argument &argument, const Tensor &input) {
  for (auto [dim, size] : llvm::zip(argument.dims, input.getShape()))
    if (dim.kind == Dim::Kind::Named || dim.kind == Dim::Kind::Ragged)
      if (llvm::Error error = bindDim(argument, dim, size))
        return error;
  return llvm::Error::success();
}

llvm::Error Binder::bindOffsets(const Argument &argument, const Tensor &input) {
  int64_t rows = input.getShape().front() - 1;
  if (rows < 0)
    return makeError("'{0}' is empty: offsets of B rows are B + 1 numbers, the "
                     "first of them 0",
                     argument.name);
  if (result.batchRows && *result.batchRows != rows)
    return makeError("{0} has {1} {2} but '{3}' has {4}: all ragged dimensions "
                     "share one batch",
                     getRowsBinder(), *result.batchRows,
                     *result.batchRows == 1 ? "row" : "rows", argument.name,
                     rows);
  result.batchRows = rows;
  rowsBoundBy = "'" + argument.name + "'";
  std::vector<int64_t> offsets = input.toIntegers();
  auto [known, isNew] =
      result.offsets.try_emplace(argument.dims.front().name, offsets);
  if (!isNew && known->second != offsets)
    return makeError("'{0}' doesn't agree with the row lengths given for {1}",
                     argument.name, known->first());
  return llvm::Error::success();
}

llvm::Error Binder::checkOffsets(const Argument &argument) {
  llvm::StringRef name = argument.dims.front().name;
  const std::vector<int64_t> &offsets = result.offsets.find(name)->second;
  std::optional<int64_t> packed = findSize(result, name);
  bool areLengths = packed && std::accumulate(offsets.begin(), offsets.end(),
                                              int64_t(0)) == *packed;
  const char *hint = areLengths
                         ? ": these look like the rows' lengths; offsets are 0 "
                           "and the lengths added up, in NumPy np.cumsum([0, "
                           "*lengths])"
                         : "";
  if (offsets.front() != 0)
    return makeError("'{0}' must start with 0, found {1}{2}", argument.name,
                     offsets.front(), hint);
  for (size_t row = 1; row < offsets.size(); ++row)
    if (offsets[row] < offsets[row - 1])
      return makeError("'{0}' must not decrease: entry {1} is {2} after {3}{4}",
                       argument.name, row, offsets[row], offsets[row - 1],
                       hint);
  if (packed && offsets.back() != *packed)
    return makeError("'{0}' ends at {1} but dimension {2} is {3} {4}{5}",
                     argument.name, offsets.back(), name, *packed,
                     getBinder(name), hint);
  result.sizes.try_emplace(name, offsets.back());
  return llvm::Error::success();
}

llvm::Error Binder::checkShape(const Argument &argument,
                               const Tensor &input) const {
  for (auto [index, dim] : llvm::enumerate(argument.dims)) {
    std::optional<int64_t> size = getDimSize(dim, result);
    if (size && *size != input.getShape()[index])
      return makeError("dimension {0} of '{1}' must be {2}, found {3}: the "
                       "program declares {4}",
                       index, argument.name, *size, input.getShape()[index],
                       toString(argument));
  }
  return llvm::Error::success();
}

/// If the tokens would fit as heads, the heads probably come before them.
std::string Binder::suggestOrder(const Multiple &multiple) const {
  for (const AttentionDims &each : signature.attentions) {
    if (each.queryHeads != multiple.multiple.name ||
        each.keyHeads != multiple.of.name)
      continue;
    std::optional<int64_t> queries = findSize(result, each.queries);
    std::optional<int64_t> keys = findSize(result, each.keys);
    if (queries && keys && *keys > 0 && *queries > 0 && *queries % *keys == 0)
      return llvm::formatv(
          "; tensors with heads in front of the tokens are declared so, as in "
          "[B, heads {0}, {1}, D]",
          each.queryHeads, each.queries);
  }
  return "";
}

llvm::Error Binder::checkMultiple(const Multiple &multiple) const {
  std::optional<int64_t> size = getDimSize(multiple.multiple, result);
  std::optional<int64_t> of = getDimSize(multiple.of, result);
  if (!size || !of)
    return llvm::Error::success();
  if (*of == 0 ? *size == 0 : *size % *of == 0)
    return llvm::Error::success();
  auto describe = [](const Dim &dim, int64_t size) {
    std::string text = toString(dim);
    return dim.kind == Dim::Kind::Constant
               ? text
               : llvm::formatv("{0} = {1}", text, size).str();
  };
  if (multiple.reason == Multiple::Reason::Sharing)
    return makeError("{0} heads are not a multiple of {1}, the number of heads "
                     "that share a selection",
                     describe(multiple.multiple, *size),
                     describe(multiple.of, *of));
  return makeError("{0} query heads are not a multiple of {1} key heads: each "
                   "key head serves a group of as many query heads{2}",
                   describe(multiple.multiple, *size),
                   describe(multiple.of, *of), suggestOrder(multiple));
}

llvm::Error Binder::checkTokenGroups(const TokenGroups &groups) const {
  std::string each =
      groups.tokens == 1
          ? "each of them has"
          : llvm::formatv("each {0} of them have", groups.tokens).str();
  auto check = [&](int64_t found, int64_t tokens,
                   const llvm::Twine &where) -> llvm::Error {
    int64_t expected = llvm::divideCeil(tokens, groups.tokens);
    if (groups.areOffsets && found != expected + 1)
      return makeError("{0} has {1} {2}{3}, expected {4}: {5} has {6} tokens, "
                       "{7} a list, and offsets are one more than lists",
                       groups.tensor, found, found == 1 ? "offset" : "offsets",
                       where.str(), expected + 1, groups.of.name, tokens, each);
    if (groups.areOffsets || found == expected)
      return llvm::Error::success();
    return makeError("{0} has {1} {2} of indices{3}, expected {4}: {5} has {6} "
                     "tokens, and {7} one",
                     groups.tensor, found, found == 1 ? "row" : "rows",
                     where.str(), expected, groups.of.name, tokens, each);
  };
  auto found = result.offsets.find(groups.groups.name);
  auto of = result.offsets.find(groups.of.name);
  if (found != result.offsets.end() && of != result.offsets.end()) {
    size_t ends = std::min(found->second.size(), of->second.size());
    for (size_t row = 1; row < ends; ++row)
      if (llvm::Error error = check(found->second[row] - found->second[row - 1],
                                    of->second[row] - of->second[row - 1],
                                    " in batch row " + llvm::Twine(row - 1)))
        return error;
    return llvm::Error::success();
  }
  std::optional<int64_t> size = getDimSize(groups.groups, result);
  std::optional<int64_t> tokens = getDimSize(groups.of, result);
  return size && tokens ? check(*size, *tokens, "") : llvm::Error::success();
}

llvm::Error Binder::checkBlockScores(const BlockScores &scores) const {
  std::optional<int64_t> entries = getDimSize(scores.entries, result);
  std::optional<int64_t> blocks = getDimSize(scores.blocks, result);
  if (!entries || !blocks || *entries == *blocks)
    return llvm::Error::success();
  return makeError("the last dimension of scores {0} has size {1}, but {2} has "
                   "{3} blocks of {4} tokens",
                   scores.tensor, *entries, scores.blocks.name, *blocks,
                   scores.blocks.block);
}

/// Binds the number of batch rows, which has no name.
llvm::Error Binder::bindRows(const RowTable &table) {
  const Dim *dim = findDim(signature, table.tensor, table.place);
  if (!dim || !result.batchRows)
    return llvm::Error::success();
  bool isNumber = dim->kind == Dim::Kind::Constant;
  int64_t rows = *result.batchRows,
          size = isNumber
                     ? dim->size
                     : result.sizes.try_emplace(dim->name, rows).first->second;
  if (size == rows)
    return llvm::Error::success();
  std::string found = isNumber ? llvm::formatv("{0} of '{1}' is {2}",
                                               table.place, table.tensor, size)
                                     .str()
                               : llvm::formatv("{0} is {1} {2}", dim->name,
                                               size, getBinder(dim->name))
                                     .str();
  return makeError("dimension {0}, but {1} has {2} {3}: '{4}' is read at b and "
                   "has an entry for each row",
                   found, getRowsBinder(), rows, rows == 1 ? "row" : "rows",
                   table.tensor);
}

std::string Binder::getRowsBinder() const {
  if (!rowsBoundBy.empty())
    return rowsBoundBy;
  for (const Argument &input : signature.inputs)
    for (const Dim &dim : input.dims)
      if (dim.kind == Dim::Kind::Ragged && result.offsets.contains(dim.name))
        return dim.name + " as given";
  return "the batch as given";
}

std::string Binder::getBinder(llvm::StringRef dim) const {
  auto found = boundBy.find(dim);
  return found == boundBy.end() ? "as given"
                                : "in '" + found->second->name + "'";
}

llvm::Expected<DimSizes> Binder::bind() {
  if (llvm::Error error = checkCount())
    return error;
  for (auto [argument, input] : llvm::zip(signature.inputs, inputs)) {
    if (!input)
      continue;
    if (llvm::Error error = checkType(argument, *input))
      return error;
    if (llvm::Error error = argument.isOffsets() ? bindOffsets(argument, *input)
                                                 : bindDims(argument, *input))
      return error;
  }
  for (auto [argument, input] : llvm::zip(signature.inputs, inputs)) {
    if (!input)
      continue;
    if (llvm::Error error = argument.isOffsets() ? checkOffsets(argument)
                                                 : checkShape(argument, *input))
      return error;
  }
  for (const RowTable &table : signature.rowTables)
    if (llvm::Error error = bindRows(table))
      return error;
  for (const Multiple &multiple : signature.multiples)
    if (llvm::Error error = checkMultiple(multiple))
      return error;
  for (const TokenGroups &groups : signature.tokenGroups)
    if (llvm::Error error = checkTokenGroups(groups))
      return error;
  for (const BlockScores &scores : signature.blockScores)
    if (llvm::Error error = checkBlockScores(scores))
      return error;
  return std::move(result);
}

llvm::Expected<DimSizes> nsacc::bindDimensions(const Signature &signature,
                                               llvm::ArrayRef<Tensor> inputs) {
  llvm::SmallVector<const Tensor *> pointers;
  for (const Tensor &input : inputs)
    pointers.push_back(&input);
  return Binder(signature, pointers, {}).bind();
}

llvm::Expected<DimSizes>
nsacc::bindKnownDimensions(const Signature &signature,
                           llvm::ArrayRef<const Tensor *> inputs,
                           DimSizes known) {
  return Binder(signature, inputs, std::move(known)).bind();
}

//===-- Odd sizes ---------------------------------------------------------===//

/// Whether a tensor has heads before tokens.
static bool isHeadsFirst(const Signature &signature,
                         const AttentionDims &attention) {
  return llvm::any_of(signature.inputs, [&](const Argument &input) {
    auto find = [&](llvm::StringRef name) {
      return llvm::find_if(input.dims,
                           [&](const Dim &dim) { return dim.name == name; });
    };
    auto tokens = find(attention.queries);
    return tokens != input.dims.end() && find(attention.queryHeads) < tokens;
  });
}

/// No model that we know has more than 128 key heads, or 64 of them with more
/// queries than keys.
static bool areHeadsOdd(int64_t queries, int64_t keys, int64_t heads) {
  constexpr int64_t mostHeads = 128, manyHeads = 64;
  int64_t many = queries > keys && keys > 0 ? manyHeads : mostHeads + 1;
  return heads >= many && heads > std::max(queries, keys);
}

/// First experiments have some heads and more tokens, and no earlier context.
/// Few models have so many key heads, and their prompts are seldom so short.
static bool isExperiment(int64_t queries, int64_t keys, int64_t heads) {
  constexpr int64_t usualHeads = 32;
  return queries == keys && keys > 1 && heads > usualHeads && heads >= 2 * keys;
}

static std::string askForOrder(const Signature &signature,
                               const AttentionDims &dims, bool mayBeMeant) {
  std::string question =
      "do the tensors have tokens and heads in the order that the program "
      "declares?";
  if (signature.marksHeads || isHeadsFirst(signature, dims))
    return question;
  llvm::StringRef heads = dims.queryHeads, tokens = dims.queries;
  question += llvm::formatv(" Those of torch, with heads in front of tokens, "
                            "are declared as [.., heads {0}, {1}, ..]",
                            heads, tokens);
  // Marking the heads silences this warning, so the message says how.
  if (mayBeMeant)
    question += llvm::formatv(", others, so that nothing asks, as [.., {1}, "
                              "heads {0}, ..]",
                              heads, tokens);
  return question + ".";
}

/// Whether more than one row has tokens.
static bool hasManyRows(llvm::ArrayRef<int64_t> offsets) {
  bool isFirst = true;
  for (size_t row = 1; row < offsets.size(); ++row) {
    if (offsets[row] == offsets[row - 1])
      continue;
    if (!isFirst)
      return true;
    isFirst = false;
  }
  return false;
}

/// Warns of a table that has as many entries as there are packed tokens.
static std::string describePackedTable(const Signature &signature,
                                       const DimSizes &sizes) {
  for (const PositionTable &table : signature.positionTables) {
    const Dim *dim = findDim(signature, table.tensor, table.place);
    if (!dim)
      continue;
    std::optional<int64_t> size = getDimSize(*dim, sizes),
                           tokens = findSize(sizes, table.tokens);
    auto offsets = sizes.offsets.find(table.tokens);
    if (!size || size != tokens || offsets == sizes.offsets.end() ||
        !hasManyRows(offsets->second))
      continue;
    std::string found = dim->kind == Dim::Kind::Constant
                            ? llvm::formatv("dimension {0} of '{1}', {2},",
                                            table.place, table.tensor, *size)
                                  .str()
                            : llvm::formatv("{0} = {1} of '{2}'", dim->name,
                                            *size, table.tensor)
                                  .str();
    return llvm::formatv(
        "{0} is as large as all rows of {1} together, but '{2}' is read at "
        "places in a row, so that each row reads it from its first entry on: a "
        "table of packed tokens is declared with 'ragged {1}' in place of {3}.",
        found, table.tokens, table.tensor, toString(*dim));
  }
  return "";
}

std::string nsacc::describeOddSizes(const Signature &signature,
                                    const DimSizes &sizes) {
  if (std::string packed = describePackedTable(signature, sizes);
      !packed.empty())
    return packed;
  auto spell = [&](llvm::StringRef name) {
    return llvm::formatv("{0} = {1}", name, *findSize(sizes, name)).str();
  };
  for (const AttentionDims &dims : signature.attentions) {
    std::optional<int64_t> queries = findSize(sizes, dims.queries),
                           keys = findSize(sizes, dims.keys),
                           queryHeads = findSize(sizes, dims.queryHeads),
                           keyHeads = findSize(sizes, dims.keyHeads);
    if (!queries || !keys || !queryHeads || !keyHeads)
      continue;
    // A cache may be empty.
    if (dims.isCausal && *keys > 0 && *queries > *keys)
      return llvm::formatv("queries {0} are more than keys {1}, and the mask "
                           "shows the first {2} none: {3}",
                           spell(dims.queries), spell(dims.keys),
                           *queries - *keys,
                           askForOrder(signature, dims, /*mayBeMeant=*/false));
    bool isOdd =
        *queryHeads == *keyHeads && areHeadsOdd(*queries, *keys, *keyHeads);
    bool mayBeOdd =
        !signature.marksHeads && isExperiment(*queries, *keys, *keyHeads);
    if (isOdd || mayBeOdd)
      return llvm::formatv(
          "heads {0} are more than tokens {1}{2}: {3}", spell(dims.queryHeads),
          spell(dims.queries),
          dims.keys == dims.queries ? "" : " and " + spell(dims.keys),
          askForOrder(signature, dims, /*mayBeMeant=*/!isOdd));
  }
  return "";
}
