//===- ProgramText.cpp - A random program under way -----------------------===//

#include "ProgramText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc::differential;

std::string ProgramText::addInput(const std::string &name,
                                  const std::string &type) {
  for (const auto &input : inputs)
    if (input.first == name)
      return name;
  inputs.emplace_back(name, type);
  return name;
}

std::string ProgramText::addIntegers(const std::string &name,
                                     const std::string &type, int64_t low,
                                     int64_t high) {
  ranges.try_emplace(name, low, high);
  return addInput(name, type);
}

std::string ProgramText::bind(const std::string &expression) {
  std::string name = "x" + std::to_string(statements.size());
  statements.push_back(name + " = " + expression + ";");
  return name;
}

std::string
ProgramText::maybeCompute(const std::string &value, uint32_t percent,
                          std::initializer_list<const char *> forms) {
  Choices::Together together(choices);
  if (!choices.chance(percent))
    return value;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(choices.pick(forms)).split(parts, '_');
  return bind(llvm::join(parts, value));
}

void ProgramText::addResult(const std::string &value, const std::string &type) {
  results.emplace_back(value, type);
}

std::string ProgramText::getText() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "kernel f(";
  llvm::StringRef separator = "";
  for (const auto &[name, type] : inputs) {
    os << separator << name << ": " << type;
    separator = ", ";
  }
  os << ")\n    -> (";
  for (size_t n = 0; n < results.size(); ++n)
    os << (n ? ", " : "") << "r" << n << ": " << results[n].second;
  os << ")\n{\n";
  for (const std::string &statement : statements)
    os << "  " << statement << "\n";
  os << "  return ";
  separator = "";
  for (const auto &result : results) {
    os << separator << result.first;
    separator = ", ";
  }
  os << ";\n}\n";
  return text;
}
