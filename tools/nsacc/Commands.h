//===- Commands.h - The subcommands of nsacc --------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_COMMANDS_H
#define NSACC_TOOLS_NSACC_COMMANDS_H

#include "nsacc/Support/ExitCode.h"
#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace nsacc {

/// A subcommand's command line and exit status.
struct Invocation {
  std::vector<std::string> commandLine;
  ExitCode status = ExitCode::Success;
};

void addRunCommand(CLI::App &app, Invocation &invocation);
void addCompileCommand(CLI::App &app, Invocation &invocation);
void addInspectCommand(CLI::App &app, Invocation &invocation);
void addHeaderCommand(CLI::App &app, Invocation &invocation);
void addDeviceCommand(CLI::App &app, Invocation &invocation);
void addEnvCommand(CLI::App &app, Invocation &invocation);
void addCacheCommand(CLI::App &app, Invocation &invocation);
void addExplainCommand(CLI::App &app, Invocation &invocation);
void addTuneCommand(CLI::App &app, Invocation &invocation);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_COMMANDS_H
