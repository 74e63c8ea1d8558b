//===- Interruption.h - Signals that end a command early --------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_INTERRUPTION_H
#define NSACC_TOOLS_NSACC_INTERRUPTION_H

#include "nsacc/Support/ExitCode.h"

namespace nsacc {

/// While it lives, the first SIGINT or SIGTERM asks the command to end with
/// what it has. A second one does what the first one did before. There is one
/// at a time.
class Interruption {
public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption &) = delete;
  Interruption &operator=(const Interruption &) = delete;

  /// Whether there was a signal. May be asked on any thread.
  static bool isAsked();
  /// The command's, where there was one.
  static ExitCode getStatus();
};

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_INTERRUPTION_H
