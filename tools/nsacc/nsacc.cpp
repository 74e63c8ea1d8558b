//===- nsacc.cpp - The compiler's command line ----------------------------===//

#include "Commands.h"
#include "Messages.h"
#include "nsacc/Support/CrashHandler.h"
#include "nsacc/Support/Version.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <new>

using namespace nsacc;

/// A full disk behind standard output, say; LLVM would end the process for it.
static ExitCode finishOutput(ExitCode status) {
  llvm::raw_fd_ostream &os = llvm::outs();
  os.flush();
  if (!os.has_error())
    return status;
  std::string message = os.error().message();
  os.clear_error();
  std::cerr << "nsacc: error: can't write standard output: " << message << '\n';
  return status == ExitCode::Success ? ExitCode::UserError : status;
}

/// The command that an argument may have been meant to be.
static std::string suggestCommand(const CLI::App &app, int argc, char **argv) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands({}))
    names.push_back(command->get_name());
  std::string otherwise = "the commands are " + quoteList(names);
  if (argc < 2 || llvm::StringRef(argv[1]).starts_with("-"))
    return otherwise;
  return suggest(argv[1], names, otherwise);
}

static int runCommand(CLI::App &app, Invocation &invocation, int argc,
                      char **argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &request) {
    return app.exit(request);
  } catch (const CLI::ParseError &error) {
    app.exit(error);
    if (app.get_subcommands().empty())
      std::cerr << "note: " << suggestCommand(app, argc, argv) << '\n';
    return int(ExitCode::Usage);
  } catch (const std::bad_alloc &) {
    std::cerr << "nsacc: error: not enough memory\n";
    return int(ExitCode::UserError);
  }
  return int(finishOutput(invocation.status));
}

int main(int argc, char **argv) {
  installCrashHandler();
  Invocation invocation;
  invocation.commandLine.assign(argv, argv + argc);

  CLI::App app("Compiles attention programs and runs them.", "nsacc");
  app.set_version_flag("--version", "nsacc " + getVersion().str() + " (LLVM " +
                                        getLLVMVersion().str() + ")");
  app.require_subcommand(1);
  app.footer("Exit status: 0 fine; 1 an error in the program or its inputs, or "
             "a check that failed;\n2 wrong usage; 3 an internal error, with "
             "the path of a reproducer.");
  addRunCommand(app, invocation);
  addCompileCommand(app, invocation);
  addInspectCommand(app, invocation);
  addEnvCommand(app, invocation);
  return runCommand(app, invocation, argc, argv);
}
