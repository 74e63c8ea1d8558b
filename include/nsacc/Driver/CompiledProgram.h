//===- CompiledProgram.h - Programs that run on a target --------*- C++ -*-===//

#ifndef NSACC_DRIVER_COMPILEDPROGRAM_H
#define NSACC_DRIVER_COMPILEDPROGRAM_H

#include "nsacc/Driver/TunedSchedules.h"
#include "nsacc/Frontend/Diagnostics.h"
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

/// The source of measured schedules.
struct TuningOptions {
  TuneMode mode = TuneMode::Off;
  TunePolicy policy = {};
  /// The folder and mode of the store.
  CacheOptions store = {};
  /// Finds a schedule for a call whose sizes are all known, if the store has
  /// none: the work of modes beyond Replay. None if that fails; it then prints
  /// a warning itself. May be empty.
  std::function<std::optional<std::string>(llvm::StringRef kernel,
                                           const DimSizes &sizes)>
      find = {};
};

/// The code that a run with some sizes uses, without its conditions.
struct CodeFor {
  /// A package of one variant. That of a CPU is for this processor alone.
  std::string package;
  /// Warnings about code that is right but slow: values that had to leave
  /// registers, products that don't overlap.
  std::vector<std::string> losses;
};

/// The result of a compilation for some sizes, and reports about it.
struct CodeDetails {
  /// One variant. That of a CPU is for this processor alone.
  rt::Package package;
  /// The schedule that had room: given and tuned fields, and tiles made
  /// smaller.
  schedule::Settings schedule;
  /// See CodeFor.
  std::vector<std::string> losses;
  /// GPU: the reports of ptxas on the kernels; none if ptxas wasn't found.
  std::vector<cuda::KernelReport> kernels;
  /// GPU: why ptxas, which was found, couldn't be asked; empty if it was asked.
  std::string notAsked;
};

/// The options that NSACC_TUNE and the cache's variables give. Fails if one of
/// them can't be read.
llvm::Expected<TuningOptions> lookupTuning();

struct CompileOptions {
  Target target = Target::CPU;
  /// GPU: the device that code is made for; resolveTarget finds it.
  std::optional<gpu::Device> device = {};
  /// GPU: the number of that device if it is in this machine; a run on another
  /// device gets code for that one. None: code is for `device` alone.
  std::optional<int> ordinal = {};
  /// Fields of all ops' schedules and of named ops', "keys=32; slc: tokens=8"
  /// (docs/Schedules.md); the compiler chooses the fields that aren't given.
  /// The oracle has no schedule.
  std::string schedule = {};
  /// CPU: name of the processor to compile for (empty: this one), and features
  /// on top, "+avx2,-avx512f".
  std::string cpu = {}, features = {};
  /// GPU: paths where ptxas may be, besides the PATH.
  std::vector<std::string> ptxas = {};
  /// The most threads that compile kernels at the same time; 0: one for each
  /// core. The code doesn't depend on it.
  unsigned threads = 0;
  /// The cache in which code is looked up before it is made, and stored
  /// afterwards.
  CacheOptions cache = {};
  /// Source of the fields that `schedule` leaves open.
  TuningOptions tuning = {};
  /// Counts the time of compilations; may be null. Must be null if several
  /// threads run the program.
  mlir::TimingScope *timing = nullptr;
  /// Called with warnings when code is made or found in the cache: values that
  /// ptxas couldn't keep in registers, products that it couldn't overlap, with
  /// their places in the program; and a cache that can't be used. May be empty.
  std::function<void(llvm::StringRef)> warn = {};
  /// Called with warnings of given fields that change nothing for the sizes of
  /// a compilation. If empty, `warn` is called with the place and the message.
  std::function<void(const frontend::DiagnosticData &)> warnOfUnread = {};
  /// Called with each pass manager before it runs, and the name of its stage
  /// ("tile", "cpu"); may be empty.
  std::function<void(mlir::PassManager &, mlir::ModuleOp, llvm::StringRef)>
      preparePasses = {};
};

/// A CUDA device, and the CUstream that a run is put on. Tensors are in the
/// device's memory.
struct DeviceStream {
  int device = 0;
  void *stream = nullptr;
};

struct RunOptions {
  /// 0: as many as the machine has. Results don't depend on it.
  unsigned threads = 0;
  /// Oracle: also round values that a compiled program stores in between.
  bool roundStorage = false;
  /// Oracle: real results as f64.
  bool keepF64 = false;
  /// Called now and then by the calling thread; if it returns true, the run is
  /// interrupted and fails. May be empty. The oracle doesn't call it.
  std::function<bool()> isInterrupted = {};
  /// GPU: the device of the tensors; a run isn't done when the call returns.
  /// Without a device, tensors are on the host, and results are written when
  /// the call returns.
  std::optional<DeviceStream> device = {};
};

/// Cost of one run.
struct RunStatistics {
  /// Seconds for compiling for these sizes, or for finding their code in the
  /// cache; 0 if that was done before.
  double compileSeconds = 0;
  bool isFromCache = false;
  double runSeconds = 0;
  /// Compiled: memory beyond inputs and results, launches, points of their
  /// grids.
  int64_t workspaceBytes = 0, launches = 0, programs = 0;
};

/// The kernels of a module, compiled for a target. Code is made for the sizes
/// of heads and channels when a run first needs it, and kept. Any thread may
/// run any kernel at any time.
class CompiledProgram {
public:
  virtual ~CompiledProgram() = default;

  /// Copies `module`, which is in the nsa dialect, after phase `nsa`.
  static llvm::Expected<std::unique_ptr<CompiledProgram>>
  create(mlir::ModuleOp module, const CompileOptions &options = {});

  /// Loads a package of `package` or `combinePackages`, or a file of one. Runs
  /// on the device that has the tensors. Tensors on the host run on its
  /// processor if the package has code for it, else on the first GPU.
  static llvm::Expected<std::unique_ptr<CompiledProgram>>
  load(llvm::StringRef package);

  virtual Target getTarget() const = 0;
  /// The number that nsacc_rt gives to the device that runs this program's
  /// code, which may be NSACC_RT_HOST; none if that device isn't in this
  /// machine, or if the program is interpreted.
  virtual std::optional<int> getDevice() const { return std::nullopt; }
  /// The name in messages: "cpu", "cuda", "sm_86".
  virtual std::string getTargetName() const = 0;
  /// One signature for each kernel, in the module's order.
  llvm::ArrayRef<Signature> getSignatures() const { return signatures; }
  /// Fails if there is no kernel of that name. An empty name selects the only
  /// kernel.
  llvm::Expected<const Signature &> getSignature(llvm::StringRef kernel) const;

  /// Checks inputs, given in the order of the signature, and allocates and
  /// computes the results. Errors of the compilation are a CompileError; other
  /// errors are messages in the program's names.
  llvm::Expected<std::vector<Tensor>>
  run(llvm::StringRef kernel, llvm::ArrayRef<Tensor> inputs,
      const RunOptions &options = {},
      RunStatistics *statistics = nullptr) const;

  /// Writes the results into the caller's tensors, which have the shapes that
  /// getShape gives. They may be left half written on errors.
  llvm::Error runInto(llvm::StringRef kernel, llvm::ArrayRef<Tensor> inputs,
                      llvm::ArrayRef<Tensor> results,
                      const RunOptions &options = {},
                      RunStatistics *statistics = nullptr) const;
  /// Takes the sizes that bindRunDimensions found; finding them again would
  /// wait for some offsets on a device once more.
  llvm::Error runInto(llvm::StringRef kernel, const DimSizes &sizes,
                      llvm::ArrayRef<Tensor> inputs,
                      llvm::ArrayRef<Tensor> results, const RunOptions &options,
                      RunStatistics *statistics = nullptr) const;

  /// GPU: fails if a run on the stream ended with an error of the program. The
  /// caller has waited for the stream. Each error is reported once.
  virtual llvm::Error check(const DeviceStream &where) const {
    return llvm::Error::success();
  }

  /// Makes a package of a kernel for libnsacc_rt. For a GPU it has the code
  /// that runs of this program would use; for the CPU, code for levels of
  /// processors. Each of `sizes` has the dimensions that code is made for. The
  /// oracle has no packages.
  llvm::Expected<std::string> package(llvm::StringRef kernel,
                                      llvm::ArrayRef<DimSizes> sizes) const;

  /// Makes a package with the schedules of a rule, besides the given fields.
  llvm::Expected<std::string> packageByRule(llvm::StringRef kernel,
                                            const DimSizes &sizes,
                                            const TunedRule &rule) const;

  /// Compiles the code for runs with these sizes, with a schedule besides the
  /// given fields. Fails if its tiles have no room: tiles aren't made smaller.
  llvm::Expected<CodeFor> compileFor(llvm::StringRef kernel,
                                     const DimSizes &sizes,
                                     llvm::StringRef schedule) const;
  /// Compiles as a run does, with smaller tiles if the schedule's have no room;
  /// for tools that show the code. Stores nothing and warns of nothing.
  llvm::Expected<CodeDetails> compileInDetail(llvm::StringRef kernel,
                                              const DimSizes &sizes,
                                              llvm::StringRef tuned,
                                              bool isModelled = false) const;
  /// The key under which a tuned schedule for these sizes is stored: everything
  /// that it depends on, as lines of text.
  llvm::Expected<std::string> getTuningKey(llvm::StringRef kernel,
                                           const DimSizes &sizes) const;
  /// Called with a kernel that was specialized for some sizes, the properties
  /// that its schedule is chosen for, and the given fields.
  using KernelUser = llvm::function_ref<llvm::Error(
      nsa::KernelOp, const schedule::Goal &, const schedule::Settings &)>;
  llvm::Error withKernel(llvm::StringRef kernel, const DimSizes &sizes,
                         KernelUser use) const;

  /// GPU: all code that a run with these sizes launches, in one image.
  llvm::Expected<rt::Image> image(llvm::StringRef kernel,
                                  const DimSizes &sizes) const;
  /// CPU: all code of a run with these sizes, as assembly.
  llvm::Expected<std::string> assembly(llvm::StringRef kernel,
                                       const DimSizes &sizes) const;

  /// Compiles for the inputs' sizes, so that a later run needn't.
  llvm::Error prepare(llvm::StringRef kernel, llvm::ArrayRef<Tensor> inputs,
                      RunStatistics *statistics = nullptr) const;

  /// The schedule that code for these sizes is compiled with: the options'
  /// schedule, with smaller tiles for ops that had no room. The sizes are for
  /// heads and channels; others may be open.
  llvm::Expected<schedule::Settings>
  fitSchedule(llvm::StringRef kernel,
              const llvm::StringMap<int64_t> &sizes) const;

  /// The kernel after phase `tile`, as text, for sizes of heads and channels;
  /// others stay open. An error if the target has no such phase.
  llvm::Expected<std::string>
  printTiles(llvm::StringRef kernel,
             const llvm::StringMap<int64_t> &sizes) const;

  /// Text that says how each op of the kernel is tiled for these sizes, and
  /// why.
  llvm::Expected<std::string>
  printSchedule(llvm::StringRef kernel,
                const llvm::StringMap<int64_t> &sizes) const;

protected:
  /// Called with sizes that the inputs gave to dimensions: they are known and
  /// consistent.
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

/// Combines packages of a kernel for several targets, with the same sizes, into
/// one.
llvm::Expected<std::string>
combinePackages(llvm::ArrayRef<std::string> packages);

/// Binds dimensions as bindDimensions does, for inputs on the options' device.
/// On a device, the values of offsets are read, and waited for, only if shapes
/// depend on them.
llvm::Expected<DimSizes> bindRunDimensions(const Signature &signature,
                                           llvm::ArrayRef<Tensor> inputs,
                                           const RunOptions &options);

} // namespace nsacc

#endif // NSACC_DRIVER_COMPILEDPROGRAM_H
