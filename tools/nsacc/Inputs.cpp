//===- Inputs.cpp - Inputs of a run, loaded or made -----------------------===//

#include "Inputs.h"
#include "Dimensions.h"
#include "Messages.h"
#include "nsacc/Tensor/Npy.h"
#include "nsacc/Tensor/RandomInputs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <limits>
#include <map>
#include <unistd.h>

using namespace nsacc;

static llvm::Expected<size_t> findInput(const Signature &signature,
                                        llvm::StringRef flag,
                                        llvm::StringRef name) {
  std::vector<std::string> names;
  for (auto [index, argument] : llvm::enumerate(signature.inputs)) {
    if (argument.name == name)
      return index;
    names.push_back(argument.name);
  }
  return makeError(flag + ": kernel '" + signature.kernel + "' has no input '" +
                       name + "'",
                   suggest(name, names, "it has " + quoteList(names)));
}

//===-- Loading -----------------------------------------------------------===//

/// Converts where nothing but precision can be lost, and says so in `source`.
static llvm::Expected<Tensor>
convert(const Tensor &tensor, const Argument &argument, std::string &source) {
  DType from = tensor.getDType(), to = argument.dtype;
  if (from == to)
    return tensor;
  Tensor result = Tensor::zeros(to, tensor.getShape());
  if (isReal(from) && isReal(to)) {
    result.setReals(tensor.toReals());
    source +=
        llvm::formatv(" ({0}, rounded to {1})", getName(from), getName(to));
    return result;
  }
  bool areIntegers =
      !isReal(from) && !isReal(to) && from != DType::Bool && to != DType::Bool;
  if (!areIntegers)
    return makeError("'" + argument.name + "' from '" + source + "' holds " +
                     getName(from) + ", the program declares " +
                     toString(argument));
  std::vector<int64_t> values = tensor.toIntegers();
  for (int64_t value : values)
    if (to == DType::I32 && value != int32_t(value))
      return makeError("'" + argument.name + "' from '" + source + "' holds " +
                       llvm::Twine(value) + ", which i32 can't");
  result.setIntegers(values);
  return result;
}

static llvm::Error loadInputs(const Signature &signature, const Settings &files,
                              Inputs &inputs, std::vector<bool> &isGiven) {
  for (auto &[name, path] : files) {
    llvm::Expected<size_t> index = findInput(signature, "--input", name);
    if (!index)
      return index.takeError();
    llvm::Expected<Tensor> tensor = readNpy(path);
    if (!tensor)
      return tensor.takeError();
    inputs.sources[*index] = path;
    auto converted =
        convert(*tensor, signature.inputs[*index], inputs.sources[*index]);
    if (!converted)
      return converted.takeError();
    inputs.tensors[*index] = *converted;
    isGiven[*index] = true;
  }
  return llvm::Error::success();
}

//===-- Making ------------------------------------------------------------===//

namespace {
/// Ends of the values of reals, by input.
using RealRanges = std::map<std::string, std::pair<double, double>>;
} // namespace

static llvm::Error rejectRange(llvm::StringRef name, llvm::StringRef value,
                               bool isReversed) {
  return makeError("'--range " + name + "=" + value + "' " +
                   (isReversed ? "ends below its start"
                               : "isn't of the form NAME=LOW..HIGH"));
}

static llvm::Expected<Domain> parseIntegers(const Argument &argument,
                                            llvm::StringRef value) {
  auto [low, high] = value.split("..");
  Domain domain;
  bool isWrong =
      low.getAsInteger(10, domain.low) || high.getAsInteger(10, domain.high);
  if (isWrong || domain.low > domain.high)
    return rejectRange(argument.name, value, /*isReversed=*/!isWrong);
  if (argument.dtype == DType::I32 && (domain.low != int32_t(domain.low) ||
                                       domain.high != int32_t(domain.high)))
    return makeError("--range: '" + argument.name + "' holds i32, which '" +
                     value + "' passes");
  return domain;
}

static llvm::Expected<std::pair<double, double>>
parseReals(const Argument &argument, llvm::StringRef value) {
  auto [first, second] = value.split("..");
  double low, high;
  bool isWrong = first.getAsDouble(low) || second.getAsDouble(high) ||
                 !std::isfinite(low) || !std::isfinite(high);
  if (isWrong || low > high)
    return rejectRange(argument.name, value, /*isReversed=*/!isWrong);
  for (double end : {low, high})
    if (!std::isfinite(roundTo(argument.dtype, end)))
      return makeError("--range: '" + argument.name + "' holds " +
                       getName(argument.dtype) + ", which '" + value +
                       "' passes");
  return std::pair(low, high);
}

static llvm::Error applyRanges(const Settings &ranges, Signature &signature,
                               RealRanges &reals) {
  for (auto &[name, value] : ranges) {
    llvm::Expected<size_t> index = findInput(signature, "--range", name);
    if (!index)
      return index.takeError();
    Argument &argument = signature.inputs[*index];
    if (argument.isOffsets() || argument.dtype == DType::Bool)
      return makeError("--range: '" + name + "' doesn't hold numbers to choose",
                       "the program declares " + toString(argument));
    if (isReal(argument.dtype)) {
      auto range = parseReals(argument, value);
      if (!range)
        return range.takeError();
      reals[name] = *range;
      continue;
    }
    llvm::Expected<Domain> domain = parseIntegers(argument, value);
    if (!domain)
      return domain.takeError();
    argument.domain = *domain;
  }
  return llvm::Error::success();
}

static std::string formatBytes(double bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return llvm::formatv("{0:f1} {1}", bytes, units[unit]);
}

/// Before a machine runs out of memory and kills the process without a word.
static llvm::Error checkMemory(const Signature &signature,
                               const DimSizes &sizes) {
  double bytes = 0;
  for (auto *arguments : {&signature.inputs, &signature.results})
    for (const Argument &argument : *arguments) {
      llvm::Expected<std::vector<int64_t>> shape = getShape(argument, sizes);
      if (!shape) {
        // A name that results alone have stands for what the program computes.
        if (arguments == &signature.inputs)
          return shape.takeError();
        llvm::consumeError(shape.takeError());
        continue;
      }
      double elements = 1;
      for (int64_t size : *shape)
        elements *= size;
      bytes += elements * getSize(argument.dtype);
    }
  double memory = double(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  if (bytes <= memory)
    return llvm::Error::success();
  return makeError("inputs and results take " + formatBytes(bytes) +
                   ", this machine has " + formatBytes(memory) + " of memory");
}

static llvm::Expected<Tensor> makeInput(const Argument &argument,
                                        const DimSizes &sizes, uint64_t seed,
                                        const RealRanges &ranges) {
  auto range = ranges.find(argument.name);
  if (range != ranges.end())
    return makeUniformInput(argument, sizes, seed, range->second.first,
                            range->second.second);
  bool needsDomain = !isReal(argument.dtype) && argument.dtype != DType::Bool &&
                     !argument.isOffsets();
  if (needsDomain && !argument.domain)
    return makeError(
        "no values known for the integers of '" + toString(argument) + "'",
        "hand them in with --input " + argument.name +
            "=FILE, or give --range " + argument.name + "=LOW..HIGH");
  return makeRandomInput(argument, sizes, seed);
}

llvm::Expected<Inputs> nsacc::makeInputs(Signature signature,
                                         const InputOptions &options) {
  RealRanges ranges;
  if (llvm::Error error = applyRanges(options.ranges, signature, ranges))
    return error;
  llvm::Expected<DimSizes> known = readDimensions(options.dims, signature);
  if (!known)
    return known.takeError();

  size_t count = signature.inputs.size();
  Inputs inputs;
  inputs.tensors.resize(count);
  inputs.sources.resize(count);
  std::vector<bool> isGiven(count);
  if (llvm::Error error = loadInputs(signature, options.files, inputs, isGiven))
    return error;
  for (auto [argument, present] : llvm::zip(signature.inputs, isGiven))
    for (const auto &[name, range] : options.ranges)
      if (present && name == argument.name)
        return makeError("--range " + name + "=" + range +
                             " is for a random input, but '" + name +
                             "' is loaded from a file",
                         "leave out --range or --input");
  llvm::SmallVector<const Tensor *> given;
  for (auto [tensor, present] : llvm::zip(inputs.tensors, isGiven))
    given.push_back(present ? &tensor : nullptr);
  auto sizes = bindKnownDimensions(signature, given, std::move(*known));
  if (!sizes)
    return sizes.takeError();
  inputs.sizes = std::move(*sizes);
  if (llvm::Error error = checkDimensions(signature, given, inputs.sizes))
    return error;
  if (llvm::Error error = checkMemory(signature, inputs.sizes))
    return error;

  for (auto [index, argument] : llvm::enumerate(signature.inputs)) {
    if (isGiven[index])
      continue;
    auto tensor = makeInput(argument, inputs.sizes, options.seed, ranges);
    if (!tensor)
      return tensor.takeError();
    inputs.tensors[index] = *tensor;
    inputs.sources[index] =
        argument.isOffsets()
            ? "from --dims"
            : llvm::formatv("random, seed {0}", options.seed).str();
  }
  return inputs;
}
