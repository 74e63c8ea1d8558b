//===- Options.h - Options of compilations and runs -------------*- C++ -*-===//

#ifndef NSACC_LIB_CAPI_OPTIONS_H
#define NSACC_LIB_CAPI_OPTIONS_H

#include "nsacc/Frontend/Frontend.h"
#include "nsacc/Interpreter/Interpreter.h"

struct nsacc_options {
  nsacc::frontend::Options frontend;
  std::string target = "oracle";
};

struct nsacc_run_options {
  nsacc::interpreter::Options interpreter;
};

#endif // NSACC_LIB_CAPI_OPTIONS_H
