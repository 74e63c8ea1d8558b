//===- Run.cpp - Running a program ----------------------------------------===//

#include "Options.h"
#include "Program.h"
#include "Tensors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace nsacc;
using namespace nsacc::capi;

struct nsacc_shapes {
  std::vector<std::vector<int64_t>> results;
  DimSizes dims;
  std::string warning;
};

static Failure toFailure(llvm::Error error) {
  return fail(NSACC_ERROR_KIND_ARGUMENT, llvm::toString(std::move(error)));
}

static std::string spell(llvm::ArrayRef<int64_t> shape) {
  auto sizes =
      llvm::map_range(shape, [](int64_t size) { return std::to_string(size); });
  return "[" + llvm::join(sizes, ", ") + "]";
}

/// "input 'q'"; the number instead of the name if there are more tensors than
/// the program has.
static std::string describe(const char *role,
                            const std::vector<nsacc_value> &values,
                            size_t index) {
  if (const nsacc_value *value = at(values, index))
    return std::string(role) + " '" + value->argument.name + "'";
  return std::string(role) + " " + std::to_string(index);
}

static Failure borrowInputs(const nsacc_program &program,
                            const nsacc_tensor *inputs, size_t count,
                            bool needData, std::vector<Tensor> &result) {
  if (count > 0 && !inputs)
    return fail(NSACC_ERROR_KIND_USAGE, "inputs is NULL");
  // If the count is wrong, no tensor is read.
  if (count > program.inputs.size())
    return fail(NSACC_ERROR_KIND_ARGUMENT,
                "kernel '" + program.signature.kernel + "' takes " +
                    std::to_string(program.inputs.size()) + " inputs, found " +
                    std::to_string(count));
  result.resize(count);
  for (size_t index = 0; index < count; ++index) {
    const nsacc_value *value = at(program.inputs, index);
    bool needed = needData || (value && value->argument.isOffsets());
    if (Failure failure = borrow(
            inputs[index], needed ? Access::Read : Access::None,
            [&] { return describe("input", program.inputs, index); },
            result[index]))
      return failure;
  }
  return nullptr;
}

static Failure inferShapes(const nsacc_program &program,
                           llvm::ArrayRef<Tensor> inputs,
                           const RunOptions &options, nsacc_shapes &shapes) {
  llvm::Expected<DimSizes> dims =
      bindRunDimensions(program.signature, inputs, options);
  if (!dims)
    return toFailure(dims.takeError());
  shapes.dims = std::move(*dims);
  for (const Argument &result : program.signature.results) {
    llvm::Expected<std::vector<int64_t>> shape = getShape(result, shapes.dims);
    if (!shape)
      return toFailure(shape.takeError());
    shapes.results.push_back(std::move(*shape));
  }
  return nullptr;
}

static Failure borrowOutputs(const nsacc_program &program,
                             const nsacc_shapes &shapes,
                             const nsacc_tensor *outputs, bool f64Results,
                             std::vector<Tensor> &result) {
  result.resize(program.results.size());
  for (auto [index, value] : llvm::enumerate(program.results)) {
    auto what = [&, index = index] {
      return describe("output", program.results, index);
    };
    if (Failure failure =
            borrow(outputs[index], Access::Write, what, result[index]))
      return failure;
    const Tensor &output = result[index];
    DType dtype = value.argument.dtype;
    if (f64Results && isReal(dtype))
      dtype = DType::F64;
    if (output.getDType() != dtype)
      return fail(NSACC_ERROR_KIND_ARGUMENT,
                  what() + " holds " + getName(output.getDType()).str() +
                      ", expected " + getName(dtype).str());
    if (output.getShape() != llvm::ArrayRef(shapes.results[index]))
      return fail(NSACC_ERROR_KIND_ARGUMENT,
                  what() + " has shape " + spell(output.getShape()) +
                      ", expected " + spell(shapes.results[index]) + " for " +
                      value.text);
  }
  return nullptr;
}

/// Fails if outputs share memory: one would overwrite another.
static Failure checkApart(const nsacc_program &program,
                          llvm::ArrayRef<Tensor> outputs) {
  for (size_t left = 0; left < outputs.size(); ++left)
    for (size_t right = left + 1; right < outputs.size(); ++right)
      if (overlap(outputs[left], outputs[right]))
        return fail(NSACC_ERROR_KIND_USAGE,
                    describe("output", program.results, left) + " and " +
                        describe("output", program.results, right) +
                        " share memory: give each its own");
  return nullptr;
}

/// Runs into the outputs. Outputs that share memory with an input are computed
/// in copies first.
static Failure runInto(const nsacc_program &program, const DimSizes &sizes,
                       llvm::ArrayRef<Tensor> inputs,
                       llvm::ArrayRef<Tensor> outputs,
                       const nsacc_run_options &options) {
  std::vector<Tensor> results(outputs);
  for (Tensor &result : results)
    if (llvm::any_of(inputs, [&](const Tensor &input) {
          return mayOverlap(input, result);
        })) {
      if (options.run.device)
        return fail(NSACC_ERROR_KIND_ARGUMENT,
                    "on a device outputs can't share memory with inputs");
      result = Tensor::zeros(result.getDType(), result.getShape());
    }
  RunStatistics statistics;
  if (llvm::Error error = program.compiled->runInto("", sizes, inputs, results,
                                                    options.run, &statistics))
    return toFailure(std::move(error), program);
  for (auto [result, output] : llvm::zip(results, outputs))
    if (result.getData() != output.getData())
      copyElements(result, output);
  if (options.statistics)
    *options.statistics = {statistics.compileSeconds, statistics.runSeconds,
                           statistics.workspaceBytes};
  return nullptr;
}

nsacc_status nsacc_program_run(const nsacc_program *program,
                               const nsacc_tensor *inputs, size_t num_inputs,
                               const nsacc_tensor *outputs, size_t num_outputs,
                               const nsacc_run_options *options,
                               nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    if (!program || (num_outputs > 0 && !outputs))
      return fail(NSACC_ERROR_KIND_USAGE,
                  "nsacc_program_run: program or outputs is NULL");
    if (num_outputs != program->results.size())
      return fail(NSACC_ERROR_KIND_USAGE,
                  "kernel '" + program->signature.kernel + "' has " +
                      std::to_string(program->results.size()) +
                      " results, found " + std::to_string(num_outputs) +
                      " outputs");
    nsacc_run_options defaults;
    if (!options)
      options = &defaults;

    std::vector<Tensor> inputTensors, outputTensors;
    if (Failure failure = borrowInputs(*program, inputs, num_inputs,
                                       /*needData=*/true, inputTensors))
      return failure;
    nsacc_shapes shapes;
    if (Failure failure =
            inferShapes(*program, inputTensors, options->run, shapes))
      return failure;
    if (Failure failure = borrowOutputs(*program, shapes, outputs,
                                        options->run.keepF64, outputTensors))
      return failure;

    if (Failure failure = checkApart(*program, outputTensors))
      return failure;

    return runInto(*program, shapes.dims, inputTensors, outputTensors,
                   *options);
  });
}

nsacc_status nsacc_program_infer_shapes_with(const nsacc_program *program,
                                             const nsacc_tensor *inputs,
                                             size_t num_inputs,
                                             const nsacc_run_options *options,
                                             nsacc_shapes **shapes,
                                             nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    if (!program || !shapes)
      return fail(NSACC_ERROR_KIND_USAGE,
                  "nsacc_program_infer_shapes: program or shapes is NULL");
    *shapes = nullptr;
    std::vector<Tensor> tensors;
    if (Failure failure = borrowInputs(*program, inputs, num_inputs,
                                       /*needData=*/false, tensors))
      return failure;
    auto result = std::make_unique<nsacc_shapes>();
    if (Failure failure = inferShapes(
            *program, tensors, options ? options->run : RunOptions(), *result))
      return failure;
    result->warning = describeOddSizes(program->signature, result->dims);
    *shapes = result.release();
    return nullptr;
  });
}

nsacc_status nsacc_program_infer_shapes(const nsacc_program *program,
                                        const nsacc_tensor *inputs,
                                        size_t num_inputs,
                                        nsacc_shapes **shapes,
                                        nsacc_error **error) {
  return nsacc_program_infer_shapes_with(program, inputs, num_inputs, nullptr,
                                         shapes, error);
}

nsacc_status nsacc_program_check(const nsacc_program *program, int32_t device,
                                 void *stream, nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    if (!program)
      return fail(NSACC_ERROR_KIND_USAGE,
                  "nsacc_program_check: program is NULL");
    if (llvm::Error failed = program->compiled->check({device, stream}))
      return toFailure(std::move(failed), *program);
    return nullptr;
  });
}

size_t nsacc_shapes_rank(const nsacc_shapes *shapes, size_t result) {
  const auto *shape = shapes ? at(shapes->results, result) : nullptr;
  return shape ? shape->size() : 0;
}

const int64_t *nsacc_shapes_sizes(const nsacc_shapes *shapes, size_t result) {
  const auto *shape = shapes ? at(shapes->results, result) : nullptr;
  return shape ? shape->data() : nullptr;
}

int64_t nsacc_shapes_dim(const nsacc_shapes *shapes, const char *name) {
  if (!shapes || !name)
    return -1;
  auto found = shapes->dims.sizes.find(name);
  return found == shapes->dims.sizes.end() ? -1 : found->second;
}

const char *nsacc_shapes_warning(const nsacc_shapes *shapes) {
  return shapes ? shapes->warning.c_str() : "";
}

void nsacc_shapes_destroy(nsacc_shapes *shapes) { delete shapes; }
