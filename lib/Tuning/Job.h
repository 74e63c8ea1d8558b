//===- Job.h - Jobs of workers as JSON --------------------------*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_JOB_H
#define NSACC_LIB_TUNING_JOB_H

#include "nsacc/Tuning/Worker.h"
#include "llvm/Support/JSON.h"

namespace nsacc::tuning {

/// "inputs/q.npy"
std::string getTensorPath(llvm::StringRef folder, llvm::StringRef name);

llvm::json::Value toJSON(const Job &job);
bool fromJSON(const llvm::json::Value &value, Job &job, llvm::json::Path path);

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_JOB_H
