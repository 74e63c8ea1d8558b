//===- Package.h - A compiled kernel as data --------------------*- C++ -*-===//

#ifndef NSACC_RT_PACKAGE_H
#define NSACC_RT_PACKAGE_H

#include "nsacc/RT/Plan.h"

namespace nsacc::rt {

/// The most dimensions of a package's buffer.
constexpr size_t kMaxRank = 8;

/// Upper bound of sizes on a GPU: its code computes positions in a dimension,
/// and distances between them, in 32 bits.
constexpr int64_t kDeviceSizeLimit = INT64_C(1) << 29;

/// The most variants of a package.
constexpr size_t kMaxVariants = 64;

/// Machine code of a processor. It runs at any address: everything that it
/// addresses lies within it, except functions of the runtime, which it calls
/// through a table.
struct HostImage {
  std::string bytes;
  /// Number of bytes that programs' code may write: the table, which begins the
  /// image, and padding to whole pages. The rest is read and executed.
  uint32_t writableBytes = 0;
  /// Names of the table's functions; each table entry is an address of 64 bits.
  std::vector<std::string> functions;
  /// Offsets of 64-bit words to which the image's address is added.
  std::vector<uint32_t> pointers;
  struct Kernel {
    std::string name;
    uint32_t offset; ///< of its HostFunction
  };
  std::vector<Kernel> kernels;
};

/// Code of kernels that are loaded together. Unused fields are empty.
struct Image {
  std::string ptx, cubin; ///< of a GPU
  HostImage host;
};

/// The code for one architecture, with the plan that it was made for.
struct TargetCode {
  std::string architecture; ///< "sm_90a", "x86-64-v3"
  /// Only for CPUs: bytes of the thread's stack that a program uses.
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
  std::vector<Step> steps; ///< computes numbers of sizes for the guards
  std::vector<Guard> guards;
  std::vector<TargetCode> targets;
};

struct Package {
  std::string compiler; ///< its version
  std::string kernel;
  /// The kernel's declaration, as the compiler's SignatureText writes it; the
  /// runtime doesn't read it.
  std::string signature;
  std::vector<Parameter> parameters;
  /// Images that launches of all variants refer to; equal ones are stored once.
  std::vector<Image> images;
  /// A call runs the first one whose guards all hold.
  std::vector<Variant> variants;
};

/// The first guard of a variant that doesn't hold, null if all do.
const Guard *findFailedGuard(const Variant &variant,
                             const std::vector<int64_t> &numbers);
/// Whether all calls that fit `special` fit `general`, too, as far as guards
/// can tell: guards that are equal, and guards that compare equal numbers with
/// constants.
bool covers(const Variant &general, const Variant &special);
/// The variants that no call runs, each with an earlier one that takes its
/// calls on every target.
std::vector<std::pair<size_t, size_t>> findShadowed(const Package &package);
/// "B = 2, T <= 16 (found 20); B = 2, T > 64 (found 20)": the sizes that each
/// variant takes, and why a call's sizes fit none. Variants that another one
/// covers are left out.
std::string explainMisfit(const std::vector<const Variant *> &variants,
                          const std::vector<const int64_t *> &sizes);

/// Whether the code is for a processor.
bool isForHost(const TargetCode &code);
/// "sm_90a, x86-64-v3": the architectures that the package has code for;
/// "nothing".
std::string listArchitectures(const Package &package);

/// Says why a call with these sizes, which fit none of the variants, runs
/// nothing.
std::string explainNoVariant(const Package &package,
                             const std::vector<const Variant *> &variants,
                             const std::vector<const int64_t *> &sizes);

/// The package as the bytes of a file.
std::string writePackage(const Package &package);
/// The package as indented JSON, with the sizes of images instead of their
/// bytes.
std::string describePackage(const Package &package);
/// The code that a reader needs.
enum class CodeFor { All, Host };

/// Reads and checks a package: running the result needs no further checks of
/// indices. Throws std::runtime_error with the problem. For the host, code of
/// GPUs is left out of images, but checked all the same.
Package readPackage(const void *data, size_t size,
                    CodeFor wanted = CodeFor::All);

} // namespace nsacc::rt

#endif // NSACC_RT_PACKAGE_H
