//===- PackageFile.h - Head and body of a package ---------------*- C++ -*-===//
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

/// The deepest nesting of a body; a package needs 10.
constexpr unsigned kMaxNesting = 16;

/// The file that contains a body.
std::string sealBody(std::string_view body);
/// The size of a file that begins with `front`, according to its head; 0 if it
/// isn't the beginning of a package, or too short.
uint64_t countFileBytes(std::string_view front);
/// The body of a file whose head and checksum are valid. Throws
/// std::runtime_error otherwise.
std::string_view openBody(std::string_view file);
/// For each image, a digest of the package's content without code, and of the
/// image's index: everything that the compiler made the code for. It is stored
/// beside the code, so that code runs only with the plan that it was made for.
std::vector<std::string> makeSeals(const Package &package);
/// Reads a body, with all checks except seals. Throws std::runtime_error.
Package readUnsealed(std::string_view body);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_PACKAGEFILE_H
