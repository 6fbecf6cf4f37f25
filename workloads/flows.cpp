#include "workloads/flows.h"

#include <algorithm>

namespace weft::workloads {
namespace {

Bytes read_size(const Section& flow) {
  return flow.size({.name = "size", .help = "bytes of each flow", .example = "1 GB"}, Bytes(0));
}

/// `pairs` flows are alike; `before` have been read.
std::int64_t read_count(const Section& flow, std::size_t pairs, std::size_t before) {
  constexpr std::size_t kMostFlows = 10'000'000;
  const auto count = flow.integer({.name = "count",
                                   .help = "equal flows per pair, each on a path of its own",
                                   .initial = "1",
                                   .source = "one flow"},
                                  1, 1'000'000);
  if (static_cast<std::size_t>(count) * pairs + before > kMostFlows)
    flow.fail("count", "the scenario would have more than 10 million flows",
              "use fewer, larger ones");
  return count;
}

}  // namespace

std::shared_ptr<const WorkloadSpec> Flows::read(const Section& section, const Cluster& cluster) {
  auto spec = std::make_shared<Flows>();
  if (section.has("shift") || section.describing()) {
    const Section shift = section.section("shift", "every GPU i sends to GPU i + by");
    const auto by = shift.integer(
        {.name = "by", .help = "distance from source to destination, in GPUs", .example = "1"}, 1,
        std::max(1, cluster.gpus() - 1));
    const Bytes size = read_size(shift);
    const auto count = read_count(shift, static_cast<std::size_t>(cluster.gpus()), 0);
    const auto gpus = static_cast<std::uint32_t>(cluster.gpus());
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
      for (std::int64_t i = 0; i < count; ++i)
        spec->flows.push_back(
            {GpuId{gpu}, GpuId{(gpu + static_cast<std::uint32_t>(by)) % gpus}, size, Seconds(0)});
    if (gpus < 2) section.fail("shift", "a cluster of one GPU has nobody to send to");
    if (!section.has("flows") && !section.describing()) return spec;
  }
  if (!section.has("flows"))
    section.fail("flows", "required, but missing",
                 "for example `flows: [{source: 0, destination: 1, size: 1 GB}]`, or "
                 "`shift: {by: 1, size: 1 GB}`");
  for (const Section& flow : section.sections("flows", "the flows, in any order")) {
    const auto gpu = [&](std::string_view name, std::string_view help, std::string_view example) {
      return GpuId{static_cast<std::uint32_t>(
          flow.integer({.name = name, .help = help, .example = example}, 0, cluster.gpus() - 1))};
    };
    TimedFlow timed;
    timed.source = gpu("source", "GPU that sends", "0");
    timed.destination = gpu("destination", "GPU that receives", "1");
    timed.size = read_size(flow);
    timed.start = flow.time({.name = "start",
                             .help = "when the flow starts",
                             .initial = "0 s",
                             .source = "the beginning"});
    const auto count = read_count(flow, 1, spec->flows.size());
    if (timed.source == timed.destination && !flow.describing())
      flow.fail("destination", "the flow ends where it starts",
                "source and destination are GPU numbers and must differ");
    for (std::int64_t i = 0; i < count; ++i) spec->flows.push_back(timed);
  }
  return spec;
}

Workload Flows::build(const Cluster&) const {
  Workload workload;
  workload.kind = "flows";
  workload.flows = flows;
  return workload;
}

}  // namespace weft::workloads
