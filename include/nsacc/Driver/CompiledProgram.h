//===- CompiledProgram.h - Programs that run on a target --------*- C++ -*-===//

#ifndef NSACC_DRIVER_COMPILEDPROGRAM_H
#define NSACC_DRIVER_COMPILEDPROGRAM_H

#include "nsacc/Driver/TunedSchedules.h"
#include "nsacc/GPU/Device.h"
#include "nsacc/Pipelines/Phases.h"
#include "nsacc/Pipelines/Targets.h"
#include "nsacc/RT/Package.h"
#include "nsacc/Schedule/QueryCount.h"
#include "nsacc/Schedule/Settings.h"
#include "nsacc/Support/DiskCache.h"
#include "nsacc/Target/CUDA/Ptxas.h"
#include "nsacc/Tensor/Signature.h"
#include <functional>
#include <memory>
#include <optional>

namespace mlir {
class TimingScope;
} // namespace mlir

namespace nsacc::nsa {
class KernelOp;
} // namespace nsacc::nsa
namespace nsacc::schedule {
struct Goal;
} // namespace nsacc::schedule

namespace nsacc {

/// Where schedules come from that were measured.
struct TuningOptions {
  TuneMode mode = TuneMode::Off;
  TunePolicy policy = {};
  /// The folder and mode of the store.
  CacheOptions store = {};
  /// Finds a schedule for a call whose sizes are all known, where the store has
  /// none: what modes beyond Replay do. None where that fails, which it tells
  /// itself. May be empty.
  std::function<std::optional<std::string>(llvm::StringRef kernel,
                                           const DimSizes &sizes)>
      find = {};
};

/// The code that a run with some sizes uses, without its conditions.
struct CodeFor {
  /// A package of one variant. That of a CPU is for this processor alone.
  std::string package;
  /// What is right but slow in it: values that had to leave registers, products
  /// that don't overlap.
  std::vector<std::string> losses;
};

/// What a compilation for some sizes made, and what it says of it.
struct CodeDetails {
  /// One variant. That of a CPU is for this processor alone.
  rt::Package package;
  /// The schedule that had room: what is given, tuned, and made smaller.
  schedule::Settings schedule;
  /// See CodeFor.
  std::vector<std::string> losses;
  /// GPU: what ptxas says of the kernels; none where it wasn't found.
  std::vector<cuda::KernelReport> kernels;
  /// GPU: why ptxas, which is there, couldn't be asked; empty: it was.
  std::string notAsked;
};

/// What NSACC_TUNE and the variables of the cache say. Fails where one of them
/// has no meaning.
llvm::Expected<TuningOptions> lookupTuning();

struct CompileOptions {
  Target target = Target::CPU;
  /// GPU: the device that code is made for; resolveTarget finds it.
  std::optional<gpu::Device> device = {};
  /// GPU: that device's number where it is one of this machine's; a run on
  /// another one gets code for that. None: code is for `device` alone.
  std::optional<int> ordinal = {};
  /// Fields of all ops' schedules and of named ones, "keys=32; slc: tokens=8"
  /// (docs/Schedules.md); what isn't given is the compiler's choice. The oracle
  /// has no schedule.
  std::string schedule = {};
  /// CPU: name of the processor to compile for (empty: this one), and features
  /// on top, "+avx2,-avx512f".
  std::string cpu = {}, features = {};
  /// GPU: where ptxas may be, besides the PATH.
  std::vector<std::string> ptxas = {};
  /// Threads that compile kernels side by side, at most; 0: one for each core.
  /// Code doesn't depend on it.
  unsigned threads = 0;
  /// Where code is looked for before it is made, and kept when it was.
  CacheOptions cache = {};
  /// Of fields that `schedule` leaves open.
  TuningOptions tuning = {};
  /// Where the time of compilations is counted; may be null. Not to be used
  /// where several threads run the program.
  mlir::TimingScope *timing = nullptr;
  /// Told what is right but slow: what ptxas couldn't keep in registers or run
  /// side by side, where in the program, when code is made or found in the
  /// cache; and a cache that can't be used. May be empty.
  std::function<void(llvm::StringRef)> warn = {};
  /// Called with each pass manager before it runs, and the name of what it does
  /// ("tile", "cpu"); may be empty.
  std::function<void(mlir::PassManager &, mlir::ModuleOp, llvm::StringRef)>
      preparePasses = {};
};

/// A CUDA device, and the CUstream that a run is put on. Tensors are in its
/// memory.
struct DeviceStream {
  int device = 0;
  void *stream = nullptr;
};

struct RunOptions {
  /// 0: as many as the machine has. Results don't depend on it.
  unsigned threads = 0;
  /// Oracle: round also what a compiled program stores in between.
  bool roundStorage = false;
  /// Oracle: real results as f64.
  bool keepF64 = false;
  /// Asked now and then by the calling thread; a run that is interrupted fails.
  /// May be empty. The oracle doesn't ask.
  std::function<bool()> isInterrupted = {};
  /// GPU: where the tensors are; a run that returns isn't done then. Without,
  /// tensors are on the host, and results are there when a run returns.
  std::optional<DeviceStream> device = {};
};

/// What one run took.
struct RunStatistics {
  /// Of compiling for these sizes, or of finding their code in the cache; 0
  /// where that was done before.
  double compileSeconds = 0;
  bool isFromCache = false;
  double runSeconds = 0;
  /// Compiled: memory beyond inputs and results, launches, points of their
  /// grids.
  int64_t workspaceBytes = 0, launches = 0, programs = 0;
};

/// The kernels of a module, compiled for a target. Compiled code is made for
/// the sizes of heads and channels when a run first needs it, and kept. Any
/// thread may run any kernel at any time.
class CompiledProgram {
public:
  virtual ~CompiledProgram() = default;

  /// `module` is one of the nsa dialect behind phase `nsa`; it is copied.
  static llvm::Expected<std::unique_ptr<CompiledProgram>>
  create(mlir::ModuleOp module, const CompileOptions &options = {});

  /// A package that `package` or `combinePackages` made, or a file of it. Runs
  /// on the device where tensors are; those of the host on its processor, where
  /// the package has code for that, else on the first GPU.
  static llvm::Expected<std::unique_ptr<CompiledProgram>>
  load(llvm::StringRef package);

  virtual Target getTarget() const = 0;
  /// nsacc_rt's number of the device that runs this program's code, which may
  /// be NSACC_RT_HOST; none where it is for a device elsewhere, or interpreted.
  virtual std::optional<int> getDevice() const { return std::nullopt; }
  /// For messages: "cpu", "cuda", "sm_86".
  virtual std::string getTargetName() const = 0;
  /// Of every kernel, in the module's order.
  llvm::ArrayRef<Signature> getSignatures() const { return signatures; }
  /// Fails where there is no kernel of that name. An empty name is the only
  /// kernel's.
  llvm::Expected<const Signature &> getSignature(llvm::StringRef kernel) const;

  /// Checks inputs, given in the order of the signature, and allocates and
  /// computes the results. Problems of compiling are a CompileError, others
  /// messages in the program's names.
  llvm::Expected<std::vector<Tensor>>
  run(llvm::StringRef kernel, llvm::ArrayRef<Tensor> inputs,
      const RunOptions &options = {},
      RunStatistics *statistics = nullptr) const;

  /// The same into results of the caller, which have the shapes that getShape
  /// gives. They may be left half written on errors.
  llvm::Error runInto(llvm::StringRef kernel, llvm::ArrayRef<Tensor> inputs,
                      llvm::ArrayRef<Tensor> results,
                      const RunOptions &options = {},
                      RunStatistics *statistics = nullptr) const;
  /// The same with the sizes that bindRunDimensions found, which would wait
  /// for some offsets on a device once more.
  llvm::Error runInto(llvm::StringRef kernel, const DimSizes &sizes,
                      llvm::ArrayRef<Tensor> inputs,
                      llvm::ArrayRef<Tensor> results, const RunOptions &options,
                      RunStatistics *statistics = nullptr) const;

  /// GPU: fails where a run on the stream, which the caller has waited for,
  /// ended with an error of the program. Told once.
  virtual llvm::Error check(const DeviceStream &where) const {
    return llvm::Error::success();
  }

  /// A kernel as a package for libnsacc_rt. For a GPU, with the code that runs
  /// of this program would use; for the CPU, with code for levels of
  /// processors. Each of `sizes` has the dimensions that code is made for. The
  /// oracle has none.
  llvm::Expected<std::string> package(llvm::StringRef kernel,
                                      llvm::ArrayRef<DimSizes> sizes) const;

  /// The same with the schedules of a rule beside what is given.
  llvm::Expected<std::string> packageByRule(llvm::StringRef kernel,
                                            const DimSizes &sizes,
                                            const TunedRule &rule) const;

  /// The code for runs with these sizes, compiled now with a schedule beside
  /// what is given. Fails where its tiles have no room: none are made smaller.
  llvm::Expected<CodeFor> compileFor(llvm::StringRef kernel,
                                     const DimSizes &sizes,
                                     llvm::StringRef schedule) const;
  /// The same with smaller tiles where those of the schedule have no room, as a
  /// run has them; for those who look at code. Nothing is kept or warned of.
  llvm::Expected<CodeDetails> compileInDetail(llvm::StringRef kernel,
                                              const DimSizes &sizes,
                                              llvm::StringRef tuned,
                                              bool isModelled = false) const;
  /// What a tuned schedule for these sizes is stored by: all that it depends
  /// on, as lines of text.
  llvm::Expected<std::string> getTuningKey(llvm::StringRef kernel,
                                           const DimSizes &sizes) const;
  /// Called with a kernel that was specialized for some sizes, what its
  /// schedule is chosen for, and what is given of it.
  using KernelUser = llvm::function_ref<llvm::Error(
      nsa::KernelOp, const schedule::Goal &, const schedule::Settings &)>;
  llvm::Error withKernel(llvm::StringRef kernel, const DimSizes &sizes,
                         KernelUser use) const;

  /// GPU: all that a run with these sizes launches, in one image.
  llvm::Expected<rt::Image> image(llvm::StringRef kernel,
                                  const DimSizes &sizes) const;
  /// CPU: the same as assembly.
  llvm::Expected<std::string> assembly(llvm::StringRef kernel,
                                       const DimSizes &sizes) const;

  /// Compiles for the inputs' sizes, so that a run with them doesn't.
  llvm::Error prepare(llvm::StringRef kernel, llvm::ArrayRef<Tensor> inputs,
                      RunStatistics *statistics = nullptr) const;

  /// The schedule that code for these sizes is compiled with: the options', and
  /// smaller tiles of ops that had no room. The sizes are those of heads and
  /// channels; others may be open.
  llvm::Expected<schedule::Settings>
  fitSchedule(llvm::StringRef kernel,
              const llvm::StringMap<int64_t> &sizes) const;

  /// The kernel behind phase `tile`, as text, for sizes of heads and channels;
  /// others stay open. An error where the target has no such phase.
  llvm::Expected<std::string>
  printTiles(llvm::StringRef kernel,
             const llvm::StringMap<int64_t> &sizes) const;

  /// How each op of the kernel is tiled for these sizes, and why, as text.
  llvm::Expected<std::string>
  printSchedule(llvm::StringRef kernel,
                const llvm::StringMap<int64_t> &sizes) const;

protected:
  /// Sizes that the inputs gave to dimensions are known and consistent.
  virtual llvm::Error prepareChecked(size_t kernel, const DimSizes &sizes,
                                     RunStatistics &statistics) const = 0;
  virtual llvm::Expected<schedule::Settings>
  fitScheduleOf(size_t kernel, const llvm::StringMap<int64_t> &sizes) const = 0;
  virtual llvm::Expected<std::string>
  printTilesOf(size_t kernel, const llvm::StringMap<int64_t> &sizes) const = 0;
  virtual llvm::Expected<std::string>
  printScheduleOf(size_t kernel,
                  const llvm::StringMap<int64_t> &sizes) const = 0;
  virtual llvm::Error runChecked(size_t kernel, const DimSizes &sizes,
                                 llvm::ArrayRef<Tensor> inputs,
                                 llvm::ArrayRef<Tensor> results,
                                 const RunOptions &options,
                                 RunStatistics &statistics) const = 0;
  virtual llvm::Expected<std::string>
  packageChecked(size_t kernel, llvm::ArrayRef<DimSizes> sizes) const;
  virtual llvm::Expected<std::string>
  packageByRuleChecked(size_t kernel, const DimSizes &sizes,
                       const TunedRule &rule) const;
  virtual llvm::Expected<CodeFor>
  compileForChecked(size_t kernel, const DimSizes &sizes,
                    llvm::StringRef schedule) const;
  virtual llvm::Expected<CodeDetails>
  compileInDetailChecked(size_t kernel, const DimSizes &sizes,
                         llvm::StringRef tuned, bool isModelled) const;
  virtual llvm::Expected<std::string>
  getTuningKeyChecked(size_t kernel, const DimSizes &sizes) const;
  virtual llvm::Error withKernelChecked(size_t kernel, const DimSizes &sizes,
                                        KernelUser use) const;
  virtual llvm::Expected<rt::Image> imageChecked(size_t kernel,
                                                 const DimSizes &sizes) const;
  virtual llvm::Expected<std::string>
  assemblyChecked(size_t kernel, const DimSizes &sizes) const;

  std::vector<Signature> signatures;
};

/// One package of what `package` made of a kernel for several targets, with the
/// same sizes.
llvm::Expected<std::string>
combinePackages(llvm::ArrayRef<std::string> packages);

/// bindDimensions for inputs that are where the options say. On a device, the
/// values of offsets are read, and waited for, only where shapes depend on
/// them.
llvm::Expected<DimSizes> bindRunDimensions(const Signature &signature,
                                           llvm::ArrayRef<Tensor> inputs,
                                           const RunOptions &options);

} // namespace nsacc

#endif // NSACC_DRIVER_COMPILEDPROGRAM_H
