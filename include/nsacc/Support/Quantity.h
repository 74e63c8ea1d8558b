//===- Quantity.h - Numbers that stay integers as long as they fit --------===//

#ifndef NSACC_SUPPORT_QUANTITY_H
#define NSACC_SUPPORT_QUANTITY_H

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace nsacc {

/// A number that isn't negative: an integer as long as it fits 64 bits, since a
/// double would round from 2^53 on; else a double.
class Quantity {
public:
  __extension__ using Wide = unsigned __int128;

  Quantity() = default;
  static Quantity ofWhole(Wide value) {
    Quantity found;
    found.about = static_cast<double>(value);
    found.whole = value <= std::numeric_limits<uint64_t>::max()
                      ? std::optional(static_cast<uint64_t>(value))
                      : std::nullopt;
    return found;
  }
  /// Rounded to an integer.
  static Quantity ofReal(double value) {
    if (value >= 0 && value < 0x1p63)
      return ofWhole(static_cast<Wide>(std::round(value)));
    Quantity found;
    found.about = value;
    found.whole = std::nullopt;
    return found;
  }

  operator double() const { return about; }
  /// None if 64 bits don't hold it.
  std::optional<uint64_t> getWhole() const { return whole; }

  Quantity operator+(const Quantity &other) const {
    if (whole && other.whole)
      return ofWhole(Wide(*whole) + *other.whole);
    return ofReal(about + other.about);
  }
  Quantity operator*(const Quantity &other) const {
    if (whole && other.whole)
      return ofWhole(Wide(*whole) * *other.whole);
    return ofReal(about * other.about);
  }
  Quantity &operator+=(const Quantity &other) { return *this = *this + other; }

private:
  double about = 0;
  std::optional<uint64_t> whole = 0;
};

} // namespace nsacc

#endif // NSACC_SUPPORT_QUANTITY_H
