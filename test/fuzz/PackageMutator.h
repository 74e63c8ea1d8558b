//===- PackageMutator.h - Mutations of packages by fields -------*- C++ -*-===//

#ifndef NSACC_TEST_FUZZ_PACKAGEMUTATOR_H
#define NSACC_TEST_FUZZ_PACKAGEMUTATOR_H

#include <string>
#include <string_view>

namespace nsacc::fuzz {

/// The package with one to four fields removed, repeated, nested, or of another
/// type or value, and the checksum of what it is then. The same for the same
/// seed. What is no package becomes the tests' example first.
std::string mutateFields(std::string_view file, unsigned seed);

/// The body of a package, or of the tests' example.
std::string getBody(std::string_view file);

} // namespace nsacc::fuzz

#endif // NSACC_TEST_FUZZ_PACKAGEMUTATOR_H
