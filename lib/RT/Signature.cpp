//===- Signature.cpp - Signature that a written header expects ------------===//

#include "Signature.h"
#include "Buffers.h"
#include "Failure.h"

using namespace nsacc::rt;

[[noreturn]] static void fail(const std::string &message) {
  throw Failure(NSACC_RT_PACKAGE,
                message + ": write the header again with nsacc header, or "
                          "load the package that it was written for");
}

static std::string describe(const nsacc_rt_parameter &parameter) {
  return (parameter.is_result ? "result '" : "input '") +
         std::string(parameter.name) + "'";
}

static std::string describeDType(nsacc_dtype dtype) {
  std::optional<nsacc::DType> known = nsacc::toDType(dtype);
  return known ? getName(*known) : "type " + std::to_string(dtype);
}

static void matchParameter(const Parameter &found,
                           const nsacc_rt_parameter &expected,
                           const int64_t *sizes) {
  std::string name = describe(expected);
  if (describe(found) != name)
    fail("the package has " + describe(found) + " where its header has " +
         name);
  if (nsacc::toDType(expected.dtype) != found.dtype)
    fail(name + " is of " + getName(found.dtype) + " in the package, of " +
         describeDType(expected.dtype) + " in its header");
  size_t rank = found.sizes.size();
  if (expected.rank < 0 || static_cast<size_t>(expected.rank) != rank)
    fail(name + " has " + std::to_string(rank) +
         " dimensions in the package, " + std::to_string(expected.rank) +
         " in its header");
  for (size_t dim = 0; dim < rank; ++dim) {
    const std::optional<int64_t> &size = found.sizes[dim].fixed;
    if (size && sizes && sizes[dim] >= 0 && *size != sizes[dim])
      fail("size " + std::to_string(dim) + " of " + name + " is " +
           std::to_string(*size) + " in the package, " +
           std::to_string(sizes[dim]) + " in its header");
  }
}

void nsacc::rt::matchSignature(const Package &package,
                               const nsacc_rt_signature &signature) {
  if (package.kernel != signature.kernel)
    fail("the package is of kernel '" + package.kernel + "', its header of '" +
         signature.kernel + "'");
  if (package.parameters.size() != signature.count)
    fail("kernel '" + package.kernel + "' has " +
         std::to_string(package.parameters.size()) +
         " inputs and results in the package, " +
         std::to_string(signature.count) + " in its header");
  const int64_t *sizes = signature.sizes;
  for (size_t i = 0; i < signature.count; ++i) {
    matchParameter(package.parameters[i], signature.parameters[i], sizes);
    if (sizes)
      sizes += signature.parameters[i].rank;
  }
}
