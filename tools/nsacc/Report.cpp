//===- Report.cpp - Output of `nsacc run` ---------------------------------===//

#include "Report.h"
#include "Messages.h"
#include "nsacc/Support/Version.h"
#include "nsacc/Tensor/Compare.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;

bool RunReport::hasFailed() const {
  return llvm::any_of(checks, [](const CheckResult &check) {
    return check.verdict == CheckResult::Verdict::Fail;
  });
}

double RunReport::getBestSeconds() const {
  return seconds.empty() ? 0 : *llvm::min_element(seconds);
}

std::optional<double> RunReport::getGFlops() const {
  if (!usefulOperations || *usefulOperations == 0 || getBestSeconds() == 0)
    return std::nullopt;
  return *usefulOperations / getBestSeconds() * 1e-9;
}

static std::string formatChecksum(const Summary &summary) {
  return llvm::formatv("{0:x-16}", summary.checksum);
}

//===-- Text --------------------------------------------------------------===//

/// "bf16[B = 2, T = 512, 64]"
static std::string describeShape(const Argument &argument,
                                 const Tensor &tensor) {
  std::vector<std::string> dims;
  for (auto [dim, size] : llvm::zip(argument.dims, tensor.getShape()))
    dims.push_back(dim.kind == Dim::Kind::Constant
                       ? std::to_string(size)
                       : llvm::formatv("{0} = {1}", toString(dim), size).str());
  return llvm::formatv("{0}[{1}]", getName(argument.dtype),
                       llvm::join(dims, ", "));
}

static std::string describeContents(const Tensor &tensor) {
  Summary summary = summarize(tensor);
  std::string text;
  if (summary.elements > 0)
    text += llvm::formatv("min {0:f4}, max {1:f4}, mean {2:f4}", summary.min,
                          summary.max, summary.mean);
  else
    text += "empty";
  if (summary.nans)
    text += llvm::formatv(", {0} NaN", summary.nans);
  if (summary.infinities)
    text += llvm::formatv(", {0} infinite", summary.infinities);
  return text + ", xxh3 " + formatChecksum(summary);
}

/// "time    12.345 ms, best of 5 runs; compiled in 1.234 s"
static void printTime(const RunReport &report, llvm::raw_ostream &os) {
  os << llvm::formatv("time    {0:f3} ms", report.getBestSeconds() * 1e3);
  if (report.seconds.size() > 1)
    os << llvm::formatv(", best of {0} runs", report.seconds.size());
  if (report.compileSeconds > 0)
    os << llvm::formatv("; {0} {1:f3} s",
                        report.isFromCache ? "code from the cache in"
                                           : "compiled in",
                        report.compileSeconds);
  os << '\n';
  if (std::optional<double> speed = report.getGFlops())
    os << llvm::formatv("speed   {0:f1} GFLOP/s over the visible pairs\n",
                        *speed);
}

void nsacc::printText(const RunReport &report, llvm::raw_ostream &os) {
  std::vector<std::string> params;
  for (auto &[name, value] : report.signature.params)
    params.push_back(name + " = " + value);
  os << "kernel  " << report.signature.kernel;
  if (!params.empty())
    os << "<" << llvm::join(params, ", ") << ">";
  os << " of " << report.file << "\n";
  os << "target  " << report.target << ", " << report.threads
     << (report.threads == 1 ? " thread" : " threads");
  if (!report.schedule.empty())
    os << ", schedule " << report.schedule;
  os << '\n';

  const char *heading = "inputs  ";
  for (auto [argument, tensor, source] :
       llvm::zip(report.signature.inputs, report.inputs.tensors,
                 report.inputs.sources)) {
    os << heading << argument.name << ": " << describeShape(argument, tensor)
       << "  " << source << '\n';
    heading = "        ";
  }
  heading = "results ";
  for (auto [argument, tensor, file] : llvm::zip(
           report.signature.results, report.results, report.resultFiles)) {
    os << heading << argument.name << ": " << describeShape(argument, tensor)
       << "  " << describeContents(tensor);
    if (!file.empty())
      os << "  -> " << file;
    os << '\n';
    heading = "        ";
  }
  printTime(report, os);

  heading = "check   ";
  for (const CheckResult &check : report.checks) {
    os << heading << getName(check.verdict) << ": " << check.name << ": "
       << check.detail << '\n';
    heading = "        ";
  }
}

//===-- JSON --------------------------------------------------------------===//

static void printTensor(llvm::json::OStream &json, const Argument &argument,
                        const Tensor &tensor) {
  json.attribute("name", toUTF8(argument.name));
  json.attribute("dtype", getName(argument.dtype));
  json.attributeArray("dims", [&] {
    for (const Dim &dim : argument.dims)
      json.value(toUTF8(toString(dim)));
  });
  json.attributeArray("shape", [&] {
    for (int64_t size : tensor.getShape())
      json.value(size);
  });
}

static void printContents(llvm::json::OStream &json, const Tensor &tensor) {
  Summary summary = summarize(tensor);
  json.attribute("min", summary.min);
  json.attribute("max", summary.max);
  json.attribute("mean", summary.mean);
  json.attribute("nans", summary.nans);
  json.attribute("infinities", summary.infinities);
  json.attribute("xxh3", formatChecksum(summary));
}

static void printInputs(llvm::json::OStream &json, const RunReport &report) {
  json.attributeArray("inputs", [&] {
    for (auto [argument, tensor, source] :
         llvm::zip(report.signature.inputs, report.inputs.tensors,
                   report.inputs.sources))
      json.object(
          [&, &argument = argument, &tensor = tensor, &source = source] {
            printTensor(json, argument, tensor);
            json.attribute("source", toUTF8(source));
          });
  });
}

static void printResults(llvm::json::OStream &json, const RunReport &report) {
  json.attributeArray("results", [&] {
    for (auto [argument, tensor, file] : llvm::zip(
             report.signature.results, report.results, report.resultFiles))
      json.object([&, &argument = argument, &tensor = tensor, &file = file] {
        printTensor(json, argument, tensor);
        printContents(json, tensor);
        if (!file.empty())
          json.attribute("file", toUTF8(file));
      });
  });
}

static void printChecks(llvm::json::OStream &json, const RunReport &report) {
  json.attributeArray("checks", [&] {
    for (const CheckResult &check : report.checks)
      json.object([&] {
        json.attribute("name", toUTF8(check.name));
        json.attribute("verdict", getName(check.verdict).lower());
        json.attribute("detail", toUTF8(check.detail));
      });
  });
}

void nsacc::printJSON(const RunReport &report, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("nsacc", getVersion());
    json.attribute("file", toUTF8(report.file));
    json.attribute("kernel", toUTF8(report.signature.kernel));
    json.attribute("target", report.target);
    json.attribute("threads", report.threads);
    if (!report.schedule.empty())
      json.attribute("schedule", toUTF8(report.schedule));
    json.attributeObject("params", [&] {
      for (auto &[name, value] : report.signature.params)
        json.attribute(toUTF8(name), toUTF8(value));
    });
    printInputs(json, report);
    printResults(json, report);
    json.attribute("seconds", report.getBestSeconds());
    json.attributeArray("runs", [&] {
      for (double seconds : report.seconds)
        json.value(seconds);
    });
    json.attribute("compile_seconds", report.compileSeconds);
    json.attribute("from_cache", report.isFromCache);
    json.attribute("workspace_bytes", report.workspaceBytes);
    if (std::optional<double> speed = report.getGFlops())
      json.attribute("gflops", *speed);
    printChecks(json, report);
  });
  os << '\n';
}
