//===- Outputs.h - Output files of a run ------------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_OUTPUTS_H
#define NSACC_TOOLS_NSACC_OUTPUTS_H

#include "Settings.h"
#include "nsacc/Tensor/Signature.h"

namespace nsacc {

/// A file for each result; empty if it isn't written. Makes `folder` if it
/// doesn't exist. Fails before a long run if a file couldn't be written.
llvm::Expected<std::vector<std::string>>
planOutputs(llvm::StringRef kernel, llvm::ArrayRef<Argument> results,
            const Settings &files, llvm::StringRef folder);

/// A file for each result in one folder, as NAME.npy.
llvm::Expected<std::vector<std::string>>
planFolder(llvm::ArrayRef<Argument> arguments, llvm::StringRef flag,
           llvm::StringRef folder);

llvm::Error writeTensors(llvm::ArrayRef<Tensor> tensors,
                         llvm::ArrayRef<std::string> files);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_OUTPUTS_H
