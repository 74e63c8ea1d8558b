//===- Smaller.cpp - Tiles for ops that have no room ----------------------===//

#include "nsacc/Schedule/Choose.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

namespace {
struct Tile {
  std::optional<int64_t> tokens;
  int64_t columns;
};
} // namespace

/// Of attends, importances and top-ks, the larger ones first.
static constexpr Tile kTiles[] = {
    {std::nullopt, 32}, {16, 32}, {4, 32}, {1, 32}, {1, 16}};
/// Of poolings.
static constexpr int64_t kWindows[] = {4, 1};

static Field getColumnField(OpKind kind) {
  return kind == OpKind::TopK ? Field::Blocks : Field::Keys;
}

/// How many of the tiles were taken before: the last that is set.
static size_t countTaken(const Settings &settings, const ScheduledOp &op) {
  auto isSet = [&](Field field, std::optional<int64_t> value) {
    if (!value)
      return true;
    const Setting *found = settings.find(op.name, field);
    return found && found->isDerived && found->value == *value;
  };
  if (op.kind == OpKind::Pool) {
    for (size_t taken = std::size(kWindows); taken > 0; --taken)
      if (isSet(Field::Windows, kWindows[taken - 1]))
        return taken;
    return 0;
  }
  for (size_t taken = std::size(kTiles); taken > 0; --taken)
    if (isSet(getColumnField(op.kind), kTiles[taken - 1].columns) &&
        isSet(Field::Tokens, kTiles[taken - 1].tokens))
      return taken;
  return 0;
}

/// False where there is no smaller one.
static bool takeNext(Settings &settings, const ScheduledOp &op) {
  size_t taken = countTaken(settings, op);
  if (op.kind == OpKind::Map)
    return false;
  if (op.kind == OpKind::Pool) {
    if (taken == std::size(kWindows))
      return false;
    settings.set(op.name, Field::Windows, kWindows[taken]);
    return true;
  }
  if (taken == std::size(kTiles))
    return false;
  settings.set(op.name, getColumnField(op.kind), kTiles[taken].columns);
  if (kTiles[taken].tokens)
    settings.set(op.name, Field::Tokens, *kTiles[taken].tokens);
  return true;
}

std::optional<Settings> schedule::makeSmaller(KernelOp kernel,
                                              Settings settings,
                                              ArrayRef<std::string> names) {
  bool isSmaller = false;
  for (const ScheduledOp &op : getScheduledOps(kernel))
    if (llvm::is_contained(names, op.name))
      isSmaller |= takeNext(settings, op);
  return isSmaller ? std::optional(std::move(settings)) : std::nullopt;
}
