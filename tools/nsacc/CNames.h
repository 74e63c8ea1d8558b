//===- CNames.h - Names in C and C++ for names of programs ------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_CNAMES_H
#define NSACC_TOOLS_NSACC_CNAMES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include <string>

namespace nsacc {

/// A prefix for names of functions in C and C++, as similar to `name` as
/// possible: letters, digits and single underscores, after a letter. It differs
/// from the prefixes of the runtime's functions.
std::string toPrefix(llvm::StringRef name);

/// Names of a struct's members: all are different, and none is a keyword of C
/// or C++ or a usual macro.
class MemberNames {
public:
  std::string add(llvm::StringRef name);

private:
  llvm::StringSet<> taken;
};

/// Text for a comment: printable, and without the characters that end one.
std::string toComment(llvm::StringRef text);

/// A string literal.
std::string toLiteral(llvm::StringRef text);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_CNAMES_H
