//===- Wrapping.cpp - Masks of integers that exceed 64 bits ---------------===//
//
// docs/spec.md, 2.2: at run time integers wrap around. The compiler has to
// consider that in bounds of keys that it takes from a mask.
//
//===----------------------------------------------------------------------===//

#include "ProgramText.h"

using namespace nsacc::differential;

Text nsacc::differential::makeGreatInteger(Choices &c) {
  return c.pick({"9223372036854775807", "4611686018427387904",
                 "1152921504606846976", "9223372036854775800",
                 "6364136223846793005", "2654435761", "4294967296",
                 "2147483648"});
}

/// A number that varies irregularly from pair to pair.
static Text makeHash(ProgramText &program, const Text &key) {
  Choices &c = program.choices;
  switch (c.below(4)) {
  case 0:
    return "(i * 2654435761 + " + key + " * 40503)";
  case 1:
    return "(i * 6364136223846793005 + " + key + " * 1442695040888963407)";
  case 2:
    return "((i * 131 + " + key + " + h) * 7046029254386353131 floordiv " +
           number(1 + c.below(65536)) + ")";
  default:
    return "(i * i * i * i * i * i * i * i * i * i * i * i + " + key + " * " +
           makeGreatInteger(c) + ")";
  }
}

Text nsacc::differential::makeWrappingMask(ProgramText &program,
                                           const KeyText &keys) {
  Choices &c = program.choices;
  Text key = keys.pooled ? c.pick({"j", "end(j)"}) : Text("j");
  Text compare = c.pick({" <= ", " < ", " >= ", " > ", " != "});
  switch (c.below(9)) {
  case 0: {
    Text hash = makeHash(program, key);
    int64_t modulus = 2 + c.below(9);
    return hash + " mod " + number(modulus) + compare +
           number(c.below(modulus));
  }
  case 1:
    return "(i - " + key + ") * " + makeGreatInteger(c) + compare + "0";
  case 2:
    return key + " + " + makeGreatInteger(c) + compare + "i";
  case 3: {
    Text factor = makeGreatInteger(c);
    return key + " * " + factor + compare + "i * " + factor;
  }
  case 4: {
    // Equivalent to key <= i, although each side wraps around.
    Text great = makeGreatInteger(c);
    return key + " - " + great + " <= i - " + great;
  }
  case 5:
    return "i - " + key + " < " + makeGreatInteger(c) + " * (h + 1)";
  case 6:
    return "abs((i + " + key + ") * " + makeGreatInteger(c) + ") mod " +
           number(2 + c.below(7)) + compare + "1";
  case 7: {
    // The least integer has no positive counterpart.
    Text least = "(-9223372036854775807 - h mod 2)";
    Text divisor = c.pick({"-1", "3", "-7", "9223372036854775807"});
    return "(" + least + " + " + key + ") floordiv " + divisor + compare + "i";
  }
  default:
    return program.addIntegers("great", "i64[" + program.queryHeads + "]",
                               -(int64_t(1) << 62) - 5, int64_t(1) << 62) +
           "[h] * (i + 2) " + c.pick({"+", "-", "*"}) + " " + key + compare +
           "i";
  }
}
