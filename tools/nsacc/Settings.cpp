//===- Settings.cpp - name=value arguments --------------------------------===//

#include "Settings.h"
#include "Messages.h"
#include "llvm/ADT/STLExtras.h"

using namespace nsacc;

/// Splits at commas outside of brackets.
static std::vector<llvm::StringRef> splitList(llvm::StringRef text) {
  std::vector<llvm::StringRef> parts;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += (text[i] == '[') - (text[i] == ']');
    if (text[i] != ',' || depth > 0)
      continue;
    parts.push_back(text.slice(start, i));
    start = i + 1;
  }
  parts.push_back(text.substr(start));
  return parts;
}

llvm::Expected<std::pair<std::string, std::string>>
nsacc::parseSetting(llvm::StringRef flag, llvm::StringRef argument,
                    llvm::StringRef form) {
  auto [name, value] = argument.split('=');
  name = name.trim();
  value = value.trim();
  if (name.empty() || value.empty())
    return makeError("'" + flag + " " + argument + "' isn't of the form " +
                     form);
  return std::make_pair(name.str(), value.str());
}

llvm::Expected<Settings>
nsacc::parseSettings(llvm::StringRef flag,
                     llvm::ArrayRef<std::string> arguments) {
  Settings settings;
  for (llvm::StringRef argument : arguments)
    for (llvm::StringRef part : splitList(argument)) {
      auto setting = parseSetting(flag, part);
      if (!setting)
        return setting.takeError();
      bool isRepeated = llvm::any_of(
          settings, [&](auto &known) { return known.first == setting->first; });
      if (isRepeated)
        return makeError(flag + " gives '" + setting->first + "' twice");
      settings.push_back(std::move(*setting));
    }
  return settings;
}

llvm::Expected<std::vector<Settings>>
nsacc::parseSettingSets(llvm::StringRef flag,
                        llvm::ArrayRef<std::string> arguments) {
  std::vector<Settings> sets(1);
  for (const std::string &argument : arguments) {
    auto settings = parseSettings(flag, argument);
    if (!settings)
      return settings.takeError();
    bool isNext = llvm::any_of(*settings, [&](auto &setting) {
      return llvm::any_of(sets.back(), [&](auto &known) {
        return known.first == setting.first;
      });
    });
    if (isNext)
      sets.emplace_back();
    llvm::append_range(sets.back(), *settings);
  }
  return sets;
}
