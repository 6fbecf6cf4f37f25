#include <fmt/format.h>

#include <algorithm>

#include "sim/report.h"
#include "sim/report/sentences.h"
#include "sim/report/text.h"

namespace weft {

using namespace report;

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

}  // namespace weft
