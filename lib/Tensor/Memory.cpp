//===- Memory.cpp - Memory check for a run's tensors ----------------------===//

#include "nsacc/Tensor/Memory.h"
#include "llvm/Support/FormatVariadic.h"
#include <iterator>
#include <unistd.h>

using namespace nsacc;

static std::string formatBytes(double bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return llvm::formatv("{0:f1} {1}", bytes, units[unit]);
}

llvm::Error nsacc::checkMemory(const Signature &signature,
                               const DimSizes &sizes) {
  double bytes = 0;
  for (auto *arguments : {&signature.inputs, &signature.results})
    for (const Argument &argument : *arguments) {
      llvm::Expected<std::vector<int64_t>> shape = getShape(argument, sizes);
      if (!shape) {
        // If only results have the name, the program computes its size.
        if (arguments == &signature.inputs)
          return shape.takeError();
        llvm::consumeError(shape.takeError());
        continue;
      }
      double elements = 1;
      for (int64_t size : *shape)
        elements *= size;
      bytes += elements * getSize(argument.dtype);
    }
  double memory = double(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  if (bytes <= memory)
    return llvm::Error::success();
  return llvm::createStringError("inputs and results take " +
                                 formatBytes(bytes) + ", this machine has " +
                                 formatBytes(memory) + " of memory");
}
