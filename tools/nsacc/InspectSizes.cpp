//===- InspectSizes.cpp - Memory and launches of a package ----------------===//

#include "Dimensions.h"
#include "InspectPackage.h"
#include "Messages.h"
#include "nsacc/Driver/PackageSignature.h"
#include "nsacc/Support/Units.h"
#include "nsacc/Tensor/GivenSizes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstdint>

using namespace nsacc;

/// The sizes of all dimensions; sizes that the package fixes needn't be given.
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

//===-- Printing ----------------------------------------------------------===//

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
  if (auto problem = rt::findGridProblem(code.plan, numbers);
      problem && !rt::isForHost(code)) {
    printLine(os, code.architecture,
              "no launch takes these sizes: " + *problem);
    return llvm::Error::success();
  }
  int64_t workspace;
  if (auto problem = rt::computeWorkspace(
          code.plan, numbers,
          rt::isForHost(code) ? rt::kHostAlignment : rt::kDeviceAlignment,
          workspace))
    return makeError(*problem);
  printLine(os, code.architecture,
            "variant " + std::to_string(variant) + ", " +
                spellBytes(workspace) + " of workspace");
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
    tooLarge.insert(0, "no launch takes ");
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
