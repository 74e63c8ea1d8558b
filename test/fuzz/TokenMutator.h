//===- TokenMutator.h - Mutations of programs by tokens ---------*- C++ -*-===//

#ifndef NSACC_TEST_FUZZ_TOKENMUTATOR_H
#define NSACC_TEST_FUZZ_TOKENMUTATOR_H

#include <string>
#include <string_view>

namespace nsacc::fuzz {

/// The program with one to four tokens inserted, removed, repeated or replaced
/// by words of the language or by each other. The same for the same seed.
std::string mutateTokens(std::string_view program, unsigned seed);

} // namespace nsacc::fuzz

#endif // NSACC_TEST_FUZZ_TOKENMUTATOR_H
