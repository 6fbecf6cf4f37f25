#include <fmt/format.h>

#include <algorithm>

#include "sim/check.h"
#include "sim/routing.h"
#include "sim/routing/d_mod_k.h"
#include "sim/routing/ecmp.h"
#include "sim/routing/valiant.h"

namespace weft {

const std::vector<RoutingInfo>& routing_catalog() {
  static const std::vector<RoutingInfo> table = {
      {"ecmp",
       "a shortest path by a hash of source, destination and flow at every switch; any "
       "fabric"},
      {"d_mod_k",
       "the uplink by the digits of the destination's number: no two destinations of a "
       "shift collide; trees"},
      {"minimal", "the same as ecmp, as it is called on a dragonfly: at most one global cable"},
      {"valiant", "over a random third group, to spread adversarial traffic; fabrics with groups"},
  };
  return table;
}

std::string routing_mismatch(const Topology& topology, const std::string& policy) {
  std::vector<std::string> names;
  for (const RoutingInfo& info : routing_catalog()) names.push_back(info.name);
  if (std::find(names.begin(), names.end(), policy) == names.end()) {
    const std::string close = nearest(policy, names);
    return fmt::format("there is no routing `{}`{}", policy,
                       close.empty() ? "" : fmt::format(", did you mean `{}`?", close));
  }
  if (policy == "d_mod_k" && !topology.tree) {
    return fmt::format("d_mod_k climbs a tree, and {} is none", topology.kind);
  }
  if (policy == "valiant" && topology.groups == 0) {
    return fmt::format("valiant makes a detour over a third group, and {} has no groups",
                       topology.kind);
  }
  return {};
}

std::unique_ptr<Router> make_router(const Topology& topology, const RoutingSpec& spec) {
  check(routing_mismatch(topology, spec.policy).empty(), "the routing fits the topology");
  if (spec.policy == "d_mod_k") return routing::make_d_mod_k(topology);
  if (spec.policy == "valiant") return routing::make_valiant(topology, spec.seed);
  return routing::make_ecmp(topology, spec.seed);
}

}  // namespace weft
