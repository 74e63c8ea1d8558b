//===- Units.cpp - Numbers with units -------------------------------------===//

#include "nsacc/Support/Units.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::formatv;

std::string nsacc::spellBytes(double bytes) {
  if (bytes < 1024)
    return formatv("{0:f0} bytes", bytes);
  const char *units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return formatv("{0:f1} {1}", bytes, units[unit]);
}
