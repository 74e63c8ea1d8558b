/*===- nsacc-rt/failures.h - Failure records of kernels -----------*- C -*-===*\
|*                                                                            *|
|* A failure record is NSACC_RT_FAILURE_WORDS 64-bit words in host memory     *|
|* that the device can write. Every launch of a plan has its record.          *|
|*                                                                            *|
|*   word 0   lock, in its low 32 bits: 0 free, 1 taken                       *|
|*   word 1   0: nothing failed; else 1 + the number of values                *|
|*   word 2   the number of the assertion, counted over the module            *|
|*   word 4…  the values, signed; then -2^63, if there is room                *|
|*                                                                            *|
|* A record keeps the least failure: values compare lexicographically, with   *|
|* a list before all longer ones that begin with it; then assertions compare. *|
|* A thread that has a failure to report does this:                           *|
|*                                                                            *|
|*   if word 1 isn't 0, and the first values exceed the stored ones: done     *|
|*   while (atom.acquire.gpu.cas.b32 [record], 0, 1) is 1: begin again        *|
|*   if word 1 is 0, or the new failure is less than the stored one:          *|
|*     store the values, the last one first, the assertion, then word 1       *|
|*   fence.acq_rel.sys                                                        *|
|*   st.release.gpu.b32 [record], 0                                           *|
|*                                                                            *|
|* Only the device uses the lock; the host reads when the device is done.     *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef NSACC_RT_FAILURES_H
#define NSACC_RT_FAILURES_H

#define NSACC_RT_FAILURE_WORDS 32
#define NSACC_RT_FAILURE_LOCK 0
#define NSACC_RT_FAILURE_COUNT 1
#define NSACC_RT_FAILURE_ASSERTION 2
#define NSACC_RT_FAILURE_VALUES 4
/* The most values that an nsatile.assert has. */
#define NSACC_RT_FAILURE_MAX_VALUES 24

#endif /* NSACC_RT_FAILURES_H */
