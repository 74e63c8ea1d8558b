//===- ExamplePackage.h - A package for tests of the runtime ----*- C++ -*-===//

#ifndef NSACC_TEST_UNITTESTS_RT_EXAMPLEPACKAGE_H
#define NSACC_TEST_UNITTESTS_RT_EXAMPLEPACKAGE_H

#include "nsacc/RT/Package.h"

namespace nsacc::rt {

/// Two launches over q: bf16[B, T, 64] and o: f32[B, T, 64], for sm_90a:
///   @fill  grid (ceildiv(T, 32), B, 1): o's map, workspace 0 = f32[B, T], T
///   @scale grid (B, 1, 1): workspace 0, workspace 1 = i32[T], counter,
///   failures, raised
Package makePackage();

/// A variant of makePackage's launches for T up to 64, and one with @many_fill
/// and @many_scale for T from 65 to 1000: it has another workspace of f32[T].
Package makeVariants();

#if defined(__x86_64__)
/// One launch over out: i32[N], for x86-64: out[x] = x, and code that calls
/// function 0 of its table.
Package makeHostPackage();
#endif

/// The error message for a package file; "read" if there is none.
std::string failRead(const std::string &bytes);

} // namespace nsacc::rt

#endif // NSACC_TEST_UNITTESTS_RT_EXAMPLEPACKAGE_H
