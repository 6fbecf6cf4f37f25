// In-memory worlds: a cluster on a fabric, and a workload run on it, without any YAML.
#pragma once

#include <memory>
#include <utility>

#include "sim/engine.h"
#include "sim/network.h"
#include "sim/placement.h"
#include "sim/routing.h"
#include "topologies/single_switch.h"

namespace weft::test {

/// Hosts of one GPU and one NIC, all rates alike, no latency in the NIC.
inline Cluster plain_cluster(int hosts, BitsPerSecond rate) {
  Cluster cluster;
  cluster.hosts = hosts;
  cluster.host.nic = {rate, Seconds(0)};
  cluster.host.nvlink = {rate, Seconds(0)};
  cluster.host.nic_of_gpu = {0};
  cluster.host.gpu.peak = FlopsPerSecond(1e15);
  cluster.host.gpu.memory = Bytes(80'000'000'000);
  cluster.host.gpu.memory_rate = BitsPerSecond(1e15);
  return cluster;
}

/// The same with `gpus` GPUs and NICs a host.
inline Cluster plain_cluster(int hosts, int gpus, BitsPerSecond nic, BitsPerSecond nvlink) {
  Cluster cluster = plain_cluster(hosts, nic);
  cluster.host.gpus = cluster.host.nics = gpus;
  cluster.host.nvlink.rate = nvlink;
  cluster.host.nic_of_gpu.clear();
  for (int i = 0; i < gpus; ++i) cluster.host.nic_of_gpu.push_back(i);
  return cluster;
}

/// A cluster on a fabric, ready to simulate once.
class World {
 public:
  template <class FabricType>
  World(Cluster cluster, const FabricType& fabric, RoutingSpec routing = {"ecmp", 1})
      : cluster_(std::make_unique<Cluster>(std::move(cluster))),
        topology_(std::make_unique<Topology>(fabric.build(*cluster_))),
        router_(make_router(*topology_, routing)),
        network_(std::make_unique<Network>(*cluster_, *topology_, *router_)) {}

  const Network& network() const { return *network_; }
  const Topology& topology() const { return *topology_; }
  const Cluster& cluster() const { return *cluster_; }

  Timeline run(const Workload& workload, const SimulationOptions& options = {}) const {
    Placement placement;
    if (!workload.pinned.empty())
      placement.gpus = workload.pinned;
    else
      placement = place({}, *cluster_, workload.programs.empty() ? 0 : workload.grid.ranks());
    return simulate(*network_, workload, placement, options);
  }
  Timeline run(const WorkloadSpec& spec, const SimulationOptions& options = {}) const {
    const Workload workload = spec.build(*cluster_);
    return run(workload, options);
  }

 private:
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<Router> router_;
  std::unique_ptr<Network> network_;
};

/// `hosts` single-GPU hosts at `rate` on one switch whose cables have half of `latency` each, so
/// that a message from GPU to GPU takes `latency` + size / rate.
inline World star(int hosts, BitsPerSecond rate, Seconds latency) {
  return World(plain_cluster(hosts, rate), SingleSwitch{{rate, latency / 2}});
}

}  // namespace weft::test
