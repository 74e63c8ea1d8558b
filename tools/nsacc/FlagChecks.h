//===- FlagChecks.h - Checks of flags' values -------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_FLAGCHECKS_H
#define NSACC_TOOLS_NSACC_FLAGCHECKS_H

#include <functional>
#include <string>

namespace nsacc {

/// A check for CLI::Option::check: says what is wrong with a value; empty:
/// nothing.
using FlagCheck = std::function<std::string(const std::string &value)>;

/// A number with a fraction from `low` to `high`. CLI::Range accepts nan as
/// one, and CLI::PositiveNumber prints limits with all of their 309 digits.
FlagCheck checkNumber(double low, double high);

/// A seed of random inputs: an integer of 64 bits.
FlagCheck checkSeed();

/// A number of seconds, more than 0.
FlagCheck checkSeconds();

/// Names of targets, separated by commas.
FlagCheck checkTargetNames();

/// The name of a file to write. An empty one is an error: a shell's unset
/// variable doesn't mean "not given".
FlagCheck checkFileName();

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_FLAGCHECKS_H
