// What a flow sees: the links of the fabric and of the hosts, and the path between two GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "sim/ids.h"
#include "sim/routing.h"
#include "sim/topology.h"

namespace weft {

/// Capacity and latency of one directed link, for the network models.
struct LinkSpec {
  BitsPerSecond capacity;
  Seconds latency;
};

/// Link ids: first the fabric's (as in Topology), then two for each GPU: its port towards the
/// NVSwitch, then from it (none where hosts have one GPU). const after construction but for the
/// router's caches.
class Network {
 public:
  Network(const Cluster&, const Topology&, Router&);

  /// Replaces `path` by the links from one GPU to another and returns their summed latency.
  /// Precondition: source != destination, and reaches(source, destination).
  Seconds path(GpuId source, GpuId destination, std::uint64_t flow_key,
               std::vector<LinkId>& path) const;

  /// Whether there is a path: in a rail-only fabric NICs of different rails have none.
  bool reaches(GpuId source, GpuId destination) const;

  const std::vector<LinkSpec>& links() const { return links_; }
  LinkId nvlink_out(GpuId gpu) const {
    return LinkId{first_nvlink_ + 2 * static_cast<std::uint32_t>(gpu)};
  }
  LinkId nvlink_in(GpuId gpu) const {
    return LinkId{first_nvlink_ + 2 * static_cast<std::uint32_t>(gpu) + 1};
  }
  bool is_nvlink(LinkId id) const { return at(id) >= first_nvlink_; }
  std::string name(LinkId) const;
  const std::string& tier(LinkId) const;  ///< "nvlink" or the topology's tier name
  const Cluster& cluster() const { return cluster_; }
  const Topology& topology() const { return topology_; }

 private:
  const Cluster& cluster_;
  const Topology& topology_;
  Router& router_;
  std::vector<LinkSpec> links_;
  std::uint32_t first_nvlink_ = 0;
};

}  // namespace weft
