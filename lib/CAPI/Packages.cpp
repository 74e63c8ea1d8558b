//===- Packages.cpp - Programs as files, and back -------------------------===//

#include "Program.h"

using namespace nsacc;
using namespace nsacc::capi;

void nsacc::capi::describe(nsacc_program &program) {
  program.signature = program.compiled->getSignatures().front();
  for (const Argument &input : program.signature.inputs)
    program.inputs.emplace_back(input);
  for (const Argument &result : program.signature.results)
    program.results.emplace_back(result);
}

nsacc_status nsacc_load_package(const void *package, size_t size,
                                nsacc_program **program, nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    if (!package || !program)
      return fail(NSACC_ERROR_KIND_USAGE,
                  "nsacc_load_package: package or program is NULL");
    *program = nullptr;
    auto loaded = std::make_unique<nsacc_program>();
    auto compiled = CompiledProgram::load(
        llvm::StringRef(static_cast<const char *>(package), size));
    if (!compiled)
      return fail(NSACC_ERROR_KIND_ARGUMENT,
                  llvm::toString(compiled.takeError()));
    loaded->compiled = std::move(*compiled);
    loaded->target = loaded->compiled->getTargetName();
    loaded->source = llvm::MemoryBuffer::getMemBuffer("", "<package>");
    describe(*loaded);
    *program = loaded.release();
    return nullptr;
  });
}

nsacc_status nsacc_program_package(const nsacc_program *program,
                                   const char *const *names,
                                   const int64_t *sizes,
                                   const size_t *set_lengths, size_t num_sets,
                                   nsacc_text **package, nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    if (!program || !package || num_sets == 0 || !set_lengths)
      return fail(NSACC_ERROR_KIND_USAGE,
                  "nsacc_program_package: program, package or set_lengths is "
                  "NULL, or there is no set of sizes");
    *package = nullptr;
    std::vector<DimSizes> sets(num_sets);
    size_t at = 0;
    for (size_t set = 0; set < num_sets; ++set)
      for (size_t i = 0; i < set_lengths[set]; ++i, ++at) {
        if (!names || !sizes || !names[at])
          return fail(NSACC_ERROR_KIND_USAGE,
                      "nsacc_program_package: a name is NULL, or sizes are");
        sets[set].sizes[names[at]] = sizes[at];
      }
    auto made = program->compiled->package("", sets);
    if (!made)
      return toFailure(made.takeError(), *program);
    *package = new nsacc_text{std::move(*made)};
    return nullptr;
  });
}

nsacc_status nsacc_combine_packages(const void *const *packages,
                                    const size_t *sizes, size_t num_packages,
                                    nsacc_text **package, nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    if (!packages || !sizes || num_packages == 0 || !package)
      return fail(NSACC_ERROR_KIND_USAGE,
                  "nsacc_combine_packages: packages, sizes or package is NULL, "
                  "or there is no package");
    *package = nullptr;
    std::vector<std::string> all;
    for (size_t i = 0; i < num_packages; ++i) {
      if (!packages[i])
        return fail(NSACC_ERROR_KIND_USAGE,
                    "nsacc_combine_packages: a package is NULL");
      all.emplace_back(static_cast<const char *>(packages[i]), sizes[i]);
    }
    auto combined = combinePackages(all);
    if (!combined)
      return fail(NSACC_ERROR_KIND_ARGUMENT,
                  llvm::toString(combined.takeError()));
    *package = new nsacc_text{std::move(*combined)};
    return nullptr;
  });
}
