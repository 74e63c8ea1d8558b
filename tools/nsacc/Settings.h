//===- Settings.h - name=value arguments ------------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_SETTINGS_H
#define NSACC_TOOLS_NSACC_SETTINGS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <utility>
#include <vector>

namespace nsacc {

using Settings = std::vector<std::pair<std::string, std::string>>;

/// Parses "a=1,b=[2,3]" arguments of `flag`. Commas within brackets belong to
/// the value. A name may occur once.
llvm::Expected<Settings> parseSettings(llvm::StringRef flag,
                                       llvm::ArrayRef<std::string> arguments);

/// Parses several sets: an argument that repeats a name begins the next set.
llvm::Expected<std::vector<Settings>>
parseSettingSets(llvm::StringRef flag, llvm::ArrayRef<std::string> arguments);

/// Parses one "name=value" argument whose value may hold commas. Errors name
/// the `form`.
llvm::Expected<std::pair<std::string, std::string>>
parseSetting(llvm::StringRef flag, llvm::StringRef argument,
             llvm::StringRef form = "NAME=VALUE");

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_SETTINGS_H
