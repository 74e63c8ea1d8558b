//===- Worker.cpp - Starts workers and reads their results ----------------===//

#include "nsacc/Tuning/Worker.h"
#include "Job.h"
#include "ScratchFolder.h"
#include "nsacc/Support/JSON.h"
#include "nsacc/Support/Subprocess.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <thread>

using namespace nsacc;
using namespace nsacc::tuning;
namespace json = llvm::json;

namespace {

/// The files of one worker, removed when it ends.
class JobFiles {
public:
  llvm::Error create(const Job &job) {
    if (llvm::Error error = ScratchFolder::create().moveInto(folder))
      return error;
    jobPath = folder.getPath("job.json");
    resultPath = folder.getPath("found.json");
    logPath = folder.getPath("log");
    std::error_code error;
    llvm::raw_fd_ostream os(jobPath, error);
    os << toJSON(job);
    return llvm::errorCodeToError(error);
  }

  static std::string read(llvm::StringRef path) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }

  ScratchFolder folder;
  std::string jobPath, resultPath, logPath;
};

/// End of a worker's process.
struct Ending {
  bool isTimeout = false, isInterrupted = false;
  Subprocess::Ending how;
};

/// Results that the worker wrote.
struct Found {
  std::vector<Measured> packages;
  std::optional<size_t> current;
  std::string error;
  bool isReady = false, isDone = false;
  int64_t clock = 0;
};

} // namespace

static uint64_t getFileSize(llvm::StringRef path) {
  uint64_t size = 0;
  return llvm::sys::fs::file_size(path, size) ? 0 : size;
}

static llvm::Expected<Ending> wait(const JobFiles &files,
                                   const WorkerOptions &options) {
  std::vector<llvm::StringRef> arguments(options.command.begin(),
                                         options.command.end());
  arguments.push_back(files.jobPath);
  arguments.push_back(files.resultPath);
  auto program = llvm::sys::findProgramByName(options.command.front());
  if (!program)
    return llvm::createStringError("can't find the worker '" +
                                   options.command.front() +
                                   "': " + program.getError().message());
  std::optional<llvm::StringRef> redirects[] = {"", files.logPath,
                                                files.logPath};
  auto worker = Subprocess::start(*program, arguments, redirects);
  if (!worker)
    return llvm::createStringError("can't start the worker '" + *program +
                                   "': " + llvm::toString(worker.takeError()));
  using Clock = std::chrono::steady_clock;
  uint64_t written = 0;
  Clock::time_point last = Clock::now();
  Ending found;
  for (;;) {
    if (auto ended = worker->poll()) {
      found.how = *ended;
      return found;
    }
    if (uint64_t now = getFileSize(files.resultPath); now != written) {
      written = now;
      last = Clock::now();
    }
    std::chrono::duration<double> idle = Clock::now() - last;
    found.isTimeout = idle.count() > options.timeoutSeconds;
    found.isInterrupted = options.isInterrupted && options.isInterrupted();
    if (found.isTimeout || found.isInterrupted)
      return found;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

static Found parse(llvm::StringRef text, size_t packages) {
  Found found;
  found.packages.resize(packages);
  while (!text.empty()) {
    llvm::StringRef line;
    std::tie(line, text) = text.split('\n');
    auto value = parseJSON(line);
    const json::Object *object = value ? value->getAsObject() : nullptr;
    if (!object) {
      // The line is the last one of a worker that ended while writing it.
      if (!value)
        llvm::consumeError(value.takeError());
      continue;
    }
    found.isReady |= object->getBoolean("ready").value_or(false);
    found.isDone |= object->getBoolean("done").value_or(false);
    found.clock = object->getInteger("clock").value_or(found.clock);
    if (auto error = object->getString("error"))
      found.error = error->str();
    int64_t index = object->getInteger("package").value_or(-1);
    if (index < 0 || index >= static_cast<int64_t>(packages))
      continue;
    found.current.reset();
    if (object->getBoolean("begin").value_or(false))
      found.current = index;
    if (auto time = object->getNumber("ms"))
      found.packages[index].milliseconds.push_back(*time);
    if (auto failure = object->getString("failure"))
      found.packages[index].failure = failure->str();
  }
  return found;
}

static std::string explain(const Ending &ending, const WorkerOptions &options,
                           llvm::StringRef log) {
  if (ending.isTimeout)
    return llvm::formatv("no answer within {0} s", options.timeoutSeconds);
  std::string last = log.trim().rsplit('\n').second.trim().str();
  if (last.empty())
    last = log.trim().str();
  return "its process ended with " + ending.how.describe() +
         (last.empty() ? "" : ": " + last);
}

llvm::Expected<JobResult> tuning::runJob(const Job &job,
                                         const WorkerOptions &options) {
  JobResult result;
  result.packages.resize(job.packages.size());
  Job left = job;
  for (;;) {
    JobFiles files;
    if (llvm::Error error = files.create(left))
      return std::move(error);
    auto ending = wait(files, options);
    if (!ending)
      return ending.takeError();
    if (ending->isInterrupted)
      return llvm::createStringError("interrupted");
    Found found = parse(JobFiles::read(files.resultPath), job.packages.size());
    for (auto [all, own] : llvm::zip(result.packages, found.packages)) {
      llvm::append_range(all.milliseconds, own.milliseconds);
      if (!own.failure.empty())
        all.failure = own.failure;
    }
    if (found.clock)
      result.clock = found.clock;
    if (found.isDone)
      return result;
    std::string why = explain(*ending, options, JobFiles::read(files.logPath));
    // Another worker would do no better.
    if (!found.error.empty() || !found.current)
      return llvm::createStringError("nothing can be measured: " +
                                     (found.error.empty() ? why : found.error));
    result.packages[*found.current].failure = why;
    // The next worker measures the others, without the failed package.
    for (auto [index, path] : llvm::enumerate(left.packages))
      if (!result.packages[index].failure.empty())
        path.clear();
    if (llvm::all_of(left.packages,
                     [](const std::string &path) { return path.empty(); }))
      return result;
  }
}
