// From a pair of NICs to the links of one path, chosen anew for each flow.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/config.h"
#include "sim/ids.h"
#include "sim/topology.h"

namespace weft {

/// How paths are chosen.
struct RoutingSpec {
  std::string policy;                   ///< ecmp, d_mod_k, minimal, valiant
  std::uint64_t seed = 1;               ///< of the hash
  std::optional<Section> section = {};  ///< where the policy was read, for errors
};

/// Chooses paths. Deterministic: the same (source, destination, key) always gets the same path.
class Router {
 public:
  virtual ~Router() = default;
  /// Appends the links from one NIC to another to `path`. Not for several threads at once: what is
  /// known of a destination is computed when first asked for. `flow_key` is what ECMP hashes beside
  /// the two NICs (a queue pair's number, say). Precondition: source != destination.
  virtual void route(NicId source, NicId destination, std::uint64_t flow_key,
                     std::vector<LinkId>& path) = 0;
};

/// The policies there are, with one line each on what they do and on which fabrics.
struct RoutingInfo {
  std::string name, help;
};
const std::vector<RoutingInfo>& routing_catalog();

/// Empty when the policy works on the topology, else why it does not.
std::string routing_mismatch(const Topology&, const std::string& policy);

/// Precondition: routing_mismatch(...) is empty. The topology must outlive the router.
std::unique_ptr<Router> make_router(const Topology&, const RoutingSpec&);

}  // namespace weft
