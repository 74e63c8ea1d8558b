//===- Query.cpp - Inputs, results and phases of a program ----------------===//

#include "Program.h"
#include "mlir/IR/MLIRContext.h"

using namespace nsacc;
using namespace nsacc::capi;

const char *nsacc_program_kernel(const nsacc_program *program) {
  return program ? program->signature.kernel.c_str() : nullptr;
}

const char *nsacc_program_target(const nsacc_program *program) {
  return program ? program->target.c_str() : nullptr;
}

size_t nsacc_program_num_params(const nsacc_program *program) {
  return program ? program->signature.params.size() : 0;
}

const char *nsacc_program_param_name(const nsacc_program *program,
                                     size_t index) {
  const auto *param = program ? at(program->signature.params, index) : nullptr;
  return param ? param->first.c_str() : nullptr;
}

const char *nsacc_program_param_value(const nsacc_program *program,
                                      size_t index) {
  const auto *param = program ? at(program->signature.params, index) : nullptr;
  return param ? param->second.c_str() : nullptr;
}

size_t nsacc_program_num_inputs(const nsacc_program *program) {
  return program ? program->inputs.size() : 0;
}

const nsacc_value *nsacc_program_input(const nsacc_program *program,
                                       size_t index) {
  return program ? at(program->inputs, index) : nullptr;
}

size_t nsacc_program_num_results(const nsacc_program *program) {
  return program ? program->results.size() : 0;
}

const nsacc_value *nsacc_program_result(const nsacc_program *program,
                                        size_t index) {
  return program ? at(program->results, index) : nullptr;
}

size_t nsacc_program_num_splits(const nsacc_program *program) {
  return program ? program->splits.size() : 0;
}

size_t nsacc_program_split_size(const nsacc_program *program, size_t index) {
  const auto *split = program ? at(program->splits, index) : nullptr;
  return split ? split->size() : 0;
}

const char *nsacc_program_split_dim(const nsacc_program *program, size_t index,
                                    size_t dim) {
  const auto *split = program ? at(program->splits, index) : nullptr;
  const std::string *name = split ? at(*split, dim) : nullptr;
  return name ? name->c_str() : nullptr;
}

size_t nsacc_program_num_diagnostics(const nsacc_program *program) {
  return program ? program->diagnostics.size() : 0;
}

const nsacc_diagnostic *nsacc_program_diagnostic(const nsacc_program *program,
                                                 size_t index) {
  return program ? at(program->diagnostics, index) : nullptr;
}

//===----------------------------------------------------------------------===//
// Values and dimensions
//===----------------------------------------------------------------------===//

const char *nsacc_value_name(const nsacc_value *value) {
  return value ? value->argument.name.c_str() : nullptr;
}

const char *nsacc_dtype_name(nsacc_dtype dtype) {
  std::optional<DType> known = toDType(dtype);
  return known ? getName(*known).data() : nullptr;
}

size_t nsacc_dtype_size(nsacc_dtype dtype) {
  std::optional<DType> known = toDType(dtype);
  return known ? getSize(*known) : 0;
}

nsacc_dtype nsacc_value_dtype(const nsacc_value *value) {
  return value ? toNumber(value->argument.dtype) : 0;
}

const char *nsacc_value_text(const nsacc_value *value) {
  return value ? value->text.c_str() : nullptr;
}

size_t nsacc_value_rank(const nsacc_value *value) {
  return value ? value->dims.size() : 0;
}

const nsacc_dim *nsacc_value_dim(const nsacc_value *value, size_t index) {
  return value ? at(value->dims, index) : nullptr;
}

const char *nsacc_dim_text(const nsacc_dim *dim) {
  return dim ? dim->text.c_str() : nullptr;
}

nsacc_dim_kind nsacc_dim_get_kind(const nsacc_dim *dim) {
  if (!dim)
    return static_cast<nsacc_dim_kind>(0);
  switch (dim->dim.kind) {
  case Dim::Kind::Constant:
    return NSACC_DIM_CONSTANT;
  case Dim::Kind::Named:
    return NSACC_DIM_NAMED;
  case Dim::Kind::Ragged:
    return NSACC_DIM_RAGGED;
  case Dim::Kind::Offsets:
    return NSACC_DIM_OFFSETS;
  case Dim::Kind::Pool:
    return NSACC_DIM_POOL;
  case Dim::Kind::Pooled:
    return NSACC_DIM_POOLED;
  case Dim::Kind::Blocks:
    return NSACC_DIM_BLOCKS;
  }
  return static_cast<nsacc_dim_kind>(0);
}

const char *nsacc_dim_name(const nsacc_dim *dim) {
  return dim ? dim->dim.name.c_str() : nullptr;
}

const char *nsacc_dim_count(const nsacc_dim *dim) {
  return dim ? dim->dim.count.c_str() : nullptr;
}

int nsacc_dim_is_ragged(const nsacc_dim *dim) {
  return dim && (dim->dim.ragged || dim->dim.kind == Dim::Kind::Ragged);
}

int64_t nsacc_dim_size(const nsacc_dim *dim) { return dim ? dim->dim.size : 0; }

int64_t nsacc_dim_len(const nsacc_dim *dim) { return dim ? dim->dim.len : 0; }

int64_t nsacc_dim_stride(const nsacc_dim *dim) {
  return dim ? dim->dim.stride : 0;
}

const char *nsacc_dim_tail(const nsacc_dim *dim) {
  if (!dim)
    return nullptr;
  if (dim->dim.kind != Dim::Kind::Pool)
    return "";
  return getName(dim->dim.tail).data();
}

int64_t nsacc_dim_block(const nsacc_dim *dim) {
  return dim ? dim->dim.block : 0;
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

size_t nsacc_program_num_phases(const nsacc_program *program) {
  return program ? program->texts.size() : 0;
}

const char *nsacc_program_phase_name(const nsacc_program *program,
                                     size_t index) {
  const auto *text = program ? at(program->texts, index) : nullptr;
  return text ? text->phase.c_str() : nullptr;
}

nsacc_status nsacc_program_ir(const nsacc_program *program, const char *phase,
                              const char **text, nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    if (!program || !phase || !text)
      return fail(NSACC_ERROR_KIND_USAGE,
                  "nsacc_program_ir: program, phase or text is NULL");
    std::string known;
    for (const nsacc_program::Text &candidate : program->texts) {
      if (candidate.phase == phase) {
        *text = candidate.ir.c_str();
        return nullptr;
      }
      known += (known.empty() ? "'" : ", '") + candidate.phase + "'";
    }
    *text = nullptr;
    return fail(NSACC_ERROR_KIND_USAGE, "unknown phase '" + std::string(phase) +
                                            "': target '" + program->target +
                                            "' has " + known);
  });
}

const char *nsacc_text_data(const nsacc_text *text) {
  return text ? text->text.c_str() : nullptr;
}

size_t nsacc_text_size(const nsacc_text *text) {
  return text ? text->text.size() : 0;
}

void nsacc_text_destroy(nsacc_text *text) { delete text; }

/// Text about the program for some sizes; `print` writes it.
static Failure printForSizes(const char *function, const nsacc_program *program,
                             const char *const *names, const int64_t *sizes,
                             size_t num_sizes, nsacc_text **text,
                             llvm::function_ref<llvm::Expected<std::string>(
                                 const llvm::StringMap<int64_t> &)>
                                 print) {
  if (!program || !text || (num_sizes > 0 && (!names || !sizes)))
    return fail(NSACC_ERROR_KIND_USAGE,
                std::string(function) +
                    ": program, names, sizes or text is NULL");
  *text = nullptr;
  llvm::StringMap<int64_t> known;
  for (size_t index = 0; index < num_sizes; ++index) {
    if (!names[index])
      return fail(NSACC_ERROR_KIND_USAGE,
                  std::string(function) + ": a name is NULL");
    known[names[index]] = sizes[index];
  }
  auto printed = print(known);
  if (!printed)
    return toFailure(printed.takeError(), *program);
  *text = new nsacc_text{std::move(*printed)};
  return nullptr;
}

nsacc_status nsacc_program_take_warnings(const nsacc_program *program,
                                         nsacc_text **text,
                                         nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    if (!program || !text)
      return fail(NSACC_ERROR_KIND_USAGE,
                  "nsacc_program_take_warnings: program or text is NULL");
    *text = new nsacc_text{program->warnings.take()};
    return nullptr;
  });
}

nsacc_status nsacc_program_tile_ir(const nsacc_program *program,
                                   const char *const *names,
                                   const int64_t *sizes, size_t num_sizes,
                                   nsacc_text **text, nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    return printForSizes("nsacc_program_tile_ir", program, names, sizes,
                         num_sizes, text, [&](const auto &known) {
                           return program->compiled->printTiles("", known);
                         });
  });
}

nsacc_status nsacc_program_schedule(const nsacc_program *program,
                                    const char *const *names,
                                    const int64_t *sizes, size_t num_sizes,
                                    nsacc_text **text, nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    return printForSizes("nsacc_program_schedule", program, names, sizes,
                         num_sizes, text, [&](const auto &known) {
                           return program->compiled->printSchedule("", known);
                         });
  });
}
