//===- Explanation.h - Explanations of compiled kernels ---------*- C++ -*-===//

#ifndef NSACC_EXPLAIN_EXPLANATION_H
#define NSACC_EXPLAIN_EXPLANATION_H

#include "nsacc/Driver/CompiledProgram.h"
#include "nsacc/Explain/Occupancy.h"
#include "nsacc/Explain/Remarks.h"
#include "nsacc/Explain/TileMap.h"
#include "nsacc/Tuning/Model.h"
#include "llvm/Support/JSON.h"

namespace nsacc::explain {

/// A field of a schedule.
struct FieldChoice {
  schedule::Field field;
  std::string name, value, reason;
};

/// An op with a schedule.
struct OpExplanation {
  std::string name, kind;
  Place place;
  std::vector<FieldChoice> fields;
  tuning::Prediction::Op predicted;
  /// Attentions: "sees keys j < i + 1", and the place.
  std::string mask;
  std::optional<TileMap> map;
};

/// A launch of the plan.
struct ProgramExplanation {
  enum class Role {
    Main,   ///< computes ops
    Helper, ///< prepares or finishes a main program's results
    Exact   ///< computes again what isn't finite
  };

  std::string name;
  Role role = Role::Main;
  /// Helper and Exact: the name of the main program.
  std::string of;
  Place place;
  /// The ops that it computes, as indices into Explanation::ops. Each op's work
  /// and time count in one main program only.
  std::vector<size_t> ops, counted;

  /// Main: useful work. Counts the bytes of tensors that it reads and writes,
  /// each once.
  tuning::Work work;
  tuning::Work::Floors floors;
  /// Bytes that tiles load from the cache that cores or multiprocessors share,
  /// and their time; 0: not known.
  double cacheBytes = 0, cacheSeconds = 0;
  /// Time by the model, helpers included.
  double predictedSeconds = 0;

  int64_t grid[3] = {1, 1, 1};
  /// Number of launches; more than 1 for repeated parts.
  int64_t launches = 1;
  bool isPersistent = false;
  /// GPU only: 0 on a CPU.
  int64_t threads = 0, sharedBytes = 0;
  std::optional<cuda::KernelReport> report;
  std::optional<Occupancy> occupancy;
  /// Rounds of blocks that the whole grid takes.
  double waves = 0;

  std::vector<Remark> remarks;
};

struct Buffer {
  std::string name;
  int64_t bytes = 0;
  bool isResult = false;
};

/// A phase's result as text, and the source lines that each of its lines comes
/// from.
struct PhaseText {
  std::string name, text;
  std::vector<llvm::SmallVector<unsigned, 1>> lines;
};

struct Explanation {
  std::string kernel, target;
  /// "flash(q: bf16[B, T, HQ, D], …) -> (…)"
  std::string signature;
  /// "B=1, T=4096", in the signature's order; and "many", "few" or "" queries.
  std::string sizes, queries;
  /// Fields of the schedule that are given, tuned or made smaller.
  std::string schedule;
  std::optional<gpu::Device> device;
  tuning::Rates rates;

  std::vector<OpExplanation> ops;
  /// In the order of launches.
  std::vector<ProgramExplanation> programs;
  std::vector<Buffer> buffers;
  int64_t workspaceBytes = 0;
  /// GPU: why no launch takes these sizes; empty if one does.
  std::string refusal;
  /// Time of all programs by the model.
  double predictedSeconds = 0;
  /// The work and the floor of the whole kernel.
  tuning::Work work;
  tuning::Floor floor;
  /// The schedule that measuring found for such calls of the whole kernel, if
  /// there is one.
  std::optional<TunedSchedule> tuned;
  /// The rule for many sizes, and its case for these sizes, if there is no
  /// schedule for such calls alone.
  std::optional<TunedRule> rule;
  std::string ruled;
  /// GPU: why register counts are missing; empty if they are known.
  std::string noRegisters;
  std::vector<std::string> losses;
  /// Remarks of passes about the kernel as a whole.
  std::vector<Remark> remarks;

  std::string file, source;
  std::vector<PhaseText> phases;
};

struct BuildOptions {
  /// The store in which tuned schedules are looked up.
  TuningOptions tuning;
  /// The program's text, and its IR after phases before tiling.
  std::string file, source;
  std::vector<PhaseText> earlier;
  /// Paths where ptxas may be, besides the PATH.
  std::vector<std::string> ptxas;
  /// Compile, and examine the code. If false, only ops and their tile maps are
  /// explained.
  bool compiles = true;
  /// Threads of runs on a CPU; 0: one for each core.
  unsigned threads = 0;
  /// Called with tuned schedules that can't be used, as in runs. May be empty.
  std::function<void(llvm::StringRef)> warn;
};

/// Compiles a kernel for calls with these sizes, which must all be known.
llvm::Expected<Explanation> build(const CompiledProgram &program,
                                  llvm::StringRef kernel, const DimSizes &sizes,
                                  BuildOptions options);

/// Prints a module, with the source lines that its lines come from.
PhaseText printPhase(mlir::ModuleOp module, llvm::StringRef name);

/// Prints the report.
void printText(const Explanation &explanation, llvm::raw_ostream &os);
llvm::json::Value toJSON(const Explanation &explanation);
/// Prints one page of HTML, which needs no other file. Its script draws the
/// JSON in it.
void printPage(const Explanation &explanation, llvm::raw_ostream &os);
/// The tile map of each attention in a frame, for embedding in other pages;
/// empty if there is none.
std::string drawTileMaps(const Explanation &explanation);

} // namespace nsacc::explain

#endif // NSACC_EXPLAIN_EXPLANATION_H
