//===- SetSchedule.cpp - Choose how kernels are tiled ---------------------===//

#include "NSA/Analysis/MaskAnalysis.h"
#include "NSA/IR/NSAOps.h"
#include "NSA/Transforms/Passes.h"
#include "NSATile/IR/NSATileOps.h"
#include "ScalarCost.h"
#include "SelectionLists.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h"
#include "llvm/ADT/StringExtras.h"

namespace nsacc {
#define GEN_PASS_DEF_NSASETSCHEDULE
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h.inc"
} // namespace nsacc

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// The size of a tensor's dimension that the kernel was specialized for.
static std::optional<int64_t> getSize(KernelOp kernel, Attribute dim) {
  if (auto size = dyn_cast<IntegerAttr>(dim))
    return size.getInt();
  auto sizes = kernel->getAttrOfType<DictionaryAttr>(kSizesAttrName);
  auto named = dyn_cast<NamedDimAttr>(dim);
  if (!sizes || !named)
    return std::nullopt;
  if (auto size = sizes.getAs<IntegerAttr>(named.getName()))
    return size.getInt();
  return std::nullopt;
}

static std::optional<int64_t> getHeads(KernelOp kernel, Value tensor) {
  auto type = cast<NamedTensorType>(tensor.getType());
  return getSize(kernel, type.getDims()[type.isRagged() ? 1 : 2]);
}

static int64_t getGroup(KernelOp kernel) {
  int64_t group = 1;
  kernel.walk([&](ScoringOpInterface op) {
    std::optional<int64_t> queries = getHeads(kernel, op.getQuery());
    std::optional<int64_t> keys = getHeads(kernel, op.getKey());
    if (queries && keys && *keys > 0)
      group = std::max<int64_t>(1, *queries / *keys);
    return WalkResult::interrupt();
  });
  return group;
}

namespace {

/// Settings of a schedule that aren't given.
struct Tiling {
  int64_t rows = 64, keys = 64, warps = 0;
};

} // namespace

/// Whether a row's first key moves along with it.
static bool isBand(const MaskInfo &mask) {
  auto moves = [](AffineExpr bound) { return bound.isFunctionOfDim(0); };
  return llvm::all_of(mask.intervals, [&](const KeyInterval &interval) {
    return llvm::any_of(interval.lower, moves);
  });
}

/// The attention that goes over selected blocks; null if there is none.
static AttendOp findSelecting(KernelOp kernel) {
  AttendOp found;
  kernel.walk([&](AttendOp op) {
    if (!found && op.getSelection())
      found = op;
  });
  return found;
}

namespace {

struct DenseAttention {
  AttendOp attend;
  int64_t channels = 0;
};

} // namespace

/// The one attention of a kernel over keys that aren't selected; none where
/// operands are no halves or can't be copied in rows.
static std::optional<DenseAttention> findDenseAttention(KernelOp kernel) {
  SmallVector<ScoringOpInterface> scoring;
  kernel.walk([&](ScoringOpInterface op) { scoring.push_back(op); });
  auto attend = scoring.size() == 1
                    ? dyn_cast<AttendOp>(scoring.front().getOperation())
                    : AttendOp();
  // What is selected comes in tiles of its blocks.
  if (!attend || attend.getSelection())
    return std::nullopt;
  DenseAttention found = {attend};
  for (Value tensor : {attend.getKey(), attend.getValue()}) {
    auto type = cast<NamedTensorType>(tensor.getType());
    std::optional<int64_t> size = getSize(kernel, type.getDims().back());
    constexpr int64_t copiedAtOnce = 8;
    if (!size || *size % copiedAtOnce != 0 ||
        type.getElementType().getIntOrFloatBitWidth() != 16)
      return std::nullopt;
    found.channels = std::max(found.channels, *size);
  }
  return found;
}

/// Scores that are nothing but products.
static bool isPlain(AttendOp attend, const MaskInfo &mask) {
  return attend.getScore().empty() && attend.getWeight().empty() &&
         mask.isExact();
}

/// With 32 rows to a warp, a fragment of keys or values that it reads from
/// shared memory serves two products. The state of so many rows and their
/// scores fill a warp's registers.
static std::optional<Tiling> tileForWarps(KernelOp kernel) {
  std::optional<DenseAttention> dense = findDenseAttention(kernel);
  if (!dense || dense->channels > 128)
    return std::nullopt;
  MaskInfo mask = analyzeMask(dense->attend);
  if (!isPlain(dense->attend, mask))
    return std::nullopt;
  // Each interval of keys has loops of its own.
  if (mask.intervals.size() > 1)
    return Tiling{/*rows=*/64, /*keys=*/64, /*warps=*/4};
  bool isWide = dense->channels <= 64 && !isBand(mask);
  return Tiling{/*rows=*/128, /*keys=*/isWide ? 128 : 64, /*warps=*/4};
}

/// Channels for which tiles of two or of three warpgroups may be the faster
/// ones: with fewer it's three, with more there are registers for two.
static bool hasChoice(int64_t channels) {
  return channels > 64 && channels <= 128;
}

std::optional<QueryCount> QueryCount::get(KernelOp kernel) {
  AttendOp attend;
  kernel.walk([&](ScoringOpInterface op) {
    bool isOnly = !attend;
    attend = isOnly ? dyn_cast<AttendOp>(op.getOperation()) : AttendOp();
    return attend ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (!attend || attend.getSelection())
    return std::nullopt;
  auto type = cast<NamedTensorType>(attend.getQuery().getType());
  MaskInfo mask = analyzeMask(attend);
  if (type.isRagged() || !isPlain(attend, mask) || isBand(mask))
    return std::nullopt;
  auto getDim = [&](Attribute dim) -> Dim {
    if (auto named = dyn_cast<NamedDimAttr>(dim))
      return {named.getName().str(), 0};
    auto size = dyn_cast<IntegerAttr>(dim);
    return {"", size ? size.getInt() : 0};
  };
  QueryCount count;
  count.batch = getDim(type.getDims()[0]);
  count.tokens = getDim(type.getDims()[1]);
  count.heads = getDim(type.getDims()[2]);
  auto getChannels = [&](Value tensor) {
    return getDim(cast<NamedTensorType>(tensor.getType()).getDims().back());
  };
  count.keyChannels = getChannels(attend.getKey());
  count.valueChannels = getChannels(attend.getValue());
  return count;
}

bool QueryCount::isLarge(const llvm::StringMap<int64_t> &sizes) const {
  // At 1024 tokens, the last tile of 192 rows has too many to spare; of fewer
  // rows than these, some multiprocessors would have a tile less than others.
  constexpr int64_t longRow = 1 << 14, manyRows = 1 << 18;
  auto getSize = [&](const Dim &dim) {
    return dim.name.empty() ? dim.size : sizes.lookup(dim.name);
  };
  int64_t length = getSize(tokens), rows = length;
  for (int64_t size : {getSize(batch), getSize(heads)})
    rows = size == 0 || size > manyRows ? manyRows
                                        : std::min(rows, manyRows) * size;
  return length >= longRow && rows >= manyRows &&
         hasChoice(std::max(getSize(keyChannels), getSize(valueChannels)));
}

/// Tables that the mask reads for each query, `doc[b, i]` for one.
static size_t countQueryTables(AttendOp attend) {
  llvm::SmallPtrSet<Value, 4> tables;
  if (attend.getMask().empty())
    return 0;
  ScalarPlaces places =
      ScalarPlaces::get(attend, attend.getMask(), /*leading=*/0);
  attend.getMask().walk([&](TableReadOp read) {
    for (Value index : read.getIndices())
      if (index == places.position || index == places.token)
        tables.insert(read.getTable());
  });
  return tables.size();
}

/// Tiles that fill the registers of two or three warpgroups with the state and
/// the scores of their rows, as measured on an H200. With 128 channels, narrow
/// key tiles of three warpgroups read less shared memory for each product: they
/// are faster where the rows of a band see few keys beside their own, and in
/// many long rows (6 % without a mask, 2 % with a causal one). At 1024 tokens
/// they are 3 % slower, as their last tile has rows to spare.
static std::optional<Tiling> tileForWarpgroups(KernelOp kernel,
                                               bool hasManyQueries) {
  std::optional<DenseAttention> dense = findDenseAttention(kernel);
  if (!dense)
    return std::nullopt;
  auto [attend, channels] = *dense;
  MaskInfo mask = analyzeMask(attend);
  // A third warpgroup leaves no registers for more than products and softmax.
  bool isSimple = isPlain(attend, mask);
  if (channels <= 64 && isSimple)
    return Tiling{/*rows=*/192, /*keys=*/128, /*warps=*/12};
  // What is looked up for each row and pair waits in registers, too.
  if (channels <= 128 && countQueryTables(attend) > 1)
    return Tiling{128, 64, 8};
  if (hasChoice(channels) && !mask.isExact())
    return Tiling{128, 96, 8};
  if (channels <= 128)
    return isSimple && (hasManyQueries || isBand(mask)) ? Tiling{192, 80, 12}
                                                        : Tiling{128, 128, 8};
  if (channels <= 192)
    return Tiling{128, 96, 8};
  if (channels <= 256)
    return Tiling{128, mask.isExact() ? 80 : 32, 8};
  return std::nullopt;
}

/// Tiles of tokens that walk the union of their blocks. Rows fill two
/// warpgroups' products, unless so many tokens would select more blocks than a
/// list has.
static std::optional<Tiling> tileForSelections(KernelOp kernel,
                                               bool warpgroups) {
  AttendOp attend = findSelecting(kernel);
  if (!attend)
    return std::nullopt;
  int64_t count = 0, channels = 0;
  bool hasHalves = true;
  kernel.walk([&](AttendOp op) {
    ++count;
    for (Value tensor : {op.getKey(), op.getValue()}) {
      auto type = cast<NamedTensorType>(tensor.getType());
      channels = std::max(channels,
                          getSize(kernel, type.getDims().back()).value_or(0));
      hasHalves &= type.getElementType().getIntOrFloatBitWidth() == 16;
    }
  });
  auto type = cast<SelectionType>(attend.getSelection().getType());
  int64_t group = getGroup(kernel);
  auto query = cast<NamedTensorType>(attend.getQuery().getType());
  bool perQueryHead =
      type.getDims().back() == query.getDims()[query.isRagged() ? 1 : 2];
  int64_t listed =
      static_cast<int64_t>(type.getTop()) * (perQueryHead ? group : 1);
  // The sum of several attentions of wide heads stands in registers, too: two
  // warpgroups have none for it, and one has some for tiles of 32 keys.
  bool isCrowded = channels > 64 && count > 2;
  bool usesGroups = warpgroups && hasHalves && channels <= 128;
  int64_t rows = usesGroups && !isCrowded ? 128 : 64;
  int64_t tokens = std::clamp<int64_t>(
      std::min(rows / group, kMostListed / listed), 1, rows);
  Tiling tiling;
  tiling.rows = tokens * group;
  tiling.keys = isCrowded || channels > 128 ? 32 : 64;
  if (usesGroups && tiling.rows > 32)
    tiling.warps = tiling.rows > 64 ? 8 : 4;
  return tiling;
}

/// Three attentions of one program have no registers for the scores of 64 keys
/// beside the sum of what the others gave. nsa fits with 32.
static std::optional<Tiling> tileForSeveral(KernelOp kernel) {
  int64_t count = 0, channels = 0;
  kernel.walk([&](AttendOp attend) {
    auto type = cast<NamedTensorType>(attend.getValue().getType());
    ++count;
    channels =
        std::max(channels, getSize(kernel, type.getDims().back()).value_or(0));
  });
  if (count < 3 || channels <= 64)
    return std::nullopt;
  return Tiling{/*rows=*/64, /*keys=*/32};
}

/// Fewer keys at a time where a pair's scalar code is long. A GPU's code is
/// written out for each pair of a thread: its registers would spill, and its
/// compiler take minutes.
static Tiling shorten(Tiling tiling, KernelOp kernel) {
  constexpr int64_t warpSize = 32, usualWarps = 4, leastKeys = 16,
                    most = 16 << 10; // instructions for a tile
  int64_t count = 0;
  kernel.walk([&](ScoringOpInterface op) {
    count = std::max(count, countPairInstructions(op));
  });
  int64_t threads = warpSize * (tiling.warps ? tiling.warps : usualWarps);
  while (tiling.keys > leastKeys &&
         count * tiling.rows * tiling.keys > most * threads)
    tiling.keys = llvm::alignTo(tiling.keys / 2, leastKeys);
  return tiling;
}

/// Settings of "order=union, tokens=16".
static SmallVector<StringRef> split(StringRef schedule) {
  SmallVector<StringRef> settings;
  schedule.split(settings, ',', -1, /*KeepEmpty=*/false);
  return settings;
}

/// What is set for `name`; none where it stays open.
static std::optional<StringRef> getSetting(ArrayRef<StringRef> settings,
                                           StringRef name) {
  for (StringRef setting : settings) {
    auto [key, value] = setting.split('=');
    if (key.trim() == name)
      return value.trim();
  }
  return std::nullopt;
}

/// The settings as the attribute spells them, and those of the tiling that they
/// leave open.
static std::string spell(ArrayRef<StringRef> settings, Tiling tiling,
                         nsatile::LoopOrder order, int64_t group) {
  std::string text = llvm::join(settings, ", ");
  if (!getSetting(settings, "order")) {
    text += text.empty() ? "" : ", ";
    text += "order = ";
    text += nsatile::stringifyLoopOrder(order);
  }
  auto add = [&](StringRef name, int64_t value) {
    if (getSetting(settings, name))
      return;
    text += text.empty() ? "" : ", ";
    text += (name + " = " + Twine(value)).str();
  };
  // Warps belong to the rows that they were chosen for.
  bool choosesRows = !getSetting(settings, "tokens");
  add("tokens", std::max<int64_t>(1, tiling.rows / group));
  add("keys", tiling.keys);
  if (choosesRows)
    add("warps", tiling.warps);
  return "#nsatile.schedule<" + text + ">";
}

/// The attribute that `text` spells; null where it's none, with the problem.
/// The parser knows nothing of the kernel that it reads for.
static nsatile::ScheduleAttr parse(const std::string &text,
                                   MLIRContext *context, std::string &problem) {
  ScopedDiagnosticHandler collect(context, [&](Diagnostic &found) {
    if (problem.empty())
      problem = found.str();
  });
  return dyn_cast_or_null<nsatile::ScheduleAttr>(parseAttribute(text, context));
}

static std::string explain(StringRef schedule, StringRef problem) {
  return ("can't use the schedule '" + schedule + "': " + problem).str();
}

static constexpr char kExpected[] =
    "expected order=query_major, union, block_major or key_major, tokens=N, "
    "keys=N, splits=N, warps=N, stages=N, separated by commas";

namespace {

struct SetSchedule : nsacc::impl::NSASetScheduleBase<SetSchedule> {
  using NSASetScheduleBase::NSASetScheduleBase;

  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>())
      if (failed(setSchedule(kernel)))
        return signalPassFailure();
  }

  /// Selected blocks are walked by all rows of a tile on GPUs, whose products
  /// have many rows, and by the rows that selected them on CPUs.
  nsatile::LoopOrder chooseOrder(KernelOp kernel) {
    if (std::optional<StringRef> given = getSetting(split(schedule), "order"))
      return nsatile::symbolizeLoopOrder(*given).value_or(
          nsatile::LoopOrder::QueryMajor);
    if (!findSelecting(kernel))
      return nsatile::LoopOrder::QueryMajor;
    return device ? nsatile::LoopOrder::Union : nsatile::LoopOrder::BlockMajor;
  }

  Tiling choose(KernelOp kernel) {
    if (!device)
      return Tiling();
    nsatile::LoopOrder order = chooseOrder(kernel);
    bool hasWarpgroups = device->code.hasWarpgroupProducts;
    std::optional<Tiling> chosen;
    if (order == nsatile::LoopOrder::Union)
      chosen = tileForSelections(kernel, hasWarpgroups);
    else if (order != nsatile::LoopOrder::QueryMajor)
      return Tiling(); // tiles of another order are not theirs
    else
      chosen = hasWarpgroups ? tileForWarpgroups(kernel, hasManyQueries)
                             : tileForWarps(kernel);
    if (!chosen)
      chosen = tileForSeveral(kernel);
    return shorten(chosen.value_or(Tiling()), kernel);
  }

  LogicalResult setSchedule(KernelOp kernel) {
    std::string problem;
    nsatile::ScheduleAttr parsed =
        parse(spell(split(schedule), choose(kernel), chooseOrder(kernel),
                    getGroup(kernel)),
              &getContext(), problem);
    if (parsed) {
      kernel->setAttr(nsatile::NSATileDialect::getScheduleAttrName(), parsed);
      return success();
    }
    InFlightDiagnostic error = kernel.emitError(explain(schedule, problem));
    error.attachNote() << kExpected;
    return error;
  }
};

} // namespace

llvm::Error nsacc::checkSchedule(StringRef schedule) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<nsatile::NSATileDialect>();
  std::string problem;
  if (parse(spell(split(schedule), Tiling(), nsatile::LoopOrder::QueryMajor,
                  /*group=*/1),
            &context, problem))
    return llvm::Error::success();
  return llvm::createStringError(explain(schedule, problem) + "\n" + kExpected);
}
