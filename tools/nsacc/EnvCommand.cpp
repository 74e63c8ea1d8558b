//===- EnvCommand.cpp - nsacc env -----------------------------------------===//

#include "Commands.h"
#include "Messages.h"
#include "nsacc-rt/nsacc_rt.h"
#include "nsacc/Driver/Devices.h"
#include "nsacc/GPU/DeviceFile.h"
#include "nsacc/Support/Environment.h"
#include "nsacc/Support/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include <CLI/CLI.hpp>

using namespace nsacc;

namespace {
/// A GPU of this machine: the code that runs on it, or why none does.
struct MachineGPU {
  std::optional<gpu::Device> device;
  std::string problem;
};

/// Facts of this machine that affect nsacc.
struct Facts {
  unsigned threads;
  std::string host, ptxas;
  std::vector<MachineGPU> gpus;
  /// Why the CUDA driver finds no GPUs.
  std::string problem;
  std::vector<std::string> unknown;
};
} // namespace

static void findGPUs(Facts &facts) {
  int count = 0;
  if (nsacc_rt_device_count(&count) != NSACC_RT_OK)
    facts.problem = nsacc_rt_message();
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    MachineGPU &found = facts.gpus.emplace_back();
    llvm::Expected<gpu::Device> device = queryDevice(ordinal);
    if (device)
      found.device = std::move(*device);
    else
      found.problem = llvm::toString(device.takeError());
  }
}

static Facts collectFacts() {
  Facts facts;
  facts.threads = llvm::hardware_concurrency().compute_thread_count();
  facts.host = llvm::sys::getDefaultTargetTriple();
  if (auto path = llvm::sys::findProgramByName("ptxas"))
    facts.ptxas = *path;
  findGPUs(facts);
  facts.unknown = findUnknownEnvironmentVariables();
  return facts;
}

static std::string describe(const MachineGPU &found) {
  if (!found.device)
    return found.problem;
  const gpu::Device &device = *found.device;
  return device.name + ", compute capability " + toString(device.capability) +
         ": " + device.explainCode() + ", tiles for " +
         std::to_string(device.limits.sharedBytesOfBlock >> 10) +
         " KiB of shared memory";
}

static void printText(const Facts &facts) {
  auto line = [](llvm::StringRef key, llvm::StringRef value) {
    llvm::outs() << llvm::left_justify(key, 17) << value << '\n';
  };
  auto orNotFound = [](llvm::StringRef value) {
    return value.empty() ? llvm::StringRef("not found") : value;
  };
  line("nsacc", getVersion());
  line("LLVM", getLLVMVersion());
  line("host", facts.host);
  line("threads", std::to_string(facts.threads));
  for (const TargetInfo &info : getTargets())
    line("target " + info.name, info.description);
  line("ptxas", orNotFound(facts.ptxas));
  if (!facts.problem.empty())
    line("GPU", facts.problem);
  for (const auto &[ordinal, found] : llvm::enumerate(facts.gpus))
    line("GPU " + std::to_string(ordinal), describe(found));
  for (const EnvironmentVariableInfo &info : getEnvironmentVariables()) {
    std::optional<std::string> value = lookup(info.variable);
    line(info.name, value ? *value : "not set: " + info.fallback.str());
    line("", info.description);
  }
  for (llvm::StringRef name : facts.unknown)
    llvm::outs() << "warning: nothing reads " << name << '\n';
}

static void writeGPU(llvm::json::OStream &json, const MachineGPU &found) {
  json.object([&] {
    if (!found.device) {
      json.attribute("problem", toUTF8(found.problem));
      return;
    }
    json.attributeBegin("device");
    writeDevice(json, *found.device);
    json.attributeEnd();
    json.attribute("code", found.device->code.architecture);
  });
}

static void printJSON(const Facts &facts) {
  llvm::json::OStream json(llvm::outs(), /*IndentSize=*/2);
  json.object([&] {
    json.attribute("nsacc", getVersion());
    json.attribute("llvm", getLLVMVersion());
    json.attribute("host", facts.host);
    json.attribute("threads", facts.threads);
    json.attributeArray("targets", [&] {
      for (const TargetInfo &info : getTargets())
        json.value(info.name);
    });
    auto orNull = [](llvm::StringRef text) -> llvm::json::Value {
      return text.empty() ? llvm::json::Value(nullptr) : toUTF8(text);
    };
    json.attribute("ptxas", orNull(facts.ptxas));
    json.attribute("cuda_problem", orNull(facts.problem));
    json.attributeArray("gpus", [&] {
      for (const MachineGPU &found : facts.gpus)
        writeGPU(json, found);
    });
    json.attributeObject("environment", [&] {
      for (const EnvironmentVariableInfo &info : getEnvironmentVariables())
        json.attribute(info.name, orNull(lookup(info.variable).value_or("")));
    });
    json.attributeArray("unknown_environment", [&] {
      for (llvm::StringRef name : facts.unknown)
        json.value(toUTF8(name));
    });
  });
  llvm::outs() << '\n';
}

void nsacc::addEnvCommand(CLI::App &app, Invocation &invocation) {
  CLI::App *command = app.add_subcommand(
      "env", "show versions, targets, GPUs and tools found, and NSACC_ "
             "variables");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print JSON");
  command->callback([json, &invocation] {
    (*json ? printJSON : printText)(collectFacts());
    invocation.status = ExitCode::Success;
  });
}
