//===- MachineCode.h - Inspection of a kernel's code ------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_MACHINECODE_H
#define NSACC_LIB_RT_MACHINECODE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nsacc::rt {

/// Whether an ELF file has all that its tables point to. The driver is given
/// the address of code, but not its size.
bool isWholeELF(std::string_view image);

/// Bytes of each parameter of a kernel in PTX; none if the text has no such
/// kernel, or if it can't be parsed.
std::optional<std::vector<uint32_t>> findParameters(std::string_view ptx,
                                                    std::string_view kernel);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_MACHINECODE_H
