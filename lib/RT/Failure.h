//===- Failure.h - Errors of the runtime ------------------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_FAILURE_H
#define NSACC_LIB_RT_FAILURE_H

#include "nsacc-rt/nsacc_rt.h"
#include <stdexcept>
#include <string>

namespace nsacc::rt {

/// Thrown inside the runtime; its interface turns it into a status.
class Failure : public std::runtime_error {
public:
  Failure(nsacc_rt_status status, const std::string &message)
      : std::runtime_error(message), status(status) {}

  nsacc_rt_status status;
};

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_FAILURE_H
