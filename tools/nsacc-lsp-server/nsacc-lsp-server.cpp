//===- nsacc-lsp-server.cpp - Language server of nsacc --------------------===//

#include "NSA/IR/NSADialect.h"
#include "NSATile/IR/NSATileDialect.h"
#include "Router.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include <CLI/CLI.hpp>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace nsacc;

namespace {
struct Pipe {
  int ends[2];
  int &reading() { return ends[0]; }
  int &writing() { return ends[1]; }
};
} // namespace

/// MLIR's server reads standard input, so it gets a separate process.
static int serveMlir(Pipe &requests, Pipe &answers) {
  dup2(requests.reading(), STDIN_FILENO);
  dup2(answers.writing(), STDOUT_FILENO);
  for (int end :
       {requests.ends[0], requests.ends[1], answers.ends[0], answers.ends[1]})
    close(end);

  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect, mlir::scf::SCFDialect,
                  nsa::NSADialect, nsatile::NSATileDialect>();
  char name[] = "nsacc-lsp-server", log[] = "--log=error";
  char *arguments[] = {name, log, nullptr};
  return succeeded(mlir::MlirLspServerMain(2, arguments, registry)) ? 0 : 1;
}

static int serve(const RouterOptions &options) {
  Pipe requests, answers;
  if (pipe(requests.ends) != 0 || pipe(answers.ends) != 0) {
    std::perror("nsacc-lsp-server: can't make a pipe");
    return 3;
  }
  pid_t child = fork();
  if (child < 0) {
    std::perror("nsacc-lsp-server: can't start MLIR's server");
    return 3;
  }
  if (child == 0)
    return serveMlir(requests, answers);

  close(requests.reading());
  close(answers.writing());
  // Continue to serve programs if MLIR's server ends early.
  std::signal(SIGPIPE, SIG_IGN);
  Router(fdopen(requests.writing(), "w"), fdopen(answers.reading(), "r"),
         options)
      .run();
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

int main(int argc, char **argv) {
  CLI::App app("Language server for nsacc programs (.nsa) and its IR (.mlir), "
               "over standard input and output",
               "nsacc-lsp-server");
  bool forTests = false;
  app.add_flag("--lit-test", forTests,
               "read messages separated by '// -----', write indented JSON");
  CLI11_PARSE(app, argc, argv);

  RouterOptions options;
  if (forTests) {
    options.input = llvm::lsp::JSONStreamStyle::Delimited;
    options.pretty = true;
  }
  return serve(options);
}
