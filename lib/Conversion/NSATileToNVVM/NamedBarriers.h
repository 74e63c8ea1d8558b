//===- NamedBarriers.h - Barriers of warp-specialized code ------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_NAMEDBARRIERS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_NAMEDBARRIERS_H

#include <cstdint>

namespace nsacc {

/// The hardware's barriers in warp-specialized programs. Barrier 0 is for all
/// threads. `kResult` and `kPingPong` are the first warpgroup's; the other
/// warpgroups' follow.
namespace namedBarriers {
constexpr int64_t kConsumers = 1, kProducer = 2, kResult = 3, kPingPong = 8;
} // namespace namedBarriers

/// Number of threads of the warps that fill circular buffers.
constexpr int64_t kProducerThreads = 128;

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_NAMEDBARRIERS_H
