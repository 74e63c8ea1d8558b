//===- PackageFile.cpp - Packages as files --------------------------------===//

#include "PackageFile.h"
#include "Files.h"
#include "Messages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <stdexcept>

using namespace nsacc;

/// Advice about a file that isn't a package.
static std::string suggestPackage(llvm::StringRef path) {
  llvm::StringRef extension = llvm::sys::path::extension(path);
  if (extension == ".nsa" || extension == ".mlir")
    return "this is a program: compile it first, nsacc compile " + path.str() +
           " --emit package --target NAME --dims … -o FILE.nsapkg";
  return "";
}

llvm::Expected<PackageFile> nsacc::readPackageFile(llvm::StringRef path) {
  auto file = readFile(path, "a package");
  if (!file)
    return file.takeError();
  llvm::StringRef bytes = (*file)->getBuffer();
  try {
    rt::Package package = rt::readPackage(bytes.data(), bytes.size());
    return PackageFile{std::move(*file), std::move(package)};
  } catch (const std::runtime_error &error) {
    return makeError("'" + path + "': " + error.what(), suggestPackage(path));
  }
}

std::string nsacc::toString(const rt::Parameter &parameter) {
  auto sizes = llvm::map_range(parameter.sizes, [](const rt::Size &size) {
    return size.fixed          ? std::to_string(*size.fixed)
           : size.name.empty() ? std::string("?")
                               : size.name;
  });
  return parameter.name + ": " + rt::getName(parameter.dtype) + "[" +
         llvm::join(sizes, ", ") + "]";
}
