//===- Explanation.h - What a compiled kernel does, and why -----*- C++ -*-===//

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
  std::string name, value, reason;
};

/// An op with a schedule.
struct OpExplanation {
  std::string name, kind;
  Place place;
  std::vector<FieldChoice> fields;
  tuning::Prediction::Op predicted;
  /// Of attentions: "sees keys j < i + 1", and where.
  std::string mask;
  std::optional<TileMap> map;
};

/// A launch of the plan.
struct ProgramExplanation {
  enum class Role {
    Main,   ///< computes ops
    Helper, ///< prepares or finishes what a main program computes
    Exact   ///< computes again what isn't finite
  };

  std::string name;
  Role role = Role::Main;
  /// Of a helper or an exact one: the main program, by name.
  std::string of;
  Place place;
  /// The ops that it computes, in places of Explanation::ops. Each op's work
  /// and time count in one main program.
  std::vector<size_t> ops, counted;

  /// Main: useful work. Bytes are those of tensors that it reads and writes,
  /// each once.
  tuning::Work work;
  tuning::Work::Floors floors;
  /// Of what tiles load from the cache that units share; 0: not known.
  double cacheBytes = 0, cacheSeconds = 0;
  /// By the model, with its helpers.
  double predictedSeconds = 0;

  int64_t grid[3] = {1, 1, 1};
  /// How often it is launched, for repeated parts.
  int64_t launches = 1;
  bool isPersistent = false;
  /// GPU: 0 on a CPU.
  int64_t threads = 0, sharedBytes = 0;
  std::optional<cuda::KernelReport> report;
  std::optional<Occupancy> occupancy;
  /// Rounds of blocks until all of the grid were run.
  double waves = 0;

  std::vector<Remark> remarks;
};

struct Buffer {
  std::string name;
  int64_t bytes = 0;
  bool isResult = false;
};

/// What a phase leaves, as text, and the source lines that each of its lines
/// comes from.
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
  /// What is given, tuned or made smaller of the schedule.
  std::string schedule;
  std::optional<gpu::Device> device;
  tuning::Rates rates;

  std::vector<OpExplanation> ops;
  /// In the order of launches.
  std::vector<ProgramExplanation> programs;
  std::vector<Buffer> buffers;
  int64_t workspaceBytes = 0;
  /// GPU: why no launch takes these sizes; empty where one does.
  std::string refusal;
  /// By the model, of all programs.
  double predictedSeconds = 0;
  /// The work and the floor of the whole kernel.
  tuning::Work work;
  tuning::Floor floor;
  /// What measuring found for such calls, if it did; of the whole kernel.
  std::optional<TunedSchedule> tuned;
  /// Where nothing was kept for such calls alone: what was found for many
  /// sizes, and what it says of these.
  std::optional<TunedRule> rule;
  std::string ruled;
  /// GPU: why there are no registers; empty where there are.
  std::string noRegisters;
  std::vector<std::string> losses;
  /// Of passes, about the kernel as a whole.
  std::vector<Remark> remarks;

  std::string file, source;
  std::vector<PhaseText> phases;
};

struct BuildOptions {
  /// Where tuned schedules are looked for.
  TuningOptions tuning;
  /// The program's text, and what phases in front of tiles left of it.
  std::string file, source;
  std::vector<PhaseText> earlier;
  /// Where ptxas may be, besides the PATH.
  std::vector<std::string> ptxas;
  /// Compile, and look at what comes out. Without, there are ops and their tile
  /// maps alone.
  bool compiles = true;
  /// Of runs on a CPU; 0: one for each core.
  unsigned threads = 0;
  /// Told of tuned schedules that can't be used, as runs tell. May be empty.
  std::function<void(llvm::StringRef)> warn;
};

/// Compiles a kernel for calls with these sizes, all of which are known.
llvm::Expected<Explanation> build(const CompiledProgram &program,
                                  llvm::StringRef kernel, const DimSizes &sizes,
                                  BuildOptions options);

/// Prints a module, with the source lines that its lines come from.
PhaseText printPhase(mlir::ModuleOp module, llvm::StringRef name);

/// The report.
void printText(const Explanation &explanation, llvm::raw_ostream &os);
llvm::json::Value toJSON(const Explanation &explanation);
/// One page of HTML, which needs no other file.
void printPage(const Explanation &explanation, llvm::raw_ostream &os);
/// The tile map of each attention as a piece of HTML, for pages of others.
std::string drawTileMaps(const Explanation &explanation);

} // namespace nsacc::explain

#endif // NSACC_EXPLAIN_EXPLANATION_H
