//===- WorkerProcess.cpp - Process of a worker ----------------------------===//

#include "Job.h"
#include "nsacc-rt/nsacc_rt.h"
#include "nsacc/Support/JSON.h"
#include "nsacc/Support/Subprocess.h"
#include "nsacc/Target/CPU/CPU.h"
#include "nsacc/Tensor/Npy.h"
#include "nsacc/Tensor/SignatureText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <random>
#include <sys/prctl.h>

using namespace nsacc;
using namespace nsacc::tuning;
namespace json = llvm::json;

static llvm::Error toError(nsacc_rt_status status) {
  if (status == NSACC_RT_OK)
    return llvm::Error::success();
  return llvm::createStringError(llvm::StringRef(nsacc_rt_message()));
}

namespace {

/// Place where packages run: a device, or this process's processor.
class Place {
public:
  explicit Place(const Job &job) : job(job) {}
  virtual ~Place() = default;

  /// Sets inputs, then results, in the order of the signature.
  virtual llvm::Error setUp(llvm::ArrayRef<Tensor> tensors) = 0;
  /// Milliseconds of runs, each the mean of several.
  virtual llvm::Expected<double> measure(llvm::StringRef package) = 0;
  /// Runs once and writes the results to the tensors.
  virtual llvm::Error run(llvm::StringRef package) = 0;

protected:
  const Job &job;
};

class Processor : public Place {
public:
  using Place::Place;

  llvm::Error setUp(llvm::ArrayRef<Tensor> given) override {
    tensors.assign(given.begin(), given.end());
    return llvm::Error::success();
  }

  llvm::Expected<double> measure(llvm::StringRef package) override {
    auto executable = load(package);
    if (!executable)
      return executable.takeError();
    auto first = runFor(**executable, 1);
    if (!first)
      return first.takeError();
    double runs = std::clamp(job.visitMilliseconds / *first, 1.0, 1000.0);
    return runFor(**executable, static_cast<int>(runs));
  }

  llvm::Error run(llvm::StringRef package) override {
    auto executable = load(package);
    if (!executable)
      return executable.takeError();
    return runFor(**executable, 1).takeError();
  }

private:
  static llvm::Expected<std::unique_ptr<cpu::Executable>>
  load(llvm::StringRef bytes) {
    try {
      return cpu::load(rt::readPackage(bytes.data(), bytes.size()));
    } catch (const std::exception &problem) {
      return llvm::createStringError(problem.what());
    }
  }

  llvm::Expected<double> runFor(const cpu::Executable &executable, int runs) {
    cpu::RunOptions options;
    options.threads = job.threads;
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i)
      if (llvm::Error error = executable.run(tensors, options))
        return std::move(error);
    std::chrono::duration<double, std::milli> time =
        std::chrono::steady_clock::now() - start;
    return time.count() / runs;
  }

  std::vector<Tensor> tensors;
};

class Device : public Place {
public:
  using Place::Place;
  ~Device() override {
    for (const nsacc_rt_tensor &tensor : tensors)
      nsacc_rt_free(job.device, tensor.data);
  }

  llvm::Error setUp(llvm::ArrayRef<Tensor> given) override {
    nsacc_rt_device_info info;
    if (llvm::Error error = toError(nsacc_rt_device(job.device, &info)))
      return error;
    flushBytes = job.policy.isCold ? 2 * info.l2_bytes : 0;
    hosts.assign(given.begin(), given.end());
    for (const Tensor &host : hosts) {
      nsacc_rt_tensor tensor = {nullptr, toNumber(host.getDType()),
                                static_cast<int32_t>(host.getRank()),
                                host.getShape().data(), nullptr};
      if (llvm::Error error = toError(
              nsacc_rt_allocate(job.device, getBytes(host), &tensor.data)))
        return error;
      tensors.push_back(tensor);
      if (llvm::Error error = toError(nsacc_rt_to_device(
              job.device, tensor.data, host.getData(), getBytes(host))))
        return error;
    }
    return llvm::Error::success();
  }

  llvm::Expected<double> measure(llvm::StringRef package) override {
    Module module;
    if (llvm::Error error = module.load(package, job.device))
      return std::move(error);
    auto first = measure(module, 1);
    if (!first || job.policy.isCold)
      return first;
    double runs =
        std::clamp(job.visitMilliseconds / std::max(*first, 1e-3), 1.0, 1000.0);
    return measure(module, static_cast<uint32_t>(runs));
  }

  llvm::Error run(llvm::StringRef package) override {
    Module module;
    if (llvm::Error error = module.load(package, job.device))
      return error;
    if (llvm::Error error = toError(nsacc_rt_launch(
            module.module, tensors.data(), tensors.size(), nullptr)))
      return error;
    if (llvm::Error error = toError(nsacc_rt_synchronize(job.device, nullptr)))
      return error;
    if (llvm::Error error = toError(nsacc_rt_check(module.module, nullptr)))
      return error;
    for (auto [host, tensor] : llvm::zip(hosts, tensors))
      if (llvm::Error error = toError(nsacc_rt_to_host(
              job.device, host.getData(), tensor.data, getBytes(host))))
        return error;
    return llvm::Error::success();
  }

private:
  struct Module {
    ~Module() { nsacc_rt_unload(module); }
    llvm::Error load(llvm::StringRef package, int device) {
      return toError(
          nsacc_rt_load(package.data(), package.size(), device, &module));
    }
    nsacc_rt_module *module = nullptr;
  };

  static size_t getBytes(const Tensor &tensor) {
    return tensor.getNumElements() * getSize(tensor.getDType());
  }

  /// The median of as many times as fit into a visit.
  llvm::Expected<double> measure(const Module &module, uint32_t launches) {
    nsacc_rt_measure_options options = {};
    options.runs = job.policy.isCold ? 5 : 1;
    options.launches = launches;
    options.flush_bytes = flushBytes;
    options.graph = job.policy.isGraph;
    std::vector<double> times(options.runs);
    if (llvm::Error error =
            toError(nsacc_rt_measure(module.module, tensors.data(),
                                     tensors.size(), &options, times.data())))
      return std::move(error);
    llvm::sort(times);
    return times[times.size() / 2];
  }

  std::vector<Tensor> hosts;
  std::vector<nsacc_rt_tensor> tensors;
  size_t flushBytes = 0;
};

/// Writes lines that survive any end of the process.
class Results {
public:
  llvm::Error open(llvm::StringRef path) {
    std::error_code error;
    os = std::make_unique<llvm::raw_fd_ostream>(path, error,
                                                llvm::sys::fs::OF_Append);
    return llvm::errorCodeToError(error);
  }
  void write(std::initializer_list<json::Object::KV> line) {
    *os << json::Value(json::Object(line)) << '\n';
    os->flush();
  }

private:
  std::unique_ptr<llvm::raw_fd_ostream> os;
};

} // namespace

static llvm::Expected<std::string> readFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError("can't read '" + path +
                                   "': " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

/// Clock in MHz of the first device that nvidia-smi lists as job.device.
static int64_t queryClock(const Job &job) {
  auto program = llvm::sys::findProgramByName("nvidia-smi");
  if (job.device < 0 || !program)
    return 0;
  llvm::SmallString<128> path;
  if (llvm::sys::fs::createTemporaryFile("nsacc-clock", "txt", path))
    return 0;
  std::string id = "--id=" + std::to_string(job.device);
  llvm::StringRef arguments[] = {*program, "--query-gpu=clocks.sm",
                                 "--format=csv,noheader,nounits", id};
  std::optional<llvm::StringRef> redirects[] = {"", path.str(), ""};
  int64_t clock = 0;
  constexpr std::chrono::seconds most(10);
  auto process = llvm::expectedToOptional(
      Subprocess::start(*program, arguments, redirects));
  auto ending = process ? process->wait(most) : std::nullopt;
  auto text = llvm::expectedToOptional(readFile(path));
  if (!ending || ending->status != 0 || !text ||
      llvm::StringRef(*text).trim().getAsInteger(10, clock))
    clock = 0;
  llvm::sys::fs::remove(path);
  return clock;
}

static llvm::Expected<std::vector<Tensor>>
makeTensors(const Signature &signature, const Job &job) {
  std::vector<Tensor> tensors;
  if (job.inputFolder.empty()) {
    auto inputs = makeMeasuredInputs(signature, job.sizes, job.seed,
                                     job.policy.agreement);
    if (!inputs)
      return inputs.takeError();
    tensors = std::move(*inputs);
  } else {
    for (const Argument &input : signature.inputs) {
      auto tensor = readNpy(getTensorPath(job.inputFolder, input.name));
      if (!tensor)
        return tensor.takeError();
      // Files of bf16 hold bytes without a type.
      Tensor typed = Tensor::borrow(tensor->getData(), input.dtype,
                                    tensor->getShape(), tensor->getStrides(),
                                    std::make_shared<Tensor>(*tensor));
      tensors.push_back(typed);
    }
  }
  for (const Argument &result : signature.results) {
    auto shape = getShape(result, job.sizes);
    if (!shape)
      return shape.takeError();
    tensors.push_back(Tensor::zeros(result.dtype, *shape));
  }
  return tensors;
}

static void measureAll(const Job &job, Place &place, Results &results) {
  std::vector<std::string> bytes(job.packages.size());
  std::vector<size_t> order;
  for (auto [index, path] : llvm::enumerate(job.packages)) {
    if (path.empty())
      continue;
    auto read = readFile(path);
    if (!read) {
      results.write({{"package", static_cast<int64_t>(index)},
                     {"failure", llvm::toString(read.takeError())}});
      continue;
    }
    bytes[index] = std::move(*read);
    order.push_back(index);
  }
  std::mt19937_64 random(job.seed);
  for (unsigned round = 0; round < job.rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    const std::vector<size_t> all = order;
    for (size_t index : all) {
      auto number = static_cast<int64_t>(index);
      results.write({{"package", number}, {"begin", true}});
      auto time = place.measure(bytes[index]);
      if (time) {
        results.write({{"package", number}, {"ms", *time}});
        continue;
      }
      results.write(
          {{"package", number}, {"failure", llvm::toString(time.takeError())}});
      llvm::erase(order, index);
    }
  }
}

static llvm::Error runOnce(const Job &job, const Signature &signature,
                           Place &place, llvm::ArrayRef<Tensor> tensors) {
  auto bytes = readFile(job.packages.front());
  if (!bytes)
    return bytes.takeError();
  if (llvm::Error error = place.run(*bytes))
    return error;
  for (auto [result, tensor] : llvm::zip(
           signature.results, tensors.drop_front(signature.inputs.size())))
    if (llvm::Error error =
            writeNpy(getTensorPath(job.inputFolder, result.name), tensor))
      return error;
  return llvm::Error::success();
}

static llvm::Error runJobFile(llvm::StringRef jobFile, Results &results) {
  auto text = readFile(jobFile);
  if (!text)
    return text.takeError();
  auto job = parseJSON<Job>(*text, "job");
  if (!job)
    return job.takeError();
  auto signature = readSignature(job->signature);
  if (!signature)
    return signature.takeError();
  auto tensors = makeTensors(*signature, *job);
  if (!tensors)
    return tensors.takeError();
  std::unique_ptr<Place> place;
  if (job->device == NSACC_RT_HOST)
    place = std::make_unique<Processor>(*job);
  else
    place = std::make_unique<Device>(*job);
  if (llvm::Error error = place->setUp(*tensors))
    return error;
  results.write({{"ready", true}});
  if (!job->inputFolder.empty()) {
    if (llvm::Error error = runOnce(*job, *signature, *place, *tensors))
      return error;
  } else {
    measureAll(*job, *place, results);
  }
  results.write({{"done", true}, {"clock", queryClock(*job)}});
  return llvm::Error::success();
}

int tuning::runWorker(llvm::StringRef jobFile, llvm::StringRef resultFile) {
  // A worker that outlives its tuner would keep the device busy.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Results results;
  if (llvm::Error error = results.open(resultFile)) {
    llvm::errs() << llvm::toString(std::move(error)) << '\n';
    return 1;
  }
  if (llvm::Error error = runJobFile(jobFile, results)) {
    results.write({{"error", llvm::toString(std::move(error))}});
    return 1;
  }
  return 0;
}
