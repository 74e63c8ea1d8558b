/*===- nsacc-rt/nsacc_rt.h - Runs compiled programs ---------------*- C -*-===*\
|*                                                                            *|
|* libnsacc_rt loads packages that nsacc compiled and runs their kernels: on  *|
|* GPUs through the CUDA driver, which it opens when it is first needed, and  *|
|* on the host's processor. There is no compiler in it.                       *|
|*                                                                            *|
|* Functions that can fail return a status; nsacc_rt_message says more. Any   *|
|* thread may call any function at any time, but may not use a module that    *|
|* another one unloads.                                                       *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef NSACC_RT_NSACC_RT_H
#define NSACC_RT_NSACC_RT_H

#include "nsacc-c/dtype.h"
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define NSACC_RT_API __attribute__((visibility("default")))
#else
#define NSACC_RT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum nsacc_rt_status {
  NSACC_RT_OK = 0,
  /** An argument isn't what the function or the package expects. */
  NSACC_RT_INVALID = 1,
  /** No CUDA driver, no device, or one that is too old. */
  NSACC_RT_UNAVAILABLE = 2,
  /** The driver reported an error. */
  NSACC_RT_DRIVER = 3,
  /** The package is damaged, of another version, or not for the device. */
  NSACC_RT_PACKAGE = 4,
  /** Memory ran out. */
  NSACC_RT_MEMORY = 5,
  /** The program ended a run with an error, as where a table is read out of
   *  range. */
  NSACC_RT_FAILED = 6,
  /** The caller ended a run on the host. */
  NSACC_RT_INTERRUPTED = 7
} nsacc_rt_status;

/** Why the last call of this thread failed; empty if it didn't. The pointer is
 *  the same for all calls of a thread and valid as long as the thread lives;
 *  what it points to is the last call's, so copy what has to stay. Messages
 *  beyond 4095 bytes are cut. */
NSACC_RT_API const char *nsacc_rt_message(void);

/** "0.1.0" */
NSACC_RT_API const char *nsacc_rt_version(void);

/*===-- Devices -----------------------------------------------------------===*/

/** Fails with NSACC_RT_UNAVAILABLE where there is no driver. */
NSACC_RT_API nsacc_rt_status nsacc_rt_device_count(int *count);

typedef struct nsacc_rt_device_info {
  char name[128];
  /** Compute capability, 9 and 0. */
  int major, minor;
  int multiprocessors;
  /** Bytes of shared memory that one block can have. */
  int64_t shared_bytes;
  /** Of all blocks of a multiprocessor: bytes of shared memory, and 32-bit
   * registers. */
  int64_t shared_bytes_of_multiprocessor, registers_of_multiprocessor;
  /** Bytes of the cache of the second level. */
  int64_t l2_bytes;
  /** What the driver supports: 13000 for CUDA 13.0. */
  int driver_version;
} nsacc_rt_device_info;

NSACC_RT_API nsacc_rt_status nsacc_rt_device(int device,
                                             nsacc_rt_device_info *info);

/*===-- Modules -----------------------------------------------------------===*/

/** A package, loaded for one device. */
typedef struct nsacc_rt_module nsacc_rt_module;

/** The host's processor, as a device. */
#define NSACC_RT_HOST (-2)

/** Loads a package, whose bytes aren't needed any more then. Code that is for
 * some sizes only is compiled by the first call that needs it. The module lives
 *  in the calling thread's current context if that is of `device`, else in the
 *  device's primary one. Device -1 is that of the current context, or 0;
 *  NSACC_RT_HOST runs the package's code for processors, and needs no CUDA. */
NSACC_RT_API nsacc_rt_status nsacc_rt_load(const void *package, size_t size,
                                           int device,
                                           nsacc_rt_module **module);
/** The same for a package in a file, by its path in the system's encoding. */
NSACC_RT_API nsacc_rt_status nsacc_rt_load_file(const char *path, int device,
                                                nsacc_rt_module **module);
/** Waits for the module's kernels. What graphs recorded of them stays in the
 * process: they can still run. */
NSACC_RT_API void nsacc_rt_unload(nsacc_rt_module *module);

/** An input or a result. Strings live as long as the module. */
typedef struct nsacc_rt_parameter {
  const char *name;
  nsacc_dtype dtype;
  int rank;
  int is_result;
} nsacc_rt_parameter;

NSACC_RT_API const char *nsacc_rt_kernel(const nsacc_rt_module *module);
/** "sm_90a": which of the package's targets was chosen, for its first variant
 * that the device can run. */
NSACC_RT_API const char *nsacc_rt_target(const nsacc_rt_module *module);
NSACC_RT_API int nsacc_rt_module_device(const nsacc_rt_module *module);
NSACC_RT_API size_t nsacc_rt_parameter_count(const nsacc_rt_module *module);
NSACC_RT_API nsacc_rt_status nsacc_rt_get_parameter(
    const nsacc_rt_module *module, size_t index, nsacc_rt_parameter *parameter);
/** The size that a package fixes for a dimension; -1 where any will do. */
NSACC_RT_API int64_t nsacc_rt_parameter_size(const nsacc_rt_module *module,
                                             size_t index, int dim);

/** What headers that `nsacc header` writes expect of their package. */
typedef struct nsacc_rt_signature {
  const char *kernel;
  const nsacc_rt_parameter *parameters;
  /** Of all parameters' dimensions, one after the other: the size that is
   *  expected, -1 where any will do. */
  const int64_t *sizes;
  /** Of parameters. */
  size_t count;
} nsacc_rt_signature;

/** Fails with NSACC_RT_PACKAGE where the module's package has another kernel,
 *  or other parameters. */
NSACC_RT_API nsacc_rt_status nsacc_rt_match(
    const nsacc_rt_module *module, const nsacc_rt_signature *signature);

/*===-- Launching ---------------------------------------------------------===*/

/** A tensor in the device's memory; of NSACC_RT_HOST, the process's. */
typedef struct nsacc_rt_tensor {
  void *data;
  nsacc_dtype dtype;
  int32_t rank;
  const int64_t *shape;
  /** In elements; null: row-major. */
  const int64_t *strides;
} nsacc_rt_tensor;

/** A CUstream; null is the legacy default stream. */
typedef void *nsacc_rt_stream;

/** Enqueues the kernels of a run: tensors are inputs, then results. A package
 *  with several variants runs the first one whose guards hold for their sizes.
 *  Nothing is waited for. Memory is allocated where a stream needs more
 *  workspace than before. While the stream is captured the launch becomes part
 * of the graph, with a workspace of its own that lives as long as the module.
 *
 *  Fails with NSACC_RT_FAILED where an earlier run on the stream is known to
 *  have failed; that is told once. On the host, where the run itself does: it
 * is done when the function returns.
 *
 *  Offsets of ragged rows have to rise from 0 to the number of tokens. On the
 *  host others are an error; what a device's tensors hold isn't looked at.
 *
 *  A result's memory is its own: another result's is an error, and an input's
 *  is on a device; on the host it is computed beside the input, and copied. */
NSACC_RT_API nsacc_rt_status nsacc_rt_launch(nsacc_rt_module *module,
                                             const nsacc_rt_tensor *tensors,
                                             size_t count,
                                             nsacc_rt_stream stream);

typedef struct nsacc_rt_host_options {
  /** 0: as many as the machine has cores. Results don't depend on it. */
  uint32_t threads;
  /** Asked now and then by the calling thread, with `data`; NULL: never. A run
   *  for which it isn't 0 ends with NSACC_RT_INTERRUPTED, results half
   *  written. */
  int (*is_interrupted)(void *data);
  void *data;
} nsacc_rt_host_options;

/** Runs a module of NSACC_RT_HOST and returns when results are there. Tensors
 *  that aren't laid out as the code needs them are copied. `options` may be
 *  NULL. nsacc_rt_launch, with a NULL stream, does the same without options. */
NSACC_RT_API nsacc_rt_status
nsacc_rt_run_on_host(nsacc_rt_module *module, const nsacc_rt_tensor *tensors,
                     size_t count, const nsacc_rt_host_options *options);

/** Allocates what a launch with tensors of these shapes needs on the stream,
 * and compiles its code, so that it does neither. Data may be null. On the host
 * there is nothing to do. */
NSACC_RT_API nsacc_rt_status nsacc_rt_reserve(nsacc_rt_module *module,
                                              const nsacc_rt_tensor *tensors,
                                              size_t count,
                                              nsacc_rt_stream stream);

typedef struct nsacc_rt_measure_options {
  /** Times to take, at least 1. */
  uint32_t runs;
  /** Launches behind each other that one time is taken of, at least 1; the time
   *  is that of one of them. */
  uint32_t launches;
  /** Bytes of device memory that are written in front of each time, so that the
   *  cache of the second level has nothing of the tensors: a multiple of 4, as
   *  twice nsacc_rt_device_info.l2_bytes, with `launches` = 1; 0: none. Not of
   *  NSACC_RT_HOST. */
  size_t flush_bytes;
  /** Not 0: launches are replayed from a CUDA graph, one for each time. Not of
   *  NSACC_RT_HOST. */
  int graph;
  /** Of NSACC_RT_HOST, as nsacc_rt_host_options has it; else 0. */
  uint32_t threads;
} nsacc_rt_measure_options;

/** Launches the module with these tensors again and again, and writes how long
 *  a launch took, `runs` times in milliseconds in the order in which they were
 *  taken. Returns when the device is done with the tensors. `milliseconds` has
 *  nothing of use where the function fails.
 *
 *  On a device, launches go to a stream of their own, with memory of their own,
 *  which is freed at the end. They begin when the default stream is done;
 *  whatever other streams write to the tensors has to be there, and what else
 *  the device does meanwhile is in the times. Before the first time, there is
 *  one launch that is waited for, which compiles code and allocates; then as
 *  much as one time is taken of. A time is the device's, from the end of what
 *  was in front of the launches to the end of the last one. Kernels that are
 *  shorter than putting them on the stream takes, some microseconds, are
 *  measured with `graph` only, and with many `launches`.
 *
 *  On the host a time is that of nsacc_rt_run_on_host, after one run that isn't
 *  timed.
 *
 *  Fails as nsacc_rt_launch does, with NSACC_RT_FAILED where a launch ended
 *  with an error of the program, with NSACC_RT_INVALID for options that aren't
 *  as said above, and with NSACC_RT_UNAVAILABLE where the driver lacks what
 *  measuring needs. Not while a stream of the device is captured. */
NSACC_RT_API nsacc_rt_status nsacc_rt_measure(
    nsacc_rt_module *module, const nsacc_rt_tensor *tensors, size_t count,
    const nsacc_rt_measure_options *options, double *milliseconds);

/** Bytes of workspace that the last launch on any stream took. */
NSACC_RT_API int64_t nsacc_rt_workspace_bytes(const nsacc_rt_module *module);
/** Launches of a plan, at most; those that a run repeats count once. */
NSACC_RT_API size_t nsacc_rt_launch_count(const nsacc_rt_module *module);

/** Says whether a run failed, of this stream or of a graph, that the caller has
 *  waited for: NSACC_RT_FAILED with the program's message, once. */
NSACC_RT_API nsacc_rt_status nsacc_rt_check(nsacc_rt_module *module,
                                            nsacc_rt_stream stream);

/*===-- Memory, for callers that have no other access to the device -------===*/
/* NSACC_RT_HOST is a device like others: programs needn't tell them apart. */

NSACC_RT_API nsacc_rt_status nsacc_rt_allocate(int device, size_t bytes,
                                               void **data);
NSACC_RT_API void nsacc_rt_free(int device, void *data);
/** Both wait until the bytes are there. */
NSACC_RT_API nsacc_rt_status nsacc_rt_to_device(int device, void *to,
                                                const void *from, size_t bytes);
NSACC_RT_API nsacc_rt_status nsacc_rt_to_host(int device, void *to,
                                              const void *from, size_t bytes);
/** Waits for everything on the stream. */
NSACC_RT_API nsacc_rt_status nsacc_rt_synchronize(int device,
                                                  nsacc_rt_stream stream);

#ifdef __cplusplus
}
#endif

#endif /* NSACC_RT_NSACC_RT_H */
