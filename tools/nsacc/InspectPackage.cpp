//===- InspectPackage.cpp - Content of a package --------------------------===//

#include "InspectPackage.h"
#include "Messages.h"
#include "PackageFile.h"
#include "nsacc/Driver/PackageSignature.h"
#include "llvm/ADT/StringExtras.h"

using namespace nsacc;

/// "T >= 16384, T * B >= 262144"
static std::string describeGuards(const rt::Variant &variant) {
  auto guards = llvm::map_range(
      variant.guards, [](const rt::Guard &guard) { return guard.what; });
  return variant.guards.empty() ? "all other sizes" : llvm::join(guards, ", ");
}

void nsacc::printLine(llvm::raw_ostream &os, llvm::StringRef heading,
                      llvm::StringRef text) {
  os << llvm::left_justify(heading, 12) << text << '\n';
}

static void printParameters(const rt::Package &package, bool results,
                            llvm::raw_ostream &os) {
  llvm::StringRef heading = results ? "results" : "inputs";
  for (const rt::Parameter &parameter : package.parameters)
    if (parameter.isResult == results) {
      printLine(os, heading, toString(parameter));
      heading = "";
    }
}

static void printCode(const rt::TargetCode &code, llvm::raw_ostream &os) {
  std::string heading = "  " + code.architecture;
  for (const rt::Launch &launch : code.plan.launches) {
    printLine(os, heading,
              launch.kernel + ", image " + std::to_string(launch.image));
    heading.clear();
  }
}

static void printText(const rt::Package &package, llvm::raw_ostream &os) {
  printLine(os, "kernel", package.kernel);
  printLine(os, "compiler", "nsacc " + package.compiler);
  printParameters(package, /*results=*/false, os);
  printParameters(package, /*results=*/true, os);
  for (auto [index, variant] : llvm::enumerate(package.variants)) {
    bool isOnly = package.variants.size() == 1 && variant.guards.empty();
    printLine(os, "variant " + std::to_string(index),
              isOnly ? "all sizes" : describeGuards(variant));
    for (const rt::TargetCode &code : variant.targets)
      printCode(code, os);
  }
  for (auto [index, image] : llvm::enumerate(package.images)) {
    size_t code = image.cubin.size() + image.host.bytes.size();
    printLine(os, "image " + std::to_string(index),
              (image.host.bytes.empty()
                   ? std::to_string(image.ptx.size()) + " bytes of PTX, "
                   : "") +
                  std::to_string(code) +
                  (image.host.bytes.empty() ? " of" : " bytes of") +
                  " machine code");
  }
}

llvm::Error nsacc::printPackage(llvm::StringRef path, bool asJSON,
                                const Settings &dims, llvm::raw_ostream &os) {
  auto file = readPackageFile(path);
  if (!file)
    return file.takeError();
  const rt::Package &package = file->package;
  if (!dims.empty()) {
    auto signature = readSignature(package);
    return signature ? printForSizes(package, *signature, dims, os)
                     : signature.takeError();
  }
  if (asJSON)
    os << rt::describePackage(package);
  else
    printText(package, os);
  for (auto [shadowed, by] : rt::findShadowed(package))
    printWarning("no call runs variant " + std::to_string(shadowed) +
                 " of the package: variant " + std::to_string(by) + ", for " +
                 describeGuards(package.variants[by]) +
                 ", takes all that it is for");
  return llvm::Error::success();
}
