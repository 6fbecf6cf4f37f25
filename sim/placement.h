// Which GPU each rank runs on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "sim/config.h"
#include "sim/ids.h"

namespace weft {

/// How ranks are laid on hosts: in order, on shuffled hosts, or on the hosts listed.
struct PlacementSpec {
  enum class Kind { contiguous, random, list } kind = Kind::contiguous;
  std::vector<std::int64_t> hosts;      ///< list: host ids, each at most once
  std::uint64_t seed = 1;               ///< random
  std::optional<Section> section = {};  ///< where it was read, for errors
};

/// gpus[rank]. Ranks fill a host's GPUs before the next host's.
struct Placement {
  std::vector<GpuId> gpus;
  GpuId gpu(RankId rank) const { return gpus[at(rank)]; }
};

PlacementSpec read_placement(const Section&, const Cluster&, std::uint64_t seed);

/// Precondition: ranks <= the GPUs that the placement covers.
Placement place(const PlacementSpec&, const Cluster&, std::uint32_t ranks);

}  // namespace weft
