//===- Explain.cpp - Explanations of compiled programs --------------------===//

#include "Program.h"
#include "nsacc/Explain/Explanation.h"
#include "nsacc/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;
using namespace nsacc::capi;
namespace json = llvm::json;

namespace {
struct ExplainRequest {
  json::Object sizes;
  bool compiles = true;
  unsigned threads = 0;
};
} // namespace

static llvm::Expected<ExplainRequest> readExplainRequest(llvm::StringRef text) {
  auto value = parseJSON(text);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  const json::Object *sizes = object ? object->getObject("sizes") : nullptr;
  if (!sizes)
    return llvm::createStringError(
        "a request to explain has 'sizes', an object of sizes by dimension");
  llvm::StringRef what = object->getString("what").value_or("everything");
  if (what != "everything" && what != "tiles")
    return llvm::createStringError("what is '" + what +
                                   "', expected everything or tiles");
  int64_t threads = object->getInteger("threads").value_or(0);
  if (threads < 0 || threads > 1024)
    return llvm::createStringError(
        "threads is " + llvm::Twine(threads) +
        ", expected a number from 1 to 1024, or 0 for one of each core");
  return ExplainRequest{*sizes, what == "everything",
                        static_cast<unsigned>(threads)};
}

static explain::BuildOptions getOptions(const nsacc_program &program,
                                        const ExplainRequest &request) {
  explain::BuildOptions options;
  options.compiles = request.compiles;
  options.threads = request.threads;
  options.tuning = program.tuning.options;
  options.warn = [&program](llvm::StringRef text) {
    program.warnings.add(text);
  };
  options.ptxas = program.ptxas;
  if (program.source) {
    options.file = program.source->getBufferIdentifier().str();
    options.source = program.source->getBuffer().str();
  }
  // The phase after these is printed with its sizes.
  for (const nsacc_program::Text &text : program.texts)
    if (text.phase == "frontend")
      options.earlier.push_back({text.phase, text.ir, text.lines});
  return options;
}

static json::Object describe(const explain::Explanation &explanation,
                             bool isWhole) {
  json::Object found{{"tiles", drawTileMaps(explanation)}};
  if (!isWhole)
    return found;
  std::string text, page;
  llvm::raw_string_ostream textStream(text), pageStream(page);
  printText(explanation, textStream);
  printPage(explanation, pageStream);
  found["text"] = json::fixUTF8(text);
  found["page"] = json::fixUTF8(page);
  found["data"] = toJSON(explanation);
  return found;
}

nsacc_status nsacc_program_explain(const nsacc_program *program,
                                   const char *request, nsacc_text **found,
                                   nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    if (!program || !request || !found)
      return fail(NSACC_ERROR_KIND_USAGE,
                  "nsacc_program_explain: program, request or found is NULL");
    *found = nullptr;
    auto read = readExplainRequest(request);
    if (!read)
      return fail(NSACC_ERROR_KIND_ARGUMENT, llvm::toString(read.takeError()));
    auto sizes = readSizes(read->sizes, program->signature, "an explanation");
    if (!sizes)
      return fail(NSACC_ERROR_KIND_ARGUMENT, llvm::toString(sizes.takeError()));
    auto explanation = explain::build(*program->compiled, "", *sizes,
                                      getOptions(*program, *read));
    if (!explanation)
      return toFailure(explanation.takeError(), *program);
    std::string text;
    llvm::raw_string_ostream(text)
        << json::Value(describe(*explanation, read->compiles));
    *found = new nsacc_text{std::move(text)};
    return nullptr;
  });
}
