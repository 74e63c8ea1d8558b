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
  /** No CUDA driver, no device, or a driver or device that is too old. */
  NSACC_RT_UNAVAILABLE = 2,
  /** The driver reported an error. */
  NSACC_RT_DRIVER = 3,
  /** The package is damaged, of another version, or not for the device. */
  NSACC_RT_PACKAGE = 4,
  /** Memory ran out. */
  NSACC_RT_MEMORY = 5,
  /** A run ended with an error of the program, for instance a table read out of
   *  range. */
  NSACC_RT_FAILED = 6,
  /** The caller ended a run on the host. */
  NSACC_RT_INTERRUPTED = 7
} nsacc_rt_status;

/** Why the last call of this thread failed; empty if it didn't. The pointer is
 *  the same for all calls of a thread and valid as long as the thread lives.
 *  The next call overwrites the message, so copy it if you keep it. Messages
 *  beyond 4095 bytes are cut. */
NSACC_RT_API const char *nsacc_rt_message(void);

/** "0.1.0" */
NSACC_RT_API const char *nsacc_rt_version(void);

/*===-- Devices -----------------------------------------------------------===*/

/** Fails with NSACC_RT_UNAVAILABLE if there is no driver. */
NSACC_RT_API nsacc_rt_status nsacc_rt_device_count(int *count);

typedef struct nsacc_rt_device_info {
  char name[128];
  /** Compute capability, 9 and 0. */
  int major, minor;
  int multiprocessors;
  /** The most shared memory of one block, in bytes. */
  int64_t shared_bytes;
  /** Of a multiprocessor, for all of its blocks: bytes of shared memory, and
   * 32-bit registers. */
  int64_t shared_bytes_of_multiprocessor, registers_of_multiprocessor;
  /** Bytes of the L2 cache. */
  int64_t l2_bytes;
  /** The CUDA version that the driver supports: 13000 for CUDA 13.0. */
  int driver_version;
} nsacc_rt_device_info;

NSACC_RT_API nsacc_rt_status nsacc_rt_device(int device,
                                             nsacc_rt_device_info *info);

/*===-- Modules -----------------------------------------------------------===*/

/** A package, loaded for one device. */
typedef struct nsacc_rt_module nsacc_rt_module;

/** The host's processor, as a device. */
#define NSACC_RT_HOST (-2)

/** Loads a package. Its bytes aren't needed after the call. Code for specific
 * sizes is compiled by the first call that needs it. The module lives in the
 * calling thread's current context if that belongs to `device`, else in the
 * device's primary context. Device -1 is the current context's device, or 0.
 * NSACC_RT_HOST runs the package's code for processors, and needs no CUDA. */
NSACC_RT_API nsacc_rt_status nsacc_rt_load(const void *package, size_t size,
                                           int device,
                                           nsacc_rt_module **module);
/** Loads a package from a file, by its path in the system's encoding. */
NSACC_RT_API nsacc_rt_status nsacc_rt_load_file(const char *path, int device,
                                                nsacc_rt_module **module);
/** Unloads a module once its kernels have ended. Kernels that CUDA graphs
 * recorded stay in the process: the graphs can still run. */
NSACC_RT_API void nsacc_rt_unload(nsacc_rt_module *module);

/** An input or a result. Strings live as long as the module. */
typedef struct nsacc_rt_parameter {
  const char *name;
  nsacc_dtype dtype;
  int rank;
  int is_result;
} nsacc_rt_parameter;

NSACC_RT_API const char *nsacc_rt_kernel(const nsacc_rt_module *module);
/** "sm_90a": the chosen target of the package's first variant that the device
 * can run. */
NSACC_RT_API const char *nsacc_rt_target(const nsacc_rt_module *module);
NSACC_RT_API int nsacc_rt_module_device(const nsacc_rt_module *module);
NSACC_RT_API size_t nsacc_rt_parameter_count(const nsacc_rt_module *module);
NSACC_RT_API nsacc_rt_status nsacc_rt_get_parameter(
    const nsacc_rt_module *module, size_t index, nsacc_rt_parameter *parameter);
/** The size that a package fixes for a dimension; -1 if any size will do. */
NSACC_RT_API int64_t nsacc_rt_parameter_size(const nsacc_rt_module *module,
                                             size_t index, int dim);

/** The package that a header of `nsacc header` expects. */
typedef struct nsacc_rt_signature {
  const char *kernel;
  const nsacc_rt_parameter *parameters;
  /** The expected sizes of all parameters' dimensions, one after the other; -1
   *  if any size will do. */
  const int64_t *sizes;
  /** Number of parameters. */
  size_t count;
} nsacc_rt_signature;

/** Fails with NSACC_RT_PACKAGE if the module's package has another kernel, or
 *  other parameters. */
NSACC_RT_API nsacc_rt_status nsacc_rt_match(
    const nsacc_rt_module *module, const nsacc_rt_signature *signature);

/*===-- Launching ---------------------------------------------------------===*/

/** A tensor in the device's memory; for NSACC_RT_HOST, in the process's memory.
 */
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
 *  with several variants runs the first one whose guards hold for the tensors'
 *  sizes. The call doesn't wait for the kernels. It allocates memory if a
 *  stream needs more workspace than before. While the stream is captured, the
 *  launch becomes part of the graph, with its own workspace that lives as long
 *  as the module.
 *
 *  Fails with NSACC_RT_FAILED if an earlier run on the stream is known to have
 *  failed; each failure is reported once. On the host, the function returns
 *  when the run is done, and fails if the run itself does.
 *
 *  Offsets of ragged rows have to rise from 0 to the number of tokens. On the
 *  host, other offsets are an error; on a device, the values aren't checked.
 *
 *  Results must not share memory: two results that overlap are an error. A
 *  result that overlaps an input is an error on a device; on the host it is
 *  computed in other memory, and copied. */
NSACC_RT_API nsacc_rt_status nsacc_rt_launch(nsacc_rt_module *module,
                                             const nsacc_rt_tensor *tensors,
                                             size_t count,
                                             nsacc_rt_stream stream);

typedef struct nsacc_rt_host_options {
  /** 0: as many as the machine has cores. Results don't depend on it. */
  uint32_t threads;
  /** Called now and then by the calling thread, with `data`; NULL: never. If it
   *  returns other than 0, the run ends with NSACC_RT_INTERRUPTED and leaves
   *  results half written. */
  int (*is_interrupted)(void *data);
  void *data;
} nsacc_rt_host_options;

/** Runs a module of NSACC_RT_HOST and returns when the results are written.
 *  Tensors whose layout the code can't take are copied. `options` may be NULL.
 *  nsacc_rt_launch, with a NULL stream, does the same without options. */
NSACC_RT_API nsacc_rt_status
nsacc_rt_run_on_host(nsacc_rt_module *module, const nsacc_rt_tensor *tensors,
                     size_t count, const nsacc_rt_host_options *options);

/** Allocates the memory that a launch with tensors of these shapes needs on the
 * stream, and compiles its code, so that the launch does neither. Data may be
 * null. On the host there is nothing to do. */
NSACC_RT_API nsacc_rt_status nsacc_rt_reserve(nsacc_rt_module *module,
                                              const nsacc_rt_tensor *tensors,
                                              size_t count,
                                              nsacc_rt_stream stream);

typedef struct nsacc_rt_measure_options {
  /** Number of times to take, at least 1. */
  uint32_t runs;
  /** Number of consecutive launches that one time covers, at least 1. The time
   *  is divided by it. */
  uint32_t launches;
  /** Bytes of device memory that are written before each time, so that the L2
   *  cache holds nothing of the tensors: a multiple of 4, for instance twice
   *  nsacc_rt_device_info.l2_bytes, with `launches` = 1; 0: none. NSACC_RT_HOST
   *  takes 0 only. */
  size_t flush_bytes;
  /** Not 0: launches are replayed from a CUDA graph, one for each time.
   *  NSACC_RT_HOST takes 0 only. */
  int graph;
  /** NSACC_RT_HOST: as in nsacc_rt_host_options; else 0. */
  uint32_t threads;
} nsacc_rt_measure_options;

/** Launches the module with these tensors again and again, and writes the time
 *  of one launch, `runs` times, in milliseconds, in the order in which they
 *  were taken. Returns when the device is done with the tensors. If the
 *  function fails, the content of `milliseconds` is meaningless.
 *
 *  On a device, launches go to a separate stream with separate memory, which is
 *  freed at the end. They begin when the default stream is done; other streams
 *  must have finished their writes to the tensors, and other work of the device
 *  during the measurement is included in the times. Before the first time, one
 *  launch compiles code and allocates and is waited for; then there are as many
 *  more launches as one time covers. A time is the device's, from the end of
 *  the work before the launches to the end of the last launch. Kernels shorter
 *  than the time to enqueue them, some microseconds, can only be measured with
 *  `graph` and many `launches`.
 *
 *  On the host a time is that of nsacc_rt_run_on_host, after one run that isn't
 *  timed.
 *
 *  Fails as nsacc_rt_launch does, with NSACC_RT_FAILED if a launch ended with
 *  an error of the program, with NSACC_RT_INVALID for options that break the
 *  rules above, and with NSACC_RT_UNAVAILABLE if the driver lacks a function
 *  that measuring needs. Must not be called while a stream of the device is
 *  captured. */
NSACC_RT_API nsacc_rt_status nsacc_rt_measure(
    nsacc_rt_module *module, const nsacc_rt_tensor *tensors, size_t count,
    const nsacc_rt_measure_options *options, double *milliseconds);

/** Bytes of workspace that the last launch on any stream took. */
NSACC_RT_API int64_t nsacc_rt_workspace_bytes(const nsacc_rt_module *module);
/** The most launches of a plan; repeated ones count once. */
NSACC_RT_API size_t nsacc_rt_launch_count(const nsacc_rt_module *module);

/** Checks whether a run of this stream or of a graph failed. The caller has
 *  waited for it. Returns NSACC_RT_FAILED with the program's message, once. */
NSACC_RT_API nsacc_rt_status nsacc_rt_check(nsacc_rt_module *module,
                                            nsacc_rt_stream stream);

/*===-- Memory, for callers that have no other access to the device -------===*/
/* NSACC_RT_HOST is accepted like any device: programs needn't tell them apart.
 */

NSACC_RT_API nsacc_rt_status nsacc_rt_allocate(int device, size_t bytes,
                                               void **data);
NSACC_RT_API void nsacc_rt_free(int device, void *data);
/** Both functions return when the bytes are copied. */
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
