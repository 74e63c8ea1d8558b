//===- MachineCode.h - What can be told of a kernel's code ------*- C++ -*-===//

#ifndef NSACC_LIB_RT_MACHINECODE_H
#define NSACC_LIB_RT_MACHINECODE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nsacc::rt {

/// Whether an ELF file has all that its tables point to. The driver is told
/// where code begins, not where it ends.
bool isWholeELF(std::string_view image);

/// Bytes of each parameter that a kernel has in the text of PTX; none where the
/// text has no such kernel, or one that can't be read.
std::optional<std::vector<uint32_t>> findParameters(std::string_view ptx,
                                                    std::string_view kernel);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_MACHINECODE_H
