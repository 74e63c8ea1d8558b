//===- InspectSizes.cpp - What a package takes for some sizes -------------===//

#include "Dimensions.h"
#include "InspectPackage.h"
#include "Messages.h"
#include "nsacc/Driver/PackageSignature.h"
#include "nsacc/Tensor/GivenSizes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cstdint>
#include <optional>

using namespace nsacc;

/// The sizes of all dimensions; what a package is for needn't be given.
static llvm::Expected<DimSizes> bindSizes(const rt::Package &package,
                                          const Signature &signature,
                                          const Settings &dims) {
  auto given = readDimensions(dims, signature);
  if (!given)
    return given.takeError();
  for (const rt::Parameter &parameter : package.parameters)
    for (const rt::Size &size : parameter.sizes) {
      if (!size.fixed || size.name.empty())
        continue;
      auto [found, isNew] = given->sizes.try_emplace(size.name, *size.fixed);
      if (found->second != *size.fixed)
        return makeError("the package is for " + size.name + " = " +
                         llvm::Twine(*size.fixed) + ", found " +
                         llvm::Twine(found->second));
    }
  return bindAllSizes(signature, std::move(*given), "what a package takes",
                      SizeSyntax::Flags);
}

/// "T = 75000000000", which no GPU's code takes; empty where there is none.
static std::string findTooLarge(const rt::Package &package,
                                const BufferSizes &sizes) {
  for (auto [index, parameter] : llvm::enumerate(package.parameters))
    for (auto [dim, size] : llvm::enumerate(parameter.sizes)) {
      int64_t found = sizes[index][parameter.order[dim]];
      if (found < rt::kDeviceSizeLimit)
        continue;
      llvm::StringRef name = size.name;
      name.consume_front("ragged ");
      return (name.empty() ? "size " + std::to_string(dim) + " of '" +
                                 parameter.name + "'"
                           : name.str()) +
             " = " + std::to_string(found);
    }
  return "";
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
  if (rt::isEmpty(launch, numbers))
    return launch.kernel + ": none for these sizes";
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
                                const BufferSizes &sizes,
                                llvm::raw_ostream &os) {
  std::vector<int64_t> numbers;
  if (auto problem =
          rt::computeNumbers(code.plan, sizes.getPointers(), numbers))
    return makeError(code.architecture + ": " + *problem);
  for (const rt::Launch &launch : code.plan.launches)
    if (auto problem = rt::findGridProblem(launch, numbers);
        problem && !rt::isForHost(code)) {
      printLine(os, code.architecture,
                "no launch takes these sizes: " + *problem);
      return llvm::Error::success();
    }
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
                                 const Signature &signature,
                                 const Settings &dims, llvm::raw_ostream &os) {
  auto bound = bindSizes(package, signature, dims);
  if (!bound)
    return bound.takeError();
  auto sizes = BufferSizes::get(package, signature, *bound);
  if (!sizes)
    return sizes.takeError();
  std::vector<std::string> done;
  std::string tooLarge = findTooLarge(package, *sizes);
  if (!tooLarge.empty())
    tooLarge =
        "no launch takes " + tooLarge + ": sizes are below 2^29 on a GPU";
  for (auto [index, variant] : llvm::enumerate(package.variants)) {
    std::vector<int64_t> numbers;
    if (auto problem =
            rt::computeSteps(variant.steps, sizes->getPointers(), numbers))
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
  return makeError(rt::explainNoVariant(package, all, sizes->getPointers()));
}
