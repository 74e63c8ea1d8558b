//===- Outputs.h - Where a run writes tensors -------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_OUTPUTS_H
#define NSACC_TOOLS_NSACC_OUTPUTS_H

#include "Settings.h"
#include "nsacc/Tensor/Signature.h"

namespace nsacc {

/// A file for each result; empty where it isn't written. Makes `folder` where
/// it is missing. Fails before a long run where a file couldn't be written.
llvm::Expected<std::vector<std::string>>
planOutputs(llvm::StringRef kernel, llvm::ArrayRef<Argument> results,
            const Settings &files, llvm::StringRef folder);

/// The same for one folder that takes every tensor as NAME.npy.
llvm::Expected<std::vector<std::string>>
planFolder(llvm::ArrayRef<Argument> arguments, llvm::StringRef flag,
           llvm::StringRef folder);

llvm::Error writeTensors(llvm::ArrayRef<Tensor> tensors,
                         llvm::ArrayRef<std::string> files);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_OUTPUTS_H
