//===- Case.cpp - A program with sizes, a schedule and inputs -------------===//

#include "Case.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <iterator>

using namespace nsacc;
using namespace nsacc::differential;

static constexpr llvm::StringLiteral valueNames[] = {
    "normal",   "equal", "few",  "large", "nan",
    "infinite", "mixed", "ones", "ties"};
static constexpr llvm::StringLiteral layoutNames[] = {
    "plain", "padded", "misaligned", "transposed", "spread", "reversed"};

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void print(llvm::raw_ostream &os, const Run &run) {
  os << "// AT:";
  for (const auto &[name, size] : run.sizes)
    os << " " << name << "=" << size;
  for (const auto &[name, lengths] : run.rows) {
    os << " " << name << "=[";
    llvm::interleave(lengths, os, ",");
    os << "]";
  }
  os << " seed=" << run.seed << " values=" << valueNames[int(run.values)]
     << " layout=" << layoutNames[int(run.layout)] << "\n";
}

std::string nsacc::differential::print(const Case &testCase) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "// CASE: dtype=" << testCase.dtype;
  for (const auto &[name, size] : testCase.sizes)
    os << " " << name << "=" << size;
  os << "\n";
  if (!testCase.params.empty()) {
    os << "// SET:";
    for (const auto &[name, value] : testCase.params)
      os << " " << name << "=" << value;
    os << "\n";
  }
  if (const auto &schedule = testCase.schedule) {
    os << "// SCHEDULE: order=" << schedule->order
       << " tokens=" << schedule->tokens << " keys=" << schedule->keys
       << " splits=" << schedule->splits;
    if (schedule->method != Schedule().method)
      os << " method=" << schedule->method;
    if (!schedule->program.empty())
      os << " program=" << schedule->program;
    os << "\n";
  }
  if (!testCase.ranges.empty()) {
    os << "// RANGE:";
    for (const auto &[name, range] : testCase.ranges)
      os << " " << name << "=" << range.first << ".." << range.second;
    os << "\n";
  }
  if (!testCase.averages.empty())
    os << "// AVERAGES: " << llvm::join(testCase.averages, " ") << "\n";
  for (const Run &run : testCase.runs)
    ::print(os, run);
  os << testCase.program;
  return text;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {
class Parser {
public:
  explicit Parser(Case &result) : result(result) {}

  llvm::Error parse(llvm::StringRef line);

private:
  llvm::Error parseWord(llvm::StringRef key, llvm::StringRef name,
                        llvm::StringRef value);
  llvm::Error parseSchedule(llvm::StringRef name, llvm::StringRef value);
  llvm::Error parseRun(Run &run, llvm::StringRef name, llvm::StringRef value);

  Case &result;
};
} // namespace

template <typename T>
static llvm::Error parseInteger(llvm::StringRef text, T &value) {
  if (text.getAsInteger(10, value))
    return llvm::createStringError("expected an integer, found '" + text + "'");
  return llvm::Error::success();
}

template <typename T>
static llvm::Error parseName(llvm::ArrayRef<llvm::StringLiteral> names,
                             llvm::StringRef text, T &value) {
  const auto *found = llvm::find(names, text);
  if (found == names.end())
    return llvm::createStringError("unknown word '" + text + "'");
  value = T(found - names.begin());
  return llvm::Error::success();
}

llvm::Error Parser::parseSchedule(llvm::StringRef name, llvm::StringRef value) {
  Schedule &schedule = *result.schedule;
  if (name == "order") {
    schedule.order = value.str();
    return llvm::Error::success();
  }
  if (name == "method") {
    schedule.method = value.str();
    return llvm::Error::success();
  }
  if (name == "program") {
    schedule.program = value.str();
    return llvm::Error::success();
  }
  if (name == "tokens")
    return parseInteger(value, schedule.tokens);
  if (name == "keys")
    return parseInteger(value, schedule.keys);
  if (name == "splits")
    return parseInteger(value, schedule.splits);
  return llvm::createStringError("unknown schedule entry '" + name + "'");
}

llvm::Error Parser::parseRun(Run &run, llvm::StringRef name,
                             llvm::StringRef value) {
  if (name == "seed")
    return parseInteger(value, run.seed);
  if (name == "values")
    return parseName(valueNames, value, run.values);
  if (name == "layout")
    return parseName(layoutNames, value, run.layout);
  if (!value.consume_front("["))
    return parseInteger(value, run.sizes[name.str()]);
  value.consume_back("]");
  llvm::SmallVector<llvm::StringRef> lengths;
  value.split(lengths, ',', -1, /*KeepEmpty=*/false);
  auto &rows = run.rows[name.str()];
  for (llvm::StringRef length : lengths)
    if (llvm::Error error = parseInteger(length, rows.emplace_back()))
      return error;
  return llvm::Error::success();
}

llvm::Error Parser::parseWord(llvm::StringRef key, llvm::StringRef name,
                              llvm::StringRef value) {
  if (key == "AT")
    return parseRun(result.runs.back(), name, value);
  if (key == "SET") {
    result.params[name.str()] = value.str();
    return llvm::Error::success();
  }
  if (key == "AVERAGES") {
    result.averages.push_back(name.str());
    return llvm::Error::success();
  }
  if (key == "SCHEDULE")
    return parseSchedule(name, value);
  if (key == "RANGE") {
    auto [low, high] = value.split("..");
    auto &range = result.ranges[name.str()];
    if (llvm::Error error = parseInteger(low, range.first))
      return error;
    return parseInteger(high, range.second);
  }
  if (name == "dtype") {
    result.dtype = value.str();
    return llvm::Error::success();
  }
  return parseInteger(value, result.sizes[name.str()]);
}

llvm::Error Parser::parse(llvm::StringRef line) {
  if (!line.consume_front("// "))
    return llvm::Error::success();
  auto [key, rest] = line.split(':');
  if (key == "AT")
    result.runs.emplace_back();
  else if (key == "SCHEDULE")
    result.schedule.emplace();
  else if (key != "CASE" && key != "RANGE" && key != "SET" && key != "AVERAGES")
    return llvm::Error::success();
  llvm::SmallVector<llvm::StringRef> words;
  rest.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words) {
    auto [name, value] = word.split('=');
    if (llvm::Error error = parseWord(key, name, value))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<Case> nsacc::differential::parseCase(llvm::StringRef text) {
  Case result;
  result.program = text.str();
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  Parser parser(result);
  for (llvm::StringRef line : lines)
    if (llvm::Error error = parser.parse(line.trim()))
      return std::move(error);
  if (result.runs.empty())
    return llvm::createStringError("expected at least one line '// AT: …'");
  return result;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

DimSizes nsacc::differential::getSizes(const Case &testCase, const Run &run) {
  DimSizes sizes;
  for (const auto *known : {&testCase.sizes, &run.sizes})
    for (const auto &[name, size] : *known)
      sizes.sizes[name] = size;
  for (const auto &[name, lengths] : run.rows) {
    std::vector<int64_t> &offsets = sizes.offsets[name];
    offsets.push_back(0);
    for (int64_t length : lengths)
      offsets.push_back(offsets.back() + length);
    sizes.sizes[name] = offsets.back();
    sizes.batchRows = lengths.size();
  }
  return sizes;
}
