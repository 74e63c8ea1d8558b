//===- TileCompiler.h - Kernels at the tile level, for given sizes -*- C++ -*-//

#ifndef NSACC_LIB_DRIVER_TILECOMPILER_H
#define NSACC_LIB_DRIVER_TILECOMPILER_H

#include "ModuleImage.h"
#include "nsacc/Driver/CompiledProgram.h"
#include "nsacc/Schedule/Choose.h"
#include "nsacc/Schedule/QueryCount.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <functional>
#include <limits>
#include <mutex>

namespace mlir {
class PassManager;
class TimingScope;
} // namespace mlir

namespace nsacc {

namespace nsa {
class KernelOp;
} // namespace nsa

/// The properties that a kernel's code is made for.
struct Specialization {
  /// Sizes of heads and channels, "HQ=8".
  std::vector<std::string> sizes;
  /// See PhaseOptions.
  Queries queries = Queries::Any;
  /// The GPU that runs it; none: the CPU.
  std::optional<gpu::Device> device;
  /// The schedule that measuring found for calls like these, as Settings read
  /// it.
  std::string tuned;
  /// Whether the device's model chose `tuned` instead.
  bool isModelled = false;
  /// Other code of the same package: a schedule that is advised fits it, too.
  std::vector<Specialization> others;

  /// Text for keys.
  std::string spell() const;
  /// Names of the dimensions that it is made for.
  llvm::SmallVector<std::string> getNames() const;
};

/// Lowers kernels of a module to programs over tiles. Each compilation has a
/// separate context, so that any thread can compile.
class TileCompiler {
public:
  /// Fails with NoRoomError if a module of one plan has no room on its target;
  /// also fails if it can't be lowered.
  using RoomCheck =
      std::function<llvm::Error(mlir::ModuleOp, const Specialization &)>;

  /// The target and the tools that make its code, as lines of text. Tuned
  /// schedules of a specialization depend on them, and on the program.
  using TargetKey = std::function<std::string(const Specialization &)>;

  /// The settings to begin with, if they aren't those of `getSettings`: smaller
  /// tiles, for which there are enough registers.
  using Settled = std::optional<schedule::Settings>;
  /// Compiles a kernel completely to find these settings.
  using Settle = std::function<Settled(size_t, const Specialization &)>;

  /// The options' schedule must be valid.
  TileCompiler(mlir::ModuleOp module, ModuleImage image,
               const CompileOptions &options, RoomCheck checkRoom,
               TargetKey describeTarget, Settle settle = nullptr);

  /// The specialization of a kernel's code for inputs with these sizes.
  llvm::Expected<Specialization>
  specialize(size_t kernel, const Signature &signature, const DimSizes &sizes,
             std::optional<gpu::Device> device) const;

  /// Fails if `sizes` lack some that the kernel's code is made for. `what`
  /// depends on them.
  llvm::Error checkComplete(size_t kernel,
                            const llvm::StringMap<int64_t> &sizes,
                            const llvm::Twine &what) const;

  /// Code for some of the calls with given sizes of heads and channels: the
  /// calls whose other sizes meet all conditions.
  struct Variant {
    Specialization code;
    std::vector<SizeCondition> conditions;
  };

  /// Identifies code of a target, as lines of text.
  std::string getKey(const Signature &signature,
                     const Specialization &code) const {
    return getKey(signature, code, image.getHash());
  }

  /// The key under which a tuned schedule is stored.
  std::string getTuningKey(const Signature &signature,
                           const Specialization &code,
                           const DimSizes &sizes) const;
  /// Sets the schedule that was tuned for calls with these sizes on the
  /// specialization's device: by the entry of such sizes, else by a rule, else
  /// by searching now. Reads files once for each power of two.
  void setTuned(Specialization &code, const Signature &signature,
                const DimSizes &sizes) const;

  /// Calls `use` with the kernel for these sizes, and the goal of its schedule.
  llvm::Error withKernel(const Signature &signature, const Specialization &code,
                         CompiledProgram::KernelUser use) const;
  /// The given settings, and the tuned ones for open fields.
  schedule::Settings getSettings(const Specialization &code) const;

  /// The code for all of these calls. Each call runs the first variant that
  /// fits, which has the specialization and schedule that `specialize` and
  /// `setTuned` give for its sizes; or the schedules of a rule. Without a
  /// device, code is for the CPU.
  llvm::Expected<std::vector<Variant>>
  getVariants(size_t kernel, const Signature &signature, const DimSizes &sizes,
              const std::optional<gpu::Device> &device,
              const TunedRule *given = nullptr) const;

  /// Tells the code of each variant of a package about the others.
  static void relate(llvm::MutableArrayRef<Variant> variants);

  /// Sets the device that runs code specialized for any device.
  static void setDevice(Specialization &code, gpu::Device device) {
    if (!QueryCount::hasCase(device, code.queries))
      code.queries = Queries::Any;
    code.device = std::move(device);
  }

  using Finish =
      llvm::function_ref<llvm::Error(mlir::ModuleOp, mlir::TimingScope &)>;

  /// See schedule::relieve. A tuned schedule is kept as it was measured.
  Settled relieve(const Signature &signature, const Specialization &code,
                  const schedule::Settings &settings,
                  llvm::ArrayRef<schedule::Spill> spills) const;

  /// Calls `finish` with a module of one plan. Diagnostics, including those of
  /// `finish`, become a CompileError. If `finish` fails with NoRoomError, it is
  /// called again with smaller tiles, unless the schedule gives their sizes. If
  /// the tuned schedule can't be compiled, compiles without it, and warns.
  /// Returns the schedule that had room.
  llvm::Expected<schedule::Settings>
  compile(const Signature &signature, const Specialization &code, Finish finish,
          const Settled &settled = std::nullopt) const;

  /// Warns once of each given setting that changes nothing in code of these
  /// sizes, if only the sizes tell so. `compile` does so itself; callers do
  /// where they find the code in a cache.
  void warnOfUnread(const Signature &signature,
                    const Specialization &code) const;
  /// Compiles with exactly the chosen or given tiles. If they have no room,
  /// fails with a message, and no advice.
  llvm::Error compileExactly(const Signature &signature,
                             const Specialization &code, Finish finish) const;

  /// Turns an error into the one that `compile` returns. Used for work that
  /// `finish` leaves to later.
  llvm::Error explainLate(llvm::Error error, const Signature &signature,
                          const Specialization &code) const;

  /// The schedule that `compile` finds for the target's code.
  llvm::Expected<schedule::Settings>
  fit(size_t kernel, const Signature &signature,
      const llvm::StringMap<int64_t> &sizes,
      std::optional<gpu::Device> device) const;

  /// The module of `compile` as text. Fails if a size is missing.
  llvm::Expected<std::string> print(size_t kernel, const Signature &signature,
                                    const llvm::StringMap<int64_t> &sizes,
                                    std::optional<gpu::Device> device) const;

  /// Text that says how its ops are tiled, and why.
  llvm::Expected<std::string>
  printSchedule(size_t kernel, const Signature &signature,
                const llvm::StringMap<int64_t> &sizes,
                std::optional<gpu::Device> device) const;

private:
  /// A schedule found for calls of some sizes; `schedule` is empty for the
  /// compiler's choice.
  struct Found {
    std::string schedule;
    bool isModelled = false;
  };

  std::string getKey(const Signature &signature, const Specialization &code,
                     llvm::StringRef programHash) const;
  static void setTuned(Specialization &code, const Found &found) {
    code.tuned = found.schedule;
    code.isModelled = found.isModelled;
  }
  /// The entry of such sizes; none if there is none, or if it can't be used.
  const std::optional<Found> &findStored(const Signature &signature,
                                         const Specialization &code,
                                         const DimSizes &sizes) const;
  /// The result of modes beyond Replay.
  std::optional<Found> findNow(const Signature &signature,
                               const DimSizes &sizes) const;
  /// Whether it can be used; warns if it can't.
  bool canUse(llvm::StringRef schedule, const Signature &signature) const;
  /// The rule for calls of this code with any lengths; null if there is none,
  /// or if it can't be used.
  const TunedRule *findRule(const Signature &signature,
                            const Specialization &code,
                            const DimSizes &sizes) const;
  /// The rule, if there is no entry for these sizes and they don't determine a
  /// case.
  const TunedRule *findOpenRule(const Signature &signature,
                                const Specialization &code,
                                const DimSizes &sizes) const;
  bool canUse(const TunedRule &rule, const Signature &signature,
              llvm::StringRef key) const;
  /// Adds the code of calls that meet the conditions, once for each case of a
  /// rule that these sizes allow.
  void addVariants(std::vector<Variant> &variants, Specialization code,
                   const Signature &signature, const DimSizes &sizes,
                   const std::vector<SizeCondition> &conditions,
                   const TunedRule *given) const;
  /// A compiler of the same kernels for another target.
  TileCompiler(const TileCompiler &other, RoomCheck checkRoom)
      : image(other.image), options(other.options), settings(other.settings),
        checkRoom(std::move(checkRoom)), dims(other.dims),
        queries(other.queries) {
    options.tuning = {};
    options.warn = nullptr;
    options.warnOfUnread = nullptr;
  }
  /// Fails if a size is missing that `phase` depends on.
  llvm::Expected<Specialization>
  specialize(size_t kernel, const Signature &signature,
             const llvm::StringMap<int64_t> &sizes,
             std::optional<gpu::Device> device, llvm::StringRef phase) const;
  /// Whether the CPU can run tiles that a GPU refused.
  bool isForCPU(const Signature &signature, const Specialization &code) const;
  /// Fails if there is no room. Other errors are left to later phases.
  llvm::Error hasRoom(mlir::ModuleOp module, const Specialization &code) const;
  llvm::Expected<schedule::Settings> fit(const Signature &signature,
                                         const Specialization &code,
                                         const Settled &settled = {}) const;
  Settled findSettled(size_t kernel, const Signature &signature,
                      const Specialization &code) const;
  static constexpr int64_t kAnyShared = std::numeric_limits<int64_t>::max();

  Queries findQueries(size_t kernel, const llvm::StringMap<int64_t> &sizes,
                      std::optional<int64_t> batchRows = std::nullopt) const {
    return queries[kernel] ? queries[kernel]->find(sizes, batchRows)
                           : Queries::Any;
  }
  /// Names of ops whose programs have no room; null if compilation succeeded,
  /// or failed for another reason.
  using NoRoom = std::optional<std::vector<std::string>>;

  llvm::Error lowerToTiles(mlir::ModuleOp module, const Specialization &code,
                           const schedule::Settings &settings,
                           mlir::TimingScope &timing) const;
  llvm::Expected<schedule::Settings> compileToFit(const Signature &signature,
                                                  const Specialization &code,
                                                  Finish finish,
                                                  const Settled &settled) const;
  llvm::Error compileWith(const schedule::Settings &settings,
                          const Signature &signature,
                          const Specialization &code, Finish finish,
                          NoRoom &noRoom,
                          int64_t mostShared = kAnyShared) const;
  /// The kernel with its sizes; null if they don't fit it.
  mlir::OwningOpRef<mlir::ModuleOp> readSized(mlir::MLIRContext &context,
                                              const Signature &signature,
                                              const Specialization &code) const;
  /// Tiles beside which given buffers are told to have no room: the chosen
  /// ones, the smallest ones, or ones that are smaller than given.
  enum class Tiles { Chosen, Smallest, GivenSmaller };
  /// The most buffers below `given` that have room beside the tiles in all code
  /// of a package, which it sets; 0 if none have.
  int64_t findBuffers(schedule::Field field, int64_t given,
                      schedule::Settings &tiles, const Signature &signature,
                      const Specialization &code) const;
  /// Says how many buffers have room beside the tiles if more than usual are
  /// given; empty if buffers aren't the reason.
  std::string adviseBuffers(llvm::ArrayRef<std::string> ops,
                            const schedule::Settings &settings,
                            const schedule::Settings &tiles, Tiles which,
                            const Signature &signature,
                            const Specialization &code) const;
  /// Says how many buffers have room beside the smallest tiles. Shrinks given
  /// sizes only where no others have room.
  std::string adviseFewerBuffers(nsa::KernelOp kernel,
                                 llvm::ArrayRef<std::string> ops,
                                 const schedule::Settings &settings,
                                 const Signature &signature,
                                 const Specialization &code) const;
  llvm::Error adviseSharing(llvm::Error error,
                            const schedule::Settings &settings,
                            const Signature &signature,
                            const Specialization &code) const;
  llvm::Error adviseSizes(llvm::Error error, const schedule::Settings &settings,
                          const Signature &signature,
                          const Specialization &code) const;
  std::string findSizes(llvm::function_ref<bool(llvm::StringRef)> isMeant,
                        int64_t least, const schedule::Settings &settings,
                        const Signature &signature, Specialization code) const;
  /// Fails if tiles have no room, without compiling them completely.
  llvm::Error findRoom(const schedule::Settings &settings,
                       const Signature &signature, const Specialization &code,
                       NoRoom &noRoom, int64_t mostShared = kAnyShared) const;
  std::optional<schedule::Settings>
  findTooLarge(nsa::KernelOp kernel, schedule::Settings smallest,
               llvm::ArrayRef<std::string> ops, const Signature &signature,
               const Specialization &code) const;
  llvm::Error makeSmaller(llvm::Error error, std::vector<std::string> ops,
                          const schedule::Settings &settings,
                          const Signature &signature,
                          const Specialization &code, Finish finish,
                          schedule::Settings &fitting) const;
  llvm::Error explainFatal(llvm::Error error, const Signature &signature,
                           const Specialization &code) const;

  ModuleImage image;
  CompileOptions options;
  /// The given settings.
  schedule::Settings settings;
  TunedSchedules tunedSchedules;
  RoomCheck checkRoom;
  TargetKey describeTarget;
  Settle settle;
  mutable std::mutex warnedMutex;
  mutable llvm::StringSet<> warned;
  mutable std::mutex tunedMutex;
  mutable llvm::StringMap<std::optional<Found>> stored, foundNow;
  mutable llvm::StringMap<std::optional<TunedRule>> rules;
  /// For each kernel, the dimensions that code is made for.
  std::vector<std::vector<std::string>> dims;
  /// For each kernel, the count of queries that tiles depend on.
  std::vector<std::optional<QueryCount>> queries;
  /// Properties of a kernel that tuned schedules depend on, by the kernels'
  /// names.
  struct Tunable {
    /// Hash of the kernel's ops, independent of their places in a file.
    std::string hash;
    /// Whether the agreement of neighbouring tokens matters for its calls.
    bool selects = false;
  };
  llvm::StringMap<Tunable> tunable;
};

/// Code by key. The first thread that needs it makes it while the others wait.
template <typename Code> class CodeCache {
public:
  using Maker = llvm::function_ref<llvm::Expected<std::unique_ptr<Code>>()>;

  llvm::Expected<Code &> get(llvm::StringRef key, Maker make) {
    Entry &entry = getEntry(key);
    std::lock_guard<std::mutex> lock(entry.mutex);
    if (!entry.code) {
      auto made = make();
      if (!made)
        return made.takeError();
      entry.code = std::move(*made);
    }
    return *entry.code;
  }

  /// Visits all code that was made.
  void forEach(llvm::function_ref<void(Code &)> visit) {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto &entry : entries) {
      std::lock_guard<std::mutex> entryLock(entry.second->mutex);
      if (entry.second->code)
        visit(*entry.second->code);
    }
  }

private:
  struct Entry {
    std::mutex mutex;
    std::unique_ptr<Code> code;
  };

  Entry &getEntry(llvm::StringRef key) {
    std::lock_guard<std::mutex> lock(mutex);
    std::unique_ptr<Entry> &entry = entries[key];
    if (!entry)
      entry = std::make_unique<Entry>();
    return *entry;
  }

  std::mutex mutex;
  llvm::StringMap<std::unique_ptr<Entry>> entries;
};

/// The code of the last call. The next call is usually alike, and then needs no
/// key.
template <typename Code> class LastCall {
public:
  /// Null if that call was another one.
  Code *find(size_t kernel, int device, const DimSizes &sizes) const {
    std::lock_guard<std::mutex> lock(mutex);
    bool isSame = code && kernel == lastKernel && device == lastDevice &&
                  haveSameCode(sizes, lastSizes);
    return isSame ? code : nullptr;
  }

  /// `made` must live as long as this object.
  void set(size_t kernel, int device, const DimSizes &sizes, Code &made) {
    std::lock_guard<std::mutex> lock(mutex);
    lastKernel = kernel;
    lastDevice = device;
    lastSizes = {sizes.sizes, {}, sizes.batchRows};
    code = &made;
  }

private:
  /// Whether both sizes have the same code. Offsets alone don't change it.
  static bool haveSameCode(const DimSizes &lhs, const DimSizes &rhs) {
    return lhs.batchRows == rhs.batchRows &&
           lhs.sizes.size() == rhs.sizes.size() &&
           llvm::all_of(lhs.sizes, [&](const auto &each) {
             auto found = rhs.sizes.find(each.first());
             return found != rhs.sizes.end() && found->second == each.second;
           });
  }

  mutable std::mutex mutex;
  size_t lastKernel = 0;
  int lastDevice = 0;
  DimSizes lastSizes;
  Code *code = nullptr;
};

} // namespace nsacc

#endif // NSACC_LIB_DRIVER_TILECOMPILER_H
