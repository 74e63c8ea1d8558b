//===- Tune.cpp - Measuring schedules -------------------------------------===//

#include "Program.h"
#include "nsacc/Support/JSON.h"
#include "nsacc/Tuning/Tuner.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;
using namespace nsacc::capi;
namespace json = llvm::json;

int nsacc_run_worker(const char *job, const char *found) {
  return job && found ? tuning::runWorker(job, found) : 2;
}

llvm::Expected<DimSizes> capi::readSizes(const json::Object &sizes,
                                         const Signature &signature) {
  DimSizes known;
  for (const auto &[name, value] : sizes) {
    std::string spelled = name.str();
    if (auto size = value.getAsInteger()) {
      known.sizes[spelled] = *size;
      continue;
    }
    const json::Array *lengths = value.getAsArray();
    bool areNumbers = lengths && llvm::all_of(*lengths, [](const auto &each) {
                        return each.getAsInteger().value_or(-1) >= 0;
                      });
    if (!areNumbers)
      return llvm::createStringError("the size of '" + spelled +
                                     "' is no number, and no list of lengths "
                                     "of rows");
    bool isRagged = llvm::any_of(signature.inputs, [&](const Argument &input) {
      return llvm::any_of(input.dims, [&](const Dim &dim) {
        return dim.kind == Dim::Kind::Ragged && dim.name == spelled;
      });
    });
    if (!isRagged)
      return llvm::createStringError("dimension '" + spelled +
                                     "' isn't ragged: its size is one number");
    std::vector<int64_t> &offsets = known.offsets[spelled];
    offsets.push_back(0);
    for (const json::Value &length : *lengths)
      offsets.push_back(offsets.back() + *length.getAsInteger());
    known.sizes[spelled] = offsets.back();
    known.batchRows = lengths->size();
  }
  llvm::SmallVector<const Tensor *> none(signature.inputs.size(), nullptr);
  auto bound = bindKnownDimensions(signature, none, std::move(known));
  if (!bound)
    return bound.takeError();
  for (const Argument &input : signature.inputs)
    if (auto shape = getShape(input, *bound); !shape)
      return shape.takeError();
  return bound;
}

namespace {
struct Request {
  json::Object sizes;
  tuning::TuneOptions options;
};
} // namespace

static llvm::Expected<Request> readRequest(llvm::StringRef text) {
  auto value = parseJSON(text);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  const json::Object *sizes = object ? object->getObject("sizes") : nullptr;
  if (!sizes)
    return llvm::createStringError(
        "a request to tune has 'sizes', an object of sizes by dimension");
  Request request;
  request.sizes = *sizes;
  tuning::TuneOptions &options = request.options;
  auto effort =
      tuning::findEffort(object->getString("effort").value_or("quick"));
  if (!effort)
    return llvm::createStringError(
        "effort is '" + *object->getString("effort") +
        "', expected seeds, model, quick, full or exhaustive");
  options.effort = *effort;
  options.budgetSeconds = object->getNumber("budget").value_or(30);
  options.worker.timeoutSeconds = object->getNumber("timeout").value_or(60);
  options.seed = object->getInteger("seed").value_or(0);
  if (!(options.budgetSeconds > 0) || !(options.worker.timeoutSeconds > 0))
    return llvm::createStringError(
        "budget and timeout are seconds, more than 0");
  if (const json::Array *seeds = object->getArray("seeds"))
    for (const json::Value &seed : *seeds)
      options.seeds.push_back(seed.getAsString().value_or("").str());
  return request;
}

nsacc_status nsacc_program_tune(const nsacc_program *program,
                                const char *request, nsacc_tune_report report,
                                void *data, nsacc_text **found,
                                nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    if (!program || !request || !found)
      return fail(NSACC_ERROR_KIND_USAGE,
                  "nsacc_program_tune: program, request or found is NULL");
    *found = nullptr;
    auto read = readRequest(request);
    if (!read)
      return fail(NSACC_ERROR_KIND_ARGUMENT, llvm::toString(read.takeError()));
    auto sizes = readSizes(read->sizes, program->signature);
    if (!sizes)
      return fail(NSACC_ERROR_KIND_ARGUMENT, llvm::toString(sizes.takeError()));
    if (program->tuning.worker.empty())
      return fail(NSACC_ERROR_KIND_ARGUMENT,
                  "there is no process to measure in: "
                  "nsacc_options_add_worker names it");
    tuning::TuneOptions &options = read->options;
    options.policy = program->tuning.options.policy;
    options.store = program->tuning.options.store;
    options.threads = program->tuning.threads;
    options.warn = [program](llvm::StringRef text) {
      program->warnings.add(text);
    };
    options.worker.command = program->tuning.worker;
    bool isEnded = false;
    auto tell = [&](const tuning::Progress &progress) {
      std::string text;
      llvm::raw_string_ostream(text) << tuning::toJSON(progress);
      isEnded = isEnded || report(text.c_str(), data) != 0;
    };
    // Callers look for signals, too, while a worker takes long.
    auto isInterrupted = [&, asked = 0]() mutable {
      if (++asked % 32 == 0)
        isEnded = isEnded || report(nullptr, data) != 0;
      return isEnded;
    };
    if (report) {
      options.report = tell;
      options.worker.isInterrupted = isInterrupted;
    }
    auto result = tuning::tune(*program->compiled, "", *sizes, options);
    if (!result && isEnded) {
      llvm::consumeError(result.takeError());
      return fail(NSACC_ERROR_KIND_INTERRUPTED, "interrupted");
    }
    if (!result)
      return toFailure(result.takeError(), *program);
    std::string text;
    llvm::raw_string_ostream(text) << tuning::toJSON(*result);
    *found = new nsacc_text{std::move(text)};
    return nullptr;
  });
}
