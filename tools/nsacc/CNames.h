//===- CNames.h - Names in C and C++ for names of programs ------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_CNAMES_H
#define NSACC_TOOLS_NSACC_CNAMES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include <string>

namespace nsacc {

/// A name that functions of C and C++ can begin with, as near to `name` as can
/// be: letters, digits and single underscores, behind a letter. None that
/// begins as the runtime's own do.
std::string toPrefix(llvm::StringRef name);

/// Names of a struct's members: no two are equal, and none is a keyword of C or
/// C++ or a usual macro.
class MemberNames {
public:
  std::string add(llvm::StringRef name);

private:
  llvm::StringSet<> taken;
};

/// Text for a comment: printable, and without what ends one.
std::string toComment(llvm::StringRef text);

/// A string literal.
std::string toLiteral(llvm::StringRef text);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_CNAMES_H
