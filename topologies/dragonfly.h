// Groups of fully wired routers, the groups fully wired with long cables.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/topology.h"
#include "topologies/link.h"

namespace weft {

/// A cable between two groups. Ports 0 .. routers * global links - 1 of a group are dealt to its
/// routers in order: port q is on router q / global_links_per_router.
struct GlobalCable {
  std::uint32_t group_a, port_a;
  std::uint32_t group_b, port_b;
};

/// Global cables for `groups` groups of `ports` global ports: whole rounds in which each group has
/// one cable to each other (port d - 1 of a round goes to the d-th next group), then one cable more
/// to some. Every pair has floor or ceil(ports / (groups - 1)) cables; a port stays empty only
/// where ports and groups are both odd in the last, partial round (in the last group). Pure
/// arithmetic. Precondition: groups <= ports + 1.
std::vector<GlobalCable> global_cables(std::uint32_t groups, std::uint32_t ports);

/// Kim, Dally, Scott, Abts: Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008.
/// Balanced where routers_per_group = 2 x endpoints_per_router = 2 x global_links_per_router.
/// Global cables weigh 3 and local ones 1, so a shortest path (at most local, global, local = 5)
/// has never two global cables (6).
struct Dragonfly {
  static constexpr std::string_view kPicture = R"(
        group 0                        group 1
   +---------------+   global    +---------------+
   |  router0.0 ---|-------------|--- router1.0  |    in a group each router is wired to each
   |   |  \  / |   |             |     |  \  / |  |    other (local); each pair of groups has
   |   |   \/  |...|             |  ...|   \/  |  |    at least one global cable
   |   |   /\  |   |             |     |   /\  |  |
   |  router0.1 ---|--- group 2  |    router1.1  |    endpoint e is on router
   |   | | | |     |             |     | | | |   |    e / endpoints_per_router
   |     NICs      |             |      NICs     |
   +---------------+             +---------------+
)";

  int groups = 0;  ///< 0: the fewest that hold the hosts
  int routers_per_group = 0;
  int endpoints_per_router = 0;
  int global_links_per_router = 0;
  PortSpec link = {};                   ///< NIC to router, and the others where not set
  std::optional<PortSpec> local = {};   ///< between the routers of a group
  std::optional<PortSpec> global = {};  ///< between groups
  Place place = {};

  /// Throws ConfigError where no number of groups holds the hosts.
  int fewest_groups(const Cluster&) const;
  static Dragonfly read(const Section&, const Cluster&);
  Topology build(const Cluster&) const;
};

}  // namespace weft
