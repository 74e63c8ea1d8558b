//===- PackageFile.h - The head of a package, and the rest ------*- C++ -*-===//
//
// A package's file is a head of 40 bytes and a body of MessagePack. The head is
// the magic text in 16 bytes, then as 64-bit little-endian words the format's
// version, the body's bytes, and a checksum over all that isn't the checksum.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_LIB_RT_PACKAGEFILE_H
#define NSACC_LIB_RT_PACKAGEFILE_H

#include "nsacc/RT/Package.h"
#include <string>
#include <string_view>
#include <vector>

namespace nsacc::rt {

/// What a body is nested at most; a package needs 10.
constexpr unsigned kMaxNesting = 16;

/// The file of a body.
std::string sealBody(std::string_view body);
/// The bytes of the file that begins so, as its head says; 0 where it isn't the
/// beginning of a package, or too short.
uint64_t countFileBytes(std::string_view front);
/// The body of a file whose head and checksum are right. Throws
/// std::runtime_error where they aren't.
std::string_view openBody(std::string_view file);
/// For each image, a digest of all that is in the package but code, and of
/// which image it is: what the compiler made the code for. It stands beside the
/// code, so that code runs with what it was made for and with nothing else.
std::vector<std::string> makeSeals(const Package &package);
/// Reads a body, with all checks but that of seals. Throws std::runtime_error.
Package readUnsealed(std::string_view body);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_PACKAGEFILE_H
