//===- Units.h - Numbers with units ---------------------------------------===//

#ifndef NSACC_SUPPORT_UNITS_H
#define NSACC_SUPPORT_UNITS_H

#include <string>

namespace nsacc {

/// "512 bytes", "1.5 KiB", "2.0 GiB"
std::string spellBytes(double bytes);

} // namespace nsacc

#endif // NSACC_SUPPORT_UNITS_H
