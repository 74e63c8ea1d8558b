//===- Options.h - Options of compilations and runs -------------*- C++ -*-===//

#ifndef NSACC_LIB_CAPI_OPTIONS_H
#define NSACC_LIB_CAPI_OPTIONS_H

#include "nsacc-c/nsacc.h"
#include "nsacc/Driver/CompiledProgram.h"
#include "nsacc/Frontend/Frontend.h"

struct nsacc_options {
  nsacc::frontend::Options frontend;
  std::string target = nsacc::getTargets().front().name;
  std::optional<std::string> deviceFile;
  std::string schedule;
  std::vector<std::string> ptxas;
  nsacc::CacheOptions cache;
  nsacc::TuningOptions tuning;
  std::vector<std::string> worker;
  unsigned threads = 0;
};

struct nsacc_run_options {
  nsacc::RunOptions run;
  nsacc_statistics *statistics = nullptr;
};

#endif // NSACC_LIB_CAPI_OPTIONS_H
