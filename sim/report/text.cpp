#include "sim/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/workload.h"

namespace weft::report {

using Pointer = Json::json_pointer;

// ---- reading summaries -------------------------------------------------------------------------

std::optional<double> number(const Json& json, const std::string& path) {
  const Pointer pointer(path);
  if (!json.contains(pointer) || !json.at(pointer).is_number()) return std::nullopt;
  return json.at(pointer).get<double>();
}

double number_or_zero(const Json& json, const std::string& path) {
  return number(json, path).value_or(0);
}

std::string text(const Json& json, const std::string& path) {
  const Pointer pointer(path);
  if (!json.contains(pointer) || !json.at(pointer).is_string()) return {};
  return json.at(pointer).get<std::string>();
}

const std::array<std::string, kTraffics>& traffic_names() {
  static const auto names = [] {
    std::array<std::string, kTraffics> result;
    for (std::size_t kind = 0; kind < kTraffics; ++kind)
      result[kind] = to_text(static_cast<Traffic>(kind));
    return result;
  }();
  return names;
}

double exposed_total(const Json& summary) {
  double sum = 0;
  for (const auto& kind : traffic_names())
    sum += number_or_zero(summary, "/time/exposed_s/" + kind);
  return sum;
}

// ---- numbers as text ---------------------------------------------------------------------------

namespace {

/// Four significant digits and a prefix: "12.34 ms", "400 Gb/s".
std::string with_prefix(double value, const char* unit, bool above_one) {
  static constexpr std::array<const char*, 11> kPrefixes = {"p", "n", "u", "m", "", "k",
                                                            "M", "G", "T", "P", "E"};
  if (value == 0) return fmt::format("0 {}", unit);
  const double magnitude = std::abs(value);
  const auto last = above_one ? kPrefixes.size() - 1 : std::size_t{4};
  std::size_t prefix = 0;
  double scale = 1e-12;
  // 999.95 would be rounded to 1000.
  while (prefix < last && magnitude >= 999.95 * scale) {
    scale *= 1000;
    ++prefix;
  }
  const double scaled = value / scale;
  const auto digits =
      std::abs(scaled) >= 1000 ? fmt::format("{:.0f}", scaled) : fmt::format("{:.4g}", scaled);
  return fmt::format("{} {}{}", digits, kPrefixes[prefix], unit);
}

}  // namespace

std::string seconds_text(double value) { return with_prefix(value, "s", false); }
std::string bytes_text(double value) {
  if (value < 1000) return fmt::format("{:.0f} B", value);
  double unit = 1024;
  for (const char* name : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < 1024 * unit && std::fmod(value, unit) == 0)
      return fmt::format("{:.0f} {}", value / unit, name);
    unit *= 1024;
  }
  return with_prefix(value, "B", true);
}
std::string rate_text(double value) { return with_prefix(value, "b/s", true); }
std::string factor_text(double value) { return fmt::format("{:.4g}x", value); }

std::string count_text(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string plain_text(double value) {
  return value >= 9999.5 ? count_text(value) : fmt::format("{:.4g}", value);
}

std::string percent_text(double fraction) {
  const double percent = fraction * 100;
  if (percent == 0) return "0 %";
  if (percent >= 0.095) return fmt::format("{:.1f} %", percent);
  return percent >= 0.001 ? fmt::format("{:.1g} %", percent) : "<0.001 %";
}

std::string counted(double count, const std::string& one, const std::string& many) {
  return count_text(count) + " " + (count == 1 ? one : many);
}

std::string listed(const std::vector<std::string>& items) {
  std::string result;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) result += i + 1 == items.size() ? " and " : ", ";
    result += items[i];
  }
  return result;
}

// ---- layout ------------------------------------------------------------------------------------

std::string wrapped(const std::string& sentence) {
  std::string result;
  std::size_t column = 0, begin = 0;
  while (begin < sentence.size()) {
    const auto end = std::min(sentence.find(' ', begin), sentence.size());
    const auto length = end - begin;
    if (column > 0 && column + 1 + length > kWidth) {
      result += '\n';
      column = 0;
    } else if (column > 0) {
      result += ' ';
      ++column;
    }
    result.append(sentence, begin, length);
    column += length;
    begin = end + 1;
  }
  return result + '\n';
}

std::string clipped(const std::string& word, std::size_t width) {
  return word.size() <= width ? word : word.substr(0, width - 2) + "..";
}

std::string table(const std::vector<Row>& rows, std::size_t left) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::size_t total = 0;
  for (const auto width : widths) total += width + 2;
  if (total > kWidth) widths[0] -= std::min(widths[0] - 3, total - kWidth);
  std::string result;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto cell = i == 0 ? clipped(row[i], widths[0]) : row[i];
      line += i < left ? fmt::format("  {:<{}}", cell, widths[i])
                       : fmt::format("  {:>{}}", cell, widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + '\n';
  }
  return result;
}
}  // namespace weft::report
