//===- HostNames.h - Names in code for processors ---------------*- C++ -*-===//

#ifndef NSACC_RT_HOSTNAMES_H
#define NSACC_RT_HOSTNAMES_H

namespace nsacc::rt {

/// The architecture of code for the processor that compiled it, which no other
/// processor loads.
inline constexpr char kThisProcessor[] = "host";

/// The function that programs call with the number of an assertion
/// that doesn't hold, and its values.
inline constexpr char kReportFailureName[] = "nsacc_report_failure";

} // namespace nsacc::rt

#endif // NSACC_RT_HOSTNAMES_H
