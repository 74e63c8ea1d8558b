//===- SignatureText.cpp - Signatures as JSON -----------------------------===//

#include "nsacc/Tensor/SignatureText.h"
#include "nsacc/Support/JSON.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace nsacc;
namespace json = llvm::json;

// Missing fields keep their default values; fields of other versions are
// ignored.

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

/// In the order of their kinds.
static constexpr llvm::StringLiteral kDimKinds[] = {
    "constant", "named", "ragged", "offsets", "pool", "pooled", "blocks"};
static constexpr llvm::StringLiteral kTails[] = {"drop", "average",
                                                 "zeros_left", "zeros_right"};
static constexpr llvm::StringLiteral kDomainKinds[] = {"range", "blocks",
                                                       "offsets"};
static constexpr llvm::StringLiteral kReasons[] = {"groups", "sharing"};

template <typename Kind, size_t N>
static bool readKind(const json::Value &value,
                     const llvm::StringLiteral (&names)[N], Kind &kind,
                     json::Path path) {
  auto text = value.getAsString();
  const auto *found = text ? llvm::find(names, *text) : std::end(names);
  if (found == std::end(names)) {
    path.report("expected one of the kinds that it has");
    return false;
  }
  kind = static_cast<Kind>(found - std::begin(names));
  return true;
}

/// Fields of an object, each of which may be missing.
namespace {
class Fields {
public:
  Fields(const json::Value &value, json::Path path)
      : object(value.getAsObject()), mapper(value, path), path(path),
        isRight(object) {}

  template <typename Value> Fields &read(llvm::StringLiteral name, Value &out) {
    isRight = isRight && mapper.mapOptional(name, out);
    return *this;
  }
  template <typename Kind, size_t N>
  Fields &readKind(llvm::StringLiteral name,
                   const llvm::StringLiteral (&names)[N], Kind &kind) {
    if (isRight && object)
      if (const json::Value *value = object->get(name))
        isRight = ::readKind(*value, names, kind, path.field(name));
    return *this;
  }
  bool done() const { return isRight; }

private:
  const json::Object *object;
  json::ObjectMapper mapper;
  json::Path path;
  bool isRight;
};
} // namespace

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

namespace nsacc {

static json::Value toJSON(const Dim &dim) {
  return json::Object{{"kind", kDimKinds[static_cast<size_t>(dim.kind)]},
                      {"name", dim.name},
                      {"count", dim.count},
                      {"size", dim.size},
                      {"len", dim.len},
                      {"stride", dim.stride},
                      {"block", dim.block},
                      {"tail", kTails[static_cast<size_t>(dim.tail)]},
                      {"ragged", dim.ragged}};
}

/// Whether windows and blocks have a positive length, since sizes are divided
/// by it.
static bool hasLengths(const Dim &dim) {
  switch (dim.kind) {
  case Dim::Kind::Pool:
  case Dim::Kind::Pooled:
    return dim.len > 0 && dim.stride > 0;
  case Dim::Kind::Blocks:
    return dim.block > 0;
  case Dim::Kind::Constant:
    return dim.size >= 0;
  default:
    return true;
  }
}

static bool fromJSON(const json::Value &value, Dim &dim, json::Path path) {
  bool isRead = Fields(value, path)
                    .readKind("kind", kDimKinds, dim.kind)
                    .read("name", dim.name)
                    .read("count", dim.count)
                    .read("size", dim.size)
                    .read("len", dim.len)
                    .read("stride", dim.stride)
                    .read("block", dim.block)
                    .readKind("tail", kTails, dim.tail)
                    .read("ragged", dim.ragged)
                    .done();
  if (isRead && hasLengths(dim))
    return true;
  path.report("expected a dimension");
  return false;
}

static json::Value toJSON(const Domain &domain) {
  return json::Object{{"kind", kDomainKinds[static_cast<size_t>(domain.kind)]},
                      {"low", domain.low},
                      {"high", domain.high},
                      {"of", domain.of},
                      {"block", domain.block},
                      {"rows", domain.rows}};
}

static bool fromJSON(const json::Value &value, Domain &domain,
                     json::Path path) {
  bool isRead = Fields(value, path)
                    .readKind("kind", kDomainKinds, domain.kind)
                    .read("low", domain.low)
                    .read("high", domain.high)
                    .read("of", domain.of)
                    .read("block", domain.block)
                    .read("rows", domain.rows)
                    .done();
  if (isRead && (domain.kind != Domain::Kind::Blocks || domain.block > 0))
    return true;
  path.report("expected the integers that an input may hold");
  return false;
}

static json::Value toJSON(const Argument &argument) {
  json::Object object{{"name", argument.name},
                      {"dtype", getName(argument.dtype)},
                      {"dims", json::Array(argument.dims)}};
  if (argument.domain)
    object["domain"] = *argument.domain;
  return object;
}

static bool fromJSON(const json::Value &value, Argument &argument,
                     json::Path path) {
  std::string dtype;
  if (!Fields(value, path)
           .read("name", argument.name)
           .read("dtype", dtype)
           .read("dims", argument.dims)
           .read("domain", argument.domain)
           .done())
    return false;
  if (std::optional<DType> known = parseDType(dtype)) {
    argument.dtype = *known;
    return true;
  }
  path.field("dtype").report("expected the name of an element type");
  return false;
}

static json::Value toJSON(const Multiple &multiple) {
  return json::Object{
      {"multiple", multiple.multiple},
      {"of", multiple.of},
      {"reason", kReasons[static_cast<size_t>(multiple.reason)]}};
}

static bool fromJSON(const json::Value &value, Multiple &multiple,
                     json::Path path) {
  return Fields(value, path)
      .read("multiple", multiple.multiple)
      .read("of", multiple.of)
      .readKind("reason", kReasons, multiple.reason)
      .done();
}

static json::Value toJSON(const TokenGroups &groups) {
  return json::Object{{"tensor", groups.tensor},
                      {"groups", groups.groups},
                      {"of", groups.of},
                      {"tokens", groups.tokens},
                      {"offsets", groups.areOffsets}};
}

static bool fromJSON(const json::Value &value, TokenGroups &groups,
                     json::Path path) {
  groups.tokens = 0;
  bool isRead = Fields(value, path)
                    .read("tensor", groups.tensor)
                    .read("groups", groups.groups)
                    .read("of", groups.of)
                    .read("tokens", groups.tokens)
                    .read("offsets", groups.areOffsets)
                    .done();
  if (isRead && groups.tokens > 0)
    return true;
  path.report("expected groups of tokens");
  return false;
}

static json::Value toJSON(const BlockScores &scores) {
  return json::Object{{"tensor", scores.tensor},
                      {"entries", scores.entries},
                      {"blocks", scores.blocks}};
}

static bool fromJSON(const json::Value &value, BlockScores &scores,
                     json::Path path) {
  return Fields(value, path)
      .read("tensor", scores.tensor)
      .read("entries", scores.entries)
      .read("blocks", scores.blocks)
      .done();
}

static json::Value toJSON(const RowTable &table) {
  return json::Object{{"tensor", table.tensor}, {"place", table.place}};
}

static bool fromJSON(const json::Value &value, RowTable &table,
                     json::Path path) {
  return Fields(value, path)
      .read("tensor", table.tensor)
      .read("place", table.place)
      .done();
}

static json::Value toJSON(const PositionTable &table) {
  return json::Object{{"tensor", table.tensor},
                      {"place", table.place},
                      {"tokens", table.tokens}};
}

static bool fromJSON(const json::Value &value, PositionTable &table,
                     json::Path path) {
  return Fields(value, path)
      .read("tensor", table.tensor)
      .read("place", table.place)
      .read("tokens", table.tokens)
      .done();
}

static json::Value toJSON(const AttentionDims &dims) {
  return json::Object{{"queries", dims.queries},
                      {"keys", dims.keys},
                      {"query_heads", dims.queryHeads},
                      {"key_heads", dims.keyHeads},
                      {"causal", dims.isCausal}};
}

static bool fromJSON(const json::Value &value, AttentionDims &dims,
                     json::Path path) {
  return Fields(value, path)
      .read("queries", dims.queries)
      .read("keys", dims.keys)
      .read("query_heads", dims.queryHeads)
      .read("key_heads", dims.keyHeads)
      .read("causal", dims.isCausal)
      .done();
}

} // namespace nsacc

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

std::string nsacc::writeSignature(const Signature &signature) {
  json::Array params;
  for (const auto &[name, value] : signature.params)
    params.push_back(json::Array{name, value});
  json::Object object{
      {"kernel", signature.kernel},
      {"inputs", json::Array(signature.inputs)},
      {"results", json::Array(signature.results)},
      {"params", std::move(params)},
      {"multiples", json::Array(signature.multiples)},
      {"token_groups", json::Array(signature.tokenGroups)},
      {"block_scores", json::Array(signature.blockScores)},
      {"row_tables", json::Array(signature.rowTables)},
      {"position_tables", json::Array(signature.positionTables)},
      {"attentions", json::Array(signature.attentions)}};
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(object));
  return text;
}

static bool isName(llvm::StringRef name) {
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, isPart);
}

/// Whether inputs and results have names, which distinguish them.
static bool haveNames(const Signature &signature) {
  llvm::StringSet<> known;
  auto isNew = [&](const Argument &argument) {
    return isName(argument.name) && known.insert(argument.name).second;
  };
  return isName(signature.kernel) && llvm::all_of(signature.inputs, isNew) &&
         llvm::all_of(signature.results, isNew);
}

/// Tables are dimensions of inputs.
static bool haveDims(const Signature &signature) {
  auto hasDim = [&](const auto &table) {
    return findDim(signature, table.tensor, table.place) != nullptr;
  };
  return llvm::all_of(signature.rowTables, hasDim) &&
         llvm::all_of(signature.positionTables, hasDim);
}

llvm::Expected<Signature> nsacc::readSignature(llvm::StringRef text) {
  auto value = parseJSON(text);
  if (!value)
    return value.takeError();
  Signature signature;
  std::vector<std::vector<std::string>> params;
  json::Path::Root root("signature");
  if (!Fields(*value, root)
           .read("kernel", signature.kernel)
           .read("inputs", signature.inputs)
           .read("results", signature.results)
           .read("params", params)
           .read("multiples", signature.multiples)
           .read("token_groups", signature.tokenGroups)
           .read("block_scores", signature.blockScores)
           .read("row_tables", signature.rowTables)
           .read("position_tables", signature.positionTables)
           .read("attentions", signature.attentions)
           .done())
    return root.getError();
  for (const std::vector<std::string> &each : params) {
    if (each.size() != 2)
      return llvm::createStringError("a parameter of a signature has a name "
                                     "and a value");
    signature.params.push_back({each[0], each[1]});
  }
  if (!haveNames(signature))
    return llvm::createStringError("an input or a result of a signature has no "
                                   "name, or that of another one");
  if (!haveDims(signature))
    return llvm::createStringError("a table of a signature is no dimension of "
                                   "an input");
  return signature;
}
