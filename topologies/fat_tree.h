// Folded Clos networks of two or three tiers, from a switch's radix or tier by tier.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/topology.h"
#include "topologies/link.h"

namespace weft {

/// How many switches a fat-tree has and how they are wired: pure arithmetic. A subtree of tier t
/// is a switch column of that tier with all below it (tier 2 of 3: a pod); endpoint e hangs from
/// leaf e / endpoints_per_leaf.
struct FatTreeShape {
  struct Tier {
    std::uint32_t subtrees = 1;  ///< of this tier in the whole tree; 1 at the top
    std::uint32_t switches = 1;  ///< per subtree
    std::uint32_t children = 1;  ///< subtrees of the tier below in each (the last may have fewer)
    std::uint32_t parents = 0;   ///< switches of the tier above that each switch is wired to
    std::uint32_t uplinks = 0;   ///< cables of each switch to all its parents, dealt in turn
  };
  std::uint32_t endpoints_per_leaf = 1;
  std::vector<Tier> tiers;  ///< [0] are the leaves
};

/// Switch a of subtree s is wired to the switches a * parents .. (a + 1) * parents - 1 of the
/// subtree above. From `radix` it is built compactly: subtrees are of equal size and as few as
/// hold the hosts, and where they leave ports of the tier above empty there are fewer switches
/// with parallel cables, so full bisection is kept.
struct FatTree {
  static constexpr std::string_view kPicture = R"(
   core0 core1      core2 core3        tier 3: `radix` ports down
     |  \  /  \      /  \  /  |
   agg0  agg1 ...  agg2  agg3          tier 2: half the ports down, half up
     |  X  |         |  X  |
   leaf0 leaf1     leaf2 leaf3         tier 1: down : up = oversubscription
   / \   / \       / \   / \
  NIC 0 1 2 3  ...  (contiguous: NIC e on leaf e / ports down)      leaf0, leaf1, agg0, agg1: a pod
)";

  int radix = 0;  ///< ports of every switch
  int tiers = 0;  ///< 1 to 3; 0: 2, or 3 where the hosts do not fit 2
  /// Down : up capacity of a switch, per tier from the leaf; tiers left out have 1. The top tier
  /// has no uplinks.
  std::vector<double> oversubscription = {1};
  /// The general form, taken literally, in place of the three above. Per tier from the leaf:
  /// endpoints or subtrees below a switch; per tier but the last: switches above it and cables to
  /// each (1 where left out).
  std::vector<std::int64_t> down = {}, up = {}, cables = {};
  PortSpec link = {};  ///< NIC to leaf, and between switches where `uplink` is not set
  std::optional<PortSpec> uplink = {};  ///< between switches
  Place place = {};

  static FatTree read(const Section&, const Cluster&);
  Topology build(const Cluster&) const;

  /// The shape for so many endpoints. Throws ConfigError where they do not fit.
  FatTreeShape shape(std::uint64_t endpoints) const;
};

}  // namespace weft
