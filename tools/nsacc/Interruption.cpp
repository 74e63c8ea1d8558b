//===- Interruption.cpp - Signals that end a command early ----------------===//

#include "Interruption.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <unistd.h>

using namespace nsacc;

/// The signal that came; 0: none.
static std::atomic<int> cameSignal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

/// What signals did before.
static struct sigaction oldInterrupt, oldTerminate;

static void restoreSignals() {
  ::sigaction(SIGINT, &oldInterrupt, nullptr);
  ::sigaction(SIGTERM, &oldTerminate, nullptr);
}

/// Nothing but what a signal handler may call.
static void handleInterruption(int signal) {
  constexpr char message[] = "\nnsacc: interrupted: ending with what was found "
                             "so far; once more ends at once\n";
  int before = errno;
  bool isSecond = cameSignal.exchange(signal) != 0;
  restoreSignals();
  // On another thread, before the first one had come so far.
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
  // Both have to be known before the first one can come.
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
