// One strong type per physical dimension. SI inside: seconds, bytes, bits per second, FLOPs.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>

namespace weft {

/// A double in one physical dimension; `Tag` keeps dimensions apart.
template <class Tag>
struct Quantity {
  double value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double v) : value(v) {}

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity o) const { return Quantity(value + o.value); }
  constexpr Quantity operator-(Quantity o) const { return Quantity(value - o.value); }
  constexpr Quantity operator*(double k) const { return Quantity(value * k); }
  constexpr Quantity operator/(double k) const { return Quantity(value / k); }
  constexpr double operator/(Quantity o) const { return value / o.value; }
  constexpr Quantity& operator+=(Quantity o) { return value += o.value, *this; }
  constexpr Quantity& operator-=(Quantity o) { return value -= o.value, *this; }
  friend constexpr Quantity operator*(double k, Quantity q) { return Quantity(k * q.value); }
};

using Seconds = Quantity<struct SecondsTag>;
using BitsPerSecond = Quantity<struct BitsPerSecondTag>;
using Flops = Quantity<struct FlopsTag>;                    ///< an amount of floating-point work
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag>;  ///< a speed
using Metres = Quantity<struct MetresTag>;                  ///< of cable
using Watts = Quantity<struct WattsTag>;
using Dollars = Quantity<struct DollarsTag>;

/// An exact amount of data. Conserved: `split` sums to the whole, sums refuse to wrap.
struct Bytes {
  std::uint64_t value = 0;

  constexpr Bytes() = default;
  constexpr explicit Bytes(std::uint64_t v) : value(v) {}

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes operator+(Bytes o) const { return Bytes(value + o.value); }
  constexpr Bytes operator-(Bytes o) const { return Bytes(value - o.value); }
  constexpr Bytes operator*(std::uint64_t k) const { return Bytes(value * k); }
  constexpr Bytes& operator+=(Bytes o) { return value += o.value, *this; }
};

/// Part `index` of `whole` cut in `parts`: the first `whole % parts` parts are one byte longer.
constexpr Bytes part_of(Bytes whole, std::uint64_t parts, std::uint64_t index) {
  return Bytes(whole.value / parts + (index < whole.value % parts ? 1 : 0));
}

/// The one place where bits meet bytes.
constexpr double bytes_per_second(BitsPerSecond rate) { return rate.value / 8; }
constexpr BitsPerSecond bits_per_second(double bytes_per_s) {
  return BitsPerSecond(bytes_per_s * 8);
}

/// Time to push `size` through `rate`, without latency.
constexpr Seconds operator/(Bytes size, BitsPerSecond rate) {
  return Seconds(static_cast<double>(size.value) / bytes_per_second(rate));
}
/// Time for an amount of work at a speed.
constexpr Seconds operator/(Flops work, FlopsPerSecond speed) {
  return Seconds(work.value / speed.value);
}

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace literals {
constexpr Seconds operator""_s(long double v) { return Seconds(static_cast<double>(v)); }
constexpr Seconds operator""_s(unsigned long long v) { return Seconds(static_cast<double>(v)); }
constexpr Seconds operator""_ms(unsigned long long v) {
  return Seconds(static_cast<double>(v) / 1e3);
}
constexpr Seconds operator""_us(unsigned long long v) {
  return Seconds(static_cast<double>(v) / 1e6);
}
constexpr Seconds operator""_ns(unsigned long long v) {
  return Seconds(static_cast<double>(v) / 1e9);
}
constexpr BitsPerSecond operator""_Gbps(unsigned long long v) {
  return BitsPerSecond(static_cast<double>(v) * 1e9);
}
constexpr Metres operator""_m(unsigned long long v) { return Metres(static_cast<double>(v)); }
constexpr Bytes operator""_B(unsigned long long v) { return Bytes(v); }
constexpr Bytes operator""_KiB(unsigned long long v) { return Bytes(v << 10); }
constexpr Bytes operator""_MiB(unsigned long long v) { return Bytes(v << 20); }
constexpr Bytes operator""_MB(unsigned long long v) { return Bytes(v * 1'000'000); }
constexpr Bytes operator""_GB(unsigned long long v) { return Bytes(v * 1'000'000'000); }
}  // namespace literals

/// Text for people, three significant digits and a fitting prefix: `1.23 ms`, `400 Gb/s`, `1.5 GB`.
std::string to_text(Seconds);
std::string to_text(Bytes);
std::string to_text(BitsPerSecond);

}  // namespace weft
