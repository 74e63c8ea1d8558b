//===- WriteObject.cpp - Bytes as an object file --------------------------===//

#include "WriteObject.h"
#include "Messages.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/ObjCopy/ELF/ELFConfig.h"
#include "llvm/ObjCopy/ELF/ELFObjcopy.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

using namespace nsacc;
using namespace llvm::objcopy;

namespace {
struct Architecture {
  llvm::StringLiteral name;
  /// Other names, from uname and CMAKE_SYSTEM_PROCESSOR of some systems.
  llvm::StringLiteral others[2];
  uint16_t machine;
};
} // namespace

static constexpr Architecture kArchitectures[] = {
    {"x86-64", {"x86_64", "amd64"}, llvm::ELF::EM_X86_64},
    {"aarch64", {"arm64", "ARM64"}, llvm::ELF::EM_AARCH64},
};

llvm::StringRef nsacc::getHostArchitecture() {
#if defined(__x86_64__)
  return kArchitectures[0].name;
#elif defined(__aarch64__)
  return kArchitectures[1].name;
#else
  return "";
#endif
}

static llvm::Expected<uint16_t> findMachine(llvm::StringRef name) {
  std::vector<std::string> names;
  for (const Architecture &architecture : kArchitectures) {
    if (name == architecture.name ||
        llvm::is_contained(architecture.others, name))
      return architecture.machine;
    names.push_back(architecture.name.str());
  }
  return makeError("no object file can be written for architecture '" + name +
                       "'",
                   "--arch takes " + quoteList(names));
}

llvm::Expected<std::string> nsacc::writeObject(llvm::StringRef bytes,
                                               llvm::StringRef symbol,
                                               llvm::StringRef architecture) {
  auto machine = findMachine(architecture);
  if (!machine)
    return machine.takeError();
  CommonConfig config;
  config.OutputFormat = FileFormat::ELF;
  config.OutputArch = MachineInfo(*machine, /*Is64=*/true, /*IsLittle=*/true);
  // Names of symbols are made from the input's name.
  config.InputFilename = "package";
  std::string end = (symbol + "_end").str();
  config.SymbolsToRename["_binary_package_start"] = symbol;
  config.SymbolsToRename["_binary_package_end"] = end;
  // An absolute symbol; position independent code can't use it.
  if (llvm::Error error = config.SymbolsToRemove.addMatcher(
          NameOrPattern::create("_binary_package_size", MatchStyle::Literal,
                                [](llvm::Error error) { return error; })))
    return std::move(error);
  config.SectionsToRename[".data"] = {
      ".data", ".rodata",
      SectionFlag(SecAlloc | SecLoad | SecReadonly | SecData | SecContents)};
  // Without this section, linkers assume that the code needs an executable
  // stack.
  config.AddSection.emplace_back(".note.GNU-stack",
                                 llvm::MemoryBuffer::getMemBuffer(""));
  std::string object;
  llvm::raw_string_ostream os(object);
  auto input = llvm::MemoryBuffer::getMemBuffer(
      bytes, "package", /*RequiresNullTerminator=*/false);
  if (llvm::Error error =
          elf::executeObjcopyOnRawBinary(config, ELFConfig(), *input, os))
    return std::move(error);
  return object;
}
