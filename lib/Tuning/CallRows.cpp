//===- CallRows.cpp - Batch rows and heads that a mask tells apart --------===//

#include "nsacc/Tuning/CallRows.h"
#include "NSA/IR/NSAOps.h"
#include "nsacc/Schedule/QueryShape.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::tuning;
using Wide = Quantity::Wide;

//===----------------------------------------------------------------------===//
// Samples
//===----------------------------------------------------------------------===//

int64_t Draws::next(int64_t end) {
  state += 0x9e3779b97f4a7c15;
  uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  mixed ^= mixed >> 31;
  return static_cast<int64_t>((Wide(mixed) * static_cast<uint64_t>(end)) >> 64);
}

Sample Draws::nextOf(int64_t all, int64_t part, int64_t parts) {
  auto cut = [&](int64_t number) {
    return static_cast<int64_t>(Wide(all) * number / parts);
  };
  int64_t begin = cut(part), count = cut(part + 1) - begin;
  return {begin + next(std::max<int64_t>(count, 1)), count};
}

std::vector<Sample> tuning::spread(int64_t all, int64_t most) {
  int64_t parts = std::min(all, most);
  std::vector<Sample> samples;
  Draws draws;
  for (int64_t part = 0; part < parts; ++part)
    samples.push_back(draws.nextOf(all, part, parts));
  return samples;
}

//===----------------------------------------------------------------------===//
// Batch rows
//===----------------------------------------------------------------------===//

/// The ragged dimensions of an op whose lengths differ from row to row.
static std::vector<std::string> listRagged(ScoringOpInterface op) {
  std::vector<std::string> names;
  auto add = [&](StringRef name) {
    if (!llvm::is_contained(names, name))
      names.push_back(name.str());
  };
  for (Value tensor : {op.getQuery(), op.getKey()}) {
    auto type = cast<NamedTensorType>(tensor.getType());
    if (!type.isRagged())
      continue;
    add(getTokenDim(type.getDims().front()));
    if (auto pooled = dyn_cast<PooledDimAttr>(type.getDims().front());
        pooled && pooled.isDeclared())
      add(pooled.getCount().getValue());
  }
  return names;
}

/// Sizes of one row; ragged dimensions are set later.
static DimSizes makeRow(const DimSizes &all) {
  DimSizes row;
  row.sizes = all.sizes;
  row.batchRows = 1;
  return row;
}

/// Adds rows that are as even as possible, if the lengths of rows aren't known.
void CallRows::addAverages(const CallSizes &sizes, ArrayRef<std::string> names,
                           bool readsRow, int64_t most) {
  const DimSizes &all = sizes.getSizes();
  auto getSize = [&](StringRef name) { return all.sizes.lookup(name); };
  std::vector<Sample> numbers;
  if (readsRow) {
    numbers = spread(batch, most);
  } else if (batch > 0) {
    // If a size isn't a multiple of the rows, the first rows have one more.
    std::vector<int64_t> begins = {0, batch};
    for (StringRef name : names)
      begins.push_back(getSize(name) % batch);
    llvm::sort(begins);
    begins.erase(llvm::unique(begins), begins.end());
    for (size_t i = 0; i + 1 < begins.size(); ++i)
      numbers.push_back({begins[i], begins[i + 1] - begins[i]});
  }
  for (auto [number, count] : numbers) {
    DimSizes own = makeRow(all);
    for (StringRef name : names)
      own.sizes[name] =
          getSize(name) / batch + (number < getSize(name) % batch ? 1 : 0);
    rows.push_back({std::move(own), number, count});
  }
  areAll &= names.empty() ? !readsRow || batch <= most : batch == 1;
}

/// Adds rows of known lengths. If there are too many, the longest count for
/// themselves, and a sample of the others counts for rows of about the same
/// length.
void CallRows::addListed(const CallSizes &sizes, ArrayRef<std::string> names,
                         bool readsRow, int64_t most) {
  const DimSizes &all = sizes.getSizes();
  struct Row {
    double area = 1;
    std::vector<int64_t> lengths;
    int64_t number = 0;
  };
  std::vector<Row> listed(batch);
  for (auto [number, row] : llvm::enumerate(listed)) {
    row.number = static_cast<int64_t>(number);
    for (StringRef name : names) {
      const std::vector<int64_t> &offsets = all.offsets.find(name)->second;
      row.lengths.push_back(offsets[number + 1] - offsets[number]);
      row.area *= static_cast<double>(row.lengths.back());
    }
  }
  llvm::sort(listed, [](const Row &lhs, const Row &rhs) {
    return std::tie(lhs.area, lhs.lengths, rhs.number) >
           std::tie(rhs.area, rhs.lengths, lhs.number);
  });
  auto add = [&](const Row &row, int64_t count) {
    DimSizes own = makeRow(all);
    for (auto [name, length] : llvm::zip(names, row.lengths))
      own.sizes[name] = length;
    rows.push_back({std::move(own), row.number, count});
  };
  // Begins of groups of equal rows, and the end.
  std::vector<int64_t> begins;
  for (int64_t row = 0; row < batch; ++row)
    if (row == 0 || readsRow || listed[row].lengths != listed[row - 1].lengths)
      begins.push_back(row);
  begins.push_back(batch);
  auto kinds = static_cast<int64_t>(begins.size()) - 1;
  int64_t whole = kinds <= most ? kinds : most / 2;
  for (int64_t kind = 0; kind < whole; ++kind)
    add(listed[begins[kind]], begins[kind + 1] - begins[kind]);
  if (whole == kinds)
    return;
  areAll = false;
  int64_t first = begins[whole];
  for (auto [row, count] : spread(batch - first, most - whole))
    add(listed[first + row], count);
}

void CallRows::addRows(ScoringOpInterface op, const CallSizes &sizes,
                       bool readsRow, int64_t most) {
  const DimSizes &all = sizes.getSizes();
  if (!all.batchRows) {
    QueryDims dims =
        QueryDims::get(cast<NamedTensorType>(op.getQuery().getType()));
    batch = static_cast<int64_t>(sizes.getBatch(dims));
    std::vector<Sample> numbers = {{0, batch}};
    if (readsRow)
      numbers = spread(batch, most);
    areAll &= !readsRow || batch <= most;
    for (auto [number, count] : numbers)
      rows.push_back({all, number, count});
    return;
  }
  batch = std::max<int64_t>(*all.batchRows, 0);
  std::vector<std::string> names = listRagged(op);
  bool areListed = llvm::all_of(names, [&](StringRef name) {
    auto found = all.offsets.find(name);
    return found != all.offsets.end() &&
           static_cast<int64_t>(found->second.size()) > batch;
  });
  if (areListed && !names.empty())
    addListed(sizes, names, readsRow, most);
  else
    addAverages(sizes, names, readsRow, most);
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

void CallRows::addHeads(ScoringOpInterface op, const CallSizes &sizes,
                        bool readsHead, int64_t most) {
  QueryShape shape = getQueryShape(sizes.getKernel(), op);
  auto heads = static_cast<int64_t>(sizes.get(shape.dims.head));
  keyHeads = static_cast<int64_t>(sizes.get(shape.keyHead));
  if (heads == 0) {
    keyHeads = 0;
    return;
  }
  if (keyHeads <= 0 || heads % keyHeads != 0)
    keyHeads = heads;
  int64_t group = heads / keyHeads;
  if (!readsHead) {
    groups.push_back({{{0, group}}, keyHeads});
    return;
  }
  std::vector<Sample> listed =
      spread(keyHeads, std::max({most / group, most / 16, int64_t{1}}));
  int64_t mostOfGroup =
      std::max<int64_t>(most / static_cast<int64_t>(listed.size()), 1);
  haveAllHeads = group <= mostOfGroup;
  areAll &= haveAllHeads && static_cast<int64_t>(listed.size()) == keyHeads;
  for (auto [number, count] : listed) {
    std::vector<Sample> own = spread(group, mostOfGroup);
    for (Sample &head : own)
      head.number += number * group;
    groups.push_back({std::move(own), count});
  }
}

CallRows::CallRows(ScoringOpInterface op, const CallSizes &sizes,
                   int64_t most) {
  Region &mask = op.getMask();
  // Arguments are b, h, t, i, j.
  auto reads = [&](unsigned argument) {
    return !mask.empty() && !mask.getArgument(argument).use_empty();
  };
  addRows(op, sizes, reads(0), most);
  addHeads(op, sizes, reads(1), most);
}

int64_t CallRows::countLooks() const {
  int64_t heads = 0;
  for (const HeadGroup &group : groups)
    heads += static_cast<int64_t>(group.heads.size());
  return std::max<int64_t>(heads * static_cast<int64_t>(rows.size()), 1);
}
