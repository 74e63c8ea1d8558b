//===- Smaller.cpp - Tiles for ops that have no room or registers ---------===//

#include "nsacc/Schedule/Choose.h"
#include "nsacc/Schedule/ScalarCost.h"

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

/// Tiles of attends, importances and top-ks, larger ones first.
static constexpr Tile kTiles[] = {
    {std::nullopt, 32}, {16, 32}, {4, 32}, {1, 32}, {1, 16}};
/// Windows of poolings, larger ones first.
static constexpr int64_t kWindows[] = {4, 1};

static Field getColumnField(const OpChoice &op) {
  return op.has(Field::Blocks) ? Field::Blocks : Field::Keys;
}

/// Current value of a field that is lowered step by step. An op may have more
/// than it was set to: its program's other ops, or rows that choose together,
/// decide.
static int64_t getNow(const OpChoice &op, const Settings &settings, Field field,
                      int64_t chosen) {
  const Setting *found = settings.find(op.name, field);
  return found && found->isDerived ? std::min(found->value, chosen) : chosen;
}

/// Whether the field was given, even if it was lowered since.
static bool isGiven(const OpChoice &op, const Settings &settings, Field field) {
  return llvm::any_of(settings.getList(), [&](const Setting &each) {
    return each.field == field && !each.isDerived &&
           (each.op.empty() || each.op == op.name);
  });
}

/// Lowers the field to `value`. Returns false where it isn't above `value`, or
/// was given and `keepsGiven` is set.
static bool lower(const OpChoice &op, Settings &settings, Field field,
                  int64_t value, bool keepsGiven) {
  if (keepsGiven && isGiven(op, settings, field))
    return false;
  if (value >= getNow(op, settings, field, op.get(field)))
    return false;
  settings.set(op.name, field, value);
  return true;
}

/// Leaves half of the heads of a tile of one token to another tile. Returns
/// false where a tile has one head, or all heads in any case.
static bool takeFewerHeads(KernelOp kernel, Settings &settings,
                           const OpChoice &op, bool keepsGiven) {
  if (!op.has(Field::Order) || op.get(Field::Tokens) > 1 || op.takesAllHeads ||
      (keepsGiven && isGiven(op, settings, Field::Heads)))
    return false;
  int64_t chosen = op.has(Field::Heads) ? op.get(Field::Heads) : 0;
  if (chosen == 0)
    chosen = getQueryShape(kernel, cast<ScoringOpInterface>(op.op)).group;
  int64_t heads = getNow(op, settings, Field::Heads, chosen) / 2;
  if (heads == 0)
    return false;
  settings.set(op.name, Field::Heads, heads);
  return true;
}

/// Takes an op's next smaller tile. Returns false where there is none.
static bool takeNext(KernelOp kernel, Settings &settings, const OpChoice &op,
                     bool keepsGiven) {
  auto lowerTo = [&](Field field, int64_t value) {
    return lower(op, settings, field, value, keepsGiven);
  };
  if (op.has(Field::Windows))
    return llvm::any_of(kWindows, [&](int64_t windows) {
      return lowerTo(Field::Windows, windows);
    });
  if (!op.has(Field::Tokens))
    return false;
  // Lists of candidates leave less room than tiles do.
  if (op.has(Field::Blocks) && op.has(Field::BlocksPerSM) &&
      lowerTo(Field::BlocksPerSM, 1))
    return true;
  if (llvm::any_of(kTiles, [&](const Tile &tile) {
        bool isLess = lowerTo(getColumnField(op), tile.columns);
        if (tile.tokens)
          isLess |= lowerTo(Field::Tokens, *tile.tokens);
        return isLess;
      }))
    return true;
  return takeFewerHeads(kernel, settings, op, keepsGiven);
}

/// Takes the next smaller tile of an op's exact program. Only given ones are
/// too large.
static bool takeNextExact(Settings &settings, const OpChoice &op) {
  auto lowerTo = [&](Field field, int64_t value) {
    return lower(op, settings, field, value, /*keepsGiven=*/false);
  };
  return op.has(Field::ExactKeys) &&
         llvm::any_of(kTiles, [&](const Tile &tile) {
           bool isLess = lowerTo(Field::ExactKeys, tile.columns);
           if (tile.tokens)
             isLess |= lowerTo(Field::ExactTokens, *tile.tokens);
           return isLess;
         });
}

std::optional<Settings> schedule::makeSmaller(KernelOp kernel, const Goal &goal,
                                              Settings settings,
                                              ArrayRef<std::string> names) {
  llvm::Expected<KernelChoice> choice = choose(kernel, goal, settings);
  if (!choice) {
    llvm::consumeError(choice.takeError());
    return std::nullopt;
  }
  // Given fields are lowered last.
  bool isSmaller = false;
  for (bool keepsGiven : {true, false}) {
    for (const OpChoice &op : choice->ops) {
      if (llvm::is_contained(names, op.name))
        isSmaller |= takeNext(kernel, settings, op, keepsGiven);
      std::string exact = op.name + "." + getName(ProgramRole::Exact).str();
      if (!keepsGiven && llvm::is_contained(names, exact))
        isSmaller |= takeNextExact(settings, op);
    }
    if (isSmaller)
      return settings;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

static Field getRelievedField(const OpChoice &op, bool isExact) {
  return isExact ? Field::ExactKeys : getColumnField(op);
}

/// Whether the compiler chose the op's tiles, without a measurement. Ops with
/// long code for a pair are left out: ptxas takes half a minute for each
/// attempt, and they have few keys anyway.
static bool isRelievable(const OpChoice &op, const Settings &settings,
                         Field field) {
  constexpr int64_t mostInstructions = 1024;
  // A top-k's lists were measured with its number of blocks.
  auto scoring = dyn_cast<ScoringOpInterface>(op.op);
  if (!scoring || op.isMeasured ||
      nsacc::countPairInstructions(scoring) > mostInstructions)
    return false;
  return op.has(field) && !isGiven(op, settings, field);
}

/// Number of keys to try next: a quarter less where a loop's step spills
/// little, half where it spills more. A multiple of a product's columns.
static int64_t getFewerKeys(int64_t keys, int64_t bytes) {
  constexpr int64_t unit = 16, little = 512;
  int64_t fewer = bytes <= little ? keys * 3 / 4 : keys / 2;
  return std::max<int64_t>(llvm::alignDown(fewer, unit), unit);
}

std::optional<Settings> schedule::relieve(KernelOp kernel, const Goal &goal,
                                          Settings settings,
                                          ArrayRef<Spill> spills) {
  llvm::Expected<KernelChoice> choice = choose(kernel, goal, settings);
  if (!choice) {
    llvm::consumeError(choice.takeError());
    return std::nullopt;
  }
  bool isRelieved = false;
  for (const Spill &spill : spills)
    for (const OpChoice &op : choice->ops) {
      Field field = getRelievedField(op, spill.isExact);
      if (!llvm::is_contained(spill.ops, op.name) ||
          !isRelievable(op, settings, field))
        continue;
      int64_t now = op.get(field), fewer = getFewerKeys(now, spill.bytes);
      if (fewer >= now)
        continue;
      settings.set(op.name, field, fewer,
                   "of " + std::to_string(now) + ", a thread keeps " +
                       std::to_string(spill.bytes) + " bytes in memory");
      isRelieved = true;
    }
  return isRelieved ? std::optional(std::move(settings)) : std::nullopt;
}

bool schedule::mayRelieve(KernelOp kernel, const Goal &goal,
                          const Settings &settings) {
  llvm::Expected<KernelChoice> choice = choose(kernel, goal, settings);
  if (!choice) {
    llvm::consumeError(choice.takeError());
    return false;
  }
  return llvm::any_of(choice->ops, [&](const OpChoice &op) {
    auto hasChosen = [&](bool isExact) {
      return isRelievable(op, settings, getRelievedField(op, isExact));
    };
    return hasChosen(false) || hasChosen(true);
  });
}
