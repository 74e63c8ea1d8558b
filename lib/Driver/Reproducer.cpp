//===- Reproducer.cpp - Modules that run a pipeline again -----------------===//

#include "nsacc/Driver/Reproducer.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

std::string nsacc::makeReproducer(PassManager &manager, ModuleOp module) {
  std::string pipeline, text;
  llvm::raw_string_ostream pipelineStream(pipeline), os(text);
  manager.printAsTextualPipeline(pipelineStream);
  module.print(os);
  os << "\n\n{-#\n  external_resources: {\n    mlir_reproducer: {\n"
     << "      pipeline: \"";
  llvm::printEscapedString(pipeline, os);
  os << "\",\n      disable_threading: true,\n      verify_each: true\n"
     << "    }\n  }\n#-}\n";
  return text;
}
