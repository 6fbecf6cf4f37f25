#include "sim/network.h"

#include <fmt/format.h>

#include "sim/check.h"

namespace weft {

Network::Network(const Cluster& cluster, const Topology& topology, Router& router)
    : cluster_(cluster), topology_(topology), router_(router) {
  check(topology.nics.size() == static_cast<std::size_t>(cluster.nics()),
        "the topology was built for this cluster");
  first_nvlink_ = static_cast<std::uint32_t>(topology.links.size());
  const bool nvlink = cluster.has_nvlink();
  const auto gpus = static_cast<std::size_t>(cluster.gpus());
  links_.reserve(topology.links.size() + (nvlink ? 2 * gpus : 0));
  for (const Link& link : topology.links) links_.push_back({link.capacity, link.latency});
  if (!nvlink) return;
  const PortSpec& port = cluster.host.nvlink;
  for (std::size_t i = 0; i < gpus; ++i) {
    links_.push_back({port.rate, port.latency});  // the latency counts once, on the way out
    links_.push_back({port.rate, Seconds(0)});
  }
}

Seconds Network::path(GpuId source, GpuId destination, std::uint64_t flow_key,
                      std::vector<LinkId>& path) const {
  check(source != destination, "a path joins two GPUs");
  path.clear();
  if (cluster_.domain_of(source) == cluster_.domain_of(destination)) {
    path.push_back(nvlink_out(source));
    path.push_back(nvlink_in(destination));
  } else {
    router_.route(cluster_.nic_of(source), cluster_.nic_of(destination), flow_key, path);
  }
  Seconds latency;
  for (const LinkId id : path) latency += links_[at(id)].latency;
  return latency;
}

bool Network::reaches(GpuId source, GpuId destination) const {
  if (cluster_.domain_of(source) == cluster_.domain_of(destination)) return true;
  return topology_.connected(cluster_.nic_of(source), cluster_.nic_of(destination));
}

std::string Network::name(LinkId id) const {
  if (!is_nvlink(id)) return topology_.name(id);
  const std::size_t index = at(id) - first_nvlink_;
  const auto per_host = static_cast<std::size_t>(cluster_.host.gpus);
  const std::size_t host = index / 2 / per_host;
  const std::size_t gpu = index / 2 % per_host;
  const auto hosts = static_cast<std::size_t>(cluster_.host.nvlink_domain);
  const std::string hub = hosts > 1 ? fmt::format("domain{}.nvswitch", host / hosts)
                                    : fmt::format("host{}.nvswitch", host);
  return index % 2 == 0 ? fmt::format("host{}.gpu{}->{}", host, gpu, hub)
                        : fmt::format("{}->host{}.gpu{}", hub, host, gpu);
}

const std::string& Network::tier(LinkId id) const {
  static const std::string nvlink = "nvlink";
  return is_nvlink(id) ? nvlink : topology_.link_tiers[topology_.links[at(id)].tier];
}

}  // namespace weft
