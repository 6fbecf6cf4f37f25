// Closed facts about a topology, computed from its graph.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/topology.h"
#include "sim/units.h"

namespace weft {

/// The switches of one label.
struct SwitchFacts {
  std::size_t switches = 0;
  std::size_t ports = 0;       ///< in use, on all of them
  std::size_t most_ports = 0;  ///< in use on the fullest
};

/// Equal-cost shortest paths between two NICs, parallel cables apart.
struct PathFacts {
  double least = 0, mean = 0, most = 0;  ///< over the pairs looked at
  bool sampled = false;                  ///< not all pairs: those of 64 evenly spaced NICs
};

/// For `weft topology` and summary.json.
struct TopologyFacts {
  std::size_t switches = 0;
  std::size_t cables = 0;
  std::vector<std::pair<std::string, std::size_t>> switches_by_label;
  std::vector<std::pair<std::string, SwitchFacts>> switch_tiers;  ///< in the same order
  std::vector<std::pair<std::string, std::size_t>> cables_by_tier;
  std::size_t most_ports = 0;     ///< ports used on the fullest switch
  int diameter_hops = 0;          ///< most cables on a shortest (fewest cables) NIC-to-NIC path
  double mean_distance_hops = 0;  ///< mean of the same over all ordered pairs with a path
  BitsPerSecond bisection;        ///< minimum cut between halves of the hosts, see bisection.h
  BitsPerSecond endpoint;         ///< what a NIC sends at most, the mean over NICs
  std::optional<double> oversubscription;  ///< the largest over the tiers; none of a free graph
  std::vector<double> oversubscription_by_tier;  ///< down : up, lowest switch tier first
  std::size_t shortest_paths = 0;  ///< equal-cost paths between the first and the last NIC
};
TopologyFacts facts_of(const Topology&);

/// How many equal-cost paths routing has to choose from. Apart from facts_of, since a run does not
/// need it.
PathFacts path_diversity(const Topology&);

}  // namespace weft
