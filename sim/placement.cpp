#include "sim/placement.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "sim/check.h"
#include "sim/random.h"

namespace weft {

PlacementSpec read_placement(const Section& section, const Cluster& cluster, std::uint64_t seed) {
  PlacementSpec spec;
  spec.seed = seed;
  spec.section = section;
  if (section.is_sequence("hosts")) {
    spec.kind = PlacementSpec::Kind::list;
    spec.hosts = section.integers({.name = "hosts",
                                   .help = "host ids in the order in which ranks fill them",
                                   .example = "[0, 1]"},
                                  0, cluster.hosts - 1);
    std::set<std::int64_t> seen;
    for (const auto host : spec.hosts)
      if (!seen.insert(host).second)
        section.fail("hosts", "host " + std::to_string(host) + " is listed twice",
                     "each host takes ranks once");
    return spec;
  }
  const auto kind = section.choice({.name = "hosts",
                                    .help = "how ranks fill hosts: in order, on hosts shuffled by "
                                            "the seed, or a list of host ids",
                                    .initial = "contiguous",
                                    .source = "schedulers place a job on neighbouring hosts"},
                                   {"contiguous", "random"});
  spec.kind = kind == "random" ? PlacementSpec::Kind::random : PlacementSpec::Kind::contiguous;
  return spec;
}

Placement place(const PlacementSpec& spec, const Cluster& cluster, std::uint32_t ranks) {
  std::vector<std::int64_t> hosts(static_cast<std::size_t>(cluster.hosts));
  std::iota(hosts.begin(), hosts.end(), 0);
  if (spec.kind == PlacementSpec::Kind::list) hosts = spec.hosts;
  if (spec.kind == PlacementSpec::Kind::random) {
    Random random(mix(spec.seed, 0x706c616365));  // a stream of its own
    for (std::size_t i = hosts.size(); i > 1; --i)
      std::swap(hosts[i - 1], hosts[random.below(static_cast<std::uint32_t>(i))]);
  }
  const auto per_host = static_cast<std::uint32_t>(cluster.host.gpus);
  check(ranks <= hosts.size() * per_host, "more ranks than GPUs in the placement");
  Placement placement;
  placement.gpus.reserve(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    placement.gpus.push_back(
        GpuId{static_cast<std::uint32_t>(hosts[rank / per_host]) * per_host + rank % per_host});
  return placement;
}

}  // namespace weft
