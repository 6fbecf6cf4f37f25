#include "sim/units.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <span>
#include <string_view>

namespace weft {
namespace {

struct Scale {
  double size;  ///< in the SI unit
  std::string_view name;
};

/// `value` in the largest unit that it reaches once rounded to three digits, else in the smallest.
/// `scales` grow.
std::string with_prefix(double value, std::span<const Scale> scales) {
  for (auto scale = scales.rbegin(); scale != scales.rend(); ++scale) {
    const double rounded = std::strtod(fmt::format("{:.2e}", value / scale->size).c_str(), nullptr);
    if (std::abs(rounded) >= 1 || scale + 1 == scales.rend())
      return fmt::format("{} {}", rounded, scale->name);
  }
  return {};
}

}  // namespace

std::string to_text(Seconds time) {
  static constexpr Scale kShort[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}};
  static constexpr Scale kLong[] = {{60, "min"}, {3600, "h"}, {86400, "d"}};
  if (time.value == 0) return "0 s";
  return with_prefix(time.value, std::abs(time.value) < 600 ? std::span<const Scale>(kShort)
                                                            : std::span<const Scale>(kLong));
}

std::string to_text(Bytes size) {
  static constexpr Scale kScales[] = {{1, "B"},     {1e3, "KB"},  {1e6, "MB"}, {1e9, "GB"},
                                      {1e12, "TB"}, {1e15, "PB"}, {1e18, "EB"}};
  return with_prefix(static_cast<double>(size.value), kScales);
}

std::string to_text(BitsPerSecond rate) {
  static constexpr Scale kScales[] = {{1, "b/s"},    {1e3, "Kb/s"},  {1e6, "Mb/s"},
                                      {1e9, "Gb/s"}, {1e12, "Tb/s"}, {1e15, "Pb/s"}};
  return with_prefix(rate.value, kScales);
}

}  // namespace weft
