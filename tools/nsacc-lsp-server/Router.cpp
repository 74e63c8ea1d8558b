//===- Router.cpp - One server for programs and MLIR ----------------------===//

#include "Router.h"
#include "ProgramDiagnostics.h"
#include "ProgramNames.h"
#include "nsacc/Support/JSON.h"
#include "nsacc/Support/Version.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/LSP/Logging.h"
#include "llvm/Support/raw_ostream.h"
#include <thread>

using namespace nsacc;
using namespace llvm;

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

/// Reads messages until `handle` returns that there are no more.
static void readMessages(std::FILE *file, lsp::JSONStreamStyle style,
                         function_ref<bool(const std::string &)> handle) {
  lsp::JSONTransportInputOverFile input(file, style);
  while (!input.isEndOfInput() && !input.hasError()) {
    std::string message;
    if (succeeded(input.readMessage(message)) && !handle(message))
      return;
  }
}

void Router::run() {
  std::thread answers([this] { forwardToEditor(); });
  readMessages(stdin, options.input,
               [this](const std::string &message) { return handle(message); });
  std::fclose(toMlir);
  answers.join();
}

void Router::forwardToMlir(const std::string &message) {
  std::fprintf(toMlir, "Content-Length: %zu\r\n\r\n", message.size());
  std::fwrite(message.data(), 1, message.size(), toMlir);
  std::fflush(toMlir);
}

/// The answer to 'initialize' has MLIR's own name.
static void nameServer(json::Value &message) {
  json::Object *object = message.getAsObject();
  json::Object *result = object ? object->getObject("result") : nullptr;
  if (result && result->get("serverInfo"))
    (*result)["serverInfo"] =
        json::Object{{"name", "nsacc-lsp-server"}, {"version", getVersion()}};
}

void Router::forwardToEditor() {
  readMessages(fromMlir, lsp::JSONStreamStyle::Standard,
               [this](const std::string &message) {
                 if (Expected<json::Value> value = json::parse(message)) {
                   nameServer(*value);
                   sendToEditor(*value);
                 } else {
                   consumeError(value.takeError());
                 }
                 return true;
               });
}

void Router::sendToEditor(const json::Value &message) {
  std::string text = options.pretty ? formatv("{0:2}\n", message).str()
                                    : formatv("{0}", message).str();
  std::lock_guard<std::mutex> lock(outputMutex);
  outs() << "Content-Length: " << text.size() << "\r\n\r\n" << text;
  outs().flush();
}

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

bool Router::handle(const std::string &message) {
  Expected<json::Value> value = nsacc::parseJSON(message);
  if (!value) {
    lsp::Logger::error("message isn't JSON: {0}", toString(value.takeError()));
    return true;
  }
  const json::Object *object = value->getAsObject();
  std::optional<StringRef> method;
  if (object)
    method = object->getString("method");
  if (!method || !handleProgram(*method, *object))
    forwardToMlir(message);
  // After "exit", an editor may leave its end of the stream open.
  return method != "exit";
}

/// Whether a document is a program, by the editor's language name or by its
/// file name.
bool Router::isProgram(const json::Object &document) const {
  std::optional<StringRef> uri = document.getString("uri");
  if (!uri)
    return false;
  return programs.contains(*uri) || document.getString("languageId") == "nsa" ||
         uri->ends_with(".nsa");
}

bool Router::handleProgram(StringRef method, const json::Object &message) {
  const json::Value *params = message.get("params");
  const json::Object *object = params ? params->getAsObject() : nullptr;
  const json::Object *document =
      object ? object->getObject("textDocument") : nullptr;
  if (!document || !isProgram(*document))
    return false;
  if (method == "textDocument/didOpen")
    open(*params);
  else if (method == "textDocument/didChange")
    change(*params);
  else if (method == "textDocument/didClose")
    close(*params);
  else if (const json::Value *id = message.get("id"))
    answer(*id, method, *params);
  return true;
}

void Router::answer(const json::Value &id, StringRef method,
                    const json::Value &value) {
  auto send = [&](json::Value result) {
    sendToEditor(json::Object{
        {"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
  };
  // lsp's JSON doesn't own its text, so the parts must live until it's sent.
  auto sendFound = [&](const auto &found) {
    send(found ? toJSON(*found) : json::Value(nullptr));
  };
  lsp::TextDocumentPositionParams params;
  json::Path::Root root;
  auto program = programs.end();
  if (fromJSON(value, params, root))
    program = programs.find(params.textDocument.uri.uri());
  if (program == programs.end())
    return send(nullptr);
  StringRef text = program->second;
  if (method == "textDocument/hover")
    return sendFound(findHover(text, params.position));
  if (method == "textDocument/definition")
    return sendFound(
        findDefinition(params.textDocument.uri, text, params.position));
  if (method == "textDocument/completion")
    return sendFound(std::optional(listCompletions(text, params.position)));
  if (method == "textDocument/references") {
    lsp::ReferenceParams wanted;
    bool withDefinition = fromJSON(value, wanted, root)
                              ? wanted.context.includeDeclaration
                              : true;
    return send(json::Array(listReferences(params.textDocument.uri, text,
                                           params.position, withDefinition)));
  }
  // Nothing to show for a list of symbols and the like.
  send(nullptr);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

template <typename ParamsT>
static std::optional<ParamsT> parseParams(const json::Value &value,
                                          StringRef method) {
  Expected<ParamsT> params =
      lsp::MessageHandler::parse<ParamsT>(value, method, "notification");
  if (params)
    return *params;
  handleAllErrors(params.takeError(), [](const lsp::LSPError &error) {
    lsp::Logger::error("{0}", error.message);
  });
  return std::nullopt;
}

void Router::open(const json::Value &value) {
  auto params = parseParams<lsp::DidOpenTextDocumentParams>(value, "didOpen");
  if (!params)
    return;
  const lsp::TextDocumentItem &document = params->textDocument;
  programs[document.uri.uri()] = document.text;
  publish(document.uri, document.version,
          getProgramDiagnostics(document.uri, document.text));
}

void Router::change(const json::Value &value) {
  auto params =
      parseParams<lsp::DidChangeTextDocumentParams>(value, "didChange");
  if (!params)
    return;
  const lsp::VersionedTextDocumentIdentifier &document = params->textDocument;
  std::string &text = programs[document.uri.uri()];
  if (failed(lsp::TextDocumentContentChangeEvent::applyTo(
          params->contentChanges, text))) {
    lsp::Logger::error("change of {0} doesn't fit its text",
                       document.uri.file());
    return;
  }
  publish(document.uri, document.version,
          getProgramDiagnostics(document.uri, text));
}

void Router::close(const json::Value &value) {
  auto params = parseParams<lsp::DidCloseTextDocumentParams>(value, "didClose");
  if (!params)
    return;
  programs.erase(params->textDocument.uri.uri());
  publish(params->textDocument.uri, 0, {});
}

void Router::publish(const lsp::URIForFile &uri, int64_t version,
                     std::vector<lsp::Diagnostic> diagnostics) {
  lsp::PublishDiagnosticsParams params(uri, version);
  params.diagnostics = std::move(diagnostics);
  sendToEditor(json::Object{{"jsonrpc", "2.0"},
                            {"method", "textDocument/publishDiagnostics"},
                            {"params", toJSON(params)}});
}
