// What a run amounts to: every number of summary.json, and the laws that they must obey.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/network.h"
#include "sim/placement.h"
#include "sim/scenario.h"
#include "sim/timeline.h"
#include "sim/topology_facts.h"
#include "sim/workload.h"

namespace weft {

/// A directed link. Means are over the whole run; values that the network model does not know are
/// absent.
struct LinkMetrics {
  std::string link, tier;
  double capacity_bps = 0;
  double bytes = 0;
  double mean_utilization = 0;  ///< bytes x 8 / (capacity x run time)
  std::optional<double> peak_utilization, saturated_s, contended_s;
  std::uint32_t peak_flows = 0;
};

/// The use of one link.
LinkMetrics measure_link(const Network&, const Timeline&, LinkId id);

/// All links of one tier, used or not.
struct TierMetrics {
  std::string tier;
  std::uint64_t links = 0, links_used = 0;
  double bytes = 0;
  double mean_utilization = 0;  ///< mean over the tier's links
  double max_utilization = 0;   ///< the busiest link's mean over time
  std::optional<double> peak_utilization;
  std::optional<std::uint64_t> links_saturated;  ///< with the load at the capacity at some instant
  std::optional<double> load_balance;            ///< max / mean over the links; absent when unused
  std::string busiest_link;                      ///< empty when unused
};

/// Collectives of one shape.
struct CollectiveMetrics {
  std::string operation, group, algorithm, mode;
  int ranks = 0;
  Bytes size;
  std::uint64_t count = 0, flows = 0;
  double total_s = 0, mean_s = 0;
  std::optional<double> algbw_bps, busbw_bps;  ///< absent where mean_s is 0
  bool within_hosts = false;                   ///< each communicator fits into one host
};

/// Where the time of an iteration goes: means over iterations and ranks.
struct TimeMetrics {
  double compute_s = 0, bubble_s = 0, idle_s = 0;
  std::array<double, kTraffics> exposed_s{}, overlapped_s{};
  double exposed_fabric_s = 0;  ///< the part of exposed_s in traffic that leaves hosts
};

/// The quantiles of a distribution that summary.json holds.
struct SpreadMetrics {
  double mean = 0, p50 = 0, p99 = 0, max = 0;
};

/// Everything in summary.json. Absent values are null there: what a workload does not have (a
/// model's FLOPs, say) or a network model does not know.
struct Metrics {
  std::string scenario, workload_kind, fabric_kind, routing, network_model;
  std::uint64_t seed = 0;
  std::uint32_t ranks = 0;  ///< of the job, one GPU each
  double iteration_time_s = 0;
  std::vector<double> iterations;
  std::optional<TimeMetrics> time;               ///< absent without workers
  std::optional<double> mfu, hfu, compute_busy;  ///< 0 to 1
  std::optional<double> tokens_per_s, samples_per_s, model_tflops_per_gpu;
  int hosts = 0, gpus = 0;  ///< of the cluster
  TopologyFacts facts;
  std::uint64_t flows = 0, flows_stood_for = 0;
  double bytes = 0;
  std::optional<SpreadMetrics> fct_s, slowdown;  ///< absent where nothing was sent
  std::uint64_t links = 0, links_used = 0;
  double max_utilization = 0;
  std::optional<LinkMetrics> bottleneck;  ///< the link that flows shared at its capacity longest
  std::vector<LinkMetrics> top_links;
  std::vector<TierMetrics> tiers;
  std::vector<CollectiveMetrics> collectives;
  std::optional<Bytes> per_gpu_max;
  int fullest_stage = 0;
  Bytes gpu_memory;
};

/// Measures a run. Pure; formulas stand in docs/outputs.md.
Metrics measure(const Scenario&, const Network&, const TopologyFacts&, const Workload&,
                const Placement&, const Timeline&);

/// summary.json. The same metrics give the same bytes.
nlohmann::ordered_json to_json(const Metrics&);

/// One text for each law that the run breaks, none when all is well:
/// bytes on links = flow bytes x hops; no link above its capacity; compute + exposed + bubble +
/// idle = iteration time on each worker (all to 1e-9); busbw of rings and direct exchanges <= what
/// their ranks' ports can carry; utilisation within [0, 1]; no NaN and no infinity.
std::vector<std::string> broken_invariants(const Network&, const Workload&, const Placement&,
                                           const Timeline&, const Metrics&);

/// Index into Workload::programs of a worker's program. Precondition: the workload has programs.
std::size_t program_of(const Workload&, std::uint32_t first_rank);

}  // namespace weft
