//===- HostFunctions.cpp - Functions for a processor's code ---------------===//

#include "HostRun.h"
#include "nsacc/RT/Host.h"
#include <cmath>
#include <cstring>

using namespace nsacc::rt;

static uint32_t toBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// LLVM's name for it is __truncsfbf2. A bf16 is returned in the same register
/// as a float, in its lowest bits, which this sets.
static float truncateToBF16(float value) {
  uint32_t bits = toBits(value);
  if (std::isnan(value))
    bits = 0x7fc0;
  else
    bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return fromBits(bits);
}

/// __truncsfhf2 and __extendhfsf2, for processors without F16C. Round to
/// nearest, ties to even.
static float truncateToF16(float value) {
  uint32_t sign = toBits(value) >> 16 & 0x8000;
  float magnitude = std::fabs(value);
  if (std::isnan(value))
    return fromBits(sign | 0x7e00);
  // Half of the last place above the largest number rounds to infinity.
  if (magnitude >= 65520)
    return fromBits(sign | 0x7c00);
  if (magnitude == 0)
    return fromBits(sign);
  int exponent;
  std::frexp(magnitude, &exponent);
  // Subnormal f16 numbers, below 2^-14, are multiples of 2^-24.
  int last = std::max(exponent - 11, -24);
  float steps = std::nearbyint(std::ldexp(magnitude, -last));
  auto count = static_cast<uint32_t>(steps);
  // The leading bit, which is implied, stands for 1024 steps; a carry into the
  // exponent is correct.
  uint32_t bits =
      last == -24 ? count
                  : (static_cast<uint32_t>(last + 25) << 10) + (count - 1024);
  return fromBits(sign | bits);
}

static float extendF16(float half) {
  uint32_t bits = toBits(half);
  uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
  float value;
  if (exponent == 31)
    value = fraction ? std::nanf("") : INFINITY;
  else if (exponent == 0)
    value = std::ldexp(static_cast<float>(fraction), -24);
  else
    value = std::ldexp(static_cast<float>(fraction + 1024),
                       static_cast<int>(exponent) - 25);
  return bits & 0x8000 ? -value : value;
}

void *nsacc::rt::findHostFunction(const std::string &name) {
  using Unary = float (*)(float);
  using Binary = float (*)(float, float);
  static const struct {
    const char *name;
    void *address;
  } functions[] = {
#define FUNCTION(name, ...) {name, reinterpret_cast<void *>(__VA_ARGS__)}
      FUNCTION("expf", static_cast<Unary>(std::exp)),
      FUNCTION("exp2f", static_cast<Unary>(std::exp2)),
      FUNCTION("logf", static_cast<Unary>(std::log)),
      FUNCTION("log2f", static_cast<Unary>(std::log2)),
      FUNCTION("sinf", static_cast<Unary>(std::sin)),
      FUNCTION("cosf", static_cast<Unary>(std::cos)),
      FUNCTION("tanhf", static_cast<Unary>(std::tanh)),
      FUNCTION("erff", static_cast<Unary>(std::erf)),
      FUNCTION("sqrtf", static_cast<Unary>(std::sqrt)),
      FUNCTION("floorf", static_cast<Unary>(std::floor)),
      FUNCTION("ceilf", static_cast<Unary>(std::ceil)),
      FUNCTION("truncf", static_cast<Unary>(std::trunc)),
      FUNCTION("roundevenf", static_cast<Unary>(std::nearbyint)),
      FUNCTION("powf", static_cast<Binary>(std::pow)),
      FUNCTION("fmodf", static_cast<Binary>(std::fmod)),
      FUNCTION("fmaf", static_cast<float (*)(float, float, float)>(std::fma)),
      FUNCTION("__truncsfbf2", &truncateToBF16),
      FUNCTION("__truncsfhf2", &truncateToF16),
      FUNCTION("__extendhfsf2", &extendF16),
      FUNCTION(kReportFailureName, &reportFailure),
      FUNCTION("memcpy", &std::memcpy),
      FUNCTION("memmove", &std::memmove),
      FUNCTION("memset", &std::memset),
#undef FUNCTION
  };
  for (const auto &function : functions)
    if (name == function.name)
      return function.address;
  return nullptr;
}
