//===- FlagChecks.h - What flags take ---------------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_FLAGCHECKS_H
#define NSACC_TOOLS_NSACC_FLAGCHECKS_H

#include <functional>
#include <string>

namespace nsacc {

/// What CLI::Option::check takes: what is wrong with a value; empty: nothing.
using FlagCheck = std::function<std::string(const std::string &value)>;

/// A number with a fraction from `low` to `high`. CLI::Range takes nan for one,
/// and CLI::PositiveNumber says limits with all of their 309 digits.
FlagCheck checkNumber(double low, double high);

/// A seed of random inputs: an integer of 64 bits.
FlagCheck checkSeed();

/// A number of seconds, more than 0.
FlagCheck checkSeconds();

/// Names of targets, with commas between them.
FlagCheck checkTargetNames();

/// The name of a file that is written where the flag is given: a shell's unset
/// variable isn't "not given".
FlagCheck checkFileName();

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_FLAGCHECKS_H
