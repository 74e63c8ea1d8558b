//===- Units.h - Numbers with units ---------------------------------------===//

#ifndef NSACC_SUPPORT_UNITS_H
#define NSACC_SUPPORT_UNITS_H

#include <string>

namespace nsacc {

/// "512 bytes", "1.5 KiB", "2.0 GiB"
std::string spellBytes(double bytes);
/// "2.5 us", "1.23 ms"
std::string spellSeconds(double seconds);
/// With three significant digits, without an exponent: "2.50", "137"
std::string spellNumber(double number);

} // namespace nsacc

#endif // NSACC_SUPPORT_UNITS_H
