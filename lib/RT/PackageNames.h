//===- PackageNames.h - Names in packages -----------------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_PACKAGENAMES_H
#define NSACC_LIB_RT_PACKAGENAMES_H

#include "nsacc/RT/Package.h"
#include <iterator>

namespace nsacc::rt {

/// The package's magic text, and the version of the format.
constexpr const char *kFormat = "nsacc-package";
constexpr unsigned kFormatVersion = 12;

/// In the order of Step::Kind.
constexpr const char *kStepNames[] = {
    "const",    "dim",       "time", "add",        "sub",   "mul", "div",
    "floordiv", "ceildiv",   "rem",  "min",        "max",   "and", "or",
    "equal",    "not_equal", "less", "less_equal", "select"};
static_assert(std::size(kStepNames) == size_t(Step::Kind::Select) + 1);

/// In the order of ExtraParameter::Kind.
constexpr const char *kExtraNames[] = {"tensor_map", "counter", "failures",
                                       "raised", "first_z"};

/// In the order of DType, which counts from 1.
constexpr const char *kDTypeNames[] = {"bool", "i32", "i64", "f16",
                                       "bf16", "f32", "f64"};
static_assert(std::size(kDTypeNames) == NSACC_DTYPE_F64);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_PACKAGENAMES_H
