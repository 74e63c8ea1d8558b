//===- EnvCommand.cpp - nsacc env -----------------------------------------===//

#include "Commands.h"
#include "Messages.h"
#include "nsacc/Pipelines/Targets.h"
#include "nsacc/Support/Environment.h"
#include "nsacc/Support/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include <CLI/CLI.hpp>
#include <dlfcn.h>

using namespace nsacc;

namespace {
/// What bears on how nsacc behaves here.
struct Facts {
  unsigned threads;
  std::string host, ptxas, driver;
  std::vector<std::string> unknown;
};
} // namespace

/// Whether the CUDA driver can be opened; nothing of it is started.
static std::string findDriver() {
  const char *name = "libcuda.so.1";
  void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (!library)
    return "";
  dlclose(library);
  return name;
}

static Facts collectFacts() {
  Facts facts;
  facts.threads = llvm::hardware_concurrency().compute_thread_count();
  facts.host = llvm::sys::getDefaultTargetTriple();
  if (auto path = llvm::sys::findProgramByName("ptxas"))
    facts.ptxas = *path;
  facts.driver = findDriver();
  facts.unknown = findUnknownEnvironmentVariables();
  return facts;
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
    line("target " + info.name.str(), info.description);
  line("ptxas", orNotFound(facts.ptxas));
  line("CUDA driver", orNotFound(facts.driver));
  for (const EnvironmentVariableInfo &info : getEnvironmentVariables()) {
    std::optional<std::string> value = lookup(info.variable);
    line(info.name, value ? *value : "not set: " + info.fallback.str());
    line("", info.description);
  }
  for (llvm::StringRef name : facts.unknown)
    llvm::outs() << "warning: nothing reads " << name << '\n';
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
    json.attribute("cuda_driver", orNull(facts.driver));
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
      "env", "show versions, targets, what was found, and NSACC_ variables");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print JSON");
  command->callback([json, &invocation] {
    (*json ? printJSON : printText)(collectFacts());
    invocation.status = ExitCode::Success;
  });
}
