// What the reports share: reading summaries, numbers as text, tables for a terminal.
#pragma once

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/workload.h"

namespace weft::report {

using Json = nlohmann::ordered_json;

inline constexpr std::size_t kWidth = 100;  ///< columns of the terminal
inline constexpr double kDiffers = 1e-3;    ///< relative: below it two values are shown as the same
inline constexpr std::size_t kCollectivesShown = 8;  ///< in a table

// ---- reading summaries; `path` is a JSON pointer
std::optional<double> number(const Json&, const std::string& path);  ///< none where it is null
double number_or_zero(const Json&, const std::string& path);
std::string text(const Json&, const std::string& path);  ///< empty where it is null
const std::array<std::string, kTraffics>& traffic_names();
double exposed_total(const Json& summary);

// ---- numbers as text: four significant digits
std::string seconds_text(double value);  ///< "12.34 ms"
std::string bytes_text(double value);    ///< "128 MiB" where that needs no fraction, "134.3 MB"
std::string rate_text(double value);     ///< "400 Gb/s"
std::string factor_text(double value);   ///< "1.159x"
std::string count_text(double value);    ///< "1,234,567"
std::string plain_text(double value);    ///< whole, with separators, from 10,000
std::string percent_text(double fraction);
/// "1 switch", "12 switches".
std::string counted(double count, const std::string& one, const std::string& many);
/// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& items);

// ---- layout
/// Breaks a sentence into lines of at most kWidth columns.
std::string wrapped(const std::string& sentence);
std::string clipped(const std::string& word, std::size_t width);

using Row = std::vector<std::string>;

/// Rows below each other, indented by two: the first `left` columns to the left, others to the
/// right. The first column is cut where the table would be too wide.
std::string table(const std::vector<Row>& rows, std::size_t left = 1);

}  // namespace weft::report
