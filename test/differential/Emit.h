//===- Emit.h - Writes cases for another reader of programs -----*- C++ -*-===//

#ifndef NSACC_TEST_DIFFERENTIAL_EMIT_H
#define NSACC_TEST_DIFFERENTIAL_EMIT_H

#include "Case.h"

namespace nsacc::differential {

/// Writes the case to FOLDER/program.nsa, and input number `n` of run number
/// `r` to FOLDER/r/n-NAME.npy.
llvm::Error emit(const Case &testCase, const std::string &folder);

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_EMIT_H
