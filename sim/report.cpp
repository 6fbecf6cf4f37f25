#include "sim/report.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <functional>
#include <optional>
#include <system_error>

#include "sim/check.h"
#include "sim/config.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;
using Pointer = Json::json_pointer;

constexpr std::size_t kWidth = 100;           // columns of the terminal
constexpr double kDiffers = 1e-3;             // relative: below it two values are shown as the same
constexpr double kContended = 1.05;           // mean slowdown from which congestion is named
constexpr std::size_t kLongestName = 24;      // of a fabric, in the head of a column
constexpr std::size_t kCollectivesShown = 8;  // in a table

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

std::string seconds_text(double value) { return with_prefix(value, "s", false); }
/// Decimal prefixes, but binary ones where these need no fraction: "128 MiB", "134.3 MB".
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

/// 1234567 as "1,234,567".
std::string count_text(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

/// Four significant digits; whole, with separators, from 10,000.
std::string plain_text(double value) {
  return value >= 9999.5 ? count_text(value) : fmt::format("{:.4g}", value);
}

std::string percent_text(double fraction) {
  const double percent = fraction * 100;
  if (percent == 0) return "0 %";
  if (percent >= 0.095) return fmt::format("{:.1f} %", percent);
  return percent >= 0.001 ? fmt::format("{:.1g} %", percent) : "<0.001 %";
}

/// "1 switch", "12 switches".
std::string counted(double count, const std::string& one, const std::string& many) {
  return count_text(count) + " " + (count == 1 ? one : many);
}

/// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& items) {
  std::string result;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) result += i + 1 == items.size() ? " and " : ", ";
    result += items[i];
  }
  return result;
}

// ---- layout ------------------------------------------------------------------------------------

/// Breaks a sentence into lines of at most kWidth columns.
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

using Row = std::vector<std::string>;

/// Rows below each other, indented by two: the first `left` columns to the left, others to the
/// right. The first column is cut where the table would be too wide.
std::string table(const std::vector<Row>& rows, std::size_t left = 1) {
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

// ---- sentences ---------------------------------------------------------------------------------

/// "router0.1->router1.0 (tier global)".
std::string link_place(const Json& link) {
  return fmt::format("{} (tier {})", text(link, "/link"), text(link, "/tier"));
}

/// What its flows suffer on the run's bottleneck; empty where nothing is congested.
std::string congestion(const Json& summary) {
  const auto slowdown = number(summary, "/network/slowdown/mean");
  const Json& link = summary.at(Pointer("/network/bottleneck"));
  if (!slowdown || *slowdown < kContended || link.is_null()) return {};
  const auto flows = number_or_zero(link, "/peak_flows");
  double run = 0;
  for (const Json& iteration : summary.at("iterations")) run += iteration.get<double>();
  const auto full = number(link, "/saturated_s");
  const auto use =
      full ? fmt::format("full for {} of the run", percent_text(run > 0 ? *full / run : 0))
           : fmt::format("{} utilised on average",
                         percent_text(number_or_zero(link, "/mean_utilization")));
  return fmt::format(
      "flows take {} times as long as alone on average (99th percentile {}); up to {:.0f} share "
      "{}, "
      "{}",
      plain_text(*slowdown), plain_text(number_or_zero(summary, "/network/slowdown/p99")), flows,
      link_place(link), use);
}

std::string capital(std::string sentence) {
  if (!sentence.empty() && sentence[0] >= 'a' && sentence[0] <= 'z')
    sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
  return sentence;
}

/// Congestion as a sentence, or that there is none.
std::string congestion_sentence(const Json& summary) {
  const auto found = congestion(summary);
  if (!found.empty()) return capital(found) + ".";
  const auto slowdown = number(summary, "/network/slowdown/mean");
  if (!slowdown) return {};
  const Json& links = summary.at(Pointer("/network/top_links"));
  std::string sentence = fmt::format(
      "Flows hardly slow each other down ({} times their time alone on average): the rates and "
      "latencies of the links count, not congestion",
      plain_text(*slowdown));
  if (!links.empty())
    sentence += fmt::format("; the busiest link, {}, is {} utilised", link_place(links[0]),
                            percent_text(number_or_zero(links[0], "/mean_utilization")));
  return sentence + ".";
}

/// Exposed kinds of traffic with their share of `whole`, largest first: "data 11.2 %, ...".
std::string exposed_kinds(const Json& summary, double whole) {
  std::vector<std::pair<double, std::string>> kinds;
  for (const auto& kind : traffic_names())
    if (const double value = number_or_zero(summary, "/time/exposed_s/" + kind); value > 0)
      kinds.emplace_back(value, kind);
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> items;
  for (const auto& [value, kind] : kinds) items.push_back(kind + " " + percent_text(value / whole));
  return fmt::format("{}", fmt::join(items, ", "));
}

/// Whether GPUs compute in this run.
bool trains(const Json& summary) { return number_or_zero(summary, "/time/compute_s") > 0; }

/// "An iteration takes ...", in the words of the workload's kind.
std::string time_sentence(const Json& summary) {
  const double whole = number_or_zero(summary, "/iteration_time_s");
  const auto compute = number(summary, "/time/compute_s");
  if (compute.value_or(0) > 0 && whole > 0) {
    std::vector<std::string> parts{percent_text(*compute / whole) + " compute"};
    if (const double v = number_or_zero(summary, "/time/bubble_s"); v > 0)
      parts.push_back(percent_text(v / whole) + " pipeline bubble");
    if (const double v = exposed_total(summary); v > 0)
      parts.push_back(fmt::format("{} exposed communication ({})", percent_text(v / whole),
                                  exposed_kinds(summary, whole)));
    if (const double v = number_or_zero(summary, "/time/idle_s"); v > 0)
      parts.push_back(percent_text(v / whole) + " idle");
    return fmt::format("An iteration takes {}: {}.", seconds_text(whole), listed(parts));
  }
  const Json& collectives = summary.at("collectives");
  if (collectives.size() == 1) {
    const Json& c = collectives[0];
    const std::string article = text(c, "/operation").starts_with('a') ? "An " : "A ";
    return fmt::format(
        "{} of {} over {} ranks ({}) takes {}: algbw {}, busbw {}.",
        article + text(c, "/operation"), bytes_text(number_or_zero(c, "/size_bytes")),
        count_text(number_or_zero(c, "/ranks")), text(c, "/algorithm"),
        seconds_text(number_or_zero(c, "/mean_s")), rate_text(number_or_zero(c, "/algbw_bps")),
        rate_text(number_or_zero(c, "/busbw_bps")));
  }
  return fmt::format("Everything has arrived after {}.", seconds_text(whole));
}

// ---- comparing ---------------------------------------------------------------------------------

/// A part of the iteration that can make one fabric slower than another.
struct Part {
  std::string name, path;
};

std::vector<Part> parts_of_an_iteration() {
  std::vector<Part> parts{{"compute", "/time/compute_s"}};
  for (const auto& kind : traffic_names())
    parts.push_back({"exposed " + kind + " communication", "/time/exposed_s/" + kind});
  parts.push_back({"pipeline bubble", "/time/bubble_s"});
  parts.push_back({"idle", "/time/idle_s"});
  return parts;
}

struct Ranking {
  std::size_t winner = 0, slowest = 0;
  double spread = 0;  ///< slowest / winner - 1
};

double iteration_time(const NamedSummary& run) {
  return number_or_zero(run.summary, "/iteration_time_s");
}

Ranking ranked(const std::vector<NamedSummary>& runs) {
  Ranking ranking;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (iteration_time(runs[i]) < iteration_time(runs[ranking.winner])) ranking.winner = i;
    if (iteration_time(runs[i]) > iteration_time(runs[ranking.slowest])) ranking.slowest = i;
  }
  const double best = iteration_time(runs[ranking.winner]);
  if (best > 0) ranking.spread = iteration_time(runs[ranking.slowest]) / best - 1;
  return ranking;
}

/// The part by which `slow` loses most against `fast`, if it is known.
std::optional<Part> largest_difference(const Json& slow, const Json& fast) {
  std::optional<Part> worst;
  double most = 0;
  for (const Part& part : parts_of_an_iteration()) {
    const auto a = number(slow, part.path), b = number(fast, part.path);
    if (!a || !b || *a - *b <= most) continue;
    most = *a - *b;
    worst = part;
  }
  return worst;
}

bool communication_is_exposed(const std::vector<NamedSummary>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const NamedSummary& run) {
    const auto exposed = number(run.summary, "/time/exposed_fabric_s");
    return !exposed || *exposed > kMatters * iteration_time(run);
  });
}

std::vector<std::string> compare_sentences(const std::vector<NamedSummary>& runs) {
  const auto [winner, slowest, spread] = ranked(runs);
  const NamedSummary& fast = runs[winner];
  const NamedSummary& slow = runs[slowest];
  std::vector<std::string> sentences;
  if (runs.size() == 1) return headline(fast.summary);
  if (spread <= kMatters) {
    double exposed = 0;
    for (const NamedSummary& run : runs)
      if (const double whole = iteration_time(run); whole > 0)
        exposed = std::max(exposed, number_or_zero(run.summary, "/time/exposed_fabric_s") / whole);
    const std::string alike =
        seconds_text(iteration_time(fast)) + " on each" +
        (spread > kDiffers / 100 ? fmt::format(", within {}", percent_text(spread)) : "");
    if (communication_is_exposed(runs)) {
      sentences.push_back(fmt::format(
          "The choice between these fabrics does not matter for this job: it takes {}.", alike));
      if (exposed > 0)
        sentences.push_back(fmt::format(
            "Communication on the fabric is exposed for up to {} of the iteration, though.",
            percent_text(exposed)));
    } else {
      sentences.push_back(fmt::format(
          "The network does not matter for this job: an iteration takes {}, and at most {} of it "
          "is exposed communication on the fabric.",
          alike, percent_text(exposed)));
    }
    return sentences;
  }

  const double best = iteration_time(fast);
  std::vector<std::string> first, others;
  for (const NamedSummary& run : runs) {
    const double ratio = iteration_time(run) / best;
    if (ratio <= 1 + kDiffers)
      first.push_back(run.name);
    else
      others.push_back(fmt::format("{} takes {} ({})", run.name, seconds_text(iteration_time(run)),
                                   factor_text(ratio)));
  }
  sentences.push_back(fmt::format(
      "{} {} the fastest: {}{}; {}.", listed(first), first.size() == 1 ? "is" : "are",
      seconds_text(best), trains(fast.summary) ? " per iteration" : "", fmt::join(others, "; ")));
  if (const auto part = largest_difference(slow.summary, fast.summary))
    sentences.push_back(fmt::format("What {} loses is mostly {}: {} against {}.", slow.name,
                                    part->name,
                                    seconds_text(number_or_zero(slow.summary, part->path)),
                                    seconds_text(number_or_zero(fast.summary, part->path))));
  if (const auto reason = congestion(slow.summary); !reason.empty())
    sentences.push_back(fmt::format("On {} {}.", slow.name, reason));
  else if (const auto fct = number(slow.summary, "/network/fct_s/mean"))
    sentences.push_back(fmt::format(
        "That is not congestion: on {} flows take {} times their time alone; its paths are longer "
        "or its links slower (a flow takes {} on average, {} on {}).",
        slow.name, plain_text(number_or_zero(slow.summary, "/network/slowdown/mean")),
        seconds_text(*fct), seconds_text(number_or_zero(fast.summary, "/network/fct_s/mean")),
        fast.name));
  return sentences;
}

struct CompareRow {
  std::string label, path;
  std::function<std::string(double)> show;
};

/// What the network did for the job.
std::vector<CompareRow> performance_rows() {
  std::vector<CompareRow> rows;
  for (const auto& kind : traffic_names())
    rows.push_back(
        {"overlapped " + kind + " communication", "/time/overlapped_s/" + kind, seconds_text});
  rows.insert(rows.end(),
              {{"MFU", "/utilization/mfu", percent_text},
               {"tokens per second", "/throughput/tokens_per_s", plain_text},
               {"samples per second", "/throughput/samples_per_s", plain_text},
               {"model TFLOP/s per GPU", "/throughput/model_tflops_per_gpu", plain_text},
               {"flow slowdown, mean", "/network/slowdown/mean", factor_text},
               {"flow slowdown, p99", "/network/slowdown/p99", factor_text},
               {"flow slowdown, max", "/network/slowdown/max", factor_text},
               {"flow completion, p50", "/network/fct_s/p50", seconds_text},
               {"flow completion, p99", "/network/fct_s/p99", seconds_text},
               {"flow completion, max", "/network/fct_s/max", seconds_text}});
  return rows;
}

/// What the network is, and how much of it was needed.
std::vector<CompareRow> fabric_rows() {
  return {{"busiest link, mean use", "/network/max_utilization", percent_text},
          {"links used", "/network/links_used", count_text},
          {"flows", "/network/flows", count_text},
          {"bytes sent", "/network/bytes", bytes_text},
          {"switches", "/fabric/switches", count_text},
          {"cables", "/fabric/cables", count_text},
          {"diameter, hops", "/fabric/diameter_hops", count_text},
          {"bisection", "/fabric/bisection_bps", rate_text},
          {"oversubscription", "/fabric/oversubscription", plain_text},
          {"GPU memory needed", "/memory/per_gpu_max_bytes", bytes_text}};
}

/// The collectives that every run has, those that take longest in the first run first, as rows of
/// their busbw.
struct CollectiveRow {
  std::string label;
  std::vector<std::optional<double>> busbw;
};

std::vector<CollectiveRow> collective_rows(const std::vector<NamedSummary>& runs) {
  std::vector<Json> first(runs[0].summary.at("collectives").begin(),
                          runs[0].summary.at("collectives").end());
  std::stable_sort(first.begin(), first.end(), [](const Json& a, const Json& b) {
    return number_or_zero(a, "/total_s") > number_or_zero(b, "/total_s");
  });
  std::vector<CollectiveRow> rows;
  for (const Json& shape : first) {
    if (rows.size() == kCollectivesShown) break;
    CollectiveRow row{
        fmt::format("busbw {} {} {}", text(shape, "/group"), text(shape, "/operation"),
                    bytes_text(number_or_zero(shape, "/size_bytes"))),
        {}};
    for (const NamedSummary& run : runs)
      for (const Json& c : run.summary.at("collectives"))
        if (c.at("operation") == shape.at("operation") && c.at("group") == shape.at("group") &&
            c.at("ranks") == shape.at("ranks") && c.at("size_bytes") == shape.at("size_bytes") &&
            c.at("algorithm") == shape.at("algorithm")) {
          row.busbw.push_back(number(c, "/busbw_bps"));
          break;
        }
    if (row.busbw.size() == runs.size()) rows.push_back(std::move(row));
  }
  return rows;
}

/// Relative spread of values; infinite where some are missing or 0 and others are not.
double spread_of(const std::vector<std::optional<double>>& values) {
  double least = kInfinity, most = -kInfinity;
  bool missing = false;
  for (const auto& value : values) {
    missing = missing || !value;
    if (!value) continue;
    least = std::min(least, *value);
    most = std::max(most, *value);
  }
  if (most < least) return 0;  // none is there
  if (missing) return kInfinity;
  if (most == least) return 0;
  return least > 0 ? most / least - 1 : kInfinity;
}

/// A comparison: what differs with a column for each run, the rest with one value for all.
struct CompareTable {
  std::vector<Row> different, equal;
};

CompareTable compare_table(const std::vector<NamedSummary>& runs) {
  CompareTable result;
  const auto values_of = [&](const std::string& path) {
    std::vector<std::optional<double>> values;
    for (const NamedSummary& run : runs) values.push_back(number(run.summary, path));
    return values;
  };
  const auto add = [&](const std::string& label, const std::vector<std::optional<double>>& values,
                       const std::function<std::string(double)>& show, bool differs) {
    if (std::all_of(values.begin(), values.end(), [](const auto& v) { return !v || *v == 0; }))
      return;
    Row row{label};
    for (const auto& value : values) {
      row.push_back(value ? show(*value) : "-");
      if (!differs) break;
    }
    (differs ? result.different : result.equal).push_back(std::move(row));
  };

  const auto times = values_of("/iteration_time_s");
  const Ranking ranking = ranked(runs);
  add("iteration time", times, seconds_text, ranking.spread > kDiffers);
  if (ranking.spread > kDiffers) {
    auto ratios = times;
    for (auto& ratio : ratios) ratio = *ratio / *times[ranking.winner];
    add("  of the fastest", ratios, factor_text, true);
  }

  // Parts of the iteration: those that differ by most seconds first.
  struct Entry {
    Part part;
    std::vector<std::optional<double>> values;
    double seconds;
    bool differs;
  };
  std::vector<Entry> entries;
  for (const Part& part : parts_of_an_iteration()) {
    Entry entry{part, values_of(part.path), 0, false};
    double least = kInfinity, most = 0;
    for (const auto& value : entry.values) {
      least = std::min(least, value.value_or(0));
      most = std::max(most, value.value_or(0));
    }
    entry.seconds = most - least;
    // A millionth of an iteration is no difference, whatever it is relative to its part.
    entry.differs = spread_of(entry.values) > kDiffers &&
                    entry.seconds > 1e-6 * times[ranking.winner].value_or(0);
    entries.push_back(std::move(entry));
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.seconds > b.seconds; });
  for (const Entry& entry : entries)
    add(entry.part.name, entry.values, seconds_text, entry.differs);

  const auto add_rows = [&](const std::vector<CompareRow>& rows) {
    for (const CompareRow& row : rows) {
      const auto values = values_of(row.path);
      add(row.label, values, row.show, spread_of(values) > kDiffers);
    }
  };
  add_rows(performance_rows());
  for (const CollectiveRow& row : collective_rows(runs))
    add(row.label, row.busbw, rate_text, spread_of(row.busbw) > kDiffers);
  add_rows(fabric_rows());
  return result;
}

// ---- CSV ---------------------------------------------------------------------------------------

/// A field of CSV (RFC 4180): quoted where it has to be.
std::string csv_field(const std::string& value) {
  if (value.find_first_of(",\"\r\n") == std::string::npos) return value;
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

/// A value that may be absent: an empty field.
std::string csv_maybe(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

void write_links(const std::filesystem::path& path, const Network& network,
                 const Timeline& timeline) {
  OutputFile file(path);
  file.append(
      "link,tier,capacity_bps,latency_s,bytes,mean_utilization,peak_utilization,saturated_s,"
      "peak_flows\n");
  for (std::uint32_t index = 0; index < timeline.links.size(); ++index) {
    if (timeline.links[index].bytes <= 0) continue;
    const LinkMetrics link = measure_link(network, timeline, LinkId{index});
    file.print("{},{},{},{},{},{},{},{},{}\n", csv_field(link.link), csv_field(link.tier),
               link.capacity_bps, network.links()[index].latency.value, std::llround(link.bytes),
               link.mean_utilization, csv_maybe(link.peak_utilization), csv_maybe(link.saturated_s),
               link.peak_flows);
  }
  file.commit();
}

void write_ranks(const std::filesystem::path& path, const Network& network,
                 const Workload& workload, const Placement& placement, const Timeline& timeline) {
  OutputFile file(path);
  file.append("rank,gpu,host,worker");
  for (const Grid::Axis& axis : workload.grid.axes()) file.print(",{}", csv_field(axis.name));
  file.append(",compute_s,bubble_s,idle_s");
  for (const char* group : {"exposed", "overlapped"})
    for (const auto& kind : traffic_names()) file.print(",{}_{}_s", group, kind);
  file.append("\n");

  std::vector<std::uint32_t> worker_of(timeline.workers.empty() ? 0 : workload.grid.ranks());
  for (std::uint32_t worker = 0; worker < timeline.workers.size(); ++worker)
    for (const std::uint32_t lane : timeline.lanes)
      worker_of.at(timeline.first_rank[worker] + lane) = worker;
  const double share =
      1 / static_cast<double>(std::max<std::size_t>(timeline.iteration_end.size(), 1));
  for (std::uint32_t rank = 0; rank < worker_of.size(); ++rank) {
    const Account& account = timeline.workers[worker_of[rank]];
    const GpuId gpu = placement.gpu(RankId{rank});
    file.print("{},{},{},{}", rank, at(gpu), at(network.cluster().host_of(gpu)), worker_of[rank]);
    for (std::size_t axis = 0; axis < workload.grid.axes().size(); ++axis)
      file.print(",{}", workload.grid.coordinate(rank, static_cast<int>(axis)));
    file.print(",{},{},{}", account.compute * share, account.bubble * share, account.idle * share);
    for (const double value : account.exposed) file.print(",{}", value * share);
    for (const double value : account.overlapped) file.print(",{}", value * share);
    file.append("\n");
  }
  file.commit();
}

void write_collectives(const std::filesystem::path& path, const Metrics& metrics) {
  OutputFile file(path);
  file.append(
      "operation,group,algorithm,ranks,size_bytes,count,mean_s,algbw_bps,busbw_bps,total_s,mode,"
      "flows,within_hosts\n");
  for (const CollectiveMetrics& c : metrics.collectives)
    file.print("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", c.operation, csv_field(c.group),
               c.algorithm, c.ranks, c.size.value, c.count, c.mean_s, csv_maybe(c.algbw_bps),
               csv_maybe(c.busbw_bps), c.total_s, c.mode, c.flows, c.within_hosts);
  file.commit();
}

void write_flows(const std::filesystem::path& path, const Timeline& timeline) {
  OutputFile file(path);
  file.append("source_gpu,destination_gpu,traffic,bytes,start_s,end_s,fct_s,alone_s,slowdown\n");
  for (const FlowRecord& flow : timeline.flow_records) {
    const double took = flow.end - flow.start;
    file.print("{},{},{},{},{},{},{},{},{}\n", at(flow.source), at(flow.destination),
               to_text(flow.traffic), flow.bytes, flow.start, flow.end, took, flow.alone,
               flow.alone > 0 ? std::max(1.0, took / flow.alone) : 1.0);
  }
  file.commit();
}

[[noreturn]] void fail_to_write(const std::filesystem::path& path, const std::string& reason) {
  throw ConfigError(fmt::format("{}: cannot be written: {}\n  choose another folder with -o",
                                path.string(), reason));
}

}  // namespace

// ---- files -------------------------------------------------------------------------------------

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)), aside_(path_) {
  aside_ += ".tmp";
  file_ = std::fopen(aside_.c_str(), "wb");
  if (!file_) fail(errno);
}

OutputFile::~OutputFile() {
  if (!file_) return;
  std::fclose(file_);
  std::error_code ignored;
  std::filesystem::remove(aside_, ignored);
}

void OutputFile::append(std::string_view text_part) {
  buffer_.append(text_part.data(), text_part.data() + text_part.size());
  if (buffer_.size() >= kFlushAt) flush();
}

void OutputFile::flush() {
  if (buffer_.size() > 0 && std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size())
    fail(errno);
  written_ += buffer_.size();
  buffer_.clear();
}

void OutputFile::commit() {
  check(file_ != nullptr, "an output file is committed once");
  flush();
  if (std::fflush(file_) != 0) fail(errno);
  const int closed = std::fclose(std::exchange(file_, nullptr));
  std::error_code error;
  if (closed == 0) std::filesystem::rename(aside_, path_, error);
  if (closed == 0 && !error) return;
  const int reason = closed != 0 ? errno : error.value();
  std::filesystem::remove(aside_, error);
  fail(reason);
}

void OutputFile::fail(int error) const { fail_to_write(path_, std::strerror(error)); }

void prepare_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail_to_write(folder, error.message());
  if (!std::filesystem::is_directory(folder, error)) fail_to_write(folder, std::strerror(ENOTDIR));
  const OutputFile probe(folder / "summary.json");
}

RunFacts gather_run_facts(double wall_s, int threads) {
  RunFacts facts;
  facts.wall_s = wall_s;
  facts.threads = threads;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    facts.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // Linux: KiB
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) == 0) facts.host = name.data();
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> date{};
  facts.date.assign(date.data(),
                    std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%SZ", &utc));
  return facts;
}

void write_json(const std::filesystem::path& path, const Json& json) {
  OutputFile file(path);
  // Names come from the user: what is no UTF-8 in them is replaced rather than refused.
  file.append(json.dump(2, ' ', false, Json::error_handler_t::replace));
  file.append("\n");
  file.commit();
}

void write_files(const std::filesystem::path& folder, const Scenario& scenario,
                 const Network& network, const Workload& workload, const Placement& placement,
                 const Timeline& timeline, const Metrics& metrics, const RunFacts& facts) {
  prepare_folder(folder);
  OutputFile resolved(folder / "resolved.yaml");
  resolved.append(scenario.resolved);
  resolved.commit();
  write_links(folder / "links.csv", network, timeline);
  write_ranks(folder / "ranks.csv", network, workload, placement, timeline);
  write_collectives(folder / "collectives.csv", metrics);
  if (scenario.flows_csv) write_flows(folder / "flows.csv", timeline);
  const auto flows = static_cast<double>(timeline.flows);
  write_json(folder / "run.json", {{"schema", "weft/run/1"},
                                   {"version", WEFT_VERSION},
                                   {"wall_s", facts.wall_s},
                                   {"flows_per_s", facts.wall_s > 0 ? flows / facts.wall_s : 0},
                                   {"peak_rss_bytes", facts.peak_rss_bytes},
                                   {"host", facts.host},
                                   {"date", facts.date},
                                   {"threads", facts.threads}});
  write_json(folder / "summary.json", to_json(metrics));
}

// ---- one run -----------------------------------------------------------------------------------

std::vector<std::string> headline(const Json& summary) {
  std::vector<std::string> sentences{time_sentence(summary)};
  const double whole = number_or_zero(summary, "/iteration_time_s");
  const auto exposed = number(summary, "/time/exposed_fabric_s");
  const bool split = trains(summary) && whole > 0 && exposed;
  if (split && *exposed <= kMatters * whole) {
    sentences.push_back(fmt::format(
        "Exposed communication on the fabric is {} of the iteration: the network does not matter "
        "for this job.",
        percent_text(*exposed / whole)));
  } else {
    if (split)
      sentences.push_back(fmt::format(
          "The network matters: communication on the fabric is exposed for {} of the iteration.",
          percent_text(*exposed / whole)));
    if (auto sentence = congestion_sentence(summary); !sentence.empty())
      sentences.push_back(std::move(sentence));
  }
  const Pointer fits("/memory/fits");
  if (summary.contains(fits) && summary.at(fits) == false)
    sentences.push_back(
        fmt::format("It does not fit: stage {:.0f} needs {} per GPU, which has {}.",
                    number_or_zero(summary, "/memory/fullest_stage"),
                    bytes_text(number_or_zero(summary, "/memory/per_gpu_max_bytes")),
                    bytes_text(number_or_zero(summary, "/memory/capacity_bytes"))));
  return sentences;
}

namespace {

std::string time_table(const Json& summary) {
  const double whole = number_or_zero(summary, "/iteration_time_s");
  std::vector<Row> rows;
  const auto add = [&](const std::string& label, const std::string& path) {
    const auto value = number(summary, path);
    if (value && *value > 0)
      rows.push_back({label, seconds_text(*value), percent_text(*value / whole)});
  };
  if (whole > 0) {
    for (const Part& part : parts_of_an_iteration()) add(part.name, part.path);
    rows.push_back({"iteration", seconds_text(whole), ""});
    for (const auto& kind : traffic_names())
      add("overlapped " + kind + " communication", "/time/overlapped_s/" + kind);
  }
  return "Time of an iteration, mean over ranks\n" + table(rows);
}

std::string speed_table(const Json& summary) {
  std::vector<Row> rows;
  const auto add = [&](const char* label, const char* path, const auto& show) {
    if (const auto value = number(summary, path)) rows.push_back({label, show(*value)});
  };
  add("MFU", "/utilization/mfu", percent_text);
  add("HFU", "/utilization/hfu", percent_text);
  if (rows.empty()) return {};
  add("tokens per second", "/throughput/tokens_per_s", plain_text);
  add("samples per second", "/throughput/samples_per_s", plain_text);
  add("model TFLOP/s per GPU", "/throughput/model_tflops_per_gpu", plain_text);
  if (const auto needed = number(summary, "/memory/per_gpu_max_bytes"))
    rows.push_back({"memory of the fullest GPU",
                    bytes_text(*needed) + " of " +
                        bytes_text(number_or_zero(summary, "/memory/capacity_bytes"))});
  return "\nGPUs\n" + table(rows);
}

std::string network_table(const Json& summary) {
  const Json& network = summary.at("network");
  std::vector<Row> rows;
  std::string flows = count_text(number_or_zero(network, "/flows"));
  if (const double more = number_or_zero(network, "/flows_stood_for"); more > 0)
    flows += fmt::format(" (and {} stood for)", count_text(more));
  rows.push_back({"flows", flows});
  rows.push_back({"bytes", bytes_text(number_or_zero(network, "/bytes"))});
  const auto spread = [&](const char* label, const std::string& path, const auto& show) {
    if (!number(network, path + "/mean")) return;
    std::vector<std::string> values;
    for (const char* field : {"/mean", "/p50", "/p99", "/max"})
      values.push_back(show(number_or_zero(network, path + field)));
    rows.push_back({label, fmt::format("{}", fmt::join(values, " / "))});
  };
  spread("completion, mean / p50 / p99 / max", "/fct_s", seconds_text);
  spread("slowdown, mean / p50 / p99 / max", "/slowdown", factor_text);
  std::string result = "\nFlows\n" + table(rows, 2);

  const auto share = [](const std::optional<double>& value) {
    return value ? percent_text(*value) : std::string("-");
  };
  rows = {{"tier", "links", "used", "bytes", "mean use", "busiest", "max/mean", "full"}};
  for (const Json& tier : network.at("tiers")) {
    const auto full = number(tier, "/links_saturated"), balance = number(tier, "/load_balance");
    rows.push_back({text(tier, "/tier"), count_text(number_or_zero(tier, "/links")),
                    count_text(number_or_zero(tier, "/links_used")),
                    bytes_text(number_or_zero(tier, "/bytes")),
                    share(number(tier, "/mean_utilization")),
                    share(number(tier, "/max_utilization")), balance ? plain_text(*balance) : "-",
                    full ? count_text(*full) : "-"});
  }
  if (rows.size() > 1) result += "\nTiers of links\n" + table(rows);

  rows = {{"link", "tier", "bytes", "mean use", "peak use", "time full", "flows at once"}};
  for (const Json& link : network.at("top_links")) {
    const auto full = number(link, "/saturated_s");
    rows.push_back(
        {text(link, "/link"), text(link, "/tier"), bytes_text(number_or_zero(link, "/bytes")),
         share(number(link, "/mean_utilization")), share(number(link, "/peak_utilization")),
         full ? seconds_text(*full) : "-", count_text(number_or_zero(link, "/peak_flows"))});
  }
  if (rows.size() > 1) result += "\nBusiest links\n" + table(rows, 2);
  return result;
}

std::string collectives_table(const Json& summary) {
  const Json& collectives = summary.at("collectives");
  std::vector<Row> rows{{"collective", "ranks", "size", "times", "mean", "algbw", "busbw", "mode"}};
  std::vector<const Json*> order;
  for (const Json& c : collectives) order.push_back(&c);
  std::stable_sort(order.begin(), order.end(), [](const Json* a, const Json* b) {
    return number_or_zero(*a, "/total_s") > number_or_zero(*b, "/total_s");
  });
  for (const Json* shape : order) {
    if (rows.size() > kCollectivesShown) break;
    const Json& c = *shape;
    const auto rate = [&](const char* path) {
      const auto value = number(c, path);
      return value ? rate_text(*value) : std::string("-");
    };
    rows.push_back(
        {fmt::format("{} {} {}", text(c, "/group"), text(c, "/algorithm"), text(c, "/operation")),
         count_text(number_or_zero(c, "/ranks")), bytes_text(number_or_zero(c, "/size_bytes")),
         count_text(number_or_zero(c, "/count")), seconds_text(number_or_zero(c, "/mean_s")),
         rate("/algbw_bps"), rate("/busbw_bps"), text(c, "/mode")});
  }
  if (rows.size() == 1) return {};
  std::string result = "\nCollectives\n" + table(rows);
  if (collectives.size() > kCollectivesShown)
    result +=
        fmt::format("  and {} more in collectives.csv\n", collectives.size() - kCollectivesShown);
  return result;
}

}  // namespace

std::string run_report(const Json& summary) {
  std::string result = wrapped(
      fmt::format("{}: {} on {} ({}, {}), routing {}, network model {}", text(summary, "/scenario"),
                  counted(number_or_zero(summary, "/fabric/gpus"), "GPU", "GPUs"),
                  text(summary, "/fabric/kind"),
                  counted(number_or_zero(summary, "/fabric/switches"), "switch", "switches"),
                  counted(number_or_zero(summary, "/fabric/cables"), "cable", "cables"),
                  text(summary, "/routing"), text(summary, "/network_model")));
  result += '\n';
  for (const std::string& sentence : headline(summary)) result += wrapped(sentence);
  result += '\n';
  return result + time_table(summary) + speed_table(summary) + network_table(summary) +
         collectives_table(summary);
}

// ---- several runs ------------------------------------------------------------------------------

Json compare(const std::vector<NamedSummary>& runs) {
  check(!runs.empty(), "a comparison needs a run");
  const auto [winner, slowest, spread] = ranked(runs);
  Json json;
  json["schema"] = "weft/compare/1";
  json["scenario"] = text(runs[0].summary, "/scenario");
  json["winner"] = runs[winner].name;
  json["slowest"] = runs[slowest].name;
  json["spread"] = spread;
  json["fabrics_differ"] = spread > kMatters;
  json["network_matters"] = spread > kMatters || communication_is_exposed(runs);
  const auto part = largest_difference(runs[slowest].summary, runs[winner].summary);
  json["largest_difference"] = nullptr;
  if (part) {
    const double slow = number_or_zero(runs[slowest].summary, part->path);
    const double fast = number_or_zero(runs[winner].summary, part->path);
    json["largest_difference"] = {{"part", part->name}, {"winner_s", fast}, {"slowest_s", slow}};
  }
  json["sentences"] = compare_sentences(runs);
  json["fabrics"] = Json::array();
  for (const NamedSummary& run : runs) {
    const Json& summary = run.summary;
    const auto copy = [&](const char* path) {
      const Pointer pointer(path);
      return summary.contains(pointer) ? summary.at(pointer) : Json(nullptr);
    };
    const double best = iteration_time(runs[winner]);
    const bool timed = number(summary, "/time/compute_s").has_value();
    Json& entry = json["fabrics"].emplace_back(Json::object());
    entry["name"] = run.name;
    entry["kind"] = copy("/fabric/kind");
    entry["routing"] = copy("/routing");
    entry["iteration_time_s"] = copy("/iteration_time_s");
    entry["ratio_to_winner"] = best > 0 ? Json(iteration_time(run) / best) : Json(nullptr);
    entry["compute_s"] = copy("/time/compute_s");
    entry["bubble_s"] = copy("/time/bubble_s");
    entry["exposed_s"] = timed ? Json(exposed_total(summary)) : Json(nullptr);
    entry["exposed_fabric_s"] = copy("/time/exposed_fabric_s");
    entry["idle_s"] = copy("/time/idle_s");
    entry["mfu"] = copy("/utilization/mfu");
    entry["tokens_per_s"] = copy("/throughput/tokens_per_s");
    entry["slowdown"] = copy("/network/slowdown");
    entry["fct_s"] = copy("/network/fct_s");
    entry["max_utilization"] = copy("/network/max_utilization");
    entry["bottleneck"] = copy("/network/bottleneck");
    entry["switches"] = copy("/fabric/switches");
    entry["cables"] = copy("/fabric/cables");
    entry["bisection_bps"] = copy("/fabric/bisection_bps");
    entry["oversubscription"] = copy("/fabric/oversubscription");
  }
  return json;
}

std::string comparison_report(const std::vector<NamedSummary>& runs) {
  check(!runs.empty(), "a comparison needs a run");
  std::vector<std::string> names;
  for (const NamedSummary& run : runs) names.push_back(run.name);
  std::string result =
      wrapped(fmt::format("{}: {} on {}", text(runs[0].summary, "/scenario"),
                          counted(number_or_zero(runs[0].summary, "/fabric/gpus"), "GPU", "GPUs"),
                          listed(names))) +
      '\n';
  for (const std::string& sentence : compare_sentences(runs)) result += wrapped(sentence);

  const CompareTable rows = compare_table(runs);
  if (!rows.different.empty()) {
    // As many fabrics beside each other as fit; more of them follow below.
    const auto column = [&](std::size_t run) {
      std::size_t width = clipped(names[run], kLongestName).size();
      for (const Row& row : rows.different) width = std::max(width, row[run + 1].size());
      return width + 2;
    };
    std::size_t label = std::string_view("what differs").size();
    for (const Row& row : rows.different) label = std::max(label, row[0].size());
    for (std::size_t begin = 0, end = 0; begin < runs.size(); begin = end) {
      std::size_t width = label + 2;
      for (; end < runs.size() && (end == begin || width + column(end) <= kWidth); ++end)
        width += column(end);
      std::vector<Row> block{{"what differs"}};
      for (std::size_t i = begin; i < end; ++i) block[0].push_back(clipped(names[i], kLongestName));
      for (const Row& row : rows.different) {
        Row& some = block.emplace_back(Row{row[0]});
        for (std::size_t i = begin; i < end; ++i) some.push_back(row[i + 1]);
      }
      result += '\n' + table(block);
    }
  }
  if (!rows.equal.empty())
    result += std::string(runs.size() > 1 ? "\nThe same on all (within 0.1 %)\n" : "\n") +
              table(rows.equal);

  result += "\nBusiest link of each\n";
  std::vector<Row> links;
  for (const NamedSummary& run : runs) {
    const Json& bottleneck = run.summary.at(Pointer("/network/bottleneck"));
    const Json& top = run.summary.at(Pointer("/network/top_links"));
    if (bottleneck.is_null() && top.empty()) continue;
    const Json& link = bottleneck.is_null() ? top[0] : bottleneck;
    const auto full = number(link, "/saturated_s");
    links.push_back({run.name, link_place(link),
                     percent_text(number_or_zero(link, "/mean_utilization")) + " used",
                     full ? "full " + seconds_text(*full) : "-",
                     fmt::format("{:.0f} flows at once", number_or_zero(link, "/peak_flows"))});
  }
  return result + table(links, 2);
}

}  // namespace weft
