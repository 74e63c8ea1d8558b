/*===- nsacc-c/nsacc.h - C interface of nsacc -----------------------*- C
-*-===*\
|* *|
|* Compiles attention programs and runs them on tensors in host memory. *|
|* *|
|* Handles are opaque and belong to the caller, who destroys them; destroying *|
|* NULL does nothing. Strings are UTF-8, end in NUL, and live as long as the *|
|* handle that gave them. Functions that can fail return a status and, where *|
|* `error` isn't NULL, hand out an error object then (NULL when they succeed).
*|
|* An index out of range gives NULL or 0. *|
|* *|
|* Every function may be called from any thread. Programs, errors and shapes *|
|* don't change once made, so threads may share them; options belong to one *|
|* thread at a time. *|
|* *|
\*===----------------------------------------------------------------------===*/

#ifndef NSACC_C_NSACC_H
#define NSACC_C_NSACC_H

#include "nsacc-c/dtype.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NSACC_API __attribute__((visibility("default")))

/** Raised when a program compiled against an older header can't run with a
 * newer library. Functions and enumerators may be added without raising it. */
#define NSACC_ABI_VERSION 1

/** The NSACC_ABI_VERSION that the library was built with. */
NSACC_API uint32_t nsacc_abi_version(void);
/** "0.1.0" */
NSACC_API const char *nsacc_version(void);
/** The version of LLVM inside of the library. */
NSACC_API const char *nsacc_llvm_version(void);

/** What nsacc_options_set_target takes. */
NSACC_API size_t nsacc_num_targets(void);
NSACC_API const char *nsacc_target_name(size_t index);

/** The environment variables of nsacc. Tools read them; of this library's
 * functions only those whose names end in from_environment do. */
NSACC_API size_t nsacc_num_variables(void);
NSACC_API const char *nsacc_variable_name(size_t index);
NSACC_API const char *nsacc_variable_description(size_t index);

/*===-- Errors
 * ----------------------------------------------------------------*/

typedef enum nsacc_status {
  NSACC_OK = 0,
  /** The program, its parameters or its tensors are wrong. */
  NSACC_ERROR_USER = 1,
  /** The interface was misused: a NULL handle, an unknown phase, … */
  NSACC_ERROR_USAGE = 2,
  /** A mistake in nsacc. */
  NSACC_ERROR_INTERNAL = 3
} nsacc_status;

typedef enum nsacc_error_kind {
  NSACC_ERROR_KIND_COMPILE = 1,  /**< in the program; has diagnostics */
  NSACC_ERROR_KIND_ARGUMENT = 2, /**< tensors don't fit the program */
  NSACC_ERROR_KIND_TARGET = 3,   /**< the target is unknown or not there */
  NSACC_ERROR_KIND_FILE = 4,     /**< a file can't be read */
  NSACC_ERROR_KIND_USAGE = 5,
  NSACC_ERROR_KIND_INTERNAL = 6,
  NSACC_ERROR_KIND_INTERRUPTED = 7 /**< by nsacc_run_options_set_interrupt */
} nsacc_error_kind;

typedef enum nsacc_severity {
  NSACC_SEVERITY_ERROR = 1,
  NSACC_SEVERITY_WARNING = 2,
  NSACC_SEVERITY_REMARK = 3,
  NSACC_SEVERITY_NOTE = 4
} nsacc_severity;

typedef struct nsacc_error nsacc_error;
typedef struct nsacc_diagnostic nsacc_diagnostic;

NSACC_API nsacc_status nsacc_error_status(const nsacc_error *error);
NSACC_API nsacc_error_kind nsacc_error_get_kind(const nsacc_error *error);
/** One sentence; of several diagnostics, the first error's. */
NSACC_API const char *nsacc_error_message(const nsacc_error *error);
/** Everything, as the command line tool prints it: each diagnostic with its
 * place, the source line, a caret and its notes. */
NSACC_API const char *nsacc_error_text(const nsacc_error *error);
NSACC_API size_t nsacc_error_num_diagnostics(const nsacc_error *error);
NSACC_API const nsacc_diagnostic *
nsacc_error_diagnostic(const nsacc_error *error, size_t index);
NSACC_API void nsacc_error_destroy(nsacc_error *error);

NSACC_API nsacc_severity
nsacc_diagnostic_severity(const nsacc_diagnostic *diagnostic);
/** "error", "warning", "remark", "note" */
NSACC_API const char *
nsacc_diagnostic_severity_name(const nsacc_diagnostic *diagnostic);
NSACC_API const char *
nsacc_diagnostic_message(const nsacc_diagnostic *diagnostic);
/** As the command line tool prints it: with the source line, a caret and the
 * notes. "" for notes, which are part of their diagnostic's. */
NSACC_API const char *nsacc_diagnostic_text(const nsacc_diagnostic *diagnostic);
/** "" where the diagnostic has no place. */
NSACC_API const char *nsacc_diagnostic_file(const nsacc_diagnostic *diagnostic);
/** Lines and columns (in bytes) count from 1; 0 where there is no place. The
 * end is one behind the last column. */
NSACC_API uint32_t nsacc_diagnostic_line(const nsacc_diagnostic *diagnostic);
NSACC_API uint32_t nsacc_diagnostic_column(const nsacc_diagnostic *diagnostic);
NSACC_API uint32_t
nsacc_diagnostic_end_line(const nsacc_diagnostic *diagnostic);
NSACC_API uint32_t
nsacc_diagnostic_end_column(const nsacc_diagnostic *diagnostic);
NSACC_API size_t nsacc_diagnostic_num_notes(const nsacc_diagnostic *diagnostic);
NSACC_API const nsacc_diagnostic *
nsacc_diagnostic_note(const nsacc_diagnostic *diagnostic, size_t index);

/*===-- Compiling
 * -------------------------------------------------------------*/

typedef struct nsacc_options nsacc_options;
typedef struct nsacc_program nsacc_program;

/** NULL if memory is exhausted. */
NSACC_API nsacc_options *nsacc_options_create(void);
NSACC_API void nsacc_options_destroy(nsacc_options *options);
/** The value of a compile-time parameter, spelled as in a program ("64",
 * "0.5", "true", "f16"). */
NSACC_API nsacc_status nsacc_options_set_param(nsacc_options *options,
                                               const char *name,
                                               const char *value);
/** Element type of tensors that name none: "bf16" (default), "f16", "f32". */
NSACC_API nsacc_status nsacc_options_set_dtype(nsacc_options *options,
                                               const char *dtype);
/** Which kernel of the source; needed where there are several. */
NSACC_API nsacc_status nsacc_options_set_kernel(nsacc_options *options,
                                                const char *kernel);
/** One of nsacc_target_name; default nsacc_target_name(0). "cuda" is the first
 * GPU of this machine that nsacc compiles for, and a run on another one gets
 * code for that; "sm_86" is a GPU of that architecture. Programs for a GPU that
 * isn't there, or is too old, are NSACC_ERROR_KIND_TARGET when compiled. */
NSACC_API nsacc_status nsacc_options_set_target(nsacc_options *options,
                                                const char *target);
/** Target "cuda": compiles for the GPU that a JSON file describes, instead of
 * one of this machine. `nsacc device` writes such descriptions. */
NSACC_API nsacc_status nsacc_options_set_device(nsacc_options *options,
                                                const char *path);
/** How ops are tiled: "keys=64" for all that have the field, "slc: order=union,
 * tokens=8; cmp: keys=128" for those whose values the program gives these names
 * (docs/Schedules.md). What isn't given is the compiler's choice; what can't
 * hold is NSACC_ERROR_KIND_ARGUMENT when compiled. Not of the oracle. */
NSACC_API nsacc_status nsacc_options_set_schedule(nsacc_options *options,
                                                  const char *schedule);

/** GPU targets: a place where ptxas may be, besides the PATH; may be called
 * several times. Without ptxas the CUDA driver makes machine code. */
NSACC_API nsacc_status nsacc_options_add_ptxas(nsacc_options *options,
                                               const char *path);

/** Threads that compile kernels side by side, at most; 0, the default: one for
 * each core. Code doesn't depend on it. */
NSACC_API nsacc_status nsacc_options_set_threads(nsacc_options *options,
                                                 uint32_t threads);

/** Where code that runs make is looked for first and kept, for other processes
 * too. `mode` is "off" (these options' default), "readonly", "readwrite", or
 * "require", with which a run whose code isn't there is an error. `folder` is
 * made when something is written to it; may be NULL where `mode` is "off". Its
 * files take `most_bytes` together (0: 2 GiB); those that weren't used for
 * longest go first. */
NSACC_API nsacc_status nsacc_options_set_cache(nsacc_options *options,
                                               const char *mode,
                                               const char *folder,
                                               uint64_t most_bytes);
/** The same as NSACC_CACHE, NSACC_CACHE_DIR and NSACC_CACHE_SIZE say; by
 * default "readwrite" in the user's cache folder. */
NSACC_API nsacc_status nsacc_options_set_cache_from_environment(
    nsacc_options *options, nsacc_error **error);

/** Where fields of schedules come from that aren't given. `mode` is "off"
 * (these options' default): the compiler's choice; "replay": what
 * nsacc_program_tune kept in `folder` for the same program and calls of about
 * the same sizes; "model": the same, else what a model says is the fastest;
 * "quick" or "full": the same, else what measuring finds in the first call.
 * With ",graph" or ",cold" behind it, schedules of programs that are run from
 * CUDA graphs, or with a cold cache; with ",agreement=0.9", those of selections
 * of which neighbouring tokens have that much in common (0 to below 1).
 * `folder` may be NULL: the one that the options have. */
NSACC_API nsacc_status nsacc_options_set_tuning(nsacc_options *options,
                                                const char *mode,
                                                const char *folder);
/** The same as NSACC_TUNE and the variables of the cache say; by default
 * "replay" in the folder "tuned" of the cache's. */
NSACC_API nsacc_status nsacc_options_set_tuning_from_environment(
    nsacc_options *options, nsacc_error **error);
/** The program, then its arguments, of a process that calls nsacc_run_worker
 * with the two paths that come behind these. Tuning measures in it, as code
 * that is tried may end the process. */
NSACC_API nsacc_status nsacc_options_add_worker(nsacc_options *options,
                                                const char *argument);
/** What such a process does; returns its exit status. */
NSACC_API int nsacc_run_worker(const char *job, const char *found);

/** Checks a program. Code for sizes of heads and channels is made by the first
 * run that needs it, so what the target can't compile is an error of that run.
 * Compiles `length` bytes of source. `file` names it in diagnostics (NULL:
 * "<source>"); `options` may be NULL. */
NSACC_API nsacc_status nsacc_compile(const char *source, size_t length,
                                     const char *file,
                                     const nsacc_options *options,
                                     nsacc_program **program,
                                     nsacc_error **error);
/** Compiles a file. */
NSACC_API nsacc_status nsacc_compile_file(const char *path,
                                          const nsacc_options *options,
                                          nsacc_program **program,
                                          nsacc_error **error);
/** A program of a package: what nsacc_program_package or the command line
 * wrote. It runs where its tensors are; on the host, on the processor if the
 * package has code for that, else on the first GPU. It has no source and no IR.
 */
NSACC_API nsacc_status nsacc_load_package(const void *package, size_t size,
                                          nsacc_program **program,
                                          nsacc_error **error);

NSACC_API void nsacc_program_destroy(nsacc_program *program);

/*===-- What a program takes and gives
 * ----------------------------------------*/

typedef enum nsacc_dim_kind {
  NSACC_DIM_CONSTANT = 1, /**< size */
  NSACC_DIM_NAMED = 2,    /**< name; bound by the inputs */
  NSACC_DIM_RAGGED = 3,   /**< the packed rows of dimension name */
  NSACC_DIM_OFFSETS = 4,  /**< offsets of ragged name: batch rows + 1 */
  NSACC_DIM_POOL = 5,     /**< windows of len every stride tokens of name */
  NSACC_DIM_POOLED = 6, /**< declared pooled keys: as many as dimension count */
  NSACC_DIM_BLOCKS = 7  /**< blocks of block tokens of name */
} nsacc_dim_kind;

typedef struct nsacc_value nsacc_value;
typedef struct nsacc_dim nsacc_dim;

/** "i32", "bf16", … */
NSACC_API const char *nsacc_dtype_name(nsacc_dtype dtype);
/** Bytes of an element; 0 for no dtype. */
NSACC_API size_t nsacc_dtype_size(nsacc_dtype dtype);

NSACC_API const char *nsacc_program_kernel(const nsacc_program *program);
/** What it was compiled for; of a package, the architectures that it has code
 * for: "sm_90a, x86-64-v3". */
NSACC_API const char *nsacc_program_target(const nsacc_program *program);

/** Compile-time parameters with the values that they got. */
NSACC_API size_t nsacc_program_num_params(const nsacc_program *program);
NSACC_API const char *nsacc_program_param_name(const nsacc_program *program,
                                               size_t index);
NSACC_API const char *nsacc_program_param_value(const nsacc_program *program,
                                                size_t index);

/** Inputs in the order of nsacc_program_run; offsets of ragged dimensions last.
 */
NSACC_API size_t nsacc_program_num_inputs(const nsacc_program *program);
NSACC_API const nsacc_value *nsacc_program_input(const nsacc_program *program,
                                                 size_t index);
NSACC_API size_t nsacc_program_num_results(const nsacc_program *program);
NSACC_API const nsacc_value *nsacc_program_result(const nsacc_program *program,
                                                  size_t index);

NSACC_API const char *nsacc_value_name(const nsacc_value *value);
NSACC_API nsacc_dtype nsacc_value_dtype(const nsacc_value *value);
/** As programs spell it: "q: bf16[B, T, HQ, D]". */
NSACC_API const char *nsacc_value_text(const nsacc_value *value);
NSACC_API size_t nsacc_value_rank(const nsacc_value *value);
NSACC_API const nsacc_dim *nsacc_value_dim(const nsacc_value *value,
                                           size_t index);

/** As programs spell it: "HQ", "ragged T", … */
NSACC_API const char *nsacc_dim_text(const nsacc_dim *dim);
NSACC_API nsacc_dim_kind nsacc_dim_get_kind(const nsacc_dim *dim);
/** "" for constants. */
NSACC_API const char *nsacc_dim_name(const nsacc_dim *dim);
/** The dimension that counts declared pooled keys, else "". */
NSACC_API const char *nsacc_dim_count(const nsacc_dim *dim);
/** Whether the rows of the batch are packed. */
NSACC_API int nsacc_dim_is_ragged(const nsacc_dim *dim);
/** Of constants; else 0. */
NSACC_API int64_t nsacc_dim_size(const nsacc_dim *dim);
/** Of pools; else 0. */
NSACC_API int64_t nsacc_dim_len(const nsacc_dim *dim);
NSACC_API int64_t nsacc_dim_stride(const nsacc_dim *dim);
/** Of pools: "drop", "average", "zeros_left", "zeros_right"; else "". */
NSACC_API const char *nsacc_dim_tail(const nsacc_dim *dim);
/** Of blocks; else 0. */
NSACC_API int64_t nsacc_dim_block(const nsacc_dim *dim);

/** Sets of dimensions that the program computes apart: a run of the n-th of p
 * equal parts of every input that has a dimension of the set, and the whole of
 * the others, gives the n-th part of every result that has one, and the whole
 * of the others. Of batch {"B"}, of heads {"HQ", "H"}, where nothing in the
 * program depends on which of them it is at. A package doesn't tell: it has
 * none. */
NSACC_API size_t nsacc_program_num_splits(const nsacc_program *program);
/** How many dimensions are in a set. */
NSACC_API size_t nsacc_program_split_size(const nsacc_program *program,
                                          size_t index);
/** The name of one of them; NULL where there is none. */
NSACC_API const char *nsacc_program_split_dim(const nsacc_program *program,
                                              size_t index, size_t dim);

/** Warnings and remarks of the compilation, which nobody has shown yet. */
NSACC_API size_t nsacc_program_num_diagnostics(const nsacc_program *program);
NSACC_API const nsacc_diagnostic *
nsacc_program_diagnostic(const nsacc_program *program, size_t index);

/** The program after a phase, as text. */
NSACC_API size_t nsacc_program_num_phases(const nsacc_program *program);
NSACC_API const char *nsacc_program_phase_name(const nsacc_program *program,
                                               size_t index);
NSACC_API nsacc_status nsacc_program_ir(const nsacc_program *program,
                                        const char *phase, const char **text,
                                        nsacc_error **error);

/** Text that the library made. */
typedef struct nsacc_text nsacc_text;
NSACC_API const char *nsacc_text_data(const nsacc_text *text);
/** In bytes, without the zero behind them. */
NSACC_API size_t nsacc_text_size(const nsacc_text *text);
NSACC_API void nsacc_text_destroy(nsacc_text *text);

/** The program's code as the bytes of a package, which libnsacc_rt and
 * nsacc_load_package load: for its GPU, or for levels of processors. `num_sets`
 * sets of sizes of heads and channels, the n-th of `set_lengths[n]` names and
 * sizes, are what code is for. The oracle has none. */
NSACC_API nsacc_status nsacc_program_package(
    const nsacc_program *program, const char *const *names,
    const int64_t *sizes, const size_t *set_lengths, size_t num_sets,
    nsacc_text **package, nsacc_error **error);
/** One package of several, which are the same kernel's for several targets. */
NSACC_API nsacc_status nsacc_combine_packages(const void *const *packages,
                                              const size_t *sizes,
                                              size_t num_packages,
                                              nsacc_text **package,
                                              nsacc_error **error);

/** What runs warned of since the last call, a line each: code that is right but
 * slow when it is made or loaded, "flash.nsa:6:7: the code of 'a' has more
 * values than registers: …", and a cache that can't be used. Runs of any thread
 * may add to it meanwhile. */
NSACC_API nsacc_status nsacc_program_take_warnings(const nsacc_program *program,
                                                   nsacc_text **text,
                                                   nsacc_error **error);

/** Told while a program is tuned: JSON with `seconds`, `compiled`, `measured`,
 * `failed`, `chosen_ms`, `best_ms` and `what`; NULL where there is nothing new.
 * Tuning ends early with an error of kind NSACC_ERROR_KIND_INTERRUPTED where it
 * returns not 0. */
typedef int (*nsacc_tune_report)(const char *progress, void *data);

/** Measures schedules for calls with given sizes on the machine that runs the
 * program's target, checks the fastest against the oracle, and keeps it in the
 * options' folder. `request` is JSON: `sizes` by the names of dimensions, a
 * number, or the lengths of a ragged one's rows; and optionally `effort`
 * ("model", "quick", "full" or "exhaustive"), `budget` and `timeout` in
 * seconds, `seed`, `seeds` (schedules to try first), `ranges` (of inputs of
 * integers, each as [least, greatest]). `found` is JSON with
 * `best`, `trials`, `floor_ms`, `seconds` and `ending`. The program has tuning
 * "off", with what is behind it, and a worker. `report` may be NULL. */
NSACC_API nsacc_status nsacc_program_tune(const nsacc_program *program,
                                          const char *request,
                                          nsacc_tune_report report, void *data,
                                          nsacc_text **found,
                                          nsacc_error **error);

/** How a program is compiled for calls with given sizes, and why. `request` is
 * JSON: `sizes` as nsacc_program_tune has them, and optionally `what`:
 * "everything" (the default), which compiles the program, or "tiles", which
 * doesn't, and `threads` of the CPU's runs (default 0: one for each core).
 * `found` is JSON with `tiles`, a piece of HTML with a picture of the
 * tiles of each attention, which is empty where there are none; and of
 * everything with `text`, a report, `data`, the same as numbers, and `page`, a
 * page of HTML. Neither target oracle nor a package has schedules. */
NSACC_API nsacc_status nsacc_program_explain(const nsacc_program *program,
                                             const char *request,
                                             nsacc_text **found,
                                             nsacc_error **error);

/** The program after phase "tile", which depends on the sizes of heads and
 * channels: `num_sizes` names and sizes. Other dimensions stay open; names that
 * the program doesn't have are ignored. Target oracle has no such phase. */
NSACC_API nsacc_status nsacc_program_tile_ir(const nsacc_program *program,
                                             const char *const *names,
                                             const int64_t *sizes,
                                             size_t num_sizes,
                                             nsacc_text **text,
                                             nsacc_error **error);

/** How each op is tiled for these sizes, and why: which ops share a program,
 * and every field of every op (docs/Schedules.md). Takes what
 * nsacc_program_tile_ir takes. Target oracle has no schedule. */
NSACC_API nsacc_status nsacc_program_schedule(const nsacc_program *program,
                                              const char *const *names,
                                              const int64_t *sizes,
                                              size_t num_sizes,
                                              nsacc_text **text,
                                              nsacc_error **error);

/*===-- Running
 * ---------------------------------------------------------------*/

/** A tensor in host memory, or where nsacc_run_options_set_device says; it
 * stays the caller's. */
typedef struct nsacc_tensor {
  /** The first element, aligned to its size. May be NULL where the tensor has
   * no elements. */
  void *data;
  nsacc_dtype dtype;
  int32_t rank;
  /** `rank` sizes; may be NULL for rank 0. */
  const int64_t *shape;
  /** `rank` distances in elements, also 0 or negative; NULL: row-major. */
  const int64_t *strides;
} nsacc_tensor;

typedef struct nsacc_shapes nsacc_shapes;
typedef struct nsacc_run_options nsacc_run_options;

/** Checks inputs and tells the results' shapes. Reads the elements of offsets
 * only; the data of other inputs may be NULL. */
NSACC_API nsacc_status nsacc_program_infer_shapes(const nsacc_program *program,
                                                  const nsacc_tensor *inputs,
                                                  size_t num_inputs,
                                                  nsacc_shapes **shapes,
                                                  nsacc_error **error);
NSACC_API size_t nsacc_shapes_rank(const nsacc_shapes *shapes, size_t result);
/** nsacc_shapes_rank sizes. */
NSACC_API const int64_t *nsacc_shapes_sizes(const nsacc_shapes *shapes,
                                            size_t result);
/** The size that the inputs gave to a named dimension (of a ragged one: its
 * packed size); -1 for other names. */
NSACC_API int64_t nsacc_shapes_dim(const nsacc_shapes *shapes,
                                   const char *name);
/** Why the sizes suggest that tensors have tokens and heads in another order
 * than the program, or that a table holds packed tokens; "" where they don't,
 * and for NULL. */
NSACC_API const char *nsacc_shapes_warning(const nsacc_shapes *shapes);
NSACC_API void nsacc_shapes_destroy(nsacc_shapes *shapes);

/** NULL if memory is exhausted. */
NSACC_API nsacc_run_options *nsacc_run_options_create(void);
NSACC_API void nsacc_run_options_destroy(nsacc_run_options *options);
/** 0 (default): as many as the machine has. Results don't depend on it. */
NSACC_API nsacc_status nsacc_run_options_set_threads(nsacc_run_options *options,
                                                     uint32_t threads);
/** The value of NSACC_THREADS, 0 where it isn't set. */
NSACC_API nsacc_status nsacc_threads_from_environment(uint32_t *threads,
                                                      nsacc_error **error);
/** Oracle: also round what a compiled program stores in between (default 0). */
NSACC_API nsacc_status nsacc_run_options_set_round_storage(
    nsacc_run_options *options, int round_storage);
/** Oracle: real results unrounded, into outputs of NSACC_DTYPE_F64 (default 0).
 */
NSACC_API nsacc_status
nsacc_run_options_set_f64_results(nsacc_run_options *options, int f64_results);

typedef struct nsacc_statistics {
  /** Of making code for these sizes, or of finding it in the cache; 0 where
   * that was done before. */
  double compile_seconds;
  double run_seconds;
  /** Memory beyond inputs and outputs. */
  int64_t workspace_bytes;
} nsacc_statistics;
/** Where successful runs with these options write what they took; NULL:
 * nowhere. */
NSACC_API nsacc_status nsacc_run_options_set_statistics(
    nsacc_run_options *options, nsacc_statistics *statistics);
/** `is_interrupted` is called now and then by the thread that runs, with
 * `data`. When it returns other than 0, the run ends with
 * NSACC_ERROR_KIND_INTERRUPTED. The oracle doesn't ask. */
NSACC_API nsacc_status nsacc_run_options_set_interrupt(
    nsacc_run_options *options, int (*is_interrupted)(void *data), void *data);

/** GPU targets: the tensors of runs with these options are in the memory of a
 * CUDA device, and a run is put on a stream (a CUstream; NULL: the legacy
 * default one) and not waited for. Without, tensors are on the host, and the
 * first device runs the program. */
NSACC_API nsacc_status nsacc_run_options_set_device(nsacc_run_options *options,
                                                    int32_t device,
                                                    void *stream);
/** As nsacc_program_infer_shapes, for inputs that are where the options say.
 * Offsets on a device are read, and waited for, only where shapes depend on
 * them. */
NSACC_API nsacc_status nsacc_program_infer_shapes_with(
    const nsacc_program *program, const nsacc_tensor *inputs, size_t num_inputs,
    const nsacc_run_options *options, nsacc_shapes **shapes,
    nsacc_error **error);
/** Whether runs on a device's stream, which the caller has waited for, ended
 * with an error of the program, as where a table is read out of range. Each
 * error is told once; a later run on the stream tells it, too. */
NSACC_API nsacc_status nsacc_program_check(const nsacc_program *program,
                                           int32_t device, void *stream,
                                           nsacc_error **error);

/** Runs the program. `outputs` have the results' dtypes and shapes, and strides
 * that don't make elements overlap; every element is written, none is read.
 * On the host they may overlap inputs. No element of one may share memory with
 * another's: that is an error. Where the tensors don't fit,
 * they hold what they held; where the run itself fails, they may be half
 * written. `options` may be NULL. */
NSACC_API nsacc_status nsacc_program_run(
    const nsacc_program *program, const nsacc_tensor *inputs, size_t num_inputs,
    const nsacc_tensor *outputs, size_t num_outputs,
    const nsacc_run_options *options, nsacc_error **error);

#ifdef __cplusplus
}
#endif

#endif /* NSACC_C_NSACC_H */
