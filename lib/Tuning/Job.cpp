//===- Job.cpp - Jobs of workers as JSON ----------------------------------===//

#include "Job.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace nsacc;
using namespace nsacc::tuning;
namespace json = llvm::json;

std::string tuning::getTensorPath(llvm::StringRef folder,
                                  llvm::StringRef name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name + ".npy");
  return std::string(path);
}

json::Value tuning::toJSON(const Job &job) {
  json::Object sizes, offsets;
  for (const auto &[name, size] : job.sizes.sizes)
    sizes[name] = size;
  for (const auto &[name, values] : job.sizes.offsets)
    offsets[name] = json::Array(values);
  return json::Object{{"packages", json::Array(job.packages)},
                      {"signature", job.signature},
                      {"sizes", std::move(sizes)},
                      {"offsets", std::move(offsets)},
                      {"batch_rows", job.sizes.batchRows.value_or(-1)},
                      {"device", job.device},
                      {"threads", static_cast<int64_t>(job.threads)},
                      {"graph", job.policy.isGraph},
                      {"cold", job.policy.isCold},
                      {"seed", std::to_string(job.seed)},
                      {"agreement", job.policy.agreement},
                      {"rounds", static_cast<int64_t>(job.rounds)},
                      {"visit_ms", job.visitMilliseconds},
                      {"inputs", job.inputFolder}};
}

bool tuning::fromJSON(const json::Value &value, Job &job, json::Path path) {
  json::ObjectMapper object(value, path);
  std::map<std::string, int64_t> sizes;
  std::map<std::string, std::vector<int64_t>> offsets;
  int64_t batchRows, threads, rounds;
  std::string seed;
  bool isRead =
      object && object.map("packages", job.packages) &&
      object.map("signature", job.signature) && object.map("sizes", sizes) &&
      object.map("offsets", offsets) && object.map("batch_rows", batchRows) &&
      object.map("device", job.device) && object.map("threads", threads) &&
      object.map("graph", job.policy.isGraph) &&
      object.map("cold", job.policy.isCold) && object.map("seed", seed) &&
      object.map("agreement", job.policy.agreement) &&
      object.map("rounds", rounds) &&
      object.map("visit_ms", job.visitMilliseconds) &&
      object.map("inputs", job.inputFolder);
  if (!isRead || llvm::StringRef(seed).getAsInteger(10, job.seed))
    return false;
  for (const auto &[name, size] : sizes)
    job.sizes.sizes[name] = size;
  for (const auto &[name, each] : offsets)
    job.sizes.offsets[name] = each;
  if (batchRows >= 0)
    job.sizes.batchRows = batchRows;
  job.threads = threads;
  job.rounds = rounds;
  return true;
}
