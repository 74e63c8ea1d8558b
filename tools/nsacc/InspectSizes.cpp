//===- InspectSizes.cpp - What a package takes for some sizes -------------===//

#include "InspectPackage.h"
#include "Messages.h"
#include "nsacc/Tensor/GivenSizes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cstdint>
#include <optional>

using namespace nsacc;

/// Where `offsets` stands among a package's sizes, and in --dims.
static constexpr llvm::StringLiteral kOffsets = "offsets";

namespace {

/// The sizes of --dims, by the names of dimensions.
class GivenDims {
public:
  explicit GivenDims(const rt::Package &package) : package(package) {}

  llvm::Error add(const std::string &name, llvm::StringRef text);
  std::optional<int64_t> find(llvm::StringRef name) const {
    auto found = sizes.find(name);
    return found == sizes.end() ? std::nullopt : std::optional(found->second);
  }

private:
  bool hasRagged(llvm::StringRef name) const;
  /// Whether `offsets` are those of ragged rows.
  bool hasOffsets() const;
  /// The lengths of a ragged dimension's rows.
  llvm::Error addRows(const std::string &name, llvm::StringRef list);
  llvm::Error addRowCount(const std::string &name, int64_t rows);

  const rt::Package &package;
  llvm::StringMap<int64_t> sizes;
};

/// The sizes of a package's parameters, by the names of dimensions.
class ParameterSizes {
public:
  static llvm::Expected<ParameterSizes> bind(const rt::Package &package,
                                             const Settings &dims);

  /// Of each parameter, as the runtime computes with them.
  std::vector<const int64_t *> get() const {
    std::vector<const int64_t *> pointers;
    for (const auto &each : sizes)
      pointers.push_back(each.data());
    return pointers;
  }
  /// Sizes that follow from others, as those of computed blocks.
  void complete(const rt::Plan &plan);
  llvm::Expected<int64_t> getBytes(size_t parameter) const;
  /// "T = 75000000000", which no GPU's code takes; empty where there is none.
  std::string findTooLarge() const;

private:
  explicit ParameterSizes(const rt::Package &package) : package(&package) {}

  const rt::Package *package;
  std::vector<std::vector<int64_t>> sizes; ///< in the order of buffers
};

} // namespace

//===-- What is given -----------------------------------------------------===//

static llvm::StringRef dropRagged(llvm::StringRef name) {
  name.consume_front("ragged ");
  return name;
}

bool GivenDims::hasRagged(llvm::StringRef name) const {
  return llvm::any_of(package.parameters, [&](const rt::Parameter &parameter) {
    return llvm::any_of(parameter.sizes, [&](const rt::Size &size) {
      return size.name == "ragged " + name.str();
    });
  });
}

bool GivenDims::hasOffsets() const {
  return llvm::any_of(package.parameters, [](const rt::Parameter &parameter) {
    return !parameter.offsetsOf.empty();
  });
}

/// As commands say it that run the kernel.
static llvm::Expected<int64_t> readSize(const std::string &name,
                                        llvm::StringRef text) {
  int64_t size;
  if (!text.trim().getAsInteger(10, size) && size >= 0 && size <= kLargestSize)
    return size;
  return makeError("--dims " + name + ": '" + text +
                   "' isn't a size, expected a number from 0 to 2^40");
}

llvm::Error GivenDims::addRowCount(const std::string &name, int64_t rows) {
  auto [known, isNew] = sizes.try_emplace(kOffsets, rows + 1);
  if (isNew || known->second == rows + 1)
    return llvm::Error::success();
  return makeError("--dims " + name + " is of " + llvm::Twine(rows) +
                       " rows, what stands before it of " +
                       llvm::Twine(known->second - 1),
                   "all ragged dimensions of a kernel share one batch, and "
                   "offsets is its rows + 1");
}

llvm::Error GivenDims::addRows(const std::string &name, llvm::StringRef list) {
  if (!hasRagged(name))
    return makeError("dimension " + name + " of the package isn't ragged",
                     "give one size: --dims " + name + "=…");
  llvm::SmallVector<llvm::StringRef> lengths;
  if (!list.trim().empty())
    list.split(lengths, ',');
  int64_t all = 0;
  for (llvm::StringRef text : lengths) {
    auto length = readSize(name, text);
    if (!length)
      return length.takeError();
    // A few sizes can't leave the range of 64 bits, but many could.
    all = std::min(all + *length, kLargestSize);
  }
  if (all > INT32_MAX)
    return makeError("--dims " + name + ": the rows add up to " +
                     llvm::Twine(all) + ", more than the i32 offsets can say");
  sizes[name] = all;
  return addRowCount(name, static_cast<int64_t>(lengths.size()));
}

llvm::Error GivenDims::add(const std::string &name, llvm::StringRef text) {
  llvm::StringRef list = text;
  if (list.consume_front("[") && list.consume_back("]"))
    return addRows(name, list);
  auto size = readSize(name, text);
  if (!size)
    return size.takeError();
  if (name != kOffsets || !hasOffsets()) {
    sizes[name] = *size;
    return llvm::Error::success();
  }
  if (*size == 0)
    return makeError("--dims offsets=0: offsets of B rows are B + 1 numbers, "
                     "the first of them 0",
                     "give the rows + 1, or the lengths of rows as T=[5,0,70]");
  return addRowCount(name, *size - 1);
}

//===-- Sizes of parameters -----------------------------------------------===//

static llvm::Error explainMissing(llvm::ArrayRef<llvm::StringRef> names) {
  std::vector<std::string> parts;
  std::string ragged;
  for (llvm::StringRef name : names) {
    llvm::StringRef dim = dropRagged(name);
    parts.push_back(dim.str() + "=…");
    if (dim != name && ragged.empty())
      ragged = dim.str();
  }
  std::string note = "add " + llvm::join(parts, ",");
  if (llvm::is_contained(names, kOffsets))
    note += "; offsets is the rows + 1";
  if (!ragged.empty())
    note += "; the lengths of rows, as " + ragged + "=[5,0,70], tell both";
  return makeError("--dims doesn't tell all sizes of the package", note);
}

llvm::Expected<ParameterSizes> ParameterSizes::bind(const rt::Package &package,
                                                    const Settings &dims) {
  GivenDims given(package);
  for (const auto &[name, value] : dims)
    if (llvm::Error error = given.add(name, value))
      return std::move(error);
  ParameterSizes bound(package);
  llvm::SetVector<llvm::StringRef> missing;
  llvm::StringMap<bool> used;
  for (const rt::Parameter &parameter : package.parameters) {
    auto &own = bound.sizes.emplace_back(parameter.sizes.size());
    for (auto [dim, size] : llvm::enumerate(parameter.sizes)) {
      llvm::StringRef name = dropRagged(size.name);
      used[name] = true;
      auto found = given.find(name);
      if (size.fixed && found && *found != *size.fixed)
        return makeError("the package is for " + name + " = " +
                         llvm::Twine(*size.fixed) + ", found " +
                         llvm::Twine(*found));
      if (size.fixed || found)
        own[parameter.order[dim]] = size.fixed ? *size.fixed : *found;
      else if (!name.empty() && !parameter.isResult)
        missing.insert(size.name);
    }
  }
  for (const auto &[name, value] : dims)
    if (!used.contains(name))
      return makeError("the package has no dimension '" + name + "'");
  if (!missing.empty())
    return explainMissing(missing.getArrayRef());
  return bound;
}

llvm::Expected<int64_t> ParameterSizes::getBytes(size_t parameter) const {
  const rt::Parameter &own = package->parameters[parameter];
  std::vector<int64_t> strides(own.sizes.size());
  int64_t bytes;
  if (rt::setStrides(strides.size(), sizes[parameter].data(),
                     rt::getBytes(own.dtype), strides.data(), bytes))
    return bytes;
  return makeError("'" + own.name + "' has more elements than memory can hold");
}

std::string ParameterSizes::findTooLarge() const {
  for (auto [parameter, own] : llvm::zip(package->parameters, sizes))
    for (auto [dim, size] : llvm::enumerate(parameter.sizes)) {
      int64_t found = own[parameter.order[dim]];
      if (found < rt::kDeviceSizeLimit)
        continue;
      llvm::StringRef name = dropRagged(size.name);
      return (name.empty() ? "size " + std::to_string(dim) + " of '" +
                                 parameter.name + "'"
                           : name.str()) +
             " = " + std::to_string(found);
    }
  return "";
}

void ParameterSizes::complete(const rt::Plan &plan) {
  std::vector<int64_t> numbers;
  if (rt::computeSteps(plan.steps, get(), numbers))
    return;
  for (const rt::Check &check : plan.checks) {
    const rt::Step &step = plan.steps[check.found];
    if (step.kind == rt::Step::Kind::Dim)
      sizes[step.operands[0]][step.value] = numbers[check.expected];
  }
}

//===-- Printing ----------------------------------------------------------===//

/// "512 bytes", "1.5 KiB", "2.0 MiB"
static std::string spellBytes(int64_t bytes) {
  if (bytes < 1024)
    return std::to_string(bytes) + " bytes";
  auto count = static_cast<double>(bytes) / 1024;
  for (const char *unit : {"KiB", "MiB"}) {
    if (count < 1024)
      return llvm::formatv("{0:f1} {1}", count, unit);
    count /= 1024;
  }
  return llvm::formatv("{0:f1} GiB", count);
}

/// The most that workspaces take together while a launch runs.
static llvm::Expected<int64_t>
computeWorkspace(const rt::Plan &plan, const std::vector<int64_t> &numbers) {
  int64_t most = 0;
  for (size_t launch = 0; launch < plan.launches.size(); ++launch) {
    int64_t all = 0;
    for (const rt::Workspace &workspace : plan.workspaces) {
      std::vector<int64_t> sizes(workspace.sizes.size()),
          strides(workspace.sizes.size());
      int64_t bytes;
      if (auto problem = rt::computeExtent(workspace, numbers, sizes.data(),
                                           strides.data(), bytes))
        return makeError(*problem);
      if (workspace.first <= launch && launch <= workspace.last)
        all += bytes;
    }
    most = std::max(most, all);
  }
  return most;
}

static std::string describeLaunch(const rt::Launch &launch,
                                  const std::vector<int64_t> &numbers) {
  int64_t grid[3];
  for (size_t dim = 0; dim < 3; ++dim)
    grid[dim] = numbers[launch.grid[dim]];
  if (llvm::is_contained(grid, 0))
    return launch.kernel + ": none for these sizes";
  std::string text = llvm::formatv("{0}: grid {1} x {2} x {3}", launch.kernel,
                                   grid[0], grid[1], grid[2]);
  if (launch.threads)
    text += llvm::formatv(", {0} threads, {1} of shared memory", launch.threads,
                          spellBytes(launch.sharedBytes));
  if (rt::isPersistent(launch))
    text += ", persistent";
  return text;
}

static llvm::Error printForCode(const rt::Package &package,
                                const rt::TargetCode &code, size_t variant,
                                ParameterSizes sizes, llvm::raw_ostream &os) {
  sizes.complete(code.plan);
  std::vector<int64_t> numbers;
  if (auto problem = rt::computeNumbers(code.plan, sizes.get(), numbers))
    return makeError(code.architecture + ": " + *problem);
  auto workspace = computeWorkspace(code.plan, numbers);
  if (!workspace)
    return workspace.takeError();
  printLine(os, code.architecture,
            "variant " + std::to_string(variant) + ", " +
                spellBytes(*workspace) + " of workspace");
  for (auto [index, parameter] : llvm::enumerate(package.parameters)) {
    auto bytes = sizes.getBytes(index);
    if (!bytes)
      return bytes.takeError();
    printLine(os, index == 0 ? "  buffers" : "",
              parameter.name + ": " + spellBytes(*bytes));
  }
  for (auto [index, launch] : llvm::enumerate(code.plan.launches))
    printLine(os, index == 0 ? "  launches" : "",
              describeLaunch(launch, numbers));
  return llvm::Error::success();
}

llvm::Error nsacc::printForSizes(const rt::Package &package,
                                 const Settings &dims, llvm::raw_ostream &os) {
  auto sizes = ParameterSizes::bind(package, dims);
  if (!sizes)
    return sizes.takeError();
  std::vector<std::string> done;
  std::string tooLarge = sizes->findTooLarge();
  if (!tooLarge.empty())
    tooLarge =
        "no launch takes " + tooLarge + ": sizes are below 2^29 on a GPU";
  for (auto [index, variant] : llvm::enumerate(package.variants)) {
    std::vector<int64_t> numbers;
    if (auto problem = rt::computeSteps(variant.steps, sizes->get(), numbers))
      return makeError(*problem);
    if (rt::findFailedGuard(variant, numbers))
      continue;
    for (const rt::TargetCode &code : variant.targets) {
      if (llvm::is_contained(done, code.architecture))
        continue;
      done.push_back(code.architecture);
      if (!tooLarge.empty() && !rt::isForHost(code)) {
        printLine(os, code.architecture, tooLarge);
        continue;
      }
      if (llvm::Error error = printForCode(package, code, index, *sizes, os))
        return error;
    }
  }
  if (!done.empty())
    return llvm::Error::success();
  std::vector<const rt::Variant *> all;
  for (const rt::Variant &variant : package.variants)
    all.push_back(&variant);
  return makeError(rt::explainNoVariant(package, all, sizes->get()));
}
