//===- Router.h - One server for programs and MLIR --------------*- C++ -*-===//

#ifndef NSACC_TOOLS_LSP_SERVER_ROUTER_H
#define NSACC_TOOLS_LSP_SERVER_ROUTER_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/LSP/Transport.h"
#include <cstdio>
#include <mutex>

namespace nsacc {

struct RouterOptions {
  llvm::lsp::JSONStreamStyle input = llvm::lsp::JSONStreamStyle::Standard;
  bool pretty = false;
};

/// Sits between an editor and MLIR's language server, whose library is one
/// function that owns standard input and output. Answers messages about
/// programs, and passes all others on to that server.
class Router {
public:
  /// The streams of MLIR's server are its input and its output.
  Router(std::FILE *toMlir, std::FILE *fromMlir, const RouterOptions &options)
      : toMlir(toMlir), fromMlir(fromMlir), options(options) {}

  /// Serves until the editor asks to exit, or the editor's input or MLIR's
  /// server ends.
  void run();

private:
  /// Handles a message. Whether others may follow.
  bool handle(const std::string &message);
  /// Handles a message if it is about a program. Whether it is.
  bool handleProgram(llvm::StringRef method, const llvm::json::Object &message);
  bool isProgram(const llvm::json::Object &document) const;

  /// Answers a request about a program, with null if there is no answer.
  void answer(const llvm::json::Value &id, llvm::StringRef method,
              const llvm::json::Value &params);

  void open(const llvm::json::Value &params);
  void change(const llvm::json::Value &params);
  void close(const llvm::json::Value &params);
  void publish(const llvm::lsp::URIForFile &uri, int64_t version,
               std::vector<llvm::lsp::Diagnostic> diagnostics);

  void sendToEditor(const llvm::json::Value &message);
  void forwardToMlir(const std::string &message);
  void forwardToEditor();

  std::FILE *toMlir, *fromMlir;
  RouterOptions options;
  llvm::StringMap<std::string> programs; ///< text of open programs by URI
  std::mutex outputMutex;
};

} // namespace nsacc

#endif // NSACC_TOOLS_LSP_SERVER_ROUTER_H
