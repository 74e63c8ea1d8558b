//===- InspectSizes.cpp - What a package takes for some sizes -------------===//

#include "InspectPackage.h"
#include "Messages.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace nsacc;

namespace {

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
  int64_t getBytes(size_t parameter) const {
    int64_t bytes = rt::getBytes(package->parameters[parameter].dtype);
    for (int64_t size : sizes[parameter])
      bytes *= size;
    return bytes;
  }

private:
  explicit ParameterSizes(const rt::Package &package) : package(&package) {}

  const rt::Package *package;
  std::vector<std::vector<int64_t>> sizes; ///< in the order of buffers
};

} // namespace

llvm::Expected<ParameterSizes> ParameterSizes::bind(const rt::Package &package,
                                                    const Settings &dims) {
  llvm::StringMap<int64_t> known;
  for (const auto &[name, value] : dims) {
    int64_t size;
    if (llvm::StringRef(value).getAsInteger(10, size) || size < 0)
      return makeError("'--dims " + name + "=" + value + "' has no size",
                       "expected an integer of 0 or more");
    known[name] = size;
  }
  ParameterSizes bound(package);
  llvm::MapVector<llvm::StringRef, bool> missing;
  llvm::StringMap<bool> used;
  for (const rt::Parameter &parameter : package.parameters) {
    auto &own = bound.sizes.emplace_back(parameter.sizes.size());
    for (auto [dim, size] : llvm::enumerate(parameter.sizes)) {
      llvm::StringRef name = size.name;
      name.consume_front("ragged ");
      used[name] = true;
      auto found = known.find(name);
      if (size.fixed && found != known.end() && found->second != *size.fixed)
        return makeError("the package is for " + name + " = " +
                         llvm::Twine(*size.fixed) + ", found " +
                         llvm::Twine(found->second));
      if (size.fixed)
        own[parameter.order[dim]] = *size.fixed;
      else if (found != known.end())
        own[parameter.order[dim]] = found->second;
      else if (!name.empty() && !parameter.isResult)
        missing[name] = true;
    }
  }
  for (const auto &[name, value] : dims)
    if (!used.contains(name))
      return makeError("the package has no dimension '" + name + "'");
  if (missing.empty())
    return bound;
  auto names = llvm::map_range(
      missing, [](const auto &each) { return each.first.str() + "=…"; });
  return makeError("--dims doesn't tell all sizes of the package",
                   "add " + llvm::join(names, ","));
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
  std::string text = llvm::formatv(
      "{0}: grid {1} x {2} x {3}", launch.kernel, numbers[launch.grid[0]],
      numbers[launch.grid[1]], numbers[launch.grid[2]]);
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
  for (auto [index, parameter] : llvm::enumerate(package.parameters))
    printLine(os, index == 0 ? "  buffers" : "",
              parameter.name + ": " + spellBytes(sizes.getBytes(index)));
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
