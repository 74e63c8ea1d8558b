//===- SemaTables.cpp - Tables that are probably read incorrectly ---------===//

#include "KernelGen.h"
#include "NSA/IR/NSATypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;

void KernelGen::setCounted(ScalarScope &scope, Attribute batch,
                           Attribute tokens, Attribute heads, Attribute keys) {
  auto of = symbols.find(nsa::getTokenDim(keys));
  scope.counted = {{"b", batch}, {"t", tokens}, {"h", heads}, {"j", keys}};
  // Constant sizes have no name.
  if (of != symbols.end())
    scope.counted["i"] = of->second.dim;
  if (auto named = llvm::dyn_cast_if_present<nsa::NamedDimAttr>(batch))
    scope.sequenceDims.push_back(named.getName());
  llvm::append_range(scope.sequenceDims, roles.keys());
}

static bool isNamed(Attribute dim, StringRef name) {
  auto named = llvm::dyn_cast_if_present<nsa::NamedDimAttr>(dim);
  return named && named.getName() == name;
}

/// The number of tokens between two keys or blocks that `counted` counts; 0 if
/// it counts tokens.
static int64_t getStride(Attribute counted) {
  if (auto pooled = llvm::dyn_cast_if_present<nsa::PooledDimAttr>(counted))
    return pooled.getStride();
  auto blocks = llvm::dyn_cast_if_present<nsa::BlocksDimAttr>(counted);
  return blocks ? blocks.getBlock() : 0;
}

/// The things that a name in a clause counts, for messages; empty if they have
/// no name.
static std::string describeCounted(StringRef name, Attribute counted) {
  if (!counted)
    return name == "b" ? "rows of the batch" : "";
  if (auto blocks = llvm::dyn_cast<nsa::BlocksDimAttr>(counted))
    return "blocks of " + std::to_string(blocks.getBlock()) + " tokens";
  if (auto pooled = llvm::dyn_cast<nsa::PooledDimAttr>(counted))
    return "windows of " + std::to_string(pooled.getLen()) + " tokens";
  auto named = llvm::dyn_cast<nsa::NamedDimAttr>(counted);
  if (!named)
    return "";
  return (name == "i" ? "positions in " : "") + named.getName().str();
}

/// Advice on how to read the dimension `found`, if it is known.
static std::string adviseIndex(StringRef name, nsa::NamedDimAttr found,
                               const ScalarScope &scope) {
  Attribute counted = scope.counted.lookup(name);
  if (getStride(counted) != 0 && nsa::getTokenDim(counted) == found.getName())
    return "; 'start(j)' is the first token of one; '1 * j' if its number is "
           "meant";
  if (name == "i" && isNamed(scope.counted.lookup("t"), found.getName()))
    return "; 't' is the query's row of " + found.getName().str();
  if (name == "b" && !counted && found.getRagged())
    return "; a ragged dimension is read with a position in the row, such as "
           "'j', and without 'b'";
  if (name == "h" && isNamed(scope.keyHeads, found.getName()))
    return "; the key head of a query head is 'h floordiv " +
           (scope.queryHeads ? "G'"
                             : "(" + nsa::toString(counted) + " floordiv " +
                                   found.getName().str() + ")'");
  if (name == "h" &&
      llvm::isa_and_present<nsa::BlocksDimAttr>(scope.counted.lookup("j")))
    return "; a selection for each query head is made of an importance with "
           "'heads=none'";
  return "";
}

void ScalarGen::checkIndex(const Symbol &table, StringRef name,
                           const ast::Expr *index, Attribute dim) {
  auto *place = llvm::dyn_cast<ast::NameExpr>(index);
  auto counts = place ? scope.counted.find(place->name) : scope.counted.end();
  auto found = llvm::dyn_cast<nsa::NamedDimAttr>(dim);
  if (counts == scope.counted.end() || !found)
    return;
  Attribute counted = counts->second;
  std::string expected = describeCounted(place->name, counted);
  bool isKnown = llvm::is_contained(scope.sequenceDims, found.getName());
  if (expected.empty() || !isKnown || isNamed(counted, found.getName()))
    return;
  // Windows of one token are tokens, and a separate dimension may count
  // windows.
  if (int64_t stride = getStride(counted)) {
    bool isTokens = nsa::getTokenDim(counted) == found.getName();
    auto isFound = [&](StringRef other) {
      return isNamed(scope.counted.lookup(other), found.getName());
    };
    if (isTokens ? stride == 1
                 : llvm::none_of(ArrayRef<StringRef>{"b", "t", "h"}, isFound) &&
                       !isNamed(scope.keyHeads, found.getName()))
      return;
  }
  problems
      .warning(index->range, quote(place->name) + " counts " + expected +
                                 ", but dimension " + found.getName() + " of " +
                                 quote(name) + " is read with it")
      .note(table.range, quote(name) + " is declared as " +
                             nsa::toString(table.getDeclaredDims()) +
                             adviseIndex(place->name, found, scope));
}
