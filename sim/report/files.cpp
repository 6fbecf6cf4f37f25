#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <optional>

#include "sim/output_file.h"
#include "sim/report.h"
#include "sim/report/text.h"

namespace weft {

using namespace report;

namespace {

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

}  // namespace

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

}  // namespace weft
