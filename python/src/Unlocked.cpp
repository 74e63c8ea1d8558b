//===- Unlocked.cpp - Work without Python's lock --------------------------===//

#include "Unlocked.h"
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

namespace py = pybind11;
using namespace nsacc::python;

/// Number of threads in an Unlocked. Atomic, as a fork can come at any time.
static std::atomic<int> running = 0;
static std::atomic<bool> isEnding = false;
/// The thread that ends the interpreter; it may still call programs.
static std::atomic<std::thread::id> ender;

/// Blocks a thread after the interpreter has ended, until the process ends.
[[noreturn]] static void waitForTheEnd() {
  while (true)
    pause();
}

static bool hasEndedForThisThread() {
  return isEnding && ender.load() != std::this_thread::get_id();
}

/// Takes the GIL with `take`. Python unwinds threads that ask for it too late.
template <typename Take> static auto takeLock(Take take) {
  try {
    return take();
  } catch (...) {
    waitForTheEnd();
  }
}

Unlocked::Unlocked() : state(PyEval_SaveThread()) {
  ++running;
  if (!hasEndedForThisThread())
    return;
  --running;
  waitForTheEnd();
}

Unlocked::~Unlocked() {
  --running;
  if (hasEndedForThisThread())
    waitForTheEnd();
  takeLock([&] { PyEval_RestoreThread(state); });
}

int nsacc::python::checkSignals(void *) {
  if (hasEndedForThisThread())
    return 1;
  PyGILState_STATE lock = takeLock([] { return PyGILState_Ensure(); });
  int raised = PyErr_CheckSignals();
  PyGILState_Release(lock);
  return raised != 0;
}

static void endProcess(int status, void *) {
  fflush(nullptr);
  _exit(status);
}

/// Runs check every 50 ms whether they should end. Work that doesn't check, as
/// a compilation, must not outlive the library's static objects.
static void endCalls() {
  using namespace std::chrono;
  ender = std::this_thread::get_id();
  isEnding = true;
  {
    py::gil_scoped_release unlock;
    auto until = steady_clock::now() + seconds(2);
    while (running > 0 && steady_clock::now() < until)
      std::this_thread::sleep_for(milliseconds(1));
  }
  if (running > 0)
    on_exit(endProcess, nullptr);
}

static void forgetCalls() { running = 0; }

void nsacc::python::watchInterpreter() {
  using namespace py::literals;
  py::module_::import("atexit").attr("register")(py::cpp_function(&endCalls));
  py::module_::import("os").attr("register_at_fork")(
      "after_in_child"_a = py::cpp_function(&forgetCalls));
}
