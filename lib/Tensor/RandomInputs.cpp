//===- RandomInputs.cpp - Reproducible inputs of kernels ------------------===//

#include "nsacc/Tensor/RandomInputs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <numeric>

using namespace nsacc;

//===-- Random numbers ----------------------------------------------------===//

/// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

static uint64_t hashName(llvm::StringRef name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : name)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

RandomStream::RandomStream(uint64_t seed, llvm::StringRef name)
    : key(mix(mix(seed) ^ hashName(name))) {}

uint64_t RandomStream::draw(uint64_t counter) const {
  return mix(key + (counter + 1) * 0x9e3779b97f4a7c15);
}

double RandomStream::drawNormal(uint64_t index) const {
  int64_t sum = 0;
  for (int part = 0; part < 3; ++part)
    for (uint64_t bits = draw(3 * index + part), i = 0; i < 4; ++i, bits >>= 16)
      sum += bits & 0xffff;
  // Twelve halves are 6, and the mean of twelve parts is 6 * 2^16.
  return double(sum + 6 - 6 * 65536) / 65536;
}

double RandomStream::drawUniform(uint64_t index, double low,
                                 double high) const {
  double part = double(draw(index) >> 11) * 0x1p-53;
  // Avoids the difference of the ends, which may be infinite.
  return std::clamp(low * (1 - part) + high * part, low, high);
}

int64_t RandomStream::drawInteger(uint64_t index, int64_t low,
                                  int64_t high) const {
  uint64_t span = uint64_t(high) - uint64_t(low) + 1;
  uint64_t bits = draw(index);
  return int64_t(uint64_t(low) + (span ? bits % span : bits));
}

//===-- Inputs ------------------------------------------------------------===//

static int64_t countElements(llvm::ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return elements;
}

namespace {
/// The blocks that a list of one token, or of neighbouring ones, is drawn from.
struct ListPlace {
  /// Number of blocks that it may contain: of its batch row if rows are ragged.
  int64_t blocks;
  /// The first list of its run.
  int64_t run;
};
} // namespace

/// One for each index of dimension `tokens` of a selection.
static std::vector<ListPlace> placeLists(const Argument &argument,
                                         size_t tokens, const DimSizes &sizes,
                                         int64_t size, const ListStyle &style) {
  const Domain &domain = *argument.domain;
  std::vector<ListPlace> places;
  auto addRow = [&](int64_t lists, int64_t queries, int64_t keys) {
    int64_t first = places.size();
    for (int64_t list = 0; list < lists; ++list) {
      int64_t seen = keys;
      if (style.causalQueries)
        seen = std::clamp<int64_t>(
            keys - queries + (list + 1) * style.causalQueries, 0, keys);
      places.push_back(
          {static_cast<int64_t>(llvm::divideCeil(seen, domain.block)),
           first + list / ListStyle::kRun * ListStyle::kRun});
    }
  };
  auto keys = sizes.offsets.find(domain.of);
  auto lists = sizes.offsets.find(argument.dims[tokens].name);
  if (keys == sizes.offsets.end() || lists == sizes.offsets.end()) {
    addRow(size, sizes.sizes.lookup(style.queries),
           sizes.sizes.lookup(domain.of));
    return places;
  }
  auto queries = sizes.offsets.find(style.queries);
  auto getLength = [](const auto &offsets, size_t row) -> int64_t {
    return offsets->second[row] - offsets->second[row - 1];
  };
  for (size_t row = 1; row < lists->second.size(); ++row)
    addRow(getLength(lists, row),
           queries == sizes.offsets.end() ? 0 : getLength(queries, row),
           getLength(keys, row));
  return places;
}

/// `width` distinct numbers below `count`, ascending, padded with -1.
static void drawBlocks(const RandomStream &random, uint64_t counter,
                       int64_t count, llvm::MutableArrayRef<int64_t> row) {
  std::vector<int64_t> blocks(count);
  std::iota(blocks.begin(), blocks.end(), 0);
  int64_t taken = std::min<int64_t>(row.size(), count);
  for (int64_t i = 0; i < taken; ++i)
    std::swap(blocks[i], blocks[random.drawInteger(counter + i, i, count - 1)]);
  llvm::sort(blocks.begin(), blocks.begin() + taken);
  std::fill(row.begin(), row.end(), -1);
  std::copy_n(blocks.begin(), taken, row.begin());
}

/// Replaces some of a list's blocks by blocks of another list.
static void agree(const RandomStream &random, uint64_t counter,
                  double agreement, llvm::ArrayRef<int64_t> other,
                  int64_t count, llvm::MutableArrayRef<int64_t> row) {
  std::vector<int64_t> kept;
  for (auto [index, block] : llvm::enumerate(other))
    if (block >= 0 && block < count &&
        random.drawUniform(counter + index, 0, 1) < agreement)
      kept.push_back(block);
  size_t taken = llvm::count_if(row, [](int64_t block) { return block >= 0; });
  for (size_t i = 0; i < taken && kept.size() < taken; ++i) {
    // Adds blocks of the list itself, in an order that is unrelated to their
    // positions.
    int64_t block = row[(i * 7919 + counter) % taken];
    if (!llvm::is_contained(kept, block))
      kept.push_back(block);
  }
  llvm::sort(kept);
  std::fill(row.begin(), row.end(), -1);
  llvm::copy(kept, row.begin());
}

static std::vector<int64_t> makeSelection(const Argument &argument,
                                          llvm::ArrayRef<int64_t> shape,
                                          const DimSizes &sizes,
                                          const RandomStream &random,
                                          const ListStyle &style) {
  int64_t elements = countElements(shape);
  std::vector<int64_t> values(elements);
  if (elements == 0)
    return values;
  auto areLists = llvm::find_if(argument.dims, [&](const Dim &dim) {
    return dim.kind == Dim::Kind::Ragged ||
           (!style.lists.empty() && dim.name == style.lists);
  });
  size_t tokens =
      areLists == argument.dims.end() ? 0 : areLists - argument.dims.begin();
  std::vector<ListPlace> places =
      placeLists(argument, tokens, sizes, shape[tokens], style);
  bool areEntries = !argument.domain->rows.empty();
  int64_t width = areEntries ? 1 : shape.back();
  int64_t rowsPerToken = countElements(shape.drop_front(tokens + 1)) / width;
  auto getRow = [&](int64_t row) {
    return llvm::MutableArrayRef(values).slice(row * width, width);
  };
  RandomStream shared(random.draw(0), "agreement");
  for (int64_t row = 0; row * width < elements; ++row) {
    int64_t list = row / rowsPerToken % shape[tokens];
    const ListPlace &place = places[list];
    drawBlocks(random, row * width, place.blocks, getRow(row));
    if (style.agreement > 0 && place.run != list)
      agree(shared, row * width, style.agreement,
            getRow(row - (list - place.run) * rowsPerToken), place.blocks,
            getRow(row));
  }
  return values;
}

/// Bounds of lists of 0 to `high` entries, as long as entries are left, in each
/// batch row and for each index of the dimensions around `rows`.
static std::vector<int64_t> makeOffsets(const Argument &argument,
                                        llvm::ArrayRef<int64_t> shape,
                                        const DimSizes &sizes,
                                        const RandomStream &random) {
  const Domain &domain = *argument.domain;
  size_t place =
      llvm::find_if(argument.dims,
                    [&](const Dim &dim) { return dim.name == domain.rows; }) -
      argument.dims.begin();
  int64_t elements = countElements(shape);
  int64_t stride = countElements(shape.drop_front(place + 1));
  // The first offset of each batch row, and its number of entries.
  std::vector<int64_t> starts = {0}, entries = {sizes.sizes.lookup(domain.of)};
  auto rows = sizes.offsets.find(domain.rows),
       of = sizes.offsets.find(domain.of);
  if (rows != sizes.offsets.end() && of != sizes.offsets.end()) {
    starts.assign(rows->second.begin(), rows->second.end() - 1);
    entries.clear();
    for (size_t row = 1; row < of->second.size(); ++row)
      entries.push_back(of->second[row] - of->second[row - 1]);
  }
  std::vector<int64_t> values(elements);
  size_t batchRow = 0;
  for (int64_t i = 0; i < elements; ++i) {
    int64_t row = i / stride % shape[place];
    if (row == 0)
      batchRow = 0;
    while (batchRow + 1 < starts.size() && starts[batchRow + 1] <= row)
      ++batchRow;
    if (row != starts[batchRow])
      values[i] =
          std::min(values[i - stride] + random.drawInteger(i, 0, domain.high),
                   entries[batchRow]);
  }
  return values;
}

static llvm::Expected<std::vector<int64_t>>
makeIntegers(const Argument &argument, llvm::ArrayRef<int64_t> shape,
             const DimSizes &sizes, const RandomStream &random,
             const ListStyle &style) {
  if (argument.isOffsets())
    return sizes.offsets.lookup(argument.dims.front().name);
  std::optional<Domain> domain = argument.domain;
  if (domain && domain->kind == Domain::Kind::Blocks)
    return makeSelection(argument, shape, sizes, random, style);
  if (domain && domain->kind == Domain::Kind::Offsets)
    return makeOffsets(argument, shape, sizes, random);
  if (argument.dtype == DType::Bool)
    domain = Domain{Domain::Kind::Range, 0, 1, "", 0};
  if (!domain)
    return llvm::createStringError(
        llvm::formatv("no values known for the integers of '{0}'",
                      toString(argument))
            .str());
  int64_t elements = countElements(shape);
  std::vector<int64_t> values(elements);
  for (int64_t i = 0; i < elements; ++i)
    values[i] = random.drawInteger(i, domain->low, domain->high);
  return values;
}

/// An input of reals, element by element.
static llvm::Expected<Tensor>
makeReals(const Argument &argument, const DimSizes &sizes,
          llvm::function_ref<double(uint64_t)> draw) {
  llvm::Expected<std::vector<int64_t>> shape = getShape(argument, sizes);
  if (!shape)
    return shape.takeError();
  Tensor tensor = Tensor::zeros(argument.dtype, *shape);
  std::vector<double> values(tensor.getNumElements());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = draw(i);
  tensor.setReals(values);
  return tensor;
}

llvm::Expected<Tensor> nsacc::makeUniformInput(const Argument &argument,
                                               const DimSizes &sizes,
                                               uint64_t seed, double low,
                                               double high) {
  RandomStream random(seed, argument.name);
  return makeReals(argument, sizes, [&](uint64_t index) {
    return random.drawUniform(index, low, high);
  });
}

static llvm::Expected<Tensor> makeIntegerInput(const Argument &argument,
                                               const DimSizes &sizes,
                                               uint64_t seed,
                                               const ListStyle &style) {
  llvm::Expected<std::vector<int64_t>> shape = getShape(argument, sizes);
  if (!shape)
    return shape.takeError();
  auto values = makeIntegers(argument, *shape, sizes,
                             RandomStream(seed, argument.name), style);
  if (!values)
    return values.takeError();
  Tensor tensor = Tensor::zeros(argument.dtype, *shape);
  tensor.setIntegers(*values);
  return tensor;
}

llvm::Expected<Tensor> nsacc::makeRandomLists(const Argument &argument,
                                              const DimSizes &sizes,
                                              uint64_t seed,
                                              const ListStyle &style) {
  return makeIntegerInput(argument, sizes, seed, style);
}

llvm::Expected<Tensor> nsacc::makeRandomInput(const Argument &argument,
                                              const DimSizes &sizes,
                                              uint64_t seed) {
  RandomStream random(seed, argument.name);
  if (isReal(argument.dtype))
    return makeReals(argument, sizes,
                     [&](uint64_t index) { return random.drawNormal(index); });
  return makeIntegerInput(argument, sizes, seed, {});
}
