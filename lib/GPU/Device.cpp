//===- Device.cpp - Properties of GPUs, and the code they run -------------===//

#include "nsacc/GPU/Device.h"
#include "nsacc/GPU/Codes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace nsacc::gpu;

namespace {

struct Row {
  llvm::StringLiteral name;
  Capability capability;
  llvm::StringLiteral product;
  Limits limits;
  /// None if nsacc has no code specific to the architecture.
  std::optional<Code> code = {};
};

} // namespace

static constexpr int64_t operator""_KiB(unsigned long long count) {
  return static_cast<int64_t>(count) << 10;
}

static constexpr int64_t operator""_MiB(unsigned long long count) {
  return static_cast<int64_t>(count) << 20;
}

// Shared memory and registers: CUDA programming guide, "Compute Capabilities",
// table of technical specifications. Multiprocessors and caches: the driver's
// values for the product. Later architectures come first.
static constexpr Row kRows[] = {
    {"sm_120", {12, 0}, "RTX 5090", {99_KiB, 100_KiB, 64 << 10, 170, 96_MiB}},
    {"sm_100", {10, 0}, "B200", {227_KiB, 228_KiB, 64 << 10, 148, 126_MiB}},
    {"sm_90a",
     {9, 0},
     "H100 SXM",
     {227_KiB, 228_KiB, 64 << 10, 132, 50_MiB},
     Code{.architecture = "sm_90a",
          .ptxFeatures = "+ptx90",
          .isSpecific = true,
          .hasAsyncCopies = true,
          .hasBulkCopies = true,
          .hasWarpgroupProducts = true,
          .hasDependentLaunches = true,
          .parameterBytes = 32764}},
    {"sm_89", {8, 9}, "L40S", {99_KiB, 100_KiB, 64 << 10, 142, 96_MiB}},
    {"sm_86", {8, 6}, "A40", {99_KiB, 100_KiB, 64 << 10, 84, 6_MiB}},
    {"sm_80",
     {8, 0},
     "A100",
     {163_KiB, 164_KiB, 64 << 10, 108, 40_MiB},
     Code{.architecture = "sm_80",
          .ptxFeatures = "+ptx78",
          .hasAsyncCopies = true}},
};

/// Code for several architectures that a device's description asks for. Bulk
/// copies fill the tiles that products of single warps read.
static constexpr Code kAskedFor[] = {{.architecture = "sm_90",
                                      .ptxFeatures = "+ptx87",
                                      .hasAsyncCopies = true,
                                      .hasBulkCopies = true,
                                      .hasDependentLaunches = true,
                                      .parameterBytes = 32764}};

namespace {
struct Product {
  llvm::StringLiteral name;
  Capability capability;
  /// Memory bandwidth in GB/s; of several products with the name, the highest.
  double memory;
};
} // namespace

// Source: NVIDIA's table "CUDA GPU Compute Capability", and the products' data
// sheets.
static constexpr Product kProducts[] = {
    {"RTX 5090", {12, 0}, 1792},
    {"RTX 5080", {12, 0}, 960},
    {"RTX 5070", {12, 0}, 896},
    {"RTX 5060", {12, 0}, 448},
    {"RTX PRO", {12, 0}, 1792},
    {"B200", {10, 0}, 8000},
    {"GB200", {10, 0}, 8000},
    {"H100", {9, 0}, 3350},
    {"H100 PCIe", {9, 0}, 2000},
    {"H100 NVL", {9, 0}, 3900},
    {"H200", {9, 0}, 4800},
    {"H20", {9, 0}, 4000},
    {"H20-3e", {9, 0}, 4800},
    {"H800", {9, 0}, 3350},
    {"H800 PCIe", {9, 0}, 2000},
    {"H800 NVL", {9, 0}, 3900},
    {"GH200", {9, 0}, 4900},
    {"Hopper", {9, 0}, 4900},
    {"L4", {8, 9}, 300},
    {"L40", {8, 9}, 864},
    {"L40S", {8, 9}, 864},
    {"RTX 4090", {8, 9}, 1008},
    {"RTX 4080", {8, 9}, 736},
    {"RTX 4070", {8, 9}, 672},
    {"RTX 4060", {8, 9}, 288},
    {"A40", {8, 6}, 696},
    {"A10", {8, 6}, 600},
    {"A16", {8, 6}, 200},
    {"A2", {8, 6}, 200},
    {"RTX A", {8, 6}, 768},
    {"RTX 3090", {8, 6}, 1008},
    {"RTX 3080", {8, 6}, 912},
    {"RTX 3070", {8, 6}, 608},
    {"RTX 3060", {8, 6}, 448},
    {"A100", {8, 0}, 2039},
    {"A100-SXM4-40GB", {8, 0}, 1555},
    {"A100-PCIE-40GB", {8, 0}, 1555},
    {"A800", {8, 0}, 2039},
    {"A30", {8, 0}, 933},
};

//===-- Names -------------------------------------------------------------===//

std::string nsacc::gpu::toString(Capability capability) {
  return llvm::formatv("{0}.{1}", capability.major, capability.minor);
}

std::optional<Capability> nsacc::gpu::parseCapability(llvm::StringRef text) {
  auto [major, minor] = text.split('.');
  Capability capability;
  // 12.10 would have the name of 13.0.
  bool isRead = llvm::all_of(major, llvm::isDigit) && minor.size() == 1 &&
                llvm::isDigit(minor.front()) &&
                !major.getAsInteger(10, capability.major) &&
                !minor.getAsInteger(10, capability.minor);
  if (!isRead || capability.major < 1 || capability.major > 99)
    return std::nullopt;
  return capability;
}

std::optional<Capability> nsacc::gpu::parseArchitecture(llvm::StringRef name) {
  if (!name.consume_front("sm_"))
    return std::nullopt;
  if (name.ends_with("a") || name.ends_with("f"))
    name = name.drop_back();
  if (name.size() < 2)
    return std::nullopt;
  return parseCapability((name.drop_back() + "." + name.take_back()).str());
}

std::string Device::getMachineArchitecture() const {
  if (code.isSpecific)
    return code.architecture.str();
  return llvm::formatv("sm_{0}{1}", capability.major, capability.minor);
}

//===-- Code --------------------------------------------------------------===//

static bool canRun(const Row &row, Capability capability) {
  return row.code && (row.code->isSpecific ? row.capability == capability
                                           : row.capability <= capability);
}

std::vector<Code> nsacc::gpu::listCodes(Capability capability) {
  std::vector<Code> codes;
  for (const Row &row : kRows)
    if (canRun(row, capability))
      codes.push_back(*row.code);
  for (const Code &code : kAskedFor)
    if (*parseArchitecture(code.architecture) <= capability)
      codes.push_back(code);
  return codes;
}

static Capability getOldest() {
  Capability oldest = kRows[0].capability;
  for (const Row &row : kRows)
    if (row.code)
      oldest = std::min(oldest, row.capability);
  return oldest;
}

std::string Device::explainCode() const {
  std::optional<Capability> made = parseArchitecture(code.architecture);
  if (made == capability)
    return "code of its own";
  return llvm::formatv("code for {0}, the newest that runs on it",
                       code.architecture);
}

std::string Device::getKey() const {
  return llvm::formatv(
      "{0} {1} {2} {3} {4} {5} {6}", toString(capability), code.architecture,
      limits.sharedBytesOfBlock, limits.sharedBytesOfMultiprocessor,
      limits.registersOfMultiprocessor, limits.multiprocessors, limits.l2Bytes);
}

llvm::Expected<Device> nsacc::gpu::makeDevice(std::string name,
                                              Capability capability,
                                              const Limits &limits) {
  std::vector<Code> codes = listCodes(capability);
  if (codes.empty())
    return llvm::createStringError(
        "'" + name + "' has compute capability " + toString(capability) +
        ": nsacc compiles for " + toString(getOldest()) + " and later");
  return Device{std::move(name), capability, limits, codes.front()};
}

//===-- Devices with a name -----------------------------------------------===//

llvm::ArrayRef<NamedDevice> nsacc::gpu::getNamedDevices() {
  static const std::vector<NamedDevice> devices = [] {
    std::vector<NamedDevice> made;
    for (const Row &row : kRows)
      made.push_back({row.product,
                      llvm::cantFail(makeDevice(row.name.str(), row.capability,
                                                row.limits))});
    return made;
  }();
  return devices;
}

template <typename Predicate> static const Device *find(Predicate isIt) {
  for (const NamedDevice &each : getNamedDevices())
    if (isIt(each.device))
      return &each.device;
  return nullptr;
}

/// "a100sxm480gb" for "A100-SXM4-80GB"
static std::string keepLetters(llvm::StringRef name) {
  std::string letters;
  for (char letter : name.lower())
    if (llvm::isAlnum(letter))
      letters.push_back(letter);
  return letters;
}

/// Null if the name contains no product.
static const Product *findNamed(llvm::StringRef name) {
  std::string letters = keepLetters(name);
  llvm::StringRef rest = letters;
  rest.consume_front("nvidia");
  rest.consume_front("geforce");
  const Product *found = nullptr;
  size_t longest = 0;
  for (const Product &product : kProducts)
    if (std::string own = keepLetters(product.name);
        own.size() > longest && rest.starts_with(own)) {
      found = &product;
      longest = own.size();
    }
  return found;
}

std::optional<Capability> nsacc::gpu::findProduct(llvm::StringRef name) {
  const Product *found = findNamed(name);
  return found ? std::optional(found->capability) : std::nullopt;
}

bool Device::isOfKnownProduct() const {
  const Product *named = findNamed(name);
  return findDevice(name) || (named && named->capability == capability);
}

/// For a capability that no named device has, a product of its generation.
static const Product &getProductOf(const Device &device) {
  if (const Product *named = findNamed(device.name);
      named && named->capability == device.capability)
    return *named;
  const Row *nearest = llvm::find_if(kRows, [&](const Row &row) {
    return row.capability <= device.capability;
  });
  return *findNamed(nearest->product);
}

llvm::StringRef Device::getProduct() const { return getProductOf(*this).name; }

double Device::getMemoryBytesPerSecond() const {
  return getProductOf(*this).memory * 1e9;
}

const Device *nsacc::gpu::findDevice(llvm::StringRef name) {
  return find([&](const Device &device) { return device.name == name; });
}

const Device *nsacc::gpu::findDevice(Capability capability) {
  return find(
      [&](const Device &device) { return device.capability == capability; });
}
