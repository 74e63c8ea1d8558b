//===- PackageVariants.cpp - Packages for several sizes -------------------===//

#include "PackageVariants.h"
#include "nsacc/Driver/CompiledProgram.h"
#include "nsacc/Tensor/Signature.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <stdexcept>
#include <tuple>

using namespace nsacc;
using rt::Step;
using Kind = rt::Step::Kind;

namespace {

/// A dimension of a package's parameter, in the caller's order.
struct Place {
  size_t parameter, dim;
};

/// Writes the guards of a variant.
class GuardWriter {
public:
  GuardWriter(rt::Variant &variant,
              const std::vector<rt::Parameter> &parameters)
      : variant(variant), parameters(parameters) {}

  void addSize(const Place &place, int64_t size) {
    const rt::Parameter &parameter = parameters[place.parameter];
    const std::string &name = parameter.sizes[place.dim].name;
    std::string what = name.empty() ? "size " + std::to_string(place.dim) +
                                          " of '" + parameter.name + "'"
                                    : name;
    add(Kind::Equal, getSize(place), constant(size),
        what + " = " + std::to_string(size));
  }

  /// Products can't exceed 64 bits: a larger one stays at the limit.
  void addCondition(const SizeCondition &condition) {
    uint32_t limit = constant(condition.limit);
    uint32_t beyond = constant(condition.limit + 1);
    if (!condition.rowsOf.empty()) {
      limit = step(Kind::Mul, {limit, countRows(condition.rowsOf)});
      beyond = step(Kind::Add, {limit, constant(1)});
    }
    uint32_t product = constant(condition.factor);
    for (const std::string &dim : condition.dims) {
      product = step(Kind::Mul, {product, getSize(findPlace(dim))});
      product = step(Kind::Min, {product, beyond});
    }
    if (condition.isMost)
      add(Kind::LessEqual, product, limit, condition.describe());
    else
      add(Kind::LessEqual, limit, product, condition.describe());
  }

private:
  Place findPlace(const std::string &name) const {
    Dim ragged;
    ragged.kind = Dim::Kind::Ragged;
    ragged.name = name;
    for (auto [index, parameter] : llvm::enumerate(parameters))
      for (auto [dim, size] : llvm::enumerate(parameter.sizes))
        if (size.name == name || size.name == toString(ragged))
          return {index, dim};
    llvm_unreachable("conditions are about dimensions of inputs");
  }

  /// Number of batch rows of a ragged dimension: one fewer than its offsets.
  uint32_t countRows(const std::string &dim) {
    auto offsets =
        llvm::find_if(parameters, [&](const rt::Parameter &parameter) {
          return parameter.name == dim + "_offsets";
        });
    size_t index = offsets - parameters.begin();
    return step(Kind::Sub, {getSize({index, 0}), constant(1)});
  }

  uint32_t getSize(const Place &place) {
    uint32_t dim = parameters[place.parameter].order[place.dim];
    return step(Kind::Dim, {static_cast<uint32_t>(place.parameter)}, dim);
  }

  uint32_t constant(int64_t value) { return step(Kind::Constant, {}, value); }

  uint32_t step(Kind kind, llvm::ArrayRef<uint32_t> operands,
                int64_t value = 0) {
    Step step;
    step.kind = kind;
    step.value = value;
    llvm::copy(operands, step.operands);
    variant.steps.push_back(step);
    return variant.steps.size() - 1;
  }

  void add(Kind kind, uint32_t lhs, uint32_t rhs, std::string what) {
    variant.guards.push_back({step(kind, {lhs, rhs}), std::move(what)});
  }

  rt::Variant &variant;
  const std::vector<rt::Parameter> &parameters;
};

} // namespace

llvm::Expected<rt::Package> nsacc::readPackage(llvm::StringRef bytes,
                                               rt::CodeFor wanted) {
  try {
    return rt::readPackage(bytes.data(), bytes.size(), wanted);
  } catch (const std::runtime_error &error) {
    return llvm::createStringError(error.what());
  }
}

/// Drops variants if the next one has the same code and no condition.
static void dropEqual(std::vector<PackageVariant> &variants) {
  auto isEqual = [](const PackageVariant &lhs, const PackageVariant &rhs) {
    return rt::writePackage(lhs.package) == rt::writePackage(rhs.package);
  };
  for (size_t i = variants.size(); i-- > 1;)
    if (variants[i].conditions.empty() && isEqual(variants[i - 1], variants[i]))
      variants.erase(variants.begin() + (i - 1));
}

/// Fails if strides differ: they aren't numbers that guards could compare.
static llvm::Error checkStrides(const rt::Package &first,
                                const rt::Package &other) {
  for (auto [lhs, rhs] : llvm::zip_equal(first.parameters, other.parameters))
    if (lhs.strides != rhs.strides || lhs.order != rhs.order)
      return llvm::createStringError(
          "the sizes of a package's variants ask for other strides of '" +
          lhs.name + "' each: write a package for each");
  return llvm::Error::success();
}

/// The sizes that differ among variants, one place for each name. Equal sizes
/// stay with the parameters.
static std::vector<Place>
separateSizes(llvm::ArrayRef<PackageVariant> variants,
              std::vector<rt::Parameter> &parameters) {
  std::vector<Place> places;
  std::vector<std::string> names;
  for (auto [index, parameter] : llvm::enumerate(parameters))
    for (auto [dim, size] : llvm::enumerate(parameter.sizes)) {
      bool isShared = llvm::all_of(variants, [&](const PackageVariant &each) {
        return each.package.parameters[index].sizes[dim].fixed == size.fixed;
      });
      if (isShared)
        continue;
      size.fixed.reset();
      if (!size.name.empty() && llvm::is_contained(names, size.name))
        continue;
      names.push_back(size.name);
      places.push_back({index, dim});
    }
  return places;
}

namespace {

/// Collects images; equal ones are stored once.
class ImagePool {
public:
  explicit ImagePool(std::vector<rt::Image> &images) : images(images) {}

  uint32_t add(const rt::Image &image) {
    auto [entry, isNew] =
        known.try_emplace({image.ptx, image.cubin, getKey(image.host)},
                          static_cast<uint32_t>(images.size()));
    if (isNew)
      images.push_back(image);
    return entry->second;
  }

private:
  static std::string getKey(const rt::HostImage &image) {
    std::string key = image.bytes;
    for (const rt::HostImage::Kernel &kernel : image.kernels)
      key += kernel.name + std::to_string(kernel.offset) + ",";
    return key;
  }

  using Key = std::tuple<std::string, std::string, std::string>;

  std::vector<rt::Image> &images;
  std::map<Key, uint32_t> known;
};

} // namespace

llvm::Expected<rt::Package>
nsacc::combineVariants(std::vector<PackageVariant> variants) {
  dropEqual(variants);
  if (variants.size() > rt::kMaxVariants)
    return llvm::createStringError(
        "these sizes are " + llvm::Twine(variants.size()) +
        " variants; a package has " + llvm::Twine(rt::kMaxVariants) +
        " at most: write several packages");
  rt::Package package = variants.front().package;
  for (const PackageVariant &each : variants)
    if (llvm::Error error = checkStrides(package, each.package))
      return std::move(error);
  std::vector<Place> places = separateSizes(variants, package.parameters);
  package.variants.clear();
  package.images.clear();
  ImagePool images(package.images);
  for (PackageVariant &each : variants) {
    rt::Package &own = each.package;
    rt::Variant &variant =
        package.variants.emplace_back(std::move(own.variants.front()));
    for (rt::TargetCode &target : variant.targets)
      for (rt::Launch &launch : target.plan.launches)
        launch.image = images.add(own.images[launch.image]);
    GuardWriter writer(variant, package.parameters);
    for (const Place &place : places)
      writer.addSize(place,
                     *own.parameters[place.parameter].sizes[place.dim].fixed);
    for (const SizeCondition &condition : each.conditions)
      writer.addCondition(condition);
  }
  return package;
}

//===-- Targets -----------------------------------------------------------===//

static const std::string &getArchitecture(const rt::Package &package) {
  return package.variants.front().targets.front().architecture;
}

/// Whether code is newer. Newer code comes first, as a call runs the first that
/// it can: "sm_90a" before "sm_90", then "sm_80"; "x86-64-v4" before
/// "x86-64-v3".
static bool isNewer(const rt::Package &lhs, const rt::Package &rhs) {
  auto rank = [](llvm::StringRef name) {
    bool isGPU = name.consume_front("sm_");
    unsigned number = 0;
    if (isGPU)
      name.consumeInteger(10, number);
    return std::tuple(isGPU, number, name);
  };
  return rank(getArchitecture(lhs)) > rank(getArchitecture(rhs));
}

/// Fails if parameters differ: all of a package's code has the same ones.
static llvm::Error checkParameters(const rt::Package &first,
                                   const rt::Package &other) {
  if (first.signature != other.signature)
    return llvm::createStringError("the packages are of other programs: '" +
                                   first.kernel + "' and '" + other.kernel +
                                   "'");
  for (auto [lhs, rhs] : llvm::zip_equal(first.parameters, other.parameters))
    if (lhs.strides != rhs.strides || lhs.order != rhs.order)
      return llvm::createStringError("code for " + getArchitecture(first) +
                                     " and for " + getArchitecture(other) +
                                     " asks for other strides of '" + lhs.name +
                                     "' each: write a package for each");
  return llvm::Error::success();
}

llvm::Expected<rt::Package>
nsacc::combineTargets(std::vector<rt::Package> packages) {
  llvm::sort(packages, isNewer);
  for (size_t i = 1; i < packages.size(); ++i)
    if (getArchitecture(packages[i - 1]) == getArchitecture(packages[i]))
      return llvm::createStringError("two of the targets are " +
                                     getArchitecture(packages[i]) +
                                     ": a package has code for it once");
  rt::Package package = packages.front();
  package.variants.clear();
  package.images.clear();
  ImagePool images(package.images);
  for (const rt::Package &each : packages) {
    if (llvm::Error error = checkParameters(packages.front(), each))
      return std::move(error);
    for (const rt::Variant &variant : each.variants)
      for (rt::TargetCode &target :
           package.variants.emplace_back(variant).targets)
        for (rt::Launch &launch : target.plan.launches)
          launch.image = images.add(each.images[launch.image]);
  }
  if (package.variants.size() <= rt::kMaxVariants)
    return package;
  return llvm::createStringError(
      "these targets and sizes are " + llvm::Twine(package.variants.size()) +
      " variants; a package has " + llvm::Twine(rt::kMaxVariants) +
      " at most: write several packages");
}

llvm::Expected<std::string>
nsacc::combinePackages(llvm::ArrayRef<std::string> packages) {
  if (packages.size() == 1)
    return packages.front();
  std::vector<rt::Package> read;
  for (const std::string &bytes : packages) {
    auto package = readPackage(bytes);
    if (!package)
      return package.takeError();
    read.push_back(std::move(*package));
  }
  auto isEmpty = [](const rt::Package &package) {
    return package.variants.empty() || package.variants.front().targets.empty();
  };
  if (read.empty() || llvm::any_of(read, isEmpty))
    return llvm::createStringError("a package without code can't be combined "
                                   "with others");
  auto combined = combineTargets(std::move(read));
  if (!combined)
    return combined.takeError();
  return rt::writePackage(*combined);
}

llvm::Error nsacc::checkIsNew(const std::vector<std::string> &sizes,
                              std::vector<std::vector<std::string>> &known,
                              const Signature &signature) {
  if (!llvm::is_contained(known, sizes)) {
    known.push_back(sizes);
    return llvm::Error::success();
  }
  return llvm::createStringError(
      "two variants of the package would be the same, for " +
      (sizes.empty() ? "any sizes" : llvm::join(sizes, ",")) +
      ": other sizes don't change the code of kernel '" + signature.kernel +
      "'");
}
