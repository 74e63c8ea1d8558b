//===- Ptxas.cpp - Machine code from PTX ----------------------------------===//

#include "nsacc/Target/CUDA/Ptxas.h"
#include "nsacc/Support/Subprocess.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace llvm;
using namespace nsacc::cuda;

char NotAskedError::ID;

//===----------------------------------------------------------------------===//
// Output of ptxas
//===----------------------------------------------------------------------===//

unsigned KernelReport::getSpilledBytes() const {
  constexpr unsigned few = 24;
  bool areMany = spillStoreBytes > few || spillLoadBytes > few;
  return areMany ? spillStoreBytes + spillLoadBytes : 0;
}

/// "C7512" in a line about products that can't run asynchronously; else empty.
static StringRef getLossCode(StringRef line) {
  size_t at = line.find("(C75");
  if (at == StringRef::npos)
    return "";
  StringRef code = line.substr(at + 1, 5);
  bool isCode = code.size() == 5 && isDigit(code[3]) && isDigit(code[4]) &&
                line.substr(at + 6).starts_with(")");
  return isCode ? code : "";
}

/// The name in "… for the function 'flash_attend_0'".
static StringRef getFunction(StringRef line) {
  return line.rsplit("function '").second.take_until([](char c) {
    return c == '\'';
  });
}

/// The reason, and how to free more registers.
static std::string explainLoss(StringRef line) {
  if (line.contains("insufficient register"))
    return ", as its threads have too few registers: give smaller 'keys', "
           "fewer 'warps' or fewer 'blocks_per_sm'";
  StringRef reason = line.split("due to ").second;
  return reason.empty() ? "" : ": " + reason.split(" in ").first.str();
}

std::vector<std::string>
AssemblerReport::getLosses(const StringMap<std::string> &names) const {
  std::vector<std::string> found;
  auto describe = [&](StringRef kernel) {
    auto name = names.find(kernel);
    return name == names.end() ? ("'" + kernel + "'").str() : name->second;
  };
  for (const KernelReport &kernel : kernels)
    if (kernel.getSpilledBytes() > 0)
      found.push_back(
          formatv("{0} has more values than registers: {1} bytes of each "
                  "thread's are stored and {2} loaded on the way: smaller "
                  "'tokens' or 'keys' in a schedule may be faster or slower, "
                  "which nsacc tune measures",
                  describe(kernel.kernel), kernel.spillStoreBytes,
                  kernel.spillLoadBytes)
              .str());
  for (StringRef line : warnings)
    if (StringRef code = getLossCode(line); !code.empty())
      found.push_back(
          formatv("{0} waits for each of its products in place of computing "
                  "meanwhile, which costs much of its speed{1} (ptxas: {2})",
                  describe(getFunction(line)), explainLoss(line), code)
              .str());
  return found;
}

/// The number before `unit` in a line such as "Used 40 registers, …".
static unsigned findNumber(StringRef line, StringRef unit) {
  size_t at = line.find(unit);
  if (at == StringRef::npos)
    return 0;
  StringRef before = line.take_front(at).rtrim();
  StringRef digits = before.take_back(
      before.size() - (before.find_last_not_of("0123456789") + 1));
  unsigned number = 0;
  digits.getAsInteger(10, number);
  return number;
}

AssemblerReport nsacc::cuda::parseReport(StringRef text) {
  AssemblerReport report;
  KernelReport current;
  SmallVector<StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    StringRef name = line.split("Compiling entry function '").second;
    if (!name.empty()) {
      current = KernelReport();
      current.kernel = name.take_until([](char c) { return c == '\''; }).str();
    } else if (line.contains("bytes spill stores")) {
      current.stackBytes = findNumber(line, " bytes stack frame");
      current.spillStoreBytes = findNumber(line, " bytes spill stores");
      current.spillLoadBytes = findNumber(line, " bytes spill loads");
    } else if (line.contains(": Used ")) {
      current.registers = findNumber(line, " registers");
      current.barriers = findNumber(line, " barriers");
      current.sharedBytes = findNumber(line, " bytes smem");
      report.kernels.push_back(current);
    } else if (line.contains("warning") || line.contains("(C7")) {
      report.warnings.push_back(line.trim().str());
    }
  }
  return report;
}

//===----------------------------------------------------------------------===//
// Running ptxas
//===----------------------------------------------------------------------===//

std::optional<std::string>
nsacc::cuda::findPtxas(ArrayRef<std::string> candidates) {
  for (const std::string &candidate : candidates)
    if (!candidate.empty() && sys::fs::can_execute(candidate))
      return candidate;
  if (ErrorOr<std::string> found = sys::findProgramByName("ptxas"))
    return *found;
  constexpr StringLiteral usual = "/usr/local/cuda/bin/ptxas";
  if (sys::fs::can_execute(usual))
    return usual.str();
  return std::nullopt;
}

std::string nsacc::cuda::identifyPtxas(ArrayRef<std::string> candidates) {
  std::optional<std::string> path = findPtxas(candidates);
  if (!path)
    return "none";
  SmallString<128> real;
  sys::fs::file_status status;
  if (sys::fs::real_path(*path, real) || sys::fs::status(real, status))
    return *path;
  auto changed = status.getLastModificationTime().time_since_epoch();
  return formatv("{0}, {1} bytes of {2}", real, status.getSize(),
                 changed.count());
}

namespace {

/// A file in memory that other processes read and write by its path. It
/// vanishes with this process, even if the process crashes.
class MemoryFile {
public:
  static Expected<MemoryFile> create(const char *name) {
    int descriptor = memfd_create(name, MFD_CLOEXEC);
    std::string path = formatv("/proc/{0}/fd/{1}", getpid(), descriptor);
    if (descriptor >= 0 && sys::fs::exists(path))
      return MemoryFile(descriptor, std::move(path));
    std::string reason = descriptor < 0 ? sys::StrError() : "there is no /proc";
    if (descriptor >= 0)
      close(descriptor);
    return make_error<NotAskedError>("no file in memory for ptxas: " + reason);
  }
  MemoryFile(MemoryFile &&other)
      : descriptor(std::exchange(other.descriptor, -1)),
        path(std::move(other.path)) {}
  ~MemoryFile() {
    if (descriptor >= 0)
      close(descriptor);
  }

  StringRef getPath() const { return path; }

  std::string read() const {
    auto buffer = MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }

  Error write(StringRef text) const {
    raw_fd_ostream stream(descriptor, /*shouldClose=*/false);
    stream << text;
    stream.flush();
    std::error_code error = stream.error();
    stream.clear_error();
    if (!error)
      return Error::success();
    return make_error<NotAskedError>(
        "a file in memory for ptxas can't be written: " + error.message());
  }

private:
  MemoryFile(int descriptor, std::string path)
      : descriptor(descriptor), path(std::move(path)) {}

  int descriptor;
  std::string path;
};

} // namespace

/// The error messages of ptxas without the parts that only ptxas understands.
static std::string getErrors(StringRef output) {
  SmallVector<StringRef> lines;
  std::vector<std::string> errors;
  output.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    if (line.contains("error") || line.contains("fatal"))
      errors.push_back(line.trim().str());
  return errors.empty() ? output.trim().str() : join(errors, "\n");
}

/// Advice for the user if the code is valid.
static StringRef getAdvice(StringRef output) {
  return output.contains("Insufficient registers")
             ? ", whose tiles need more registers than its threads have (use a "
               "schedule with smaller tiles, or fewer blocks_per_sm)"
             : "";
}

/// Whether the error is an unknown architecture: "Value 'sm_120' is not defined
/// for option 'gpu-name'".
static bool isUnknownArchitecture(StringRef output) {
  return output.contains("is not defined for option 'gpu-name'");
}

/// Runs a program to its end; returns its exit status.
static Expected<int> run(StringRef program, ArrayRef<StringRef> arguments,
                         ArrayRef<std::optional<StringRef>> redirects) {
  constexpr std::chrono::seconds most(600);
  auto process = nsacc::Subprocess::start(program, arguments, redirects);
  if (!process)
    return process.takeError();
  auto ending = process->wait(most);
  if (!ending)
    return createStringError("it took more than " +
                             std::to_string(most.count()) + " seconds");
  // Exit statuses of shells that can't run a program.
  if (ending->status && *ending->status != 126 && *ending->status != 127)
    return *ending->status;
  return createStringError("it ended with " + ending->describe());
}

Expected<std::optional<MachineCode>>
nsacc::cuda::assemble(StringRef ptxas, StringRef ptx, StringRef architecture,
                      Effort effort) {
  auto input = MemoryFile::create("nsacc.ptx");
  if (!input)
    return input.takeError();
  auto output = MemoryFile::create("nsacc.cubin");
  if (!output)
    return output.takeError();
  auto log = MemoryFile::create("nsacc.log");
  if (!log)
    return log.takeError();
  if (Error error = input->write(ptx))
    return std::move(error);

  std::string arch = ("-arch=" + architecture).str();
  SmallVector<StringRef> arguments = {
      ptxas, "-v", arch, input->getPath(), "-o", output->getPath()};
  if (effort == Effort::Short)
    arguments.push_back("-O1");
  std::optional<StringRef> redirects[] = {std::nullopt, log->getPath(),
                                          log->getPath()};
  auto status = run(ptxas, arguments, redirects);
  if (!status)
    return make_error<NotAskedError>(
        "'" + ptxas + "' can't be run: " + toString(status.takeError()));
  std::string text = log->read();
  if (*status != 0 && isUnknownArchitecture(text))
    return std::nullopt;
  std::string silence =
      formatv("'{0}' ended with status {1} and said nothing", ptxas, *status);
  if (*status != 0)
    return createStringError("ptxas refuses the code for " + architecture +
                             getAdvice(text) + ": " +
                             (text.empty() ? silence : getErrors(text)));
  MachineCode code;
  code.cubin = output->read();
  code.report = parseReport(text);
  if (code.cubin.empty())
    return createStringError("'" + ptxas + "' wrote no code");
  return code;
}
