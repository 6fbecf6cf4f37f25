#include "sim/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kTopLinks = 10;
constexpr double kTolerance = 1e-9;

/// A utilisation that exceeds 1 by rounding alone is 1.
double rounded_to_one(double utilization) {
  return utilization > 1 && utilization <= 1 + kTolerance ? 1 : utilization;
}

SpreadMetrics spread_of(const Distribution& values) {
  return {values.mean(), values.quantile(0.50), values.quantile(0.99), values.max()};
}

/// Number of the NVLink domain of a rank: a host, or the hosts that share an NVSwitch.
std::uint32_t domain_of(const Network& network, const Placement& placement, std::uint32_t rank) {
  return network.cluster().domain_of(placement.gpu(RankId{rank}));
}

/// True when each group of ranks along `axes` sits in one host or NVLink domain.
bool within_hosts(const Network& network, const Workload& workload, const Placement& placement,
                  AxisMask axes) {
  for (std::uint32_t rank = 0; rank < workload.grid.ranks(); ++rank)
    if (domain_of(network, placement, rank) !=
        domain_of(network, placement, workload.grid.base(rank, axes)))
      return false;
  return true;
}

/// Which traffic of the programs crosses the fabric.
std::array<bool, kTraffics> traffic_on_fabric(const Network& network, const Workload& workload,
                                              const Placement& placement) {
  std::array<bool, kTraffics> found{};
  for (const Communicator& communicator : workload.communicators)
    if (!within_hosts(network, workload, placement, communicator.axes))
      found[static_cast<std::size_t>(communicator.traffic)] = true;
  std::set<std::pair<int, int>> seen;  // axis, distance
  for (const Program& program : workload.programs) {
    for (const Op& op : program.ops) {
      if (op.kind != Op::Kind::send || !seen.insert({op.axis, op.delta}).second) continue;
      auto& crosses = found[static_cast<std::size_t>(workload.streams[op.stream].traffic)];
      for (std::uint32_t rank = 0; rank < workload.grid.ranks() && !crosses; ++rank)
        crosses = domain_of(network, placement, rank) !=
                  domain_of(network, placement, workload.grid.shifted(rank, op.axis, op.delta));
    }
  }
  return found;
}

/// Lock-step lanes make all workers equally many ranks, so a mean over workers is one over ranks.
TimeMetrics time_of(const Timeline& timeline, const std::array<bool, kTraffics>& on_fabric) {
  TimeMetrics time;
  const double share = 1 / (static_cast<double>(timeline.workers.size()) *
                            static_cast<double>(timeline.iteration_end.size()));
  for (const Account& account : timeline.workers) {
    time.compute_s += account.compute;
    time.bubble_s += account.bubble;
    time.idle_s += account.idle;
    for (std::size_t kind = 0; kind < kTraffics; ++kind) {
      time.exposed_s[kind] += account.exposed[kind];
      time.overlapped_s[kind] += account.overlapped[kind];
    }
  }
  for (double* sum : {&time.compute_s, &time.bubble_s, &time.idle_s}) *sum *= share;
  for (std::size_t kind = 0; kind < kTraffics; ++kind) {
    time.exposed_s[kind] *= share;
    time.overlapped_s[kind] *= share;
    if (on_fabric[kind]) time.exposed_fabric_s += time.exposed_s[kind];
  }
  return time;
}

/// Tiers in the order of the topology, the hosts' own links last.
std::vector<TierMetrics> tiers_of(const Network& network, const Timeline& timeline) {
  std::vector<TierMetrics> tiers;
  std::map<std::string, std::size_t> numbers;
  for (std::size_t index = 0; index < timeline.links.size(); ++index) {
    const LinkId id{static_cast<std::uint32_t>(index)};
    const auto [place, is_new] = numbers.emplace(network.tier(id), tiers.size());
    if (is_new) {
      tiers.emplace_back().tier = place->first;
      tiers.back().peak_utilization = 0;
      tiers.back().links_saturated = 0;
    }
    TierMetrics& tier = tiers[place->second];
    const LinkUse& use = timeline.links[index];
    const double rate = bytes_per_second(network.links()[index].capacity);
    const double mean = timeline.end > 0 ? use.bytes / (rate * timeline.end) : 0;
    ++tier.links;
    tier.bytes += use.bytes;
    tier.mean_utilization += mean;
    if (use.bytes > 0) ++tier.links_used;
    if (mean > tier.max_utilization) {
      tier.max_utilization = mean;
      tier.busiest_link = network.name(id);
    }
    if (use.rates_known && tier.peak_utilization) {
      tier.peak_utilization = std::max(*tier.peak_utilization, use.peak_utilization);
      tier.links_saturated = *tier.links_saturated + (use.saturated_s > 0 ? 1 : 0);
    } else {
      tier.peak_utilization.reset();
      tier.links_saturated.reset();
    }
  }
  for (TierMetrics& tier : tiers) {
    tier.mean_utilization /= static_cast<double>(tier.links);
    if (tier.mean_utilization > 0) tier.load_balance = tier.max_utilization / tier.mean_utilization;
    tier.mean_utilization = rounded_to_one(tier.mean_utilization);
    tier.max_utilization = rounded_to_one(tier.max_utilization);
    if (tier.peak_utilization) tier.peak_utilization = rounded_to_one(*tier.peak_utilization);
  }
  return tiers;
}

void measure_links(const Network& network, const Timeline& timeline, Metrics& metrics) {
  struct Candidate {
    std::uint32_t index;
    double missed, saturated, mean;
  };
  std::vector<Candidate> used;
  double worst = 0;
  std::optional<std::uint32_t> bottleneck;
  for (std::uint32_t index = 0; index < timeline.links.size(); ++index) {
    const LinkUse& use = timeline.links[index];
    if (use.bytes <= 0) continue;
    const double rate = bytes_per_second(network.links()[index].capacity);
    const double mean = timeline.end > 0 ? use.bytes / (rate * timeline.end) : 0;
    metrics.max_utilization = std::max(metrics.max_utilization, rounded_to_one(mean));
    // Of k flows on a full link each misses 1 - 1/k of what it could have.
    const double missed = use.rates_known      ? use.contended_s
                          : use.peak_flows < 2 ? 0
                                               : mean * timeline.end * (1 - 1.0 / use.peak_flows);
    used.push_back({index, missed, use.rates_known ? use.saturated_s : 0, mean});
    if (missed > worst) {
      worst = missed;
      bottleneck = index;
    }
  }
  metrics.links = timeline.links.size();
  metrics.links_used = used.size();
  const auto count = std::min(kTopLinks, used.size());
  std::partial_sort(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(count), used.end(),
                    [](const Candidate& a, const Candidate& b) {
                      if (a.missed != b.missed) return a.missed > b.missed;
                      if (a.saturated != b.saturated) return a.saturated > b.saturated;
                      if (a.mean != b.mean) return a.mean > b.mean;
                      return a.index < b.index;
                    });
  for (std::size_t i = 0; i < count; ++i)
    metrics.top_links.push_back(measure_link(network, timeline, LinkId{used[i].index}));
  if (bottleneck) metrics.bottleneck = measure_link(network, timeline, LinkId{*bottleneck});
}

std::vector<CollectiveMetrics> collectives_of(const Network& network, const Workload& workload,
                                              const Placement& placement,
                                              const Timeline& timeline) {
  std::vector<bool> inside;
  for (const Communicator& communicator : workload.communicators)
    inside.push_back(within_hosts(network, workload, placement, communicator.axes));
  std::vector<CollectiveMetrics> collectives;
  for (const CollectiveStats& stats : timeline.collectives) {
    CollectiveMetrics& c = collectives.emplace_back();
    c.operation = to_text(stats.operation);
    c.group = workload.communicators[stats.communicator].name;
    c.algorithm = workload.algorithms[stats.algorithm]->name();
    c.mode = stats.mode;
    c.ranks = stats.ranks;
    c.size = stats.size;
    c.count = stats.count;
    c.flows = stats.flows;
    c.total_s = stats.total_s;
    c.within_hosts = inside[stats.communicator];
    if (stats.count > 0) c.mean_s = stats.total_s / static_cast<double>(stats.count);
    if (c.mean_s > 0) {
      c.algbw_bps = bits_per_second(static_cast<double>(stats.size.value) / c.mean_s).value;
      c.busbw_bps = *c.algbw_bps * bus_factor(stats.operation, stats.ranks);
    }
  }
  return collectives;
}

// ---- JSON --------------------------------------------------------------------------------------

Json maybe(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

/// Amounts of bytes are whole in every output.
Json whole(double value) {
  if (!std::isfinite(value) || value < 0) return value;
  return static_cast<std::uint64_t>(std::llround(value));
}

Json by_traffic(const std::array<double, kTraffics>* values) {
  Json json = Json::object();
  for (std::size_t kind = 0; kind < kTraffics; ++kind)
    json[to_text(static_cast<Traffic>(kind))] = values ? Json((*values)[kind]) : Json(nullptr);
  return json;
}

Json to_json(const LinkMetrics& link) {
  return {{"link", link.link},
          {"tier", link.tier},
          {"bytes", whole(link.bytes)},
          {"mean_utilization", link.mean_utilization},
          {"peak_utilization", maybe(link.peak_utilization)},
          {"saturated_s", maybe(link.saturated_s)},
          {"contended_s", maybe(link.contended_s)},
          {"peak_flows", link.peak_flows},
          {"capacity_bps", link.capacity_bps}};
}

Json to_json(const TierMetrics& tier) {
  return {{"tier", tier.tier},
          {"links", tier.links},
          {"links_used", tier.links_used},
          {"links_saturated", tier.links_saturated ? Json(*tier.links_saturated) : Json(nullptr)},
          {"bytes", whole(tier.bytes)},
          {"mean_utilization", tier.mean_utilization},
          {"max_utilization", tier.max_utilization},
          {"peak_utilization", maybe(tier.peak_utilization)},
          {"load_balance", maybe(tier.load_balance)},
          {"busiest_link", tier.busiest_link.empty() ? Json(nullptr) : Json(tier.busiest_link)}};
}

Json to_json(const CollectiveMetrics& c) {
  return {{"operation", c.operation},
          {"group", c.group},
          {"algorithm", c.algorithm},
          {"ranks", c.ranks},
          {"size_bytes", c.size.value},
          {"count", c.count},
          {"mean_s", c.mean_s},
          {"algbw_bps", maybe(c.algbw_bps)},
          {"busbw_bps", maybe(c.busbw_bps)},
          {"total_s", c.total_s},
          {"mode", c.mode},
          {"flows", c.flows},
          {"within_hosts", c.within_hosts}};
}

Json time_json(const std::optional<TimeMetrics>& time) {
  const auto value = [&](double TimeMetrics::*field) {
    return time ? Json((*time).*field) : Json(nullptr);
  };
  return {{"compute_s", value(&TimeMetrics::compute_s)},
          {"bubble_s", value(&TimeMetrics::bubble_s)},
          {"exposed_s", by_traffic(time ? &time->exposed_s : nullptr)},
          {"idle_s", value(&TimeMetrics::idle_s)},
          {"exposed_fabric_s", value(&TimeMetrics::exposed_fabric_s)},
          {"overlapped_s", by_traffic(time ? &time->overlapped_s : nullptr)}};
}

Json spread_json(const std::optional<SpreadMetrics>& spread) {
  const auto value = [&](double SpreadMetrics::*field) {
    return spread ? Json((*spread).*field) : Json(nullptr);
  };
  return {{"mean", value(&SpreadMetrics::mean)},
          {"p50", value(&SpreadMetrics::p50)},
          {"p99", value(&SpreadMetrics::p99)},
          {"max", value(&SpreadMetrics::max)}};
}

// ---- laws --------------------------------------------------------------------------------------

/// Appends the path of each number in `json` that is NaN or infinite.
void find_not_finite(const Json& json, const std::string& path, std::vector<std::string>& broken) {
  if (json.is_number_float()) {
    if (!std::isfinite(json.get<double>())) broken.push_back(path + " is not finite");
  } else if (json.is_structured()) {
    for (const auto& [key, value] : json.items()) find_not_finite(value, path + "/" + key, broken);
  }
}

/// What the ports of a communicator's ranks can carry at best, for algorithms that keep all data at
/// the ranks. Remembers what it worked out: many collectives share a communicator.
class PortBound {
 public:
  PortBound(const Network& network, const Workload& workload, const Placement& placement)
      : cluster_(network.cluster()), workload_(workload), placement_(placement) {
    const Topology& topology = network.topology();
    for (const VertexId nic : topology.nics) {
      double rate = 0;
      const auto edges = boost::out_edges(at(nic), topology.graph);
      for (auto edge = edges.first; edge != edges.second; ++edge)
        rate += bytes_per_second(topology.graph[*edge].capacity);
      nic_rates_.push_back(rate);
    }
  }

  /// Seconds that a collective takes at least, on the group that could be the fastest; 0 where no
  /// bound is known. Each rank sends busbw's share of the buffer, less what rounding chunks to
  /// bytes may take away.
  double least_time(const CollectiveStats& stats) {
    const std::string algorithm = workload_.algorithms[stats.algorithm]->name();
    if (stats.ranks < 2 || (algorithm != "ring" && algorithm != "direct")) return 0;
    const double rounding = algorithm == "ring" ? 2 : 2.0 * stats.ranks;
    const double sent =
        static_cast<double>(stats.size.value) * bus_factor(stats.operation, stats.ranks) - rounding;
    return std::max(0.0, sent) * seconds_per_byte(stats.communicator, algorithm == "ring");
  }

 private:
  std::uint32_t domain(std::uint32_t rank) const {
    return cluster_.domain_of(placement_.gpu(RankId{rank}));
  }

  double seconds_per_byte(std::uint16_t communicator, bool ring) {
    const auto [known, is_new] = known_.emplace(std::pair{communicator, ring}, kInfinity);
    if (!is_new) return known->second;
    for (const auto& group : workload_.grid.groups(workload_.communicators[communicator].axes))
      known->second = std::min(known->second, ring ? ring_time(group) : direct_time(group));
    return known->second;
  }

  /// Seconds per byte that each rank passes to the next.
  double ring_time(const std::vector<std::uint32_t>& group) const {
    double slowest = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const bool leaves = domain(group[i]) != domain(group[(i + 1) % group.size()]);
      slowest = std::max(slowest, 1 / (leaves ? nic_rate(group[i]) : nvlink()));
    }
    return slowest;
  }

  /// Seconds per byte that each rank spreads evenly over the others.
  double direct_time(const std::vector<std::uint32_t>& group) const {
    std::map<std::uint32_t, std::size_t> in_domain;
    for (const std::uint32_t rank : group) ++in_domain[domain(rank)];
    double slowest = 0;
    for (const std::uint32_t rank : group) {
      const auto inside = static_cast<double>(in_domain[domain(rank)] - 1);
      const auto others = static_cast<double>(group.size() - 1);
      if (inside < others) slowest = std::max(slowest, (1 - inside / others) / nic_rate(rank));
      if (inside > 0) slowest = std::max(slowest, inside / others / nvlink());
    }
    return slowest;
  }

  double nvlink() const { return bytes_per_second(cluster_.host.nvlink.rate); }
  double nic_rate(std::uint32_t rank) const {
    return nic_rates_[at(cluster_.nic_of(placement_.gpu(RankId{rank})))];
  }

  const Cluster& cluster_;
  const Workload& workload_;
  const Placement& placement_;
  std::vector<double> nic_rates_;  ///< [NicId] bytes/s
  std::map<std::pair<std::uint16_t, bool>, double> known_;
};

void check_links(const Network& network, const Timeline& timeline,
                 std::vector<std::string>& broken) {
  double carried = 0;
  for (std::size_t index = 0; index < timeline.links.size(); ++index) {
    const LinkUse& use = timeline.links[index];
    const auto name = [&] { return network.name(LinkId{static_cast<std::uint32_t>(index)}); };
    carried += use.bytes;
    const double most = bytes_per_second(network.links()[index].capacity) * timeline.end;
    if (!(use.bytes >= 0) || use.bytes > most * (1 + kTolerance) + 1)
      broken.push_back(fmt::format("link {} carried {} bytes, at most {} fit into {} s", name(),
                                   use.bytes, most, timeline.end));
    if (!use.rates_known) continue;
    if (!(use.peak_utilization >= 0 && use.peak_utilization <= 1 + kTolerance))
      broken.push_back(
          fmt::format("link {} was loaded to {} of its capacity", name(), use.peak_utilization));
    if (!(use.saturated_s >= 0 && use.saturated_s <= timeline.end * (1 + kTolerance)))
      broken.push_back(
          fmt::format("link {} was full for {} s of {} s", name(), use.saturated_s, timeline.end));
  }
  if (!(std::abs(carried - timeline.link_bytes) <= timeline.link_bytes * kTolerance + 1))
    broken.push_back(fmt::format("links carried {} bytes, but flow bytes x hops are {}", carried,
                                 timeline.link_bytes));
}

void check_accounts(const Timeline& timeline, std::vector<std::string>& broken) {
  const double whole_time = timeline.iteration_end.empty() ? 0 : timeline.iteration_end.back();
  for (std::size_t worker = 0; worker < timeline.workers.size(); ++worker) {
    const Account& a = timeline.workers[worker];
    const double exposed = std::accumulate(a.exposed.begin(), a.exposed.end(), 0.0);
    const double sum = a.compute + exposed + a.bubble + a.idle;
    if (!(std::abs(sum - whole_time) <= whole_time * kTolerance))
      broken.push_back(
          fmt::format("worker {}: compute {} + exposed {} + bubble {} + idle {} = {} "
                      "s, but its iterations took {} s",
                      worker, a.compute, exposed, a.bubble, a.idle, sum, whole_time));
    const double slack = -whole_time * kTolerance;
    bool negative = a.compute < slack || a.bubble < slack || a.idle < slack;
    for (std::size_t kind = 0; kind < kTraffics; ++kind)
      negative = negative || a.exposed[kind] < slack || a.overlapped[kind] < slack;
    if (negative) broken.push_back(fmt::format("worker {} has a negative share of time", worker));
  }
  double before = 0;
  for (const double end : timeline.iteration_end) {
    if (!(end >= before)) broken.push_back("an iteration ends before it begins");
    before = end;
  }
}

}  // namespace

LinkMetrics measure_link(const Network& network, const Timeline& timeline, LinkId id) {
  const LinkUse& use = timeline.links[at(id)];
  const BitsPerSecond capacity = network.links()[at(id)].capacity;
  LinkMetrics link;
  link.link = network.name(id);
  link.tier = network.tier(id);
  link.capacity_bps = capacity.value;
  link.bytes = use.bytes;
  if (timeline.end > 0)
    link.mean_utilization = rounded_to_one(use.bytes / (bytes_per_second(capacity) * timeline.end));
  if (use.rates_known) {
    link.peak_utilization = rounded_to_one(use.peak_utilization);
    link.saturated_s = use.saturated_s;
    link.contended_s = use.contended_s;
  }
  link.peak_flows = use.peak_flows;
  return link;
}

std::size_t program_of(const Workload& workload, std::uint32_t first_rank) {
  return workload.role_axis < 0
             ? 0
             : static_cast<std::size_t>(workload.grid.coordinate(first_rank, workload.role_axis));
}

Metrics measure(const Scenario& scenario, const Network& network, const TopologyFacts& facts,
                const Workload& workload, const Placement& placement, const Timeline& timeline) {
  Metrics m;
  m.scenario = scenario.name;
  m.seed = scenario.seed;
  m.workload_kind = workload.kind;
  m.fabric_kind = scenario.fabric_kind;
  m.routing = scenario.routing.policy;
  m.network_model = scenario.engine.network;
  m.ranks = timeline.workers.empty() ? 0 : workload.grid.ranks();
  m.hosts = network.cluster().hosts;
  m.gpus = network.cluster().gpus();
  m.facts = facts;

  for (std::size_t i = 0; i < timeline.iteration_end.size(); ++i)
    m.iterations.push_back(timeline.iteration_time(i));
  if (!m.iterations.empty())
    m.iteration_time_s = timeline.iteration_end.back() / static_cast<double>(m.iterations.size());
  const double t = m.iteration_time_s;

  if (!timeline.workers.empty() && !m.iterations.empty()) {
    m.time = time_of(timeline, traffic_on_fabric(network, workload, placement));
    if (t > 0) m.compute_busy = rounded_to_one(m.time->compute_s / t);
  }
  const ComputeFacts& compute = workload.compute;
  const double speed = network.cluster().host.gpu.peak.value * m.ranks;
  if (t > 0 && speed > 0 && compute.model.value > 0) {
    m.mfu = compute.model.value / (speed * t);
    m.hfu = compute.hardware.value / (speed * t);
    m.model_tflops_per_gpu = compute.model.value / (m.ranks * t) / 1e12;
  }
  if (t > 0 && compute.tokens > 0) m.tokens_per_s = static_cast<double>(compute.tokens) / t;
  if (t > 0 && compute.samples > 0) m.samples_per_s = static_cast<double>(compute.samples) / t;

  m.flows = timeline.flows;
  m.flows_stood_for = timeline.flows_stood_for;
  m.bytes = timeline.flow_bytes;
  if (timeline.fct.count() > 0) m.fct_s = spread_of(timeline.fct);
  if (timeline.slowdown.count() > 0) m.slowdown = spread_of(timeline.slowdown);
  measure_links(network, timeline, m);
  m.tiers = tiers_of(network, timeline);
  m.collectives = collectives_of(network, workload, placement, timeline);

  if (workload.memory.total() > Bytes(0)) m.per_gpu_max = workload.memory.total();
  m.fullest_stage = workload.memory.stage;
  m.gpu_memory = network.cluster().host.gpu.memory;
  return m;
}

Json to_json(const Metrics& m) {
  Json json;
  json["schema"] = "weft/summary/1";
  json["scenario"] = m.scenario;
  json["seed"] = m.seed;
  json["workload"] = {{"kind", m.workload_kind}, {"ranks", m.ranks}};
  json["routing"] = m.routing;
  json["network_model"] = m.network_model;
  json["iteration_time_s"] = m.iteration_time_s;
  json["iterations"] = m.iterations;
  json["time"] = time_json(m.time);
  json["utilization"] = {
      {"mfu", maybe(m.mfu)}, {"hfu", maybe(m.hfu)}, {"compute_busy", maybe(m.compute_busy)}};
  json["throughput"] = {{"tokens_per_s", maybe(m.tokens_per_s)},
                        {"samples_per_s", maybe(m.samples_per_s)},
                        {"model_tflops_per_gpu", maybe(m.model_tflops_per_gpu)}};
  json["fabric"] = {{"kind", m.fabric_kind},
                    {"hosts", m.hosts},
                    {"gpus", m.gpus},
                    {"switches", m.facts.switches},
                    {"cables", m.facts.cables},
                    {"diameter_hops", m.facts.diameter_hops},
                    {"bisection_bps", m.facts.bisection.value},
                    {"oversubscription", maybe(m.facts.oversubscription)}};
  Json& network = json["network"];
  network["flows"] = m.flows;
  network["flows_stood_for"] = m.flows_stood_for;
  network["bytes"] = whole(m.bytes);
  network["fct_s"] = spread_json(m.fct_s);
  network["slowdown"] = spread_json(m.slowdown);
  network["links"] = m.links;
  network["links_used"] = m.links_used;
  network["max_utilization"] = m.max_utilization;
  network["bottleneck"] = m.bottleneck ? to_json(*m.bottleneck) : Json(nullptr);
  network["top_links"] = Json::array();
  for (const LinkMetrics& link : m.top_links) network["top_links"].push_back(to_json(link));
  network["tiers"] = Json::array();
  for (const TierMetrics& tier : m.tiers) network["tiers"].push_back(to_json(tier));
  json["collectives"] = Json::array();
  for (const CollectiveMetrics& c : m.collectives) json["collectives"].push_back(to_json(c));
  json["memory"] = {
      {"per_gpu_max_bytes", m.per_gpu_max ? Json(m.per_gpu_max->value) : Json(nullptr)},
      {"capacity_bytes", m.gpu_memory.value},
      {"fits", m.per_gpu_max ? Json(*m.per_gpu_max <= m.gpu_memory) : Json(nullptr)},
      {"fullest_stage", m.per_gpu_max ? Json(m.fullest_stage) : Json(nullptr)}};
  return json;
}

std::vector<std::string> broken_invariants(const Network& network, const Workload& workload,
                                           const Placement& placement, const Timeline& timeline,
                                           const Metrics& metrics) {
  std::vector<std::string> broken;
  check_links(network, timeline, broken);
  check_accounts(timeline, broken);

  PortBound ports(network, workload, placement);
  for (std::size_t i = 0; i < timeline.collectives.size(); ++i) {
    const CollectiveStats& stats = timeline.collectives[i];
    const double least = ports.least_time(stats) * static_cast<double>(stats.count);
    if (!(stats.total_s >= least * (1 - kTolerance)))
      broken.push_back(fmt::format(
          "{} {} of {} bytes over {} ranks: busbw {} bits/s is more than their ports carry; {} of "
          "them took {} s, at least {} s are needed",
          metrics.collectives[i].group, metrics.collectives[i].operation, stats.size.value,
          stats.ranks, metrics.collectives[i].busbw_bps.value_or(kInfinity), stats.count,
          stats.total_s, least));
  }
  for (const auto& [name, value] : {std::pair{"mfu", metrics.mfu},
                                    {"hfu", metrics.hfu},
                                    {"compute_busy", metrics.compute_busy}})
    if (value && !(*value >= 0 && *value <= 1 + kTolerance))
      broken.push_back(fmt::format("{} is {}, not within 0 and 1", name, *value));
  find_not_finite(to_json(metrics), "", broken);
  return broken;
}

}  // namespace weft
