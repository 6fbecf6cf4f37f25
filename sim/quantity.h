// Numbers with units as users write them, exactly: decimal text to SI values and back.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft::config {

/// A decimal number of any length: digits * 10^exponent. Exact until it is rounded once.
struct Decimal {
  bool negative = false;
  std::string digits;  ///< no leading zeros; empty for zero
  int exponent = 0;

  void multiply(unsigned factor);
  /// The nearest double; infinite where it is too large, 0 where it is too small.
  double rounded() const;
  /// The exact value where it is a whole number below 2^64.
  std::optional<std::uint64_t> whole() const;
};

/// A number at the start of a text, and what follows it.
struct Scanned {
  Decimal number;
  std::string_view rest;
  bool octal_looking = false;  ///< starts with a needless zero
};

/// Reads [+-]digits[.digits][e[+-]digits]; nothing where the text does not start with a number or
/// the number is absurdly long.
std::optional<Scanned> scan_number(std::string_view text);

/// A unit is factor * 2^binary * 10^decimal of the SI unit.
struct Unit {
  std::string_view name;
  unsigned factor = 1;
  int binary = 0;  ///< a multiple of 10
  int decimal = 0;
};

/// A physical dimension: the units it is read in, and the decimal ones it is written in.
struct Dimension {
  std::string_view noun;
  std::string_view example;
  std::string_view list;  ///< of units, for people
  std::span<const Unit> units;
  std::array<std::string_view, 8> written;  ///< one per factor 1000, upwards; empty: not used
  int first_decimal = 0;                    ///< power of ten of written[0]
};

extern const Dimension kTime;    ///< seconds
extern const Dimension kRate;    ///< bits per second
extern const Dimension kSize;    ///< bytes
extern const Dimension kSpeed;   ///< FLOP per second
extern const Dimension kLength;  ///< metres
extern const Dimension kPower;   ///< watts
extern const Dimension kMoney;   ///< US dollars

// Upper bounds that keep sums and quotients of quantities finite.
inline constexpr double kLongestTime = 1e9;
inline constexpr double kFastestRate = 1e18;
inline constexpr double kFastestSpeed = 1e21;
inline constexpr double kLongestCable = 1e6;
inline constexpr double kMostPower = 1e9;
inline constexpr double kMostMoney = 1e12;
inline constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 60;

/// `number` of `unit` in the SI unit; nothing where the dimension has no such unit.
std::optional<Decimal> in_si(Decimal number, std::string_view unit, const Dimension& dimension);
/// The one unit that differs from `unit` in nothing but the case of letters, or an empty text.
std::string_view differently_cased(std::string_view unit, const Dimension& dimension);

/// The shortest text that reads back as the same double.
std::string number_text(double value);
/// A finite, non-negative quantity with the unit that leaves one to three digits before the point;
/// reads back as the same double.
std::string quantity_text(double value, const Dimension& dimension);
/// A size in the unit that divides it into the smallest whole number.
std::string size_text(std::uint64_t bytes);

/// Lower case of ASCII letters.
constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace weft::config
