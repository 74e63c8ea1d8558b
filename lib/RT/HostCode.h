//===- HostCode.h - Machine code of a processor, loaded ---------*- C++ -*-===//

#ifndef NSACC_LIB_RT_HOSTCODE_H
#define NSACC_LIB_RT_HOSTCODE_H

#include "nsacc/RT/Host.h"

namespace nsacc::rt {

/// An image in memory that can be run.
class HostCode {
public:
  /// The image must outlive this object. Throws a Failure.
  explicit HostCode(const HostImage &image);
  ~HostCode();
  HostCode(const HostCode &) = delete;
  HostCode &operator=(const HostCode &) = delete;

  /// Throws if there is no such kernel.
  HostFunction find(const std::string &kernel) const;

private:
  void fill();

  const HostImage &image;
  char *memory = nullptr;
};

/// Ranks code for the architecture on this processor: the higher, the better; 0
/// if it can't run.
int rankForHost(const std::string &architecture);

/// "x86-64-v4": the best architecture that runs on this processor.
std::string describeHost();

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_HOSTCODE_H
