//===- ExitCode.h - Exit status of nsacc's tools ----------------*- C++ -*-===//

#ifndef NSACC_SUPPORT_EXITCODE_H
#define NSACC_SUPPORT_EXITCODE_H

namespace nsacc {

/// The exit status of every tool.
enum class ExitCode : int {
  Success = 0,
  UserError = 1, ///< an error of the program or its inputs, or a check that
                 ///< failed
  Usage = 2,     ///< a command line that can't be understood
  Internal = 3,  ///< a fault of nsacc; a reproducer was written
  // 128 plus the signal's number, as shells do.
  Interrupted = 130, ///< by Ctrl-C
  Terminated = 143   ///< by SIGTERM
};

} // namespace nsacc

#endif // NSACC_SUPPORT_EXITCODE_H
