//===- Package.h - A compiled kernel as data --------------------*- C++ -*-===//

#ifndef NSACC_RT_PACKAGE_H
#define NSACC_RT_PACKAGE_H

#include "nsacc/RT/Plan.h"

namespace nsacc::rt {

/// Dimensions of a package's buffer at most.
constexpr size_t kMaxRank = 8;

/// Sizes of dimensions on a GPU are below it: its code computes positions in a
/// dimension, and what lies between two of them, in 32 bits.
constexpr int64_t kDeviceSizeLimit = INT64_C(1) << 29;

/// Variants in a package at most.
constexpr size_t kMaxVariants = 64;

/// Machine code of a processor, for any address: what it names by address
/// stands within it, but for functions of the runtime, which it calls through a
/// table.
struct HostImage {
  std::string bytes;
  /// How many of the bytes programs' code may write: the table, which begins
  /// the image, and what makes whole pages of it. The rest is read and run.
  uint32_t writableBytes = 0;
  /// The table's functions, by their names; an address of 64 bits for each.
  std::vector<std::string> functions;
  /// Where 64-bit words stand to which the image's address is added.
  std::vector<uint32_t> pointers;
  struct Kernel {
    std::string name;
    uint32_t offset; ///< of its HostFunction
  };
  std::vector<Kernel> kernels;
};

/// Code of kernels that are loaded together; what it has none of is empty.
struct Image {
  std::string ptx, cubin; ///< of a GPU
  HostImage host;
};

/// The code for one architecture, with the plan that it was made for.
struct TargetCode {
  std::string architecture; ///< "sm_90a", "x86-64-v3"
  /// A processor's: what a program takes of its thread's stack.
  int64_t stackBytes = 0;
  std::vector<Assertion> assertions;
  Plan plan;
};

/// A comparison of sizes that a call has to meet.
struct Guard {
  uint32_t number;  ///< step of the variant, one that compares
  std::string what; ///< "T <= 16"
};

/// Code for some of the sizes that a kernel takes.
struct Variant {
  std::vector<Step> steps; ///< what guards compare, computed of sizes
  std::vector<Guard> guards;
  std::vector<TargetCode> targets;
};

struct Package {
  std::string compiler; ///< its version
  std::string kernel;
  /// What the kernel declares, as the compiler's SignatureText has it; nothing
  /// to the runtime.
  std::string signature;
  std::vector<Parameter> parameters;
  /// What launches of all variants name; equal ones stand once.
  std::vector<Image> images;
  /// A call runs the first one whose guards all hold.
  std::vector<Variant> variants;
};

/// The first guard of a variant that doesn't hold, null where all do.
const Guard *findFailedGuard(const Variant &variant,
                             const std::vector<int64_t> &numbers);
/// Whether all calls that `special` is for are calls that `general` is for, as
/// far as that can be told: by guards that are equal, and that compare equal
/// numbers with constants.
bool covers(const Variant &general, const Variant &special);
/// The variants that no call runs, each with the earlier one that takes its
/// calls on every target.
std::vector<std::pair<size_t, size_t>> findShadowed(const Package &package);
/// "B = 2, T <= 16 (found 20); B = 2, T > 64 (found 20)": what each of the
/// variants is for, and what is wrong with it for a call's sizes, which none
/// fits. Those that another one of them covers are left out.
std::string explainMisfit(const std::vector<const Variant *> &variants,
                          const std::vector<const int64_t *> &sizes);

/// Whether it is a processor's.
bool isForHost(const TargetCode &code);
/// "sm_90a, x86-64-v3": what the package has code for; "nothing".
std::string listArchitectures(const Package &package);

/// Why a call with these sizes, which none of the variants fits, runs nothing.
std::string explainNoVariant(const Package &package,
                             const std::vector<const Variant *> &variants,
                             const std::vector<const int64_t *> &sizes);

/// The package as the bytes of a file.
std::string writePackage(const Package &package);
/// The package as indented JSON, without images but with their sizes.
std::string describePackage(const Package &package);
/// Whose code a package is read for.
enum class CodeFor { All, Host };

/// Reads and checks a package: whatever is read can be run without looking at
/// indices again. Throws std::runtime_error with what is wrong. For the host,
/// images have no code of GPUs, which is checked all the same.
Package readPackage(const void *data, size_t size,
                    CodeFor wanted = CodeFor::All);

} // namespace nsacc::rt

#endif // NSACC_RT_PACKAGE_H
