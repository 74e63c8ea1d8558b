//===- Interruption.h - Signals that end a command early --------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_INTERRUPTION_H
#define NSACC_TOOLS_NSACC_INTERRUPTION_H

#include "nsacc/Support/ExitCode.h"

namespace nsacc {

/// While it lives, the first SIGINT or SIGTERM asks the command to end with the
/// results so far. A second signal has the effect that the signal had before.
/// Only one object may live at a time.
class Interruption {
public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption &) = delete;
  Interruption &operator=(const Interruption &) = delete;

  /// Whether a signal arrived. May be called on any thread.
  static bool isAsked();
  /// The command's exit status after a signal.
  static ExitCode getStatus();
};

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_INTERRUPTION_H
