//===- PackageMutator.h - Mutations of packages by fields -------*- C++ -*-===//

#ifndef NSACC_TEST_FUZZ_PACKAGEMUTATOR_H
#define NSACC_TEST_FUZZ_PACKAGEMUTATOR_H

#include <string>
#include <string_view>

namespace nsacc::fuzz {

/// The package with one to four fields removed, repeated, nested, or of another
/// type or value, and the checksum of what it is then; most get seals of that,
/// too. The same for the same seed. What is no package becomes one of the
/// tests' examples first.
std::string mutateFields(std::string_view file, unsigned seed);

/// The body of a package, or of one of the tests' examples.
std::string getBody(std::string_view file, unsigned seed);

/// The body with seals of what it is, where it can be read.
std::string makeSealed(std::string_view body);

/// Whether a file has the code of another one, with the seals that stand beside
/// it: nothing that has to be trusted differs.
bool hasCodeOf(std::string_view file, std::string_view other);

} // namespace nsacc::fuzz

#endif // NSACC_TEST_FUZZ_PACKAGEMUTATOR_H
