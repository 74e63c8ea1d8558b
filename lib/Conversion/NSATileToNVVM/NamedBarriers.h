//===- NamedBarriers.h - Barriers of warp-specialized code ------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_NAMEDBARRIERS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_NAMEDBARRIERS_H

#include <cstdint>

namespace nsacc {

/// The hardware's barriers in warp-specialized programs; 0 is that of all
/// threads. `kResult` and `kPingPong` are those of the first warpgroup, others
/// follow.
namespace namedBarriers {
constexpr int64_t kConsumers = 1, kProducer = 2, kResult = 3, kPingPong = 8;
} // namespace namedBarriers

/// Threads of the warps that fill circular buffers.
constexpr int64_t kProducerThreads = 128;

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_NAMEDBARRIERS_H
