//===- Interruption.cpp - Signals that end a command early ----------------===//

#include "Interruption.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <unistd.h>

using namespace nsacc;

/// The signal that arrived; 0: none.
static std::atomic<int> cameSignal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

/// Actions of the signals before.
static struct sigaction oldInterrupt, oldTerminate;

static void restoreSignals() {
  ::sigaction(SIGINT, &oldInterrupt, nullptr);
  ::sigaction(SIGTERM, &oldTerminate, nullptr);
}

/// Uses only functions that are allowed in signal handlers.
static void handleInterruption(int signal) {
  constexpr char message[] = "\nnsacc: interrupted: ending with what was found "
                             "so far; once more ends at once\n";
  int before = errno;
  bool isSecond = cameSignal.exchange(signal) != 0;
  restoreSignals();
  // The second signal, on another thread, before the first one's handler got
  // this far.
  if (isSecond) {
    ::raise(signal);
    return;
  }
  (void)!::write(STDERR_FILENO, message, sizeof(message) - 1);
  errno = before;
}

Interruption::Interruption() {
  cameSignal = 0;
  struct sigaction action = {};
  action.sa_handler = handleInterruption;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaddset(&action.sa_mask, SIGINT);
  ::sigaddset(&action.sa_mask, SIGTERM);
  // Both old actions must be known before the first signal can arrive.
  ::sigaction(SIGINT, nullptr, &oldInterrupt);
  ::sigaction(SIGTERM, nullptr, &oldTerminate);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

Interruption::~Interruption() { restoreSignals(); }

bool Interruption::isAsked() { return cameSignal != 0; }

ExitCode Interruption::getStatus() {
  return cameSignal == SIGTERM ? ExitCode::Terminated : ExitCode::Interrupted;
}
