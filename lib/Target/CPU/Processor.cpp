//===- Processor.cpp - Processors to generate code for --------------------===//

#include "Processor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace llvm;
using namespace nsacc::cpu;

bool Processor::has(StringRef feature) const {
  // The last occurrence of a feature counts.
  for (const std::string &each : llvm::reverse(features))
    if (StringRef(each).drop_front() == feature)
      return each.front() == '+';
  return false;
}

unsigned Processor::getVectorBits() const {
  if (has("avx512f"))
    return 512;
  return has("avx2") || has("avx") ? 256 : 128;
}

std::string Processor::getFeatureString() const {
  return llvm::join(features, ",");
}

static void addHostFeatures(Processor &processor) {
  for (const auto &[feature, enabled] : sys::getHostCPUFeatures())
    processor.features.push_back((enabled ? "+" : "-") + feature.str());
  llvm::sort(processor.features);
}

static Error addKnownFeatures(Processor &processor) {
  SmallVector<StringRef> known;
  X86::fillValidCPUArchList(known, /*Only64Bit=*/true);
  if (!is_contained(known, processor.name))
    return createStringError("there is no processor '" + processor.name +
                             "'; LLVM's names are expected, like 'haswell', "
                             "'skylake-avx512' or 'x86-64-v3'");
  SmallVector<StringRef> features;
  X86::getFeaturesForCPU(processor.name, features);
  for (StringRef feature : features)
    processor.features.push_back("+" + feature.str());
  return Error::success();
}

Expected<Processor> nsacc::cpu::getProcessor(StringRef name,
                                             StringRef features) {
  Processor processor;
  processor.triple = sys::getProcessTriple();
  processor.name = name.empty() ? sys::getHostCPUName().str() : name.str();
  if (name.empty())
    addHostFeatures(processor);
  else if (Error error = addKnownFeatures(processor))
    return error;
  SmallVector<StringRef> extra;
  features.split(extra, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef feature : extra) {
    feature = feature.trim();
    if (!feature.starts_with("+") && !feature.starts_with("-"))
      return createStringError("expected features like '+avx2,-avx512f', "
                               "found '" +
                               feature + "'");
    processor.features.push_back(feature.str());
  }
  return processor;
}
