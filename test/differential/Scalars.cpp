//===- Scalars.cpp - Random scalar expressions ----------------------------===//

#include "ProgramText.h"

using namespace nsacc::differential;

Text nsacc::differential::makeInteger(ProgramText &program, const KeyText &keys,
                                      int depth) {
  Choices &c = program.choices;
  if (depth == 0 || c.chance(30)) {
    switch (c.below(12)) {
    case 0:
      return "j";
    case 1:
      return "i";
    case 2:
    case 3:
      return number(c.below(20));
    case 4:
      return "t";
    case 5:
      return "h";
    case 6:
      return "b";
    case 7:
      return program.keyTokens;
    case 8:
      return "end(j)";
    case 9:
      return "start(j)";
    case 10:
      return "G";
    default: {
      Text rank = program.queryHeads;
      return program.addIntegers("n_h", "i32[" + rank + "]", 0, 9) + "[h]";
    }
    }
  }
  auto operand = [&] { return makeInteger(program, keys, depth - 1); };
  switch (c.below(12)) {
  case 0:
  case 1:
    return "(" + operand() + " - " + operand() + ")";
  case 2:
    return "(" + operand() + " + " + operand() + ")";
  case 3:
    return "(" + operand() + " * " + number(c.below(5)) + ")";
  case 4:
    return "(" + operand() + " floordiv " + number(1 + c.below(9)) + ")";
  case 5:
    return "(" + operand() + " ceildiv " + number(1 + c.below(9)) + ")";
  case 6:
    return "(" + operand() + " mod " + number(1 + c.below(9)) + ")";
  case 7:
    return "min(" + operand() + ", " + operand() + ")";
  case 8:
    return "max(" + operand() + ", " + operand() + ")";
  case 9:
    return "abs(" + operand() + ")";
  case 10:
    return "(" + operand() + " * " + operand() + ")";
  default:
    // Unlike other divisors it may be zero, behind a condition.
    return "select(" + operand() + " > 0, " + operand() + " mod max(" +
           operand() + ", 1), " + operand() + ")";
  }
}

Text nsacc::differential::makeBool(ProgramText &program, const KeyText &keys,
                                   int depth) {
  Choices &c = program.choices;
  if (depth == 0 || c.chance(60)) {
    Text compare = c.pick({"<=", "<", ">=", ">", "==", "!="});
    // The order in which C++ evaluates arguments isn't defined.
    Text left = makeInteger(program, keys, std::max(depth, 1));
    return left + " " + compare + " " + makeInteger(program, keys, 1);
  }
  Text left = makeBool(program, keys, depth - 1);
  switch (c.below(3)) {
  case 0:
    return "(" + left + " and " + makeBool(program, keys, depth - 1) + ")";
  case 1:
    return "(" + left + " or " + makeBool(program, keys, depth - 1) + ")";
  default:
    return "(not (" + left + "))";
  }
}

static Text makeRealLeaf(ProgramText &program, const KeyText &keys,
                         const Text &score) {
  Choices &c = program.choices;
  switch (c.below(6)) {
  case 0:
  case 1:
    return score;
  case 2:
    return c.pick({"0.5", "1.25", "-0.75", "2.0", "0.1"});
  case 3:
    return program.addInput("slope", "f32[" + program.queryHeads + "]") + "[h]";
  case 4:
    return program.addInput("scalar", "f32[]");
  default:
    return "float(" + makeInteger(program, keys, 0) + ")";
  }
}

Text nsacc::differential::makeReal(ProgramText &program, const KeyText &keys,
                                   int depth, const Text &score) {
  Choices &c = program.choices;
  if (depth == 0 || c.chance(25))
    return makeRealLeaf(program, keys, score);
  Text left = makeReal(program, keys, depth - 1, score);
  auto right = [&] { return makeReal(program, keys, depth - 1, score); };
  switch (c.below(19)) {
  case 0:
    return "(" + left + " + " + right() + ")";
  case 1:
    return "(" + left + " - " + right() + ")";
  case 2:
    return "(" + left + " * " + right() + ")";
  case 3:
    return "(" + left + " / " + c.pick({"2", "3", "(1 + abs(s))", "D"}) + ")";
  case 4:
    return "min(" + left + ", " + right() + ")";
  case 5:
    return "max(" + left + ", " + right() + ")";
  case 6: {
    Text condition = makeBool(program, keys, 1);
    return "select(" + condition + ", " + left + ", " + right() + ")";
  }
  case 7:
    return "select(" + left + " > " + right() + ", " + right() + ", 0.5)";
  case 8:
    return "tanh(" + left + ")";
  case 9:
    return "sigmoid(" + left + ")";
  case 10:
    return "silu(" + left + ")";
  case 11:
    return "relu(" + left + ")";
  case 12:
    return "gelu(" + left + ")";
  case 13:
    return "softcap(" + left + ", 3)";
  case 14:
    return "abs(" + left + ")";
  case 15:
    return "exp(-abs(" + left + "))";
  case 16:
    return "log(1 + abs(" + left + "))";
  case 17:
    return "sqrt(abs(" + left + "))";
  default:
    return c.pick({"sin(", "cos(", "erf(", "floor(", "-("}) + left + ")";
  }
}
