//===- DeviceCommand.cpp - nsacc device -----------------------------------===//

#include "Commands.h"
#include "Messages.h"
#include "ProgramFlags.h"
#include "nsacc/Driver/Devices.h"
#include "nsacc/GPU/DeviceFile.h"
#include "nsacc/Support/Suggestions.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace nsacc;

static std::vector<std::string> listGPUs() {
  std::vector<std::string> names;
  for (const TargetInfo &info : getTargets())
    if (info.target == Target::GPU)
      names.push_back(info.name);
  return names;
}

static llvm::Expected<gpu::Device> findDevice(const std::string &name,
                                              std::optional<int> index) {
  const TargetInfo *target = findTarget(name);
  if (!target)
    return makeError(explainMissingTarget(name),
                     "use " + suggestTarget(name).value_or("cuda") +
                         "; of GPUs there is " + quoteList(listGPUs()));
  if (target->target != Target::GPU)
    return makeError("target '" + name + "' is no GPU",
                     "use cuda, for one of this machine, or a name as sm_90a");
  if (index && target->device)
    return makeError("--index is of this machine's GPUs, found target '" +
                         name + "'",
                     "use target cuda, or leave out --index");
  if (index)
    return queryDevice(*index);
  CompileOptions options;
  if (llvm::Error error = resolveTarget(*target, std::nullopt, options))
    return std::move(error);
  return *options.device;
}

void nsacc::addDeviceCommand(CLI::App &app, Invocation &invocation) {
  CLI::App *command = app.add_subcommand(
      "device", "describe a GPU, as --device takes it on machines without one");
  auto name = std::make_shared<std::string>("cuda");
  auto index = std::make_shared<std::optional<int>>();
  command
      ->add_option("TARGET", *name,
                   "cuda: the first GPU of this machine that code runs on; or "
                   "a named one")
      ->capture_default_str();
  command
      ->add_option("--index", *index,
                   "another GPU of this machine, counted from 0")
      ->check(CLI::NonNegativeNumber);
  command->callback([name, index, &invocation] {
    auto device = findDevice(*name, *index);
    if (!device) {
      invocation.status = reportError(device.takeError());
      return;
    }
    {
      llvm::json::OStream json(llvm::outs(), /*IndentSize=*/2);
      gpu::writeDevice(json, *device);
    }
    llvm::outs() << '\n';
    invocation.status = ExitCode::Success;
  });
}
