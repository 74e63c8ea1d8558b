//===- Measure.h - Times of launches ----------------------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_MEASURE_H
#define NSACC_LIB_RT_MEASURE_H

#include "Driver.h"
#include "nsacc/RT/Host.h"

namespace nsacc::rt {

/// Throws if options aren't valid, or not for the module's device.
void checkOptions(const nsacc_rt_measure_options &options, bool isOnHost);

/// Throws if the driver lacks a function that measuring needs.
void requireMeasuring(const Driver &driver, bool hasGraph);

/// Options must have passed checkOptions.
void measureOnHost(HostModule &module, const nsacc_rt_tensor *tensors,
                   size_t count, const nsacc_rt_measure_options &options,
                   double *milliseconds);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_MEASURE_H
