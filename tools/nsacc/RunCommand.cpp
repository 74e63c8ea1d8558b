//===- RunCommand.cpp - nsacc run -----------------------------------------===//

#include "Commands.h"
#include "FlagChecks.h"
#include "ProgramFlags.h"
#include "Run.h"
#include "nsacc/Pipelines/Targets.h"
#include <CLI/CLI.hpp>

using namespace nsacc;

static void addInputFlags(CLI::App &command, RunFlags &options) {
  const char *group = "Inputs";
  addRepeatedFlag(command, "--dims", options.dims,
                  "sizes of dimensions that no given input has; for ragged "
                  "ones the rows' lengths: T=[5,0,127]")
      ->type_name("NAME=SIZE,...")
      ->group(group);
  addRepeatedFlag(command, "--input", options.inputs,
                  "load an input; the others are random")
      ->type_name("NAME=FILE.npy")
      ->group(group);
  addRepeatedFlag(command, "--range", options.ranges,
                  "least and greatest value of a random input")
      ->type_name("NAME=LOW..HIGH")
      ->group(group);
  command.add_option("--seed", options.seed, "seed of random inputs")
      ->capture_default_str()
      ->check(checkSeed())
      ->group(group);
  command
      .add_option("--save-inputs", options.inputDir,
                  "write every input to DIR/NAME.npy")
      ->type_name("DIR")
      ->group(group);
}

static void addResultFlags(CLI::App &command, RunFlags &options) {
  const char *group = "Results";
  addRepeatedFlag(command, "--output", options.outputs, "write a result")
      ->type_name("NAME=FILE.npy")
      ->group(group);
  command
      .add_option("--output-dir", options.outputDir,
                  "write every result to DIR/NAME.npy")
      ->type_name("DIR")
      ->group(group);
  command
      .add_flag("--check", options.check,
                "check the results; exit with 1 if they are wrong")
      ->group(group);
  command.add_flag("--json", options.json, "print the report as JSON")
      ->group(group);
}

static void addTargetFlags(CLI::App &command, RunFlags &options) {
  const char *group = "Target";
  std::string names;
  for (const TargetInfo &info : getTargets())
    names += "\n" + info.name + ": " + info.description;
  options.target = getTargets().front().name;
  command
      .add_option("--target", options.target, "target that runs it:" + names)
      ->type_name("NAME")
      ->capture_default_str()
      ->group(group);
  addDeviceFlag(command, options.device, group);
  addThreadsFlag(command, options.threads,
                 "threads of runs and of the compiler (NSACC_THREADS, or all "
                 "of the machine)",
                 group);
  command
      .add_option("--repeat", options.repeat,
                  "number of runs; the best one's time is reported")
      ->type_name("N")
      ->check(CLI::Range(1u, 1000000u))
      ->group(group);
  command
      .add_flag("--round-storage", options.roundStorage,
                "oracle: round values that a compiled program stores to their "
                "type")
      ->group(group);
}

void nsacc::addRunCommand(CLI::App &app, Invocation &invocation) {
  CLI::App *command = app.add_subcommand(
      "run", "run a kernel on given or random inputs and report its results");
  auto options = std::make_shared<RunFlags>();
  addProgramFlags(*command, options->program);
  addInputFlags(*command, *options);
  addResultFlags(*command, *options);
  addTargetFlags(*command, *options);
  addScheduleFlag(*command, options->schedule);
  addInstrumentFlags(*command, options->instruments);
  command->callback([options, &invocation] {
    invocation.status = runKernel(*options, invocation.commandLine);
  });
}
