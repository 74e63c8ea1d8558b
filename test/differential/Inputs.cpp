//===- Inputs.cpp - Tensors of a run --------------------------------------===//

#include "Inputs.h"
#include "nsacc/Tensor/RandomInputs.h"
#include <cmath>
#include <limits>

using namespace nsacc;
using namespace nsacc::differential;

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// Strides and the offset of the first element, in elements.
static llvm::SmallVector<int64_t> getStrides(llvm::ArrayRef<int64_t> shape,
                                             Layout layout, int64_t &elements,
                                             int64_t &offset) {
  size_t rank = shape.size();
  llvm::SmallVector<int64_t> strides(rank);
  int64_t next = layout == Layout::Spread ? 2 : 1;
  for (size_t n = 0; n < rank; ++n) {
    size_t dim = layout == Layout::Transposed ? n : rank - 1 - n;
    strides[dim] = next;
    int64_t size = shape[dim];
    if (layout == Layout::Padded && n == 0)
      size += 3;
    next *= std::max<int64_t>(size, 1);
  }
  elements = next;
  offset = layout == Layout::Misaligned ? 1 : 0;
  if (layout == Layout::Reversed)
    for (size_t dim = 0; dim < rank; ++dim) {
      offset += strides[dim] * std::max<int64_t>(shape[dim] - 1, 0);
      strides[dim] = -strides[dim];
    }
  return strides;
}

Tensor nsacc::differential::allocate(DType dtype, llvm::ArrayRef<int64_t> shape,
                                     Layout layout) {
  int64_t elements, offset;
  llvm::SmallVector<int64_t> strides =
      getStrides(shape, layout, elements, offset);
  size_t bytes = getSize(dtype);
  auto memory =
      std::make_shared<std::vector<char>>((elements + offset + 1) * bytes);
  return Tensor::borrow(memory->data() + offset * bytes, dtype, shape, strides,
                        memory);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static double change(double value, Values values, uint64_t draw) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (values) {
  case Values::Normal:
    return value;
  case Values::Equal:
    return 0.5;
  case Values::Few:
    return std::fmin(std::fmax(std::round(value), -1), 1);
  case Values::Large:
    return 30 * value;
  case Values::NaN:
    return draw % 41 == 0 ? std::numeric_limits<double>::quiet_NaN() : value;
  case Values::Infinite:
    return draw % 41 == 0 ? (draw % 2 ? infinity : -infinity) : value;
  case Values::Mixed:
    switch (draw % 83) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return infinity;
    case 2:
      return -infinity;
    case 3:
      return -0.0;
    case 4:
      return 0.0;
    }
    return value;
  case Values::Ones:
  case Values::Ties:
    break;
  }
  llvm_unreachable("unknown values");
}

/// Changes inputs so that the result is known: o = 1 for values of 1, whatever
/// the scores are.
static double changeForOnes(double value, const Argument &argument,
                            const Run &run) {
  llvm::StringRef name = argument.name;
  if (name == "v" || name.starts_with("vp_"))
    return 1;
  if (name != "q" && name != "k" && !name.starts_with("kp_"))
    return value;
  // Products of a query and a key are then 10^-1 to 10^30; the largest f16 is
  // 6.5e4.
  static constexpr double factors[] = {30, 1e3, 1e5, 1e8, 1e12, 1e15, 0.3, 4};
  double factor = factors[run.seed % std::size(factors)];
  if (argument.dtype == DType::F16)
    factor = std::min(factor, 5e3);
  return factor * (run.values == Values::Ties ? 1 : value);
}

static llvm::Expected<Tensor> makeInput(Argument argument, const Case &testCase,
                                        const Run &run, const DimSizes &sizes) {
  auto range = testCase.ranges.find(argument.name);
  if (range != testCase.ranges.end())
    argument.domain = Domain{Domain::Kind::Range, range->second.first,
                             range->second.second, "", 0};
  llvm::Expected<Tensor> random = makeRandomInput(argument, sizes, run.seed);
  if (!random)
    return random;
  Tensor tensor = allocate(argument.dtype, random->getShape(), run.layout);
  if (!isReal(argument.dtype)) {
    tensor.setIntegers(random->toIntegers());
    return tensor;
  }
  std::vector<double> values = random->toReals();
  RandomStream stream(run.seed, argument.name + " values");
  bool isOnes = run.values == Values::Ones || run.values == Values::Ties;
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = isOnes ? changeForOnes(values[i], argument, run)
                       : change(values[i], run.values, stream.draw(i) >> 8);
  tensor.setReals(values);
  return tensor;
}

llvm::Expected<std::vector<Tensor>>
nsacc::differential::makeInputs(const Case &testCase, const Run &run,
                                const Signature &signature) {
  DimSizes sizes = getSizes(testCase, run);
  std::vector<Tensor> inputs;
  for (const Argument &argument : signature.inputs) {
    llvm::Expected<Tensor> input = makeInput(argument, testCase, run, sizes);
    if (!input)
      return input.takeError();
    inputs.push_back(*input);
  }
  return inputs;
}
