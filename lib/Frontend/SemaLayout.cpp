//===- SemaLayout.cpp - Dimensions of tokens and heads --------------------===//
//
// docs/spec.md, 1.4: heads may come before the tokens if a program marks them.
// Types have tokens first; an attribute of the kernel's arguments and results
// has the caller's order.
//
//===----------------------------------------------------------------------===//

#include "Sequence.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

/// Calls `visit` with every type that is written in the kernel's header.
static void forEachType(const ast::Kernel &kernel,
                        llvm::function_ref<void(const ast::Type &)> visit) {
  const ast::Type *last = nullptr;
  for (const ast::Input &input : kernel.inputs) {
    // Inputs of one group share their type.
    if (input.type != last)
      visit(*input.type);
    last = input.type;
  }
  for (const ast::Result &result : kernel.results)
    visit(result.type);
}

static bool isMarked(const ast::Kernel &kernel, StringRef name) {
  bool found = false;
  forEachType(kernel, [&](const ast::Type &type) {
    for (const ast::Dim &dim : type.dims)
      found |= dim.heads && dim.getName() == name;
  });
  return found;
}

bool KernelGen::isHeads(const ast::Dim &dim) const {
  return dim.heads || markedHeads.contains(dim.getName());
}

/// The index of the tokens. Without its heads, a tensor of four dimensions is
/// [batch, tokens, features]; a ragged dimension is always tokens.
std::optional<size_t>
KernelGen::findTokensByPlace(const ast::Type &type) const {
  auto isRagged = [](const ast::Dim &dim) { return dim.ragged; };
  const ast::Dim *ragged = llvm::find_if(type.dims, isRagged);
  if (ragged != type.dims.end())
    return ragged - type.dims.begin();
  auto standsForHeads = [&](const ast::Dim &dim) { return isHeads(dim); };
  if (type.dims.size() != 4 || llvm::count_if(type.dims, standsForHeads) != 1)
    return std::nullopt;
  size_t heads = llvm::find_if(type.dims, standsForHeads) - type.dims.begin();
  return heads <= 1 ? 2 : 1;
}

std::optional<size_t> KernelGen::findTokens(const ast::Type &type) const {
  if (std::optional<size_t> tokens = findTokensByPlace(type))
    return tokens;
  for (auto [index, dim] : llvm::enumerate(type.dims)) {
    auto role = roles.find(dim.getName());
    if (!dim.getName().empty() && role != roles.end() && !role->second.heads)
      return index;
  }
  return std::nullopt;
}

void KernelGen::collectRoles() {
  forEachType(kernel, [&](const ast::Type &type) {
    for (const ast::Dim &dim : type.dims)
      if (dim.heads && !dim.getName().empty()) {
        markedHeads.insert(dim.getName());
        roles.try_emplace(dim.getName(), Role{/*heads=*/true, dim.range});
      }
  });
  forEachType(kernel, [&](const ast::Type &type) {
    std::optional<size_t> tokens = findTokensByPlace(type);
    if (!tokens)
      return;
    const ast::Dim &dim = type.dims[*tokens];
    if (dim.getName().empty())
      return;
    auto [role, isNew] =
        roles.try_emplace(dim.getName(), Role{/*heads=*/false, dim.range});
    if (!isNew && role->second.heads)
      problems
          .error(dim.range, "dimension " + quote(dim.getName()) +
                                " is ragged, which tokens are, and marked as "
                                "heads")
          .note(role->second.range,
                "it is marked here; a name means the same throughout a "
                "kernel: give tokens and heads names of their own");
  });
}

SmallVector<int64_t, 4> KernelGen::getOrder(const ast::Type &type) const {
  auto order = llvm::to_vector<4>(
      llvm::seq<int64_t>(0, static_cast<int64_t>(type.dims.size())));
  auto standsForHeads = [&](const ast::Dim &dim) { return isHeads(dim); };
  size_t heads = llvm::find_if(type.dims, standsForHeads) - type.dims.begin();
  std::optional<size_t> tokens = findTokens(type);
  if (!tokens || heads >= *tokens)
    return order;
  // [B, H, T, D] -> [B, T, H, D]
  order[heads] = *tokens;
  for (size_t dim = heads + 1; dim <= *tokens; ++dim)
    order[dim] = dim - 1;
  return order;
}

DenseI64ArrayAttr KernelGen::getOrderAttr(const ast::Type &type) {
  SmallVector<int64_t, 4> order = getOrder(type);
  // A marker confirms the order, even if it is the type's.
  bool isMarked =
      llvm::any_of(type.dims, [](const ast::Dim &dim) { return dim.heads; });
  return llvm::is_sorted(order) && !isMarked
             ? DenseI64ArrayAttr()
             : builder.getDenseI64ArrayAttr(order);
}

nsa::NamedTensorType nsacc::frontend::getDeclaredType(Value tensor,
                                                      const Symbols &symbols) {
  auto type = llvm::cast<nsa::NamedTensorType>(tensor.getType());
  for (const auto &[name, symbol] : symbols)
    if (symbol.kind == Symbol::Kind::Input && symbol.bound.value == tensor)
      return nsa::NamedTensorType::get(
          type.getContext(), symbol.getDeclaredDims(), type.getElementType());
  return type;
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

bool KernelGen::noteRole(Attribute dim, bool heads, Range range) {
  StringRef name;
  if (auto named = llvm::dyn_cast<nsa::NamedDimAttr>(dim))
    name = named.getName();
  else if (auto pooled = llvm::dyn_cast<nsa::PooledDimAttr>(dim))
    name = pooled.getBase();
  if (name.empty())
    return true;
  auto [role, isNew] = roles.try_emplace(name, Role{heads, range});
  if (isNew || role->second.heads == heads)
    return true;
  auto describe = [](bool heads) { return heads ? "heads" : "tokens"; };
  problems
      .error(range, "dimension " + quote(name) + " stands for " +
                        describe(heads) + " here, but for " + describe(!heads) +
                        " elsewhere")
      .note(role->second.range,
            "it stands for " + llvm::Twine(describe(!heads)) +
                " here; a name means the same throughout a kernel")
      .note("the order is [batch, tokens, heads, features]; mark heads that "
            "stand in front of the tokens, as in [B, heads H, T, D]");
  return false;
}

bool KernelGen::noteRoles(const Sequence &sequence) {
  return noteRole(sequence.tokens, /*heads=*/false, sequence.expr->range) &&
         noteRole(sequence.heads, /*heads=*/true, sequence.expr->range);
}

/// H, HQ, H2, heads, num_heads, …
static bool soundsLikeHeads(StringRef name) {
  if (name.contains_insensitive("head") || name == "nh" || name == "n_h")
    return true;
  auto isUpper = [](char c) { return llvm::isUpper(c) || llvm::isDigit(c); };
  return name.starts_with("H") && name.size() <= 3 &&
         llvm::all_of(name, isUpper);
}

bool nsacc::frontend::soundsLikeTokens(StringRef name) {
  return name == "T" || name == "S" || name == "lq" || name == "lk" ||
         name.contains_insensitive("token") || name.contains_insensitive("seq");
}

void KernelGen::checkNames(const Sequence &sequence) {
  auto getName = [](Attribute dim) {
    auto named = llvm::dyn_cast<nsa::NamedDimAttr>(dim);
    return named ? named.getName() : StringRef();
  };
  StringRef tokens = getName(sequence.tokens), heads = getName(sequence.heads);
  if (isMarked(kernel, heads))
    return;
  bool isTokensOdd = soundsLikeHeads(tokens);
  if (!isTokensOdd && !soundsLikeTokens(heads))
    return;
  StringRef odd = isTokensOdd ? tokens : heads;
  auto symbol = symbols.find(odd);
  Range range =
      symbol == symbols.end() ? sequence.expr->range : symbol->second.range;
  Problem &problem = problems.warning(
      range, "dimension " + quote(odd) + " stands in the place of " +
                 (isTokensOdd ? "tokens" : "heads"));
  std::string marked = isTokensOdd      ? odd.str()
                       : tokens.empty() ? "H"
                                        : tokens.str();
  problem.note("the order is [batch, tokens, heads, features]; if heads stand "
               "in front of the tokens, write 'heads " +
               marked + "'");
}

/// Spells `dims` with a marker at heads that come before tokens, if `other` has
/// the two in the other order; empty if there are none.
static std::string markHeads(ArrayRef<Attribute> dims,
                             ArrayRef<Attribute> other,
                             llvm::function_ref<bool(Attribute)> isHeads) {
  for (auto [place, heads] : llvm::enumerate(dims)) {
    if (!isHeads(heads))
      continue;
    const Attribute *there = llvm::find(other, heads);
    if (there == other.end())
      continue;
    bool isSwapped =
        llvm::any_of(dims.drop_front(place + 1), [&](Attribute behind) {
          return llvm::is_contained(ArrayRef(other.begin(), there), behind);
        });
    if (!isSwapped)
      continue;
    SmallVector<std::string> parts =
        llvm::map_to_vector(dims, [&](Attribute dim) {
          return (dim == heads ? "heads " : "") + nsa::toString(dim);
        });
    return "[" + llvm::join(parts, ", ") + "]";
  }
  return "";
}

void KernelGen::adviseHeads(Problem &problem, ArrayRef<Attribute> one,
                            ArrayRef<Attribute> other) const {
  auto isHeads = [&](Attribute dim) {
    auto named = llvm::dyn_cast<nsa::NamedDimAttr>(dim);
    auto role = named ? roles.find(named.getName()) : roles.end();
    return named && (role != roles.end() ? role->second.heads
                                         : soundsLikeHeads(named.getName()));
  };
  std::string marked = markHeads(one, other, isHeads);
  if (marked.empty())
    marked = markHeads(other, one, isHeads);
  if (!marked.empty())
    problem.note("an input with heads in front of the tokens is declared so: " +
                 marked);
}

/// A result's type as it was declared, with a mark that its heads stand in
/// front of the tokens; empty where they don't. The mark says which are tokens
/// in four dimensions.
std::string KernelGen::spellHeadsFirst(const ast::Type &declared,
                                       ArrayRef<Attribute> written) const {
  constexpr size_t tokens = 1, heads = 2, rank = 4;
  if (written.size() != rank || declared.dims.size() != rank)
    return "";
  Dims swapped(written);
  std::swap(swapped[tokens], swapped[heads]);
  for (auto [dim, found] : llvm::zip_equal(declared.dims, swapped)) {
    auto named = llvm::dyn_cast<nsa::NamedDimAttr>(found);
    if (dim.heads || !named || named.getName() != dim.getName())
      return "";
  }
  return markHeads(swapped, written,
                   [&](Attribute dim) { return dim == written[heads]; });
}
