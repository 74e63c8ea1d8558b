//===- Tune.cpp - Measuring schedules -------------------------------------===//

#include "Program.h"
#include "nsacc/Schedule/Settings.h"
#include "nsacc/Support/JSON.h"
#include "nsacc/Tensor/GivenSizes.h"
#include "nsacc/Tuning/Tuner.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace nsacc;
using namespace nsacc::capi;
namespace json = llvm::json;

int nsacc_run_worker(const char *job, const char *found) {
  return job && found ? tuning::runWorker(job, found) : 2;
}

llvm::Expected<DimSizes> capi::readSizes(const json::Object &object,
                                         const Signature &signature,
                                         llvm::StringRef what) {
  GivenSizes given(signature, SizeSyntax::Mapping);
  for (const auto &[name, value] : object) {
    const json::Array *lengths = value.getAsArray();
    std::vector<std::string> texts;
    for (const json::Value &each : lengths ? *lengths : json::Array{value})
      llvm::raw_string_ostream(texts.emplace_back()) << each;
    llvm::SmallVector<llvm::StringRef> read(texts.begin(), texts.end());
    if (llvm::Error error = lengths ? given.addRows(name, read)
                                    : given.addNumber(name, read.front()))
      return error;
  }
  return bindAllSizes(signature, given.take(), what, SizeSyntax::Mapping);
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
  if (const json::Value *seed = object->get("seed"))
    options.seed = seed->getAsUINT64().value_or(0);
  if (const json::Object *ranges = object->getObject("ranges"))
    for (const auto &[name, ends] : *ranges) {
      std::vector<int64_t> read;
      json::Path::Root root("range");
      if (!fromJSON(ends, read, root) || read.size() != 2)
        return llvm::createStringError(
            "the range of '" + name.str() +
            "' has other than two integers, the least and the greatest");
      options.ranges[name.str()] = {read[0], read[1]};
    }
  if (!(options.budgetSeconds > 0) || !(options.worker.timeoutSeconds > 0))
    return llvm::createStringError(
        "budget and timeout are seconds, more than 0");
  if (const json::Array *seeds = object->getArray("seeds"))
    for (const json::Value &seed : *seeds) {
      std::string text = seed.getAsString().value_or("").str();
      if (auto read = schedule::Settings::parse(text); !read)
        return llvm::createStringError(
            "seed '" + text + "': " + llvm::toString(read.takeError()));
      options.seeds.push_back(std::move(text));
    }
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
    auto sizes = readSizes(read->sizes, program->signature, "tuning");
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
    // Callers are also asked for signals while a worker or a compilation takes
    // long.
    using Clock = std::chrono::steady_clock;
    auto isInterrupted = [&, asked = Clock::now()]() mutable {
      if (Clock::now() - asked > std::chrono::milliseconds(100)) {
        asked = Clock::now();
        isEnded = isEnded || report(nullptr, data) != 0;
      }
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
