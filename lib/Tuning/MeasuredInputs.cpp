//===- MeasuredInputs.cpp - Inputs of measurements ------------------------===//

#include "nsacc/Tensor/RandomInputs.h"
#include "nsacc/Tuning/Worker.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <cstring>

using namespace nsacc;

/// Number of elements after which an input repeats: a prime, so that heads and
/// tokens don't repeat.
static constexpr int64_t kPeriod = 4194301;

/// Index of an attention's token dimension in its queries; none for other
/// inputs.
static std::optional<size_t> findQueryTokens(const Signature &signature,
                                             const Argument &input) {
  for (const AttentionDims &attention : signature.attentions) {
    auto find = [&](llvm::StringRef name) {
      return llvm::find_if(input.dims,
                           [&](const Dim &dim) { return dim.name == name; });
    };
    auto tokens = find(attention.queries);
    bool isQuery = tokens != input.dims.end() && input.dims.size() >= 3 &&
                   find(attention.queryHeads) != input.dims.end() &&
                   input.dims.back().name != attention.queryHeads;
    if (isQuery)
      return tokens - input.dims.begin();
  }
  return std::nullopt;
}

/// Makes the first elements of a tensor, which the others repeat.
static llvm::Expected<Tensor> makeReals(const Argument &input,
                                        llvm::ArrayRef<int64_t> shape,
                                        std::optional<size_t> tokens,
                                        uint64_t seed, double agreement) {
  Tensor tensor = Tensor::zeros(input.dtype, shape);
  int64_t elements = tensor.getNumElements();
  int64_t period = std::min(elements, kPeriod);
  if (period == 0)
    return tensor;
  RandomStream own(seed, input.name), shared(seed, input.name + " of a run");
  // Number of elements of one token, and of all tokens of an outer index.
  int64_t inner = 1, outer = 1;
  if (tokens && agreement > 0) {
    for (int64_t size : shape.drop_front(*tokens + 1))
      inner *= size;
    outer = inner * shape[*tokens];
  }
  double ownPart = std::sqrt(1 - agreement), sharedPart = std::sqrt(agreement);
  Tensor start = Tensor::zeros(input.dtype, period);
  std::vector<double> values(period);
  for (int64_t i = 0; i < period; ++i) {
    values[i] = own.drawNormal(i);
    if (!tokens || agreement <= 0)
      continue;
    int64_t token = i % outer / inner;
    int64_t place =
        i / outer * outer + token / ListStyle::kRun * inner + i % inner;
    values[i] = ownPart * values[i] + sharedPart * shared.drawNormal(place);
  }
  start.setReals(values);
  auto *bytes = static_cast<char *>(tensor.getData());
  int64_t size = getSize(input.dtype);
  for (int64_t at = 0; at < elements; at += period)
    std::memcpy(bytes + at * size, start.getData(),
                std::min(period, elements - at) * size);
  return tensor;
}

/// Style of an input's lists. Unseen blocks cost nothing, so lists of causal
/// attentions have none.
static ListStyle getStyle(const Signature &signature, const Argument &input,
                          double agreement) {
  ListStyle style = {agreement};
  for (const AttentionDims &attention : signature.attentions) {
    if (!input.domain || attention.keys != input.domain->of)
      continue;
    for (const Dim &dim : input.dims) {
      auto group = llvm::find_if(signature.tokenGroups, [&](auto &each) {
        return each.groups.name == dim.name &&
               each.of.name == attention.queries;
      });
      int64_t queries = dim.name == attention.queries          ? 1
                        : group != signature.tokenGroups.end() ? group->tokens
                                                               : 0;
      if (queries == 0)
        continue;
      style.lists = dim.name;
      style.queries = attention.queries;
      style.causalQueries = attention.isCausal ? queries : 0;
    }
  }
  return style;
}

static bool holdsIntegers(const Argument &input) {
  return input.dtype == DType::I32 && !input.isOffsets();
}

llvm::Error tuning::setRanges(Signature &signature,
                              const IntegerRanges &ranges) {
  for (const auto &[name, range] : ranges) {
    auto input = llvm::find_if(signature.inputs, [&](const Argument &each) {
      return each.name == name;
    });
    if (input == signature.inputs.end() || !holdsIntegers(*input))
      return llvm::createStringError("a range is of an input of integers, "
                                     "which '" +
                                     name + "' isn't");
    auto [low, high] = range;
    if (low > high || low != int32_t(low) || high != int32_t(high))
      return llvm::createStringError(
          "the range of '" + name + "' is from " + llvm::Twine(low) + " to " +
          llvm::Twine(high) +
          ", expected two integers of 32 bits, the lesser "
          "one first");
    input->domain = Domain();
    input->domain->low = low;
    input->domain->high = high;
  }
  for (const Argument &input : signature.inputs)
    if (holdsIntegers(input) && !input.domain)
      return llvm::createStringError(
          "nothing can be measured: no values known for the integers of '" +
          toString(input) + "': tell the least and the greatest (--range " +
          input.name + "=LOW..HIGH, or in Python ranges={'" + input.name +
          "': (low, high)})");
  return llvm::Error::success();
}

llvm::Expected<std::vector<Tensor>>
tuning::makeMeasuredInputs(const Signature &signature, const DimSizes &sizes,
                           uint64_t seed, double agreement) {
  std::vector<Tensor> inputs;
  for (const Argument &input : signature.inputs) {
    auto shape = getShape(input, sizes);
    if (!shape)
      return shape.takeError();
    auto tensor =
        isReal(input.dtype)
            ? makeReals(input, *shape, findQueryTokens(signature, input), seed,
                        agreement)
            : makeRandomLists(input, sizes, seed,
                              getStyle(signature, input, agreement));
    if (!tensor)
      return tensor.takeError();
    inputs.push_back(std::move(*tensor));
  }
  return inputs;
}
