/*===- nsacc-c/nsacc.h - C interface of nsacc ---------------------*- C -*-===*\
|*                                                                            *|
|* Compiles attention programs and runs them on tensors in host memory.       *|
|*                                                                            *|
|* Handles are opaque and belong to the caller, who destroys them; destroying *|
|* NULL does nothing. Strings are UTF-8, end in NUL, and live as long as the  *|
|* handle that gave them. Functions that can fail return a status and, if     *|
|* `error` isn't NULL, an error object (NULL on success). An index out of     *|
|* range gives NULL or 0.                                                     *|
|*                                                                            *|
|* Every function may be called from any thread. Programs, errors and shapes  *|
|* don't change once made, so threads may share them; only one thread at a    *|
|* time may use options.                                                      *|
|*                                                                            *|
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

/** The names that nsacc_options_set_target takes. */
NSACC_API size_t nsacc_num_targets(void);
NSACC_API const char *nsacc_target_name(size_t index);

/** The environment variables of nsacc. The tools read them. Functions of this
 * library read them only if their names end in from_environment. */
NSACC_API size_t nsacc_num_variables(void);
NSACC_API const char *nsacc_variable_name(size_t index);
NSACC_API const char *nsacc_variable_description(size_t index);

/*===-- Errors ------------------------------------------------------------===*/

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
/** One sentence: the message. If there are several diagnostics, the message of
 * the first error. */
NSACC_API const char *nsacc_error_message(const nsacc_error *error);
/** The whole report, as the command line tool prints it: each diagnostic with
 * its place, the source line, a caret and its notes. */
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
/** The diagnostic as the command line tool prints it: with the source line, a
 * caret and the notes. "" for notes: they are printed with their diagnostic. */
NSACC_API const char *nsacc_diagnostic_text(const nsacc_diagnostic *diagnostic);
/** "" if the diagnostic has no place. */
NSACC_API const char *nsacc_diagnostic_file(const nsacc_diagnostic *diagnostic);
/** Lines and columns (in bytes) count from 1; 0 if there is no place. The end
 * is one column past the last one. */
NSACC_API uint32_t nsacc_diagnostic_line(const nsacc_diagnostic *diagnostic);
NSACC_API uint32_t nsacc_diagnostic_column(const nsacc_diagnostic *diagnostic);
NSACC_API uint32_t
nsacc_diagnostic_end_line(const nsacc_diagnostic *diagnostic);
NSACC_API uint32_t
nsacc_diagnostic_end_column(const nsacc_diagnostic *diagnostic);
NSACC_API size_t nsacc_diagnostic_num_notes(const nsacc_diagnostic *diagnostic);
NSACC_API const nsacc_diagnostic *
nsacc_diagnostic_note(const nsacc_diagnostic *diagnostic, size_t index);

/*===-- Compiling ---------------------------------------------------------===*/

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
/** Name of the kernel to compile; needed if the source has several. */
NSACC_API nsacc_status nsacc_options_set_kernel(nsacc_options *options,
                                                const char *kernel);
/** One of the names of nsacc_target_name; default nsacc_target_name(0). "cuda"
 * is the first GPU of this machine that nsacc compiles for; a run on another
 * GPU gets code for that one. "sm_86" is a GPU of that architecture. If the GPU
 * isn't there, or is too old, compiling fails with NSACC_ERROR_KIND_TARGET. */
NSACC_API nsacc_status nsacc_options_set_target(nsacc_options *options,
                                                const char *target);
/** Target "cuda": compiles for the GPU that a JSON file describes, instead of
 * one of this machine. `nsacc device` writes such descriptions. */
NSACC_API nsacc_status nsacc_options_set_device(nsacc_options *options,
                                                const char *path);
/** Schedules of ops: "keys=64" for all ops that have the field, "slc:
 * order=union, tokens=8; cmp: keys=128" for ops whose values the program gives
 * these names (docs/Schedules.md). The compiler chooses the fields that aren't
 * given. Fields that can't be met are NSACC_ERROR_KIND_ARGUMENT when compiled.
 * The oracle has no schedules. */
NSACC_API nsacc_status nsacc_options_set_schedule(nsacc_options *options,
                                                  const char *schedule);

/** GPU targets: a path where ptxas may be, besides the PATH; may be called
 * several times. Without ptxas the CUDA driver makes machine code. */
NSACC_API nsacc_status nsacc_options_add_ptxas(nsacc_options *options,
                                               const char *path);

/** The most threads that compile kernels at the same time; 0, the default: one
 * for each core. The code doesn't depend on it. */
NSACC_API nsacc_status nsacc_options_set_threads(nsacc_options *options,
                                                 uint32_t threads);

/** The cache of code that runs compile, shared with other processes. `mode` is
 * "off" (these options' default), "readonly", "readwrite", or "require": then a
 * run whose code isn't in the cache is an error. `folder` is made when the
 * first file is written to it; may be NULL if `mode` is "off". Its files take
 * at most `most_bytes` together (0: 2 GiB); the least recently used ones are
 * removed first. */
NSACC_API nsacc_status nsacc_options_set_cache(nsacc_options *options,
                                               const char *mode,
                                               const char *folder,
                                               uint64_t most_bytes);
/** Sets the cache as NSACC_CACHE, NSACC_CACHE_DIR and NSACC_CACHE_SIZE say; by
 * default "readwrite" in the user's cache folder. */
NSACC_API nsacc_status nsacc_options_set_cache_from_environment(
    nsacc_options *options, nsacc_error **error);

/** The source of schedule fields that aren't given. `mode` is "off" (these
 * options' default): the compiler's choice; "replay": the schedule that
 * nsacc_program_tune kept in `folder` for the same program and calls of about
 * the same sizes; "model": as "replay", else the fastest schedule by a model;
 * "quick" or "full": as "replay", else the fastest schedule that is measured in
 * the first call. ",graph" or ",cold" appended selects schedules of programs
 * that are run from CUDA graphs, or with a cold cache; ",agreement=0.9" selects
 * schedules for selections in which neighbouring tokens have that share of
 * blocks in common (0 to below 1). `folder` may be NULL: the one that the
 * options have. */
NSACC_API nsacc_status nsacc_options_set_tuning(nsacc_options *options,
                                                const char *mode,
                                                const char *folder);
/** Sets tuning as NSACC_TUNE and the cache's variables say; by default "replay"
 * in the folder "tuned" inside the cache's folder. */
NSACC_API nsacc_status nsacc_options_set_tuning_from_environment(
    nsacc_options *options, nsacc_error **error);
/** The command line of a worker process: the program, then its arguments. Two
 * paths are appended; the process calls nsacc_run_worker with them. Tuning
 * measures in this process, since a candidate's code may crash it. */
NSACC_API nsacc_status nsacc_options_add_worker(nsacc_options *options,
                                                const char *argument);
/** Runs the worker's side of tuning in such a process; returns its exit status.
 */
NSACC_API int nsacc_run_worker(const char *job, const char *found);

/** Compiles `length` bytes of source and checks the program. Code for sizes of
 * heads and channels is made by the first run that needs it, so an error of the
 * target's code generation is an error of that run. `file` names the source in
 * diagnostics (NULL: "<source>"); `options` may be NULL. */
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
/** Loads a package that nsacc_program_package or the command line wrote. It
 * runs on the device that has its tensors. Tensors on the host run on the
 * processor if the package has code for it, else on the first GPU. Such a
 * program has no source and no IR. */
NSACC_API nsacc_status nsacc_load_package(const void *package, size_t size,
                                          nsacc_program **program,
                                          nsacc_error **error);

NSACC_API void nsacc_program_destroy(nsacc_program *program);

/*===-- Inputs and results of a program -----------------------------------===*/

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
/** The target that the program was compiled for; of a package, the
 * architectures that it has code for: "sm_90a, x86-64-v3". */
NSACC_API const char *nsacc_program_target(const nsacc_program *program);

/** Compile-time parameters with the values that they got. */
NSACC_API size_t nsacc_program_num_params(const nsacc_program *program);
NSACC_API const char *nsacc_program_param_name(const nsacc_program *program,
                                               size_t index);
NSACC_API const char *nsacc_program_param_value(const nsacc_program *program,
                                                size_t index);

/** Inputs in the order of nsacc_program_run; offsets of ragged dimensions come
 * last. */
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

/** Sets of dimensions along which a call can be split. Divide each input that
 * has a dimension of the set into p equal parts along it, and keep the other
 * inputs whole: the n-th parts give the n-th part of each result that has a
 * dimension of the set, and all of the other results. The batch set is {"B"}
 * and the heads set {"HQ", "H"}, if the program doesn't depend on the index in
 * them. A package has no sets: it doesn't store them. */
NSACC_API size_t nsacc_program_num_splits(const nsacc_program *program);
/** Number of dimensions in a set. */
NSACC_API size_t nsacc_program_split_size(const nsacc_program *program,
                                          size_t index);
/** Name of one dimension of a set; NULL if there is none. */
NSACC_API const char *nsacc_program_split_dim(const nsacc_program *program,
                                              size_t index, size_t dim);

/** Warnings and remarks of the compilation. They haven't been printed. */
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
/** Length in bytes, without the terminating zero. */
NSACC_API size_t nsacc_text_size(const nsacc_text *text);
NSACC_API void nsacc_text_destroy(nsacc_text *text);

/** The program's code as the bytes of a package, which libnsacc_rt and
 * nsacc_load_package load: for its GPU, or for levels of processors. `num_sets`
 * is the number of sets of head and channel sizes to compile for; set n has
 * `set_lengths[n]` names and sizes. The oracle has no packages. */
NSACC_API nsacc_status nsacc_program_package(
    const nsacc_program *program, const char *const *names,
    const int64_t *sizes, const size_t *set_lengths, size_t num_sets,
    nsacc_text **package, nsacc_error **error);
/** Combines packages of one kernel for several targets into one package. */
NSACC_API nsacc_status nsacc_combine_packages(const void *const *packages,
                                              const size_t *sizes,
                                              size_t num_packages,
                                              nsacc_text **package,
                                              nsacc_error **error);

/** Warnings of runs since the last call, one per line: code that is right but
 * slow, when it is made or loaded, "flash.nsa:6:7: the code of 'a' has more
 * values than registers: …", and a cache that can't be used. Runs of other
 * threads may add warnings meanwhile. */
NSACC_API nsacc_status nsacc_program_take_warnings(const nsacc_program *program,
                                                   nsacc_text **text,
                                                   nsacc_error **error);

/** Called while a program is tuned, with progress as JSON: `seconds`,
 * `compiled`, `measured`, `failed`, `chosen_ms`, `best_ms` and `what`; NULL if
 * nothing is new. If it returns other than 0, tuning ends early with an error
 * of kind NSACC_ERROR_KIND_INTERRUPTED. */
typedef int (*nsacc_tune_report)(const char *progress, void *data);

/** Measures schedules for calls with given sizes on the machine that runs the
 * program's target, checks the fastest against the oracle, and keeps it in the
 * options' folder. `request` is JSON: `sizes` by the names of dimensions, each
 * a number, or the lengths of a ragged dimension's rows; and optionally
 * `effort` ("model", "quick", "full" or "exhaustive"), `budget` and `timeout`
 * in seconds, `seed`, `seeds` (schedules to try first), `ranges` (of integer
 * inputs, each as [least, greatest]). `found` is JSON with `best`, `trials`,
 * `floor_ms`, `seconds` and `ending`. The program's tuning mode must be "off",
 * with any suffixes, and it must have a worker. `report` may be NULL. */
NSACC_API nsacc_status nsacc_program_tune(const nsacc_program *program,
                                          const char *request,
                                          nsacc_tune_report report, void *data,
                                          nsacc_text **found,
                                          nsacc_error **error);

/** Explains how a program is compiled for calls with given sizes, and why.
 * `request` is JSON: `sizes` as nsacc_program_tune has them, and optionally
 * `what`: "everything" (the default), which compiles the program, or "tiles",
 * which doesn't, and `threads` of the CPU's runs (default 0: one for each
 * core). `found` is JSON. `tiles` is a frame of HTML whose script draws each
 * attention's tiles, empty if there are none. "everything" adds `text`, a
 * report, `data`, the same as numbers, and `page`, a page of HTML whose script
 * draws them. The oracle and packages have no schedules to explain. */
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

/** Text that says how each op is tiled for these sizes, and why: which ops
 * share a program, and every field of every op (docs/Schedules.md). Takes the
 * same arguments as nsacc_program_tile_ir. Target oracle has no schedule. */
NSACC_API nsacc_status nsacc_program_schedule(const nsacc_program *program,
                                              const char *const *names,
                                              const int64_t *sizes,
                                              size_t num_sizes,
                                              nsacc_text **text,
                                              nsacc_error **error);

/*===-- Running -----------------------------------------------------------===*/

/** A tensor in host memory, or on the device that nsacc_run_options_set_device
 * names; it stays the caller's. */
typedef struct nsacc_tensor {
  /** The first element, aligned to its size. May be NULL if the tensor has no
   * elements. */
  void *data;
  nsacc_dtype dtype;
  int32_t rank;
  /** `rank` sizes; may be NULL for rank 0. */
  const int64_t *shape;
  /** `rank` strides in elements, also 0 or negative; NULL: row-major. */
  const int64_t *strides;
} nsacc_tensor;

typedef struct nsacc_shapes nsacc_shapes;
typedef struct nsacc_run_options nsacc_run_options;

/** Checks inputs and computes the results' shapes. Reads the elements of
 * offsets only; the data of other inputs may be NULL. */
NSACC_API nsacc_status nsacc_program_infer_shapes(const nsacc_program *program,
                                                  const nsacc_tensor *inputs,
                                                  size_t num_inputs,
                                                  nsacc_shapes **shapes,
                                                  nsacc_error **error);
NSACC_API size_t nsacc_shapes_rank(const nsacc_shapes *shapes, size_t result);
/** nsacc_shapes_rank sizes. */
NSACC_API const int64_t *nsacc_shapes_sizes(const nsacc_shapes *shapes,
                                            size_t result);
/** The size that the inputs gave to a named dimension (its packed size if it is
 * ragged); -1 for other names. */
NSACC_API int64_t nsacc_shapes_dim(const nsacc_shapes *shapes,
                                   const char *name);
/** Warns if the sizes suggest that tensors have tokens and heads in another
 * order than the program, or that a table holds packed tokens; "" if they
 * don't, and for NULL. */
NSACC_API const char *nsacc_shapes_warning(const nsacc_shapes *shapes);
NSACC_API void nsacc_shapes_destroy(nsacc_shapes *shapes);

/** NULL if memory is exhausted. */
NSACC_API nsacc_run_options *nsacc_run_options_create(void);
NSACC_API void nsacc_run_options_destroy(nsacc_run_options *options);
/** 0 (default): as many as the machine has. Results don't depend on it. */
NSACC_API nsacc_status nsacc_run_options_set_threads(nsacc_run_options *options,
                                                     uint32_t threads);
/** The value of NSACC_THREADS, 0 if it isn't set. */
NSACC_API nsacc_status nsacc_threads_from_environment(uint32_t *threads,
                                                      nsacc_error **error);
/** Oracle: also round values that a compiled program stores in between (default
 * 0). */
NSACC_API nsacc_status nsacc_run_options_set_round_storage(
    nsacc_run_options *options, int round_storage);
/** Oracle: real results unrounded, into outputs of NSACC_DTYPE_F64 (default 0).
 */
NSACC_API nsacc_status
nsacc_run_options_set_f64_results(nsacc_run_options *options, int f64_results);

typedef struct nsacc_statistics {
  /** Seconds for making code for these sizes, or for finding it in the cache; 0
   * if that was done before. */
  double compile_seconds;
  double run_seconds;
  /** Memory beyond inputs and outputs. */
  int64_t workspace_bytes;
} nsacc_statistics;
/** The place to which successful runs with these options write their
 * statistics; NULL: none. */
NSACC_API nsacc_status nsacc_run_options_set_statistics(
    nsacc_run_options *options, nsacc_statistics *statistics);
/** `is_interrupted` is called now and then by the thread that runs, with
 * `data`. When it returns other than 0, the run ends with
 * NSACC_ERROR_KIND_INTERRUPTED. The oracle doesn't ask. */
NSACC_API nsacc_status nsacc_run_options_set_interrupt(
    nsacc_run_options *options, int (*is_interrupted)(void *data), void *data);

/** GPU targets: the tensors of runs with these options are in the memory of a
 * CUDA device, and a run is put on a stream (a CUstream; NULL: the legacy
 * default one) and not waited for. Without this, tensors are on the host, and
 * the first device runs the program. */
NSACC_API nsacc_status nsacc_run_options_set_device(nsacc_run_options *options,
                                                    int32_t device,
                                                    void *stream);
/** Same as nsacc_program_infer_shapes, for inputs on the options' device.
 * Offsets on a device are read, and waited for, only if shapes depend on them.
 */
NSACC_API nsacc_status nsacc_program_infer_shapes_with(
    const nsacc_program *program, const nsacc_tensor *inputs, size_t num_inputs,
    const nsacc_run_options *options, nsacc_shapes **shapes,
    nsacc_error **error);
/** Whether a run on a device's stream failed because of the program, for
 * instance a table read out of range. The caller has waited for the stream.
 * Each error is reported once, here or by a later run on the stream. */
NSACC_API nsacc_status nsacc_program_check(const nsacc_program *program,
                                           int32_t device, void *stream,
                                           nsacc_error **error);

/** Runs the program. `outputs` have the results' dtypes and shapes, and strides
 * that don't make elements overlap; every element is written, none is read. On
 * the host they may overlap inputs. No output may share memory with another
 * output: that is an error. If the tensors don't fit the program, the outputs
 * are unchanged; if the run itself fails, they may be half written. `options`
 * may be NULL. */
NSACC_API nsacc_status nsacc_program_run(
    const nsacc_program *program, const nsacc_tensor *inputs, size_t num_inputs,
    const nsacc_tensor *outputs, size_t num_outputs,
    const nsacc_run_options *options, nsacc_error **error);

#ifdef __cplusplus
}
#endif

#endif /* NSACC_C_NSACC_H */
