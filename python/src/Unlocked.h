//===- Unlocked.h - Work without Python's lock ------------------*- C++ -*-===//

#ifndef NSACC_PYTHON_UNLOCKED_H
#define NSACC_PYTHON_UNLOCKED_H

#include <pybind11/pybind11.h>

namespace nsacc::python {

/// Releases the GIL while it lives. If the interpreter ends meanwhile, the
/// thread never returns from here: Python would unwind it through frames that
/// can't be unwound.
class Unlocked {
public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked &) = delete;
  Unlocked &operator=(const Unlocked &) = delete;

private:
  PyThreadState *state;
};

/// Runs call it: runs the handlers of signals that arrived, if this is the main
/// thread. Not 0 if the run should end.
int checkSignals(void *);

/// Makes calls end before the interpreter does, and makes forked processes
/// forget their parent's calls.
void watchInterpreter();

} // namespace nsacc::python

#endif // NSACC_PYTHON_UNLOCKED_H
