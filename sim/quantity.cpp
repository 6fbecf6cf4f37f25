#include "sim/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "sim/check.h"

namespace weft::config {
namespace {

constexpr Unit kTimeUnits[] = {{"ns", 1, 0, -9}, {"us", 1, 0, -6}, {"ms", 1, 0, -3}, {"s"},
                               {"min", 60},      {"h", 3600}};

constexpr Unit kRateUnits[] = {
    {"bps"},          {"Kbps", 1, 0, 3}, {"Mbps", 1, 0, 6}, {"Gbps", 1, 0, 9}, {"Tbps", 1, 0, 12},
    {"b/s"},          {"Kb/s", 1, 0, 3}, {"Mb/s", 1, 0, 6}, {"Gb/s", 1, 0, 9}, {"Tb/s", 1, 0, 12},
    {"B/s", 8},       {"KB/s", 8, 0, 3}, {"MB/s", 8, 0, 6}, {"GB/s", 8, 0, 9}, {"TB/s", 8, 0, 12},
    {"KiB/s", 8, 10}, {"MiB/s", 8, 20},  {"GiB/s", 8, 30},  {"TiB/s", 8, 40},
};

constexpr Unit kSizeUnits[] = {{"B"},           {"KB", 1, 0, 3},  {"MB", 1, 0, 6},
                               {"GB", 1, 0, 9}, {"TB", 1, 0, 12}, {"KiB", 1, 10},
                               {"MiB", 1, 20},  {"GiB", 1, 30},   {"TiB", 1, 40}};

constexpr Unit kSpeedUnits[] = {
    {"FLOPS"},
    {"MFLOPS", 1, 0, 6},
    {"GFLOPS", 1, 0, 9},
    {"TFLOPS", 1, 0, 12},
    {"PFLOPS", 1, 0, 15},
    {"FLOP/s"},
    {"MFLOP/s", 1, 0, 6},
    {"GFLOP/s", 1, 0, 9},
    {"TFLOP/s", 1, 0, 12},
    {"PFLOP/s", 1, 0, 15},
};

constexpr Unit kLengthUnits[] = {{"m"}, {"cm", 1, 0, -2}, {"km", 1, 0, 3}};

constexpr Unit kPowerUnits[] = {{"W"}, {"mW", 1, 0, -3}, {"kW", 1, 0, 3}, {"MW", 1, 0, 6}};

constexpr Unit kMoneyUnits[] = {{"USD"}};

}  // namespace

const Dimension kTime = {
    "time", "600 ns", "ns, us, ms, s, min, h", kTimeUnits, {"ns", "us", "ms", "s"}, -9};
const Dimension kRate = {"rate",
                         "400 Gbps",
                         "bps, Kbps, Mbps, Gbps, Tbps, or bytes: B/s, KB/s, MB/s, GB/s, TB/s",
                         kRateUnits,
                         {"bps", "Kbps", "Mbps", "Gbps", "Tbps"},
                         0};
const Dimension kSize = {"size",
                         "64 MiB",
                         "B, KB, MB, GB, TB (powers of 1000), KiB, MiB, "
                         "GiB, TiB (powers of 1024)",
                         kSizeUnits,
                         {},
                         0};
const Dimension kSpeed = {"speed",
                          "989 TFLOPS",
                          "FLOPS, MFLOPS, GFLOPS, TFLOPS, PFLOPS",
                          kSpeedUnits,
                          {"FLOPS", "", "MFLOPS", "GFLOPS", "TFLOPS", "PFLOPS"},
                          0};

const Dimension kLength = {"length", "3 m", "m, cm, km", kLengthUnits, {"m"}, 0};
const Dimension kPower = {"power", "10 W", "W, mW, kW, MW", kPowerUnits, {"W"}, 0};
const Dimension kMoney = {"price", "100 USD", "USD", kMoneyUnits, {"USD"}, 0};

// ---- decimals --------------------------------------------------------------------------------

void Decimal::multiply(unsigned factor) {
  unsigned carry = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    const unsigned product = static_cast<unsigned>(*digit - '0') * factor + carry;
    *digit = static_cast<char>('0' + product % 10);
    carry = product / 10;
  }
  for (; carry > 0; carry /= 10) digits.insert(0, 1, static_cast<char>('0' + carry % 10));
}

double Decimal::rounded() const {
  if (digits.empty()) return 0;
  const std::string text = fmt::format("{}{}e{}", negative ? "-" : "", digits, exponent);
  double result = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), result).ec == std::errc())
    return result;
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const bool large = exponent + static_cast<int>(digits.size()) > 0;
  return large ? (negative ? -kInfinite : kInfinite) : 0;
}

std::optional<std::uint64_t> Decimal::whole() const {
  if (digits.empty()) return 0;
  std::string text = digits;
  int zeros = exponent;
  for (; zeros < 0 && text.ends_with('0'); ++zeros) text.pop_back();
  if (negative || zeros < 0 || zeros > 20) return std::nullopt;
  text.append(static_cast<std::size_t>(zeros), '0');
  std::uint64_t result = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || last != text.data() + text.size()) return std::nullopt;
  return result;
}

std::optional<Scanned> scan_number(std::string_view text) {
  constexpr std::size_t kMostDigits = 60;
  const auto is_digit = [&](std::size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  Scanned result;
  std::size_t at = 0;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    result.number.negative = text[0] == '-';
    ++at;
  }
  const std::size_t start = at;
  std::string digits;
  while (is_digit(at)) digits += text[at++];
  result.octal_looking = at - start > 1 && text[start] == '0';
  if (at < text.size() && text[at] == '.') {
    for (++at; is_digit(at); ++at) {
      digits += text[at];
      --result.number.exponent;
    }
  }
  if (digits.empty() || digits.size() > kMostDigits) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const std::size_t sign =
        at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+') ? 1 : 0;
    if (is_digit(at + 1 + sign)) {
      const bool down = sign == 1 && text[at + 1] == '-';
      int exponent = 0;
      for (at += 1 + sign; is_digit(at); ++at)
        exponent = std::min(exponent * 10 + text[at] - '0', 9999);
      result.number.exponent += down ? -exponent : exponent;
    }
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  result.number.digits = std::move(digits);
  result.rest = text.substr(at);
  return result;
}

// ---- units -----------------------------------------------------------------------------------

std::optional<Decimal> in_si(Decimal number, std::string_view unit, const Dimension& dimension) {
  for (const Unit& known : dimension.units) {
    if (known.name != unit) continue;
    number.multiply(known.factor);
    for (int i = 0; i < known.binary; i += 10) number.multiply(1024);
    number.exponent += known.decimal;
    return number;
  }
  return std::nullopt;
}

std::string_view differently_cased(std::string_view unit, const Dimension& dimension) {
  const auto same = [](char a, char b) { return lower_case(a) == lower_case(b); };
  std::string_view found;
  for (const Unit& known : dimension.units) {
    if (!std::equal(unit.begin(), unit.end(), known.name.begin(), known.name.end(), same)) continue;
    if (!found.empty()) return {};
    found = known.name;
  }
  return found;
}

// ---- back to text ----------------------------------------------------------------------------

std::string number_text(double value) {
  std::array<char, 64> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  check(error == std::errc(), "a double fits 64 characters");
  return std::string(buffer.data(), end);
}

// Shifting the shortest decimal text by powers of ten is exact, so it reads back unchanged.
std::string quantity_text(double value, const Dimension& dimension) {
  std::size_t base = 0;  // the SI unit's own index
  while (3 * static_cast<int>(base) + dimension.first_decimal != 0) ++base;
  if (value == 0) return fmt::format("0 {}", dimension.written[base]);

  std::array<char, 64> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::scientific);
  check(error == std::errc(), "a double fits 64 characters");
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t split = text.find('e');
  std::string digits(text.substr(0, split));
  std::erase(digits, '.');
  int exponent = 0;  // of the first digit
  const std::size_t exponent_at = split + (text[split + 1] == '+' ? 2 : 1);
  std::from_chars(text.data() + exponent_at, text.data() + text.size(), exponent);

  std::size_t unit = 0;
  for (std::size_t i = 0; i < dimension.written.size(); ++i)
    if (!dimension.written[i].empty() &&
        3 * static_cast<int>(i) + dimension.first_decimal <= exponent)
      unit = i;
  const int point = exponent - (3 * static_cast<int>(unit) + dimension.first_decimal);
  const auto size = static_cast<int>(digits.size());
  if (point < 0)
    digits.insert(0, "0." + std::string(static_cast<std::size_t>(-point - 1), '0'));
  else if (point + 1 >= size)
    digits.append(static_cast<std::size_t>(point + 1 - size), '0');
  else
    digits.insert(static_cast<std::size_t>(point) + 1, ".");
  return fmt::format("{} {}", digits, dimension.written[unit]);
}

std::string size_text(std::uint64_t bytes) {
  static constexpr std::pair<std::string_view, std::uint64_t> kUnits[] = {
      {"B", 1},
      {"KB", 1'000},
      {"KiB", std::uint64_t{1} << 10},
      {"MB", 1'000'000},
      {"MiB", std::uint64_t{1} << 20},
      {"GB", 1'000'000'000},
      {"GiB", std::uint64_t{1} << 30},
      {"TB", 1'000'000'000'000},
      {"TiB", std::uint64_t{1} << 40}};
  std::string_view best = "B";
  std::uint64_t least = bytes;
  for (const auto& [name, size] : kUnits) {
    if (bytes == 0 || bytes % size != 0 || bytes / size >= least) continue;
    best = name;
    least = bytes / size;
  }
  return fmt::format("{} {}", least, best);
}

}  // namespace weft::config
