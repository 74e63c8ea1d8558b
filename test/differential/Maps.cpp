//===- Maps.cpp - Random arithmetic on tensors ----------------------------===//
//
// Chains of statements that reuse earlier ones, on integers, booleans and reals
// of all sizes. Integers and booleans are compared exactly, so they must not
// depend on rounded reals.
//
//===----------------------------------------------------------------------===//

#include "ProgramText.h"
#include "llvm/ADT/STLExtras.h"
#include <optional>

using namespace nsacc::differential;

namespace {

enum class Kind { Integer, Bool, Real };

struct Operand {
  Text text;
  Kind kind;
  /// A bit for each of the dimensions that it has.
  unsigned dims = 0;
  /// Inputs are exact; values computed from reals are rounded.
  bool isInput = false;
};

class Maps {
public:
  explicit Maps(ProgramText &program);
  void run();

private:
  Operand makeInput(Kind kind, unsigned dims);
  /// An operand of a kind whose dimensions are among `within`.
  Text pick(Kind kind, unsigned within);
  /// An operand that isn't a constant.
  Text pickTensor(Kind kind, unsigned within);
  std::optional<Text> pickMade(Kind kind, unsigned within);
  Text pickInput(Kind kind, unsigned within);
  Text makeInteger(const Operand &first);
  Text makeBool(const Operand &first);
  Text makeReal(const Operand &first);
  Operand makeStep(const Operand &first);
  Text getType(const Operand &value);

  ProgramText &program;
  Choices &c;
  std::vector<Text> dims;
  std::vector<Operand> values;
  int64_t inputs = 0;
};

} // namespace

Maps::Maps(ProgramText &program) : program(program), c(program.choices) {
  if (program.ragged)
    dims = {"ragged T"};
  else
    dims = {"B", "T"};
  dims.push_back(program.queryHeads);
  dims.push_back("D");
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Text Maps::getType(const Operand &value) {
  Text list;
  for (size_t n = 0; n < dims.size(); ++n)
    if (value.dims >> n & 1)
      list += (list.empty() ? "" : ", ") + dims[n];
  Text dtype = "bool";
  if (value.kind == Kind::Integer)
    dtype = c.pick({"i32", "i64"});
  if (value.kind == Kind::Real)
    dtype = list.empty() ? "f32" : c.pick({"f32", ""});
  return list.empty() ? dtype : dtype + "[" + list + "]";
}

Operand Maps::makeInput(Kind kind, unsigned dims) {
  Operand input = {"", kind, dims, /*isInput=*/true};
  Text type = getType(input), name = "m" + number(inputs++);
  if (kind != Kind::Integer) {
    input.text = program.addInput(name, type);
  } else {
    // Small numbers, or numbers whose sums and products overflow the type.
    bool isWide = llvm::StringRef(type).starts_with("i64");
    int64_t great = isWide ? INT64_MAX : INT32_MAX;
    bool isGreat = c.chance(40);
    input.text = program.addIntegers(name, type, isGreat ? -great - 1 : -3,
                                     isGreat ? great : 9);
  }
  values.push_back(input);
  return input;
}

Text Maps::pickInput(Kind kind, unsigned within) {
  for (const Operand &value : values)
    if (value.isInput && value.kind == kind && !(value.dims & ~within) &&
        c.chance(60))
      return value.text;
  return makeInput(kind, c.below(1 << dims.size()) & within).text;
}

/// Newer values first, so that chains grow and reuse values.
std::optional<Text> Maps::pickMade(Kind kind, unsigned within) {
  for (const Operand &value : llvm::reverse(values))
    if (value.kind == kind && !(value.dims & ~within) && c.chance(60))
      return value.text;
  return std::nullopt;
}

Text Maps::pickTensor(Kind kind, unsigned within) {
  std::optional<Text> made = pickMade(kind, within);
  return made ? *made : pickInput(kind, within);
}

Text Maps::pick(Kind kind, unsigned within) {
  if (std::optional<Text> made = pickMade(kind, within))
    return *made;
  if (kind == Kind::Integer && c.chance(40))
    return c.chance(50) ? makeGreatInteger(c) : number(c.below(7));
  if (kind == Kind::Real && c.chance(30))
    return c.pick({"0.5", "-1.25", "3.0"});
  return pickInput(kind, within);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Text Maps::makeInteger(const Operand &first) {
  const Text &x = first.text;
  auto other = [&] { return pick(Kind::Integer, first.dims); };
  Text divisor = c.pick({"3", "-1", "7", "-4", "4294967296", "(-2 - 3)"});
  switch (c.below(13)) {
  case 0:
    return x + " + " + x;
  case 1:
  case 2:
    return x + c.pick({" * ", " + ", " - "}) + other();
  case 3:
    return other() + c.pick({" * ", " - "}) + x;
  case 4:
    return x + c.pick({" floordiv ", " ceildiv ", " mod "}) + divisor;
  case 5: {
    // A constant divisor of 0 is an error, even with a guard.
    Text by = pickTensor(Kind::Integer, first.dims);
    Text divide = c.pick({" floordiv ", " ceildiv ", " mod "});
    return "select(" + by + " != 0, " + x + divide + by + ", 5)";
  }
  case 6:
    return c.pick({"min(", "max("}) + x + ", " + other() + ")";
  case 7:
    return "abs(" + x + ")";
  case 8:
    return "-" + x;
  case 9: {
    Text condition = pick(Kind::Bool, first.dims);
    return "select(" + condition + ", " + x + ", " + other() + ")";
  }
  case 10:
    // A product with a power of two is exact.
    return x + " - int(" + pickInput(Kind::Real, first.dims) + " * " +
           c.pick({"1048576.0", "1.0", "4.0"}) + ")";
  case 11:
    return x + " * " + makeGreatInteger(c);
  default:
    return program.ragged ? "max(" + x + ", 1)"
                          : x + " * " + program.keyTokens + " - T";
  }
}

Text Maps::makeBool(const Operand &first) {
  const Text &x = first.text;
  Text compare = c.pick({" < ", " <= ", " == ", " != ", " > ", " >= "});
  if (first.kind == Kind::Integer) {
    if (c.chance(20))
      return "-2 <= " + x + " < " + pick(Kind::Integer, first.dims);
    return x + compare + pick(Kind::Integer, first.dims);
  }
  if (first.kind == Kind::Real)
    return x + compare +
           (c.chance(50) ? "0.5" : pickInput(Kind::Real, first.dims));
  if (c.chance(20))
    return "not " + x;
  Text word = c.pick({" and ", " or ", " != ", " == "});
  return x + word + pick(Kind::Bool, first.dims);
}

Text Maps::makeReal(const Operand &first) {
  const Text &x = first.text;
  auto other = [&] { return pick(Kind::Real, first.dims); };
  switch (c.below(9)) {
  case 0:
    return x + " + " + x;
  case 1:
  case 2:
    return x + " * " + other();
  case 3:
    return other() + " - " + x;
  case 4:
    return c.pick({"tanh(", "sigmoid(", "abs(", "relu("}) + x + ")";
  case 5:
    return x + " / (1.0 + abs(" + other() + "))";
  case 6: {
    Text condition = pick(Kind::Bool, first.dims);
    return "select(" + condition + ", " + x + ", " + other() + ")";
  }
  case 7:
    return x + " + " + pick(Kind::Integer, first.dims);
  default:
    return c.pick({"min(", "max("}) + x + ", " + other() + ")";
  }
}

/// The next step after a value: another value of its kind, or a comparison.
Operand Maps::makeStep(const Operand &first) {
  Operand made = {"", first.kind, first.dims, /*isInput=*/false};
  bool isExact = first.kind != Kind::Real || first.isInput;
  if (first.kind == Kind::Bool || (isExact && c.chance(25)))
    made.kind = Kind::Bool;
  Text text = made.kind == Kind::Bool      ? makeBool(first)
              : made.kind == Kind::Integer ? makeInteger(first)
                                           : makeReal(first);
  made.text = program.bind(text);
  return made;
}

void Maps::run() {
  Kind kind = c.pick({Kind::Integer, Kind::Integer, Kind::Integer, Kind::Real});
  unsigned all = (1 << dims.size()) - 1;
  // Results' elements are compared one by one, so there are few features.
  unsigned withoutFeatures = all >> 1;
  unsigned start = c.chance(20) ? all : withoutFeatures;
  Operand last = makeInput(kind, c.chance(70) ? start : start & c.below(all));
  std::vector<Operand> made;
  for (uint32_t steps = 2 + c.below(4); made.size() < steps;) {
    Choices::Together together(c);
    Operand first = last;
    if (c.chance(20))
      first = values[c.below(values.size())];
    last = makeStep(first);
    values.push_back(last);
    made.push_back(last);
  }
  for (const Operand &value : made)
    if (value.text == last.text || c.chance(30))
      program.addResult(value.text, getType(value));
}

void nsacc::differential::addMaps(ProgramText &program) {
  Choices::Together together(program.choices);
  if (program.choices.chance(20))
    Maps(program).run();
}
