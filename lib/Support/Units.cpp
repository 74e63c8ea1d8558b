//===- Units.cpp - Numbers with units -------------------------------------===//

#include "nsacc/Support/Units.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using llvm::formatv;

std::string nsacc::spellNumber(double number) {
  double size = std::fabs(number);
  if (size >= 99.95 || number == 0)
    return formatv("{0:f0}", number);
  if (size >= 9.995)
    return formatv("{0:f1}", number);
  return formatv("{0:f2}", number);
}

std::string nsacc::spellSeconds(double seconds) {
  if (seconds <= 0)
    return "0 us";
  if (seconds < 1e-8)
    return spellNumber(seconds * 1e9) + " ns";
  if (seconds < 1e-3)
    return spellNumber(seconds * 1e6) + " us";
  return seconds < 1 ? spellNumber(seconds * 1e3) + " ms"
                     : spellNumber(seconds) + " s";
}

std::string nsacc::spellBytes(double bytes) {
  if (bytes < 1024)
    return formatv("{0:f0} bytes", bytes);
  const char *units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return formatv("{0:f1} {1}", bytes, units[unit]);
}
