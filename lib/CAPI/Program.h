//===- Program.h - Compiled programs of the C interface ---------*- C++ -*-===//

#ifndef NSACC_LIB_CAPI_PROGRAM_H
#define NSACC_LIB_CAPI_PROGRAM_H

#include "Error.h"
#include "nsacc/Driver/CompiledProgram.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <mutex>
#include <utility>

struct nsacc_dim {
  explicit nsacc_dim(const nsacc::Dim &dim)
      : dim(dim), text(nsacc::toString(dim)) {}

  nsacc::Dim dim;
  std::string text;
};

struct nsacc_value {
  explicit nsacc_value(const nsacc::Argument &argument)
      : argument(argument), text(nsacc::toString(argument)),
        dims(argument.dims.begin(), argument.dims.end()) {}

  nsacc::Argument argument;
  std::string text;
  std::vector<nsacc_dim> dims;
};

namespace nsacc::capi {
/// Warnings of runs, until the caller takes them.
class Warnings {
public:
  void add(llvm::StringRef text) {
    std::lock_guard<std::mutex> lock(mutex);
    lines += text.str() + "\n";
  }
  std::string take() {
    std::lock_guard<std::mutex> lock(mutex);
    return std::exchange(lines, std::string());
  }

private:
  std::mutex mutex;
  std::string lines;
};
} // namespace nsacc::capi

/// Immutable once compiled, as far as callers can see.
struct nsacc_program {
  struct Text {
    std::string phase, ir;
    /// The source lines of each of its lines.
    std::vector<llvm::SmallVector<unsigned, 1>> lines;
  };

  std::string target;
  mutable nsacc::capi::Warnings warnings;
  /// Options for tuning the program.
  struct Tuning {
    nsacc::TuningOptions options;
    std::vector<std::string> worker;
    unsigned threads = 0;
  } tuning;
  /// The paths where ptxas was looked for.
  std::vector<std::string> ptxas;
  /// Used by errors of compilations that runs start.
  std::unique_ptr<llvm::MemoryBuffer> source;
  std::unique_ptr<nsacc::CompiledProgram> compiled;
  nsacc::Signature signature;
  std::vector<nsacc_value> inputs, results;
  std::vector<nsacc_diagnostic> diagnostics;
  /// Sets of names.
  std::vector<std::vector<std::string>> splits;
  std::vector<Text> texts;
};

struct nsacc_text {
  std::string text;
};

namespace nsacc::capi {
/// An error of a run of the program, or of a compilation that a run starts.
Failure toFailure(llvm::Error error, const nsacc_program &program);
/// Sizes of all dimensions: numbers, and lists of the lengths of rows. `what`
/// needs one call's sizes, as "tuning".
llvm::Expected<nsacc::DimSizes> readSizes(const llvm::json::Object &sizes,
                                          const nsacc::Signature &signature,
                                          llvm::StringRef what);
/// Sets the properties that callers can query. The program's code must be
/// there.
void describe(nsacc_program &program);
} // namespace nsacc::capi

#endif // NSACC_LIB_CAPI_PROGRAM_H
