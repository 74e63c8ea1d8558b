//===- ReportFailure.cpp - How kernels tell of failures -------------------===//

#include "nsacc-rt/failures.h"
#include "nsacc/Target/CUDA/CUDA.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

// Offsets in the text below.
static_assert(NSACC_RT_FAILURE_LOCK == 0 && NSACC_RT_FAILURE_COUNT == 1 &&
              NSACC_RT_FAILURE_REQUIREMENT == 2 &&
              NSACC_RT_FAILURE_VALUES == 4);

/// The protocol of nsacc-rt/failures.h. Threads of a warp that fail together
/// take the lock one after the other: since sm_70 each makes progress.
static constexpr StringLiteral kDefinition = R"(
.func nsacc_report_failure(
  .param .b64 failure_record,
  .param .b64 failure_requirement,
  .param .b64 failure_count,
  .param .b64 failure_values
)
{
  .reg .pred %p;
  .reg .b32 %lock;
  .reg .b64 %record, %requirement, %count, %values;
  .reg .b64 %known, %common, %left, %at, %old, %new;

  ld.param.b64 %record, [failure_record];
  ld.param.b64 %requirement, [failure_requirement];
  ld.param.b64 %count, [failure_count];
  ld.param.b64 %values, [failure_values];

take_lock:
  atom.acquire.gpu.cas.b32 %lock, [%record], 0, 1;
  setp.ne.u32 %p, %lock, 0;
  @!%p bra compare;
  nanosleep.u32 100;
  bra take_lock;

compare:
  ld.volatile.u64 %known, [%record+8];
  setp.eq.u64 %p, %known, 0;
  @%p bra write;
  sub.u64 %known, %known, 1;
  min.u64 %common, %known, %count;
  mov.u64 %left, %common;
  add.u64 %at, %record, 32;
  mov.u64 %new, %values;

compare_value:
  setp.eq.u64 %p, %left, 0;
  @%p bra compare_length;
  ld.volatile.s64 %old, [%at];
  ld.s64 %common, [%new];
  setp.lt.s64 %p, %common, %old;
  @%p bra write;
  setp.gt.s64 %p, %common, %old;
  @%p bra unlock;
  add.u64 %at, %at, 8;
  add.u64 %new, %new, 8;
  sub.u64 %left, %left, 1;
  bra compare_value;

compare_length:
  setp.lt.u64 %p, %count, %known;
  @%p bra write;
  setp.gt.u64 %p, %count, %known;
  @%p bra unlock;
  ld.volatile.u64 %old, [%record+16];
  setp.ge.u64 %p, %requirement, %old;
  @%p bra unlock;

write:
  st.volatile.u64 [%record+16], %requirement;
  mov.u64 %left, %count;
  add.u64 %at, %record, 32;
  mov.u64 %new, %values;

write_value:
  setp.eq.u64 %p, %left, 0;
  @%p bra write_count;
  ld.s64 %old, [%new];
  st.volatile.s64 [%at], %old;
  add.u64 %at, %at, 8;
  add.u64 %new, %new, 8;
  sub.u64 %left, %left, 1;
  bra write_value;

write_count:
  add.u64 %old, %count, 1;
  st.volatile.u64 [%record+8], %old;

unlock:
  fence.acq_rel.sys;
  st.release.gpu.b32 [%record], 0;
  ret;
}
)";

void nsacc::cuda::defineReportFailure(std::string &ptx) {
  std::string declaration = (".extern .func " + kReportFailureName).str();
  size_t begin = ptx.find(declaration);
  if (begin == std::string::npos)
    return;
  // "(parameters)", perhaps over several lines, ";"
  size_t end = ptx.find(';', begin);
  if (end == std::string::npos)
    return;
  ptx.replace(begin, end + 1 - begin, kDefinition.str());
}
