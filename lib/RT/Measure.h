//===- Measure.h - How long launches take -----------------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_MEASURE_H
#define NSACC_LIB_RT_MEASURE_H

#include "Driver.h"
#include "nsacc/RT/Host.h"

namespace nsacc::rt {

/// Throws where options aren't valid, or not where the module is.
void checkOptions(const nsacc_rt_measure_options &options, bool isOnHost);

/// Throws where the driver lacks a function that measuring calls.
void requireMeasuring(const Driver &driver, bool hasGraph);

/// Options are those that checkOptions takes.
void measureOnHost(HostModule &module, const nsacc_rt_tensor *tensors,
                   size_t count, const nsacc_rt_measure_options &options,
                   double *milliseconds);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_MEASURE_H
