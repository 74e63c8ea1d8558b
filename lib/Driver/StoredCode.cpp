//===- StoredCode.cpp - Code in the cache ---------------------------------===//

#include "StoredCode.h"
#include "PackageVariants.h"
#include "nsacc/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;

// A value is a line with a JSON array of the warnings, and the code.

std::optional<std::string> StoredCode::find(llvm::StringRef key) const {
  std::optional<std::string> value = cache.find(key);
  if (!value)
    return std::nullopt;
  auto [line, code] = llvm::StringRef(*value).split('\n');
  auto warnings = parseJSON<std::vector<std::string>>(line, "warnings");
  if (!warnings) {
    llvm::consumeError(warnings.takeError());
    return std::nullopt;
  }
  if (warn)
    for (const std::string &warning : *warnings)
      warn(warning);
  return code.str();
}

std::optional<rt::Package> StoredCode::findPackage(llvm::StringRef key) const {
  std::optional<std::string> bytes = find(key);
  if (!bytes)
    return std::nullopt;
  return llvm::expectedToOptional(readPackage(*bytes));
}

void StoredCode::store(llvm::StringRef key, const rt::Package &package,
                       llvm::ArrayRef<std::string> warnings) const {
  if (cache.getMode() != CacheMode::ReadWrite)
    return;
  std::string value;
  llvm::raw_string_ostream os(value);
  os << llvm::json::Value(llvm::json::Array(warnings)) << '\n'
     << rt::writePackage(package);
  cache.store(key, value);
}

llvm::Error StoredCode::checkMayCompile(const llvm::Twine &what,
                                        llvm::StringRef beside) const {
  if (cache.getMode() != CacheMode::Require)
    return llvm::Error::success();
  return llvm::createStringError(
      "the cache '" + cache.getFolder() + "' has no code of " + what +
      ", and nothing else may be run: compile it once with "
      "NSACC_CACHE=readwrite, by this nsacc" +
      beside);
}
