#include "sim/report/sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/report.h"

namespace weft {

namespace report {

using Pointer = Json::json_pointer;

constexpr double kContended = 1.05;  // mean slowdown from which congestion is named

std::string link_place(const Json& link) {
  return fmt::format("{} (tier {})", text(link, "/link"), text(link, "/tier"));
}

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

bool trains(const Json& summary) { return number_or_zero(summary, "/time/compute_s") > 0; }

std::vector<Part> parts_of_an_iteration() {
  std::vector<Part> parts{{"compute", "/time/compute_s"}};
  for (const auto& kind : traffic_names())
    parts.push_back({"exposed " + kind + " communication", "/time/exposed_s/" + kind});
  parts.push_back({"pipeline bubble", "/time/bubble_s"});
  parts.push_back({"idle", "/time/idle_s"});
  return parts;
}

}  // namespace report

using namespace report;
using Pointer = Json::json_pointer;

namespace {

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

}  // namespace

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

}  // namespace weft
