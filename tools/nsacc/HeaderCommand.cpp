//===- HeaderCommand.cpp - nsacc header -----------------------------------===//

#include "CNames.h"
#include "Commands.h"
#include "Files.h"
#include "FlagChecks.h"
#include "Messages.h"
#include "PackageFile.h"
#include "WriteHeader.h"
#include "WriteObject.h"
#include <CLI/CLI.hpp>

using namespace nsacc;

namespace {
struct HeaderFlags {
  std::string package, output = "-", object, arch, name;
};
} // namespace

/// Fails if flags contradict each other.
static llvm::Error checkFlags(const HeaderFlags &flags) {
  if (!flags.name.empty() && toPrefix(flags.name) != flags.name)
    return makeError("--name " + flags.name +
                         " can't begin the names of functions in C",
                     "use letters, digits and single underscores, not 'nsacc' "
                     "in front: --name " +
                         toPrefix(flags.name));
  if (flags.object.empty())
    return llvm::Error::success();
  if (llvm::Error error =
          refuseTerminal(flags.object, "an object file", "--object"))
    return error;
  if (flags.object == flags.output)
    return makeError("--object and --output both name '" + flags.object + "'",
                     "give the header a file of its own, as with -o flash.h");
  if (flags.arch.empty() && getHostArchitecture().empty())
    return makeError("no object file can be written for this machine",
                     "say with --arch for which one it is");
  return llvm::Error::success();
}

static ExitCode writeHeaderFiles(const HeaderFlags &flags) {
  if (llvm::Error error = checkFlags(flags))
    return reportError(std::move(error), ExitCode::Usage);
  auto file = readPackageFile(flags.package);
  if (!file)
    return reportError(file.takeError());
  if (file->package.parameters.empty())
    return reportError(makeError("'" + flags.package + "': kernel '" +
                                     file->package.kernel +
                                     "' has neither inputs nor results",
                                 "nothing can be declared for it"));
  llvm::StringRef bytes = file->bytes->getBuffer();
  HeaderOptions options;
  options.prefix =
      flags.name.empty() ? toPrefix(file->package.kernel) : flags.name;
  std::vector<OutputFile> outputs;
  std::string object;
  if (!flags.object.empty()) {
    options.isEmbedded = true;
    auto written =
        writeObject(bytes, options.prefix + "_package",
                    flags.arch.empty() ? getHostArchitecture() : flags.arch);
    if (!written)
      return reportError(written.takeError(), ExitCode::Usage);
    object = std::move(*written);
    outputs.push_back({flags.object, object});
  }
  std::string header = writeHeader(file->package, options);
  outputs.push_back({flags.output, header});
  if (llvm::Error error = writeFiles(outputs))
    return reportError(std::move(error));
  return ExitCode::Success;
}

void nsacc::addHeaderCommand(CLI::App &app, Invocation &invocation) {
  CLI::App *command = app.add_subcommand(
      "header", "write a header of C and C++ for a package (.nsapkg), and the "
                "package as an object file");
  auto flags = std::make_shared<HeaderFlags>();
  command
      ->add_option("FILE", flags->package,
                   "package from nsacc compile --emit package; '-': standard "
                   "input")
      ->required();
  command
      ->add_option("--name", flags->name,
                   "prefix of names in the header (the kernel's name)")
      ->type_name("NAME");
  command
      ->add_option("-o,--output", flags->output,
                   "file of the header; '-': standard output")
      ->type_name("FILE")
      ->capture_default_str()
      ->group("Result");
  auto *object = command
                     ->add_option("--object", flags->object,
                                  "write the package as an object file, too: "
                                  "programs that link it need no other file")
                     ->type_name("FILE")
                     ->check(checkFileName())
                     ->group("Result");
  command
      ->add_option("--arch", flags->arch,
                   "architecture of --object: x86-64 or aarch64 (this "
                   "machine's)")
      ->type_name("NAME")
      ->needs(object)
      ->group("Result");
  command->callback(
      [flags, &invocation] { invocation.status = writeHeaderFiles(*flags); });
}
