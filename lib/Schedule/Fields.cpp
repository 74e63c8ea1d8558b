//===- Fields.cpp - What a schedule says of an op -------------------------===//

#include "nsacc/Schedule/Fields.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;
using namespace nsacc::schedule;

StringRef nsacc::schedule::getName(OpKind kind) {
  switch (kind) {
  case OpKind::Attend:
    return "attend";
  case OpKind::Importance:
    return "importance";
  case OpKind::TopK:
    return "topk";
  case OpKind::Pool:
    return "pool";
  case OpKind::Map:
    return "map";
  }
  llvm_unreachable("unknown kind of op");
}

static constexpr OpKind kKinds[] = {OpKind::Attend, OpKind::Importance,
                                    OpKind::TopK, OpKind::Pool, OpKind::Map};

static constexpr unsigned bit(OpKind kind) {
  return 1u << static_cast<unsigned>(kind);
}

static constexpr unsigned kAttend = bit(OpKind::Attend),
                          kScoring = kAttend | bit(OpKind::Importance),
                          kQueryTiles = kScoring | bit(OpKind::TopK);
static constexpr int64_t kMost = 1 << 16;

static constexpr StringLiteral kOrders[] = {"query_major", "union", "key_major",
                                            "block_major"};
static constexpr StringLiteral kPrograms[] = {"fused", "own"};
static constexpr StringLiteral kMethods[] = {"sort", "threshold"};
static constexpr StringLiteral kHalos[] = {"recompute", "carry"};
static constexpr StringLiteral kSwitches[] = {"auto", "on", "off"};
static constexpr StringLiteral kSoftmaxOrders[] = {
    "auto", "rows", "together", "maxima_first", "decay_first"};

static constexpr StringLiteral kRescales[] = {"auto", "in_step", "next_step"};
static constexpr StringLiteral kGridOrders[] = {"auto", "columns", "sections"};

static constexpr FieldInfo kFields[] = {
    {Field::Order, "order", kAttend, false, false, 0, 3, kOrders, std::nullopt,
     "which loops are outside: `query_major` walks the keys of each query "
     "tile, of a selection each token's blocks; `union`, of selections, the "
     "blocks that any token of the tile selected, with all rows; "
     "`block_major`, of selections, all blocks, each with the tokens that "
     "selected it; `key_major` holds a tile of keys and walks the queries that "
     "see it, of a selection those that selected the block, with states in "
     "memory",
     "selections: CPU `block_major`, sm_90a `key_major` for blocks of 256 keys "
     "and more, but for few queries' lists that are handed in, other GPUs and "
     "selections, and lists of more than 2048 blocks `union`; others "
     "`query_major`"},
    {Field::Tokens,
     "tokens",
     kQueryTiles,
     true,
     false,
     1,
     kMost,
     {},
     std::nullopt,
     "query tokens of a tile, which has as many rows for each as query heads "
     "share a key head",
     "CPU 64 rows, under `block_major` as many as keep 128 KiB of "
     "accumulators and 65536 indices; sm_80 64 or 128 rows; sm_90a 64, 128 or "
     "192 rows; dense attentions of short batch rows of up to 128 channels 16, "
     "64 or 128 on GPUs; a topk at most 64 rows, and with method=threshold as "
     "many as "
     "lists of candidates have room: 128 KiB, or 64 where scores are read from "
     "memory"},
    {Field::Keys,
     "keys",
     kScoring,
     false,
     false,
     1,
     kMost,
     {},
     std::nullopt,
     "keys of a tile; of an importance, entries at a time where it is a result",
     "CPU 64; sm_80 32 to 128, sm_90a 32 to 128 by channels, mask and warps, "
     "from 16 on for short batch rows; fewer where a pair's scalar code is "
     "long"},
    {Field::Blocks,
     "blocks",
     bit(OpKind::TopK),
     false,
     false,
     1,
     kMost,
     {},
     std::nullopt,
     "blocks whose importance is computed at a time",
     "`keys` where that is given for all ops, else as many as attends "
     "without names would have; sm_90a with method=sort at most 64, and 32 "
     "where a tile has more than 8 lists, or lists of more than 32 blocks; "
     "up to 1024 where method=threshold reads scores from memory"},
    {Field::Windows,
     "windows",
     bit(OpKind::Pool),
     false,
     false,
     1,
     kMost,
     {},
     std::nullopt,
     "windows that a program pools",
     "16; of more than 64 tokens on GPUs fewer, but 4 at least"},
    {Field::Rows,
     "rows",
     bit(OpKind::Map),
     false,
     false,
     1,
     kMost,
     {},
     std::nullopt,
     "rows of a tile over a tensor's last two dimensions, in programs without "
     "an attention",
     "16"},
    {Field::Columns,
     "columns",
     bit(OpKind::Map),
     false,
     false,
     1,
     kMost,
     {},
     std::nullopt,
     "columns of that tile",
     "64"},
    {Field::Splits,
     "splits",
     kAttend | bit(OpKind::TopK),
     false,
     false,
     0,
     kMost,
     {},
     0,
     "parts of the keys that programs go over side by side, each with states "
     "of its own for every query: without a selection under `key_major` and "
     "`query_major`, of a selection under `union`, whose lists are cut; of a "
     "topk with method=threshold, parts of its blocks, whose lists are merged; "
     "`auto`: as many as keep a GPU's multiprocessors busy at each call and "
     "are worth their merge, 64 at most",
     "`auto` on GPUs for few queries over many keys, and for a topk with "
     "method=threshold; else 1"},
    {Field::MergeTokens,
     "merge_tokens",
     kAttend,
     false,
     false,
     0,
     kMost,
     {},
     0,
     "query tokens of a tile of the program that merges the states of splits, "
     "or of a selection's blocks under `key_major`, where it computes no other "
     "attention; `auto`: as `tokens`",
     "1 token for few queries, as many as have 2 rows of token and head for "
     "inverted selections and 16 for others that are split under "
     "`query_major`; `auto` under `key_major`"},
    {Field::MergeHeads,
     "merge_heads",
     kAttend,
     false,
     false,
     0,
     kMost,
     {},
     0,
     "query heads of a tile of the program that merges the states of splits: "
     "the most that divide those which share a key head and aren't above this; "
     "`auto`: all of them, as where the states of a selection's blocks under "
     "`key_major` are merged, too",
     "as many as have 8192 channels of values in a tile's tokens, for few "
     "queries 512"},
    {Field::Chunk,
     "chunk",
     kAttend,
     false,
     false,
     1,
     kMost,
     {},
     std::nullopt,
     "MiB of what an attention leaves in memory at a time. Of the states of a "
     "selection's blocks under `key_major`, of the only such attention of a "
     "kernel: batch rows, key heads and tokens that have more are computed and "
     "merged part by part. A part has at least one batch row, one key head and "
     "1024 tokens, or a multiple of these that tiles divide; of ragged rows, "
     "all tokens. Of the output of a program of its own that others read for "
     "tiles of the same tokens: batch rows and tokens that have more are "
     "computed, with all that depends on them, part by part. A part has at "
     "least one batch row and as many tokens as all of these tiles divide; "
     "ragged rows, rows that share a selection and results that nothing else "
     "is computed from aren't cut",
     "2048 of states, 1024 of an output"},
    {Field::Part,
     "part",
     kQueryTiles,
     true,
     false,
     1,
     kMost,
     {},
     std::nullopt,
     "tokens of the parts in which a tile walks keys that aren't selected, "
     "whose bounds are tighter than the tile's: the most that divide the "
     "tile's tokens and aren't above this",
     "the whole tile on GPUs with warps chosen; else at most 64 rows"},
    {Field::Channels,
     "channels",
     kAttend,
     true,
     false,
     1,
     kMost,
     {},
     std::nullopt,
     "channels of values that a program has; programs side by side have the "
     "others, and compute the scores again",
     "all; on GPUs at most 256, and 128 where several attentions share a "
     "program and queries aren't few: registers hold the sums of no more"},
    {Field::Program, "program",
     kQueryTiles | bit(OpKind::Pool) | bit(OpKind::Map), false, false, 0, 1,
     kPrograms, std::nullopt,
     "`fused`: computed in the programs of its readers, which share a tile of "
     "queries; `own`: computed once, into memory. A topk and a pool are always "
     "`own`",
     "`own` where another op reads it from memory, or tiles of its queries "
     "are none of its readers'; on the CPU attends of kernels with more "
     "than 16; on sm_90a, for 1024 queries or more, an attend to pooled "
     "keys whose log-sum-exps an importance reads, where there are 1024 "
     "strides of keys or more (and, where `chunk` doesn't cut its result, this "
     "has no more than 2^29 elements, all sizes given), and beside it an "
     "attend to a band of 512 keys and more of bf16 values and results; else "
     "`fused`"},
    {Field::Method, "method", bit(OpKind::TopK), false, false, 0, 1, kMethods,
     std::nullopt,
     "how a row's first blocks are found: `sort` merges those of each tile "
     "with a sorted list, `threshold` gathers those that aren't behind a "
     "threshold, which rises whenever a list of twice as many is full. Both "
     "find the same",
     "`threshold` for more than 128 blocks a row (GPUs 64), forced ones "
     "included, and on GPUs for few queries; else `sort`, which a GPU has "
     "registers for up to 256 blocks"},
    {Field::Halo, "halo", bit(OpKind::TopK), false, false, 0, 1, kHalos,
     std::nullopt,
     "windows of pooled keys that a block shares with the block in front of "
     "it: `recompute` scores them for both, `carry` once, and keeps those of a "
     "tile's blocks for the next tile",
     "`carry` with method=sort where there are such windows, 8 at most, which "
     "reach over no more than two blocks and none before token 0; on GPUs "
     "where a tile has at most 8 lists of up to 32 "
     "blocks, and no more than 16 windows of them all; else `recompute`"},
    {Field::Warps,
     "warps",
     kQueryTiles,
     true,
     true,
     0,
     32,
     {},
     0,
     "warps of a program; `auto`: by the rows of its products, without "
     "warp specialization",
     "sm_80: 4 for dense attentions; sm_90a: 4, 8 or 12, so that warpgroups "
     "fill their registers; `auto` for others, and where tokens or parts are "
     "given. A topk has those of its rows, or what it is given by name"},
    {Field::BlocksPerSM,
     "blocks_per_sm",
     kAttend | bit(OpKind::TopK),
     true,
     true,
     1,
     32,
     {},
     std::nullopt,
     "blocks of a persistent program that share a multiprocessor, each with "
     "its part of the registers and of shared memory; tokens and keys that "
     "aren't given are those that so many have room for",
     "2 for attentions within selections, 3 with up to 64 channels; for a "
     "topk whose rows fill one warpgroup 4, or 3 where it takes 32 blocks "
     "at a time by itself, or 2 where an attention in its program takes more "
     "than 64 keys, and with method=threshold and a list in each, "
     "unless it takes more than these or stages are given; else 1. That of "
     "a topk is set by its name alone"},
    {Field::Stages,
     "stages",
     kQueryTiles,
     true,
     true,
     1,
     kMost,
     {},
     std::nullopt,
     "buffers for each tile that is loaded in a loop; with cp.async as many of "
     "them as shared memory has room for",
     "2; on sm_90a for few queries over selected blocks of less than 64 keys "
     "more, 8 at most, for as many keys"},
    {Field::QueryStages,
     "query_stages",
     kAttend,
     true,
     true,
     0,
     16,
     {},
     0,
     "buffers for each tile that a persistent program loads once for a query "
     "tile; `auto`: 2 where shared memory has room beside all others, else 1",
     "`auto`"},
    {Field::PingPong, "ping_pong", kAttend, true, true, 0, 2, kSwitches, 0,
     "whether warpgroups start their products in turn; `auto`: unless there "
     "are two, with products longer than 64 channels, which come to that by "
     "themselves",
     "`auto`"},
    {Field::ColumnsInRegisters,
     "columns_in_registers",
     kAttend,
     true,
     true,
     0,
     1024,
     {},
     -1,
     "columns of the queries that stay in registers; `auto`: as many as "
     "registers have room for, at most 128",
     "`auto`",
     /*unit=*/16},
    {Field::Softmax, "softmax", kAttend, true, true, 0, 4, kSoftmaxOrders, 0,
     "the order of a step of a softmax: `rows` one after the other, which "
     "needs the fewest registers; all rows `together`; `maxima_first`: "
     "together, maxima in front of all exponentials; `decay_first`: together, "
     "the factor of what was summed before the step first. `auto`: `rows` "
     "where scores may be infinite; else `decay_first` for more than two "
     "warpgroups, `maxima_first` for two that are warp-specialized and 128 "
     "keys or more, "
     "`together` for others",
     "`auto`"},
    {Field::Rescale, "rescale", kAttend, true, true, 0, 2, kRescales, 0,
     "when the sums of a pipelined softmax are rescaled by a new maximum: "
     "`in_step`: before the step's own product adds to them; `next_step`: "
     "while the next step's first products run. `auto`: the latter for sums of "
     "more than 128 columns",
     "`auto`"},
    {Field::Grid, "grid", kAttend, true, true, 0, 2, kGridOrders, 0,
     "in which order the blocks of a persistent program take query tiles: "
     "`columns`: one head after the other; `sections`: as many heads together "
     "as keep all blocks busy, each from its last tile down. `auto`: "
     "`sections` where the tiles of a head differ in work, as under a causal "
     "mask",
     "`auto`"},
    {Field::Peel, "peel", kAttend, true, true, 0, 2, kSwitches, 0,
     "whether a loop's first step, its steps with masks and those without have "
     "code of their own, so that loads and products of a step run during the "
     "one before or behind it; `off`: all steps have the same code, and only "
     "loads run ahead. `auto`: they have their own",
     "`off` where a pair's scalar code is long; else `auto`"},
    {Field::ExactTokens,
     "exact_tokens",
     kAttend,
     true,
     true,
     1,
     kMost,
     {},
     std::nullopt,
     "tokens of a tile of the program that computes again what isn't finite: "
     "the most that divide the tile's tokens and aren't above this",
     "at most 64 rows"},
    {Field::ExactKeys,
     "exact_keys",
     kAttend,
     false,
     true,
     1,
     kMost,
     {},
     std::nullopt,
     "its keys of a tile",
     "32, and 16 in programs of a `union` and where a pair's scalar code is "
     "long; not more than `keys`"},
};

ArrayRef<FieldInfo> nsacc::schedule::getFields() { return kFields; }

const FieldInfo *nsacc::schedule::findField(StringRef name) {
  const FieldInfo *found = llvm::find_if(
      kFields, [&](const FieldInfo &info) { return info.name == name; });
  return found == std::end(kFields) ? nullptr : found;
}

std::string nsacc::schedule::toString(Field field, int64_t value) {
  const FieldInfo &info = getInfo(field);
  if (!info.names.empty())
    return info.names[value].str();
  return info.automatic == value ? "auto" : std::to_string(value);
}

std::string nsacc::schedule::listFields(OpKind kind) {
  std::vector<StringRef> names;
  for (const FieldInfo &info : kFields)
    if (info.isOf(kind))
      names.push_back(info.name);
  return join(names, ", ");
}

std::string nsacc::schedule::describeValues(const FieldInfo &info) {
  if (info.names.empty())
    return std::to_string(info.automatic == info.least ? info.least + 1
                                                       : info.least) +
           " to " + std::to_string(info.most) +
           (info.unit > 1 ? " in multiples of " + std::to_string(info.unit)
                          : "") +
           (info.automatic ? " or auto" : "");
  return join(info.names.drop_back(), ", ") + " or " + info.names.back().str();
}

std::string nsacc::schedule::writeFieldTable() {
  std::string text = "| field | values | of | compiler's choice | meaning |\n"
                     "|---|---|---|---|---|\n";
  for (const FieldInfo &info : kFields) {
    std::vector<StringRef> kinds;
    for (OpKind kind : kKinds)
      if (info.isOf(kind))
        kinds.push_back(getName(kind));
    text += ("| `" + info.name + "` | " + describeValues(info) + " | " +
             join(kinds, ", ") + (info.isOfProgram ? "; their program" : "") +
             (info.isOfGPU ? "; GPUs" : "") + " | " + info.defaults + " | " +
             info.meaning + " |\n")
                .str();
  }
  return text;
}
