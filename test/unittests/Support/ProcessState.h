//===- ProcessState.h - Process state that a library keeps ------*- C++ -*-===//

#ifndef NSACC_TEST_UNITTESTS_SUPPORT_PROCESSSTATE_H
#define NSACC_TEST_UNITTESTS_SUPPORT_PROCESSSTATE_H

#include <array>
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

/// The host's handlers of all signals, its three timers, and the calling
/// thread's mask. The alarm arrives every few milliseconds and interrupts
/// system calls. The destructor restores the earlier state.
class ProcessState {
public:
  ProcessState() {
    arrived = 0;
    for (int signal = 1; signal < count; ++signal)
      ::sigaction(signal, nullptr, &before[signal]);
    ::pthread_sigmask(SIG_SETMASK, nullptr, &maskBefore);
    for (int signal = 1; signal < count; ++signal)
      setHandler(signal);
    sigset_t mask;
    ::sigemptyset(&mask);
    ::sigaddset(&mask, SIGUSR2);
    ::sigaddset(&mask, SIGTTIN);
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    for (int timer : {ITIMER_VIRTUAL, ITIMER_PROF})
      setTimer(timer, {1000, 0}, {1000, 0});
    setTimer(ITIMER_REAL, {0, 5000}, {0, 5000});
    for (int signal = 1; signal < count; ++signal)
      ::sigaction(signal, nullptr, &own[signal]);
    ::pthread_sigmask(SIG_SETMASK, nullptr, &ownMask);
  }
  ~ProcessState() {
    for (int timer : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF})
      setTimer(timer, {0, 0}, {0, 0});
    ::pthread_sigmask(SIG_SETMASK, &maskBefore, nullptr);
    for (int signal = 1; signal < count; ++signal)
      ::sigaction(signal, &before[signal], nullptr);
  }
  ProcessState(const ProcessState &) = delete;
  ProcessState &operator=(const ProcessState &) = delete;

  /// Fails if the state has been changed.
  void expectUnchanged() const {
    for (int signal = 1; signal < count; ++signal) {
      struct sigaction now = {};
      if (::sigaction(signal, nullptr, &now) != 0)
        continue; // reserved by the C library
      EXPECT_EQ(now.sa_handler, own[signal].sa_handler) << "signal " << signal;
      EXPECT_EQ(now.sa_flags, own[signal].sa_flags) << "signal " << signal;
      EXPECT_EQ(std::memcmp(&now.sa_mask, &own[signal].sa_mask, maskBytes), 0)
          << "signal " << signal;
    }
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    EXPECT_EQ(std::memcmp(&mask, &ownMask, maskBytes), 0);
    for (int timer : {ITIMER_VIRTUAL, ITIMER_PROF}) {
      itimerval now;
      ::getitimer(timer, &now);
      EXPECT_GT(now.it_value.tv_sec, 900) << "timer " << timer;
      EXPECT_EQ(now.it_interval.tv_sec, 1000) << "timer " << timer;
    }
    // The alarm continues to arrive.
    int last = arrived;
    for (int wait = 0; wait < 1000 && arrived == last; ++wait)
      ::usleep(5000);
    EXPECT_GT(arrived, last);
  }

private:
  static constexpr int count = 65;
  static constexpr size_t maskBytes = count / 8;

  static void setHandler(int signal) {
    struct sigaction action = {};
    action.sa_handler = signal == SIGALRM ? countAlarm : ignore;
    ::sigemptyset(&action.sa_mask);
    ::sigaddset(&action.sa_mask, SIGHUP);
    // Fails for SIGKILL and SIGSTOP, and for signals of the C library.
    ::sigaction(signal, &action, nullptr);
  }
  static void setTimer(int timer, timeval first, timeval then) {
    itimerval value = {then, first};
    ::setitimer(static_cast<__itimer_which>(timer), &value, nullptr);
  }
  static void countAlarm(int) { arrived = arrived + 1; }
  static void ignore(int) {}

  static inline volatile std::sig_atomic_t arrived = 0;
  std::array<struct sigaction, count> before = {}, own = {};
  sigset_t maskBefore, ownMask;
};

#endif // NSACC_TEST_UNITTESTS_SUPPORT_PROCESSSTATE_H
