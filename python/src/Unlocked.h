//===- Unlocked.h - Work without Python's lock ------------------*- C++ -*-===//

#ifndef NSACC_PYTHON_UNLOCKED_H
#define NSACC_PYTHON_UNLOCKED_H

#include <pybind11/pybind11.h>

namespace nsacc::python {

/// Releases the GIL while it lives. A thread whose interpreter ends meanwhile
/// never comes back from here: Python would unwind it, through frames that
/// can't be.
class Unlocked {
public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked &) = delete;
  Unlocked &operator=(const Unlocked &) = delete;

private:
  PyThreadState *state;
};

/// For runs to be asked: runs the handlers of signals that came in, if this is
/// the main thread. Not 0 where the run is to end.
int checkSignals(void *);

/// Lets calls end before the interpreter does, and forked processes forget
/// their parent's calls.
void watchInterpreter();

} // namespace nsacc::python

#endif // NSACC_PYTHON_UNLOCKED_H
