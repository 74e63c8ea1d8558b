//===- nsacc.cpp - The compiler's command line ----------------------------===//

#include "Commands.h"
#include "Messages.h"
#include "TunedStore.h"
#include "nsacc/Support/CrashHandler.h"
#include "nsacc/Support/Version.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <csignal>
#include <new>

using namespace nsacc;

/// Output may fail, on a full disk for instance; LLVM would end the process for
/// it.
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

/// The command that is most similar to an argument.
static std::string suggestCommand(const CLI::App &app,
                                  llvm::StringRef argument) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands({}))
    // Commands without a group are used by nsacc itself.
    if (!command->get_group().empty())
      names.push_back(command->get_name());
  std::string otherwise = "the commands are " + quoteList(names);
  if (argument.ends_with(".nsa") || argument.ends_with(".mlir"))
    return "a command stands in front of a file, as in 'nsacc run " +
           argument.str() + "'; " + otherwise;
  return argument.empty() ? otherwise : suggest(argument, names, otherwise);
}

/// Reports an error if no command is given.
static void reportNoCommand(const CLI::App &app, const CLI::ParseError &error,
                            int argc, char **argv) {
  llvm::StringRef argument = argc < 2 ? "" : argv[1];
  if (argument.starts_with("-"))
    argument = "";
  if (argument.empty())
    app.exit(error);
  else
    std::cerr << "nsacc: error: there is no command '" << argument.str()
              << "'\n";
  std::cerr << "note: " << suggestCommand(app, argument) << '\n';
}

/// The option that is most similar to an unknown one.
static std::string suggestOption(const CLI::App &command, int argc,
                                 char **argv) {
  std::vector<std::string> names;
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  for (llvm::StringRef argument : llvm::ArrayRef(argv, argc)) {
    llvm::StringRef name = argument.split('=').first;
    if (name.starts_with("--") && !command.get_option_no_throw(name.str()))
      return suggest(name, names, "");
  }
  // Remaining arguments belong to no option.
  for (const std::string &argument : command.remaining())
    if (llvm::StringRef(argument).contains('='))
      return "a flag stands in front of it: --dims " + argument +
             " for a size, --set for a parameter, --input for a file; several "
             "of one flag have commas between them, or a flag each";
    else if (llvm::StringRef(argument).ends_with(".npy"))
      return "files are loaded with --input NAME=" + argument;
  return "";
}

static int runCommand(CLI::App &app, Invocation &invocation, int argc,
                      char **argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &request) {
    return app.exit(request);
  } catch (const CLI::ParseError &error) {
    auto commands = app.get_subcommands();
    if (commands.empty()) {
      reportNoCommand(app, error, argc, argv);
      return int(ExitCode::Usage);
    }
    app.exit(error);
    std::string note = suggestOption(*commands.front(), argc, argv);
    if (!note.empty())
      std::cerr << "note: " << note << '\n';
    return int(ExitCode::Usage);
  } catch (const std::bad_alloc &) {
    std::cerr << "nsacc: error: not enough memory\n";
    return int(ExitCode::UserError);
  }
  return int(finishOutput(invocation.status));
}

int main(int argc, char **argv) {
  installCrashHandler();
  // If a file size limit is reached, let writing fail.
  std::signal(SIGXFSZ, SIG_IGN);
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
  addHeaderCommand(app, invocation);
  addEnvCommand(app, invocation);
  addDeviceCommand(app, invocation);
  addCacheCommand(app, invocation);
  addTuneCommand(app, invocation);
  addTunedStoreCommands(*app.get_subcommand("tune"), invocation);
  addExplainCommand(app, invocation);
  return runCommand(app, invocation, argc, argv);
}
