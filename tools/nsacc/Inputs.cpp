//===- Inputs.cpp - Inputs of a run, loaded or made -----------------------===//

#include "Inputs.h"
#include "Dimensions.h"
#include "Messages.h"
#include "nsacc/Tensor/Memory.h"
#include "nsacc/Tensor/Npy.h"
#include "nsacc/Tensor/RandomInputs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
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
  if (auto flagOfName = findFlag(signature, name))
    return makeError(flag + ": '" + name + "' is " + flagOfName->kind +
                         " of kernel '" + signature.kernel + "', not an input",
                     "give it as " + flagOfName->spelling);
  return makeError(flag + ": kernel '" + signature.kernel + "' has no input '" +
                       name + "'",
                   suggest(name, names, "it has " + quoteList(names)));
}

//===-- Loading -----------------------------------------------------------===//

/// NumPy code that converts to a type that both files and the program have.
static std::string spellConversion(const Argument &argument) {
  std::string type = isReal(argument.dtype)          ? "np.float32"
                     : argument.dtype == DType::Bool ? "bool"
                     : argument.dtype == DType::I32  ? "np.int32"
                                                     : "np.int64";
  return "save it as np.save(path, array.astype(" + type +
         ")): the program declares " + toString(argument);
}

/// "[0, 2]" for the element with this number in row-major order.
static std::string spellIndex(const Tensor &tensor, int64_t element) {
  std::vector<std::string> indices(tensor.getRank());
  for (size_t dim = indices.size(); dim-- > 0;) {
    indices[dim] = std::to_string(element % tensor.getShape()[dim]);
    element /= tensor.getShape()[dim];
  }
  return "[" + llvm::join(indices, ", ") + "]";
}

/// An error: the declared type can't hold an element.
static llvm::Error rejectValue(const Tensor &tensor, int64_t element,
                               llvm::StringRef value, const Argument &argument,
                               llvm::StringRef source,
                               llvm::StringRef largest) {
  llvm::StringRef dtype = getName(argument.dtype);
  std::string place =
      tensor.getRank() > 0 ? " at " + spellIndex(tensor, element) : "";
  return makeError("'" + argument.name + "' from '" + source + "' holds " +
                       value + place + ", which " + dtype + " can't hold",
                   "the largest " + dtype + " is " + largest +
                       ": change what the file holds, or declare '" +
                       argument.name + "' with a wider type");
}

static std::string spell(double value) {
  return llvm::formatv("{0}", llvm::format("%.9g", value));
}

/// Fails if a finite number would become infinite.
static llvm::Error checkFit(const Tensor &tensor, llvm::ArrayRef<double> values,
                            const Argument &argument, llvm::StringRef source) {
  auto isBeyond = [&](double value) {
    return std::isfinite(value) &&
           !std::isfinite(roundTo(argument.dtype, value));
  };
  const double *beyond = llvm::find_if(values, isBeyond);
  if (beyond == values.end())
    return llvm::Error::success();
  return rejectValue(tensor, beyond - values.begin(), spell(*beyond), argument,
                     source, spell(getLargest(argument.dtype)));
}

/// Converts if only precision can be lost, and says so in `source`.
static llvm::Expected<Tensor>
convert(const Tensor &tensor, const Argument &argument, std::string &source) {
  DType from = tensor.getDType(), to = argument.dtype;
  if (from == to)
    return tensor;
  Tensor result = Tensor::zeros(to, tensor.getShape());
  if (isReal(from) && isReal(to)) {
    std::vector<double> values = tensor.toReals();
    if (llvm::Error error = checkFit(tensor, values, argument, source))
      return error;
    result.setReals(values);
    source +=
        llvm::formatv(" ({0}, rounded to {1})", getName(from), getName(to));
    return result;
  }
  bool areIntegers =
      !isReal(from) && !isReal(to) && from != DType::Bool && to != DType::Bool;
  if (!areIntegers)
    return makeError("'" + argument.name + "' from '" + source + "' holds " +
                         getName(from) + ", expected " + getName(to),
                     spellConversion(argument));
  std::vector<int64_t> values = tensor.toIntegers();
  auto isBeyond = [&](int64_t value) {
    return to == DType::I32 && value != int32_t(value);
  };
  if (auto beyond = llvm::find_if(values, isBeyond); beyond != values.end())
    return rejectValue(tensor, beyond - values.begin(), std::to_string(*beyond),
                       argument, source,
                       std::to_string(std::numeric_limits<int32_t>::max()));
  result.setIntegers(values);
  return result;
}

static llvm::Expected<Tensor> readInput(const Argument &argument,
                                        llvm::StringRef path) {
  llvm::Expected<Tensor> tensor = readNpy(path);
  if (tensor)
    return tensor;
  std::string reason = llvm::toString(tensor.takeError());
  double number;
  if (!path.getAsDouble(number))
    return makeError(reason, "--input loads a file; one number is given as "
                             "--range " +
                                 argument.name + "=" + path + ".." + path);
  if (llvm::sys::fs::is_regular_file(path))
    return makeError(reason, "input '" + argument.name + "' is declared as " +
                                 toString(argument));
  return makeError(reason);
}

static llvm::Error loadInputs(const Signature &signature, const Settings &files,
                              Inputs &inputs, std::vector<bool> &isGiven) {
  for (auto &[name, path] : files) {
    llvm::Expected<size_t> index = findInput(signature, "--input", name);
    if (!index)
      return index.takeError();
    llvm::Expected<Tensor> tensor = readInput(signature.inputs[*index], path);
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
/// Least and greatest values of inputs of reals, by input.
using RealRanges = std::map<std::string, std::pair<double, double>>;
} // namespace

static llvm::Error rejectRange(llvm::StringRef name, llvm::StringRef value,
                               bool isReversed) {
  std::string message = ("'--range " + name + "=" + value + "' ").str();
  double number;
  if (isReversed)
    return makeError(message + "ends below its start");
  message += "isn't of the form NAME=LOW..HIGH";
  if (value.ends_with(".npy"))
    return makeError(message,
                     "a file is loaded with --input " + name + "=" + value);
  if (!value.getAsDouble(number) && std::isfinite(number))
    return makeError(message, "one number is --range " + name + "=" + value +
                                  ".." + value);
  return makeError(message);
}

static llvm::Error rejectEnds(const Argument &argument, llvm::StringRef value) {
  llvm::StringRef type = getName(argument.dtype);
  std::string most = "-2147483648..2147483647";
  if (argument.dtype != DType::I32) {
    double largest = getLargest(argument.dtype);
    most.clear();
    llvm::raw_string_ostream(most)
        << llvm::format("%.5g..%.5g", -largest, largest);
  }
  return makeError("'--range " + argument.name + "=" + value +
                       "' has an end that " + type + ", the type of '" +
                       argument.name + "', can't hold",
                   "numbers of " + type + " are within " + most);
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
    return rejectEnds(argument, value);
  return domain;
}

llvm::Expected<std::map<std::string, std::pair<int64_t, int64_t>>>
nsacc::readIntegerRanges(const Settings &ranges, const Signature &signature) {
  std::map<std::string, std::pair<int64_t, int64_t>> read;
  for (const auto &[name, value] : ranges) {
    llvm::Expected<size_t> index = findInput(signature, "--range", name);
    if (!index)
      return index.takeError();
    const Argument &argument = signature.inputs[*index];
    if (argument.isOffsets() || argument.dtype != DType::I32)
      return makeError("--range: '" + name + "' doesn't hold integers",
                       "the program declares " + toString(argument) +
                           ", whose values take no time");
    llvm::Expected<Domain> domain = parseIntegers(argument, value);
    if (!domain)
      return domain.takeError();
    read[name] = {domain->low, domain->high};
  }
  return read;
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
      return rejectEnds(argument, value);
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
