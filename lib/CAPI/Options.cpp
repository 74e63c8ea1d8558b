//===- Options.cpp - Options of compilations and runs ---------------------===//

#include "Options.h"
#include "Error.h"
#include "nsacc/Support/Environment.h"

using namespace nsacc::capi;

nsacc_options *nsacc_options_create(void) {
  return new (std::nothrow) nsacc_options;
}

void nsacc_options_destroy(nsacc_options *options) { delete options; }

/// Sets one option from a string, unless the string is null.
template <typename Setter>
static nsacc_status set(nsacc_options *options, const char *value,
                        Setter setter) {
  if (!options || !value)
    return NSACC_ERROR_USAGE;
  return guarded(nullptr, [&]() -> Failure {
    setter(*options, value);
    return nullptr;
  });
}

nsacc_status nsacc_options_set_param(nsacc_options *options, const char *name,
                                     const char *value) {
  if (!name)
    return NSACC_ERROR_USAGE;
  return set(options, value, [&](nsacc_options &options, const char *value) {
    options.frontend.params[name] = value;
  });
}

nsacc_status nsacc_options_set_dtype(nsacc_options *options,
                                     const char *dtype) {
  return set(options, dtype, [](nsacc_options &options, const char *dtype) {
    options.frontend.dtype = dtype;
  });
}

nsacc_status nsacc_options_set_kernel(nsacc_options *options,
                                      const char *kernel) {
  return set(options, kernel, [](nsacc_options &options, const char *kernel) {
    options.frontend.kernel = kernel;
  });
}

nsacc_status nsacc_options_set_target(nsacc_options *options,
                                      const char *target) {
  return set(options, target, [](nsacc_options &options, const char *target) {
    options.target = target;
  });
}

nsacc_status nsacc_options_set_device(nsacc_options *options,
                                      const char *path) {
  return set(options, path, [](nsacc_options &options, const char *path) {
    options.deviceFile = path;
  });
}

nsacc_status nsacc_options_set_schedule(nsacc_options *options,
                                        const char *schedule) {
  return set(options, schedule,
             [](nsacc_options &options, const char *schedule) {
               options.schedule = schedule;
             });
}

nsacc_status nsacc_options_add_ptxas(nsacc_options *options, const char *path) {
  return set(options, path, [](nsacc_options &options, const char *path) {
    options.ptxas.push_back(path);
  });
}

nsacc_status nsacc_options_set_cache(nsacc_options *options, const char *mode,
                                     const char *folder, uint64_t most_bytes) {
  if (!options || !mode)
    return NSACC_ERROR_USAGE;
  std::optional<nsacc::CacheMode> found = nsacc::findCacheMode(mode);
  if (!found || (*found != nsacc::CacheMode::Off && !(folder && *folder)))
    return NSACC_ERROR_USAGE;
  return guarded(nullptr, [&]() -> Failure {
    options->cache = nsacc::CacheOptions();
    options->cache.mode = *found;
    options->cache.folder = folder ? folder : "";
    if (most_bytes)
      options->cache.mostBytes = most_bytes;
    return nullptr;
  });
}

nsacc_status nsacc_options_set_cache_from_environment(nsacc_options *options,
                                                      nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    if (!options)
      return fail(NSACC_ERROR_KIND_USAGE,
                  "nsacc_options_set_cache_from_environment: options is NULL");
    auto cache = nsacc::lookupCache();
    if (!cache)
      return fail(NSACC_ERROR_KIND_ARGUMENT, llvm::toString(cache.takeError()));
    options->cache = std::move(*cache);
    return nullptr;
  });
}

nsacc_status nsacc_options_set_tuning(nsacc_options *options, const char *mode,
                                      const char *folder) {
  if (!options || !mode)
    return NSACC_ERROR_USAGE;
  auto read = nsacc::readTuneMode(mode);
  bool hasFolder =
      (folder && *folder) || (options && !options->tuning.store.folder.empty());
  if (!read || (read->first != nsacc::TuneMode::Off && !hasFolder))
    return NSACC_ERROR_USAGE;
  return guarded(nullptr, [&]() -> Failure {
    std::tie(options->tuning.mode, options->tuning.policy) = *read;
    if (!folder)
      return nullptr;
    options->tuning.store.mode = nsacc::CacheMode::ReadWrite;
    options->tuning.store.folder = folder;
    return nullptr;
  });
}

nsacc_status nsacc_options_set_tuning_from_environment(nsacc_options *options,
                                                       nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    if (!options)
      return fail(NSACC_ERROR_KIND_USAGE,
                  "nsacc_options_set_tuning_from_environment: options is NULL");
    auto tuning = nsacc::lookupTuning();
    if (!tuning)
      return fail(NSACC_ERROR_KIND_ARGUMENT,
                  llvm::toString(tuning.takeError()));
    options->tuning = std::move(*tuning);
    return nullptr;
  });
}

nsacc_status nsacc_options_add_worker(nsacc_options *options,
                                      const char *argument) {
  return set(options, argument,
             [](nsacc_options &options, const char *argument) {
               options.worker.push_back(argument);
             });
}

nsacc_status nsacc_options_set_threads(nsacc_options *options,
                                       uint32_t threads) {
  if (!options)
    return NSACC_ERROR_USAGE;
  options->threads = threads;
  return NSACC_OK;
}

nsacc_run_options *nsacc_run_options_create(void) {
  return new (std::nothrow) nsacc_run_options;
}

void nsacc_run_options_destroy(nsacc_run_options *options) { delete options; }

nsacc_status nsacc_run_options_set_threads(nsacc_run_options *options,
                                           uint32_t threads) {
  if (!options)
    return NSACC_ERROR_USAGE;
  options->run.threads = threads;
  return NSACC_OK;
}

nsacc_status nsacc_run_options_set_round_storage(nsacc_run_options *options,
                                                 int round_storage) {
  if (!options)
    return NSACC_ERROR_USAGE;
  options->run.roundStorage = round_storage != 0;
  return NSACC_OK;
}

nsacc_status nsacc_run_options_set_f64_results(nsacc_run_options *options,
                                               int f64_results) {
  if (!options)
    return NSACC_ERROR_USAGE;
  options->run.keepF64 = f64_results != 0;
  return NSACC_OK;
}

nsacc_status nsacc_run_options_set_statistics(nsacc_run_options *options,
                                              nsacc_statistics *statistics) {
  if (!options)
    return NSACC_ERROR_USAGE;
  options->statistics = statistics;
  return NSACC_OK;
}

nsacc_status nsacc_run_options_set_interrupt(nsacc_run_options *options,
                                             int (*is_interrupted)(void *data),
                                             void *data) {
  if (!options)
    return NSACC_ERROR_USAGE;
  options->run.isInterrupted = nullptr;
  if (is_interrupted)
    options->run.isInterrupted = [=] { return is_interrupted(data) != 0; };
  return NSACC_OK;
}

nsacc_status nsacc_run_options_set_device(nsacc_run_options *options,
                                          int32_t device, void *stream) {
  if (!options || device < 0)
    return NSACC_ERROR_USAGE;
  options->run.device = nsacc::DeviceStream{device, stream};
  return NSACC_OK;
}
