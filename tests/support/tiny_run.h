// A run made up by hand: small enough for every number about it to be worked out on paper.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/metrics.h"
#include "sim/network.h"
#include "sim/placement.h"
#include "sim/routing.h"
#include "sim/scenario.h"
#include "sim/timeline.h"
#include "sim/topology.h"
#include "sim/workload.h"

namespace weft::test {

/// Goes by the cables of the two NICs: right on a single switch.
class StarRouter : public Router {
 public:
  void route(NicId source, NicId destination, std::uint64_t, std::vector<LinkId>& path) override {
    path.push_back(LinkId{2 * static_cast<std::uint32_t>(source)});
    path.push_back(LinkId{2 * static_cast<std::uint32_t>(destination) + 1});
  }
};

/// An algorithm that has a name and nothing else: no collective runs here.
class NamedAlgorithm : public CollectiveAlgorithm {
 public:
  explicit NamedAlgorithm(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  bool supports(Operation) const override { return true; }
  int steps(Operation, int) const override { return 1; }
  void sends(Operation, Bytes, int, int, int, std::vector<Send>&) const override {}
  int receives(Operation, int, int, int) const override { return 0; }
  bool fixed_peer() const override { return true; }

 private:
  std::string name_;
};

/// Two hosts of two GPUs (peak 1 PFLOP/s, 80 GB; NVLink 800 Gb/s; a NIC of 100 Gb/s each) on one
/// switch:
///
///     GPU 0 = NIC 0 --\              /-- NIC 2 = GPU 2
///                       [ switch 0 ]
///     GPU 1 = NIC 1 --/              \-- NIC 3 = GPU 3
///
/// TP 2 within the hosts, PP 2 across: worker 0 (ranks 0, 1) sends an activation to worker 1 (ranks
/// 2, 3). Two iterations of 1 s and 2 s. Link 2 of the 16 carries 6.25 GB of its 37.5 GB.
struct TinyRun {
  Cluster cluster = make_cluster();
  Topology topology = make_topology(cluster);
  StarRouter router;
  Network network{cluster, topology, router};
  TopologyFacts facts = make_facts();
  Scenario scenario = make_scenario(cluster);
  Workload workload = make_workload();
  Placement placement{{GpuId{0}, GpuId{1}, GpuId{2}, GpuId{3}}};
  Timeline timeline = make_timeline(network.links().size());

  Metrics metrics() const {
    return measure(scenario, network, facts, workload, placement, timeline);
  }

  static Cluster make_cluster() {
    Cluster cluster;
    cluster.hosts = 2;
    cluster.host.gpus = cluster.host.nics = 2;
    cluster.host.gpu.name = "tiny";
    cluster.host.gpu.peak = FlopsPerSecond(1e15);
    cluster.host.gpu.memory = Bytes(80'000'000'000);
    cluster.host.nvlink = {BitsPerSecond(800e9), Seconds(1e-6)};
    cluster.host.nic = {BitsPerSecond(100e9), Seconds(1e-6)};
    cluster.host.nic_of_gpu = {0, 1};
    return cluster;
  }

  static Topology make_topology(const Cluster& cluster) {
    TopologyBuilder builder("single_switch", cluster);
    const VertexId hub = builder.add_switch("switch", 1, 0);
    for (std::uint32_t nic = 0; nic < 4; ++nic)
      builder.attach(NicId{nic}, hub, {BitsPerSecond(100e9), Seconds(0)});
    return builder.finish();
  }

  static TopologyFacts make_facts() {
    TopologyFacts facts;
    facts.switches = 1;
    facts.cables = 4;
    facts.diameter_hops = 2;
    facts.bisection = BitsPerSecond(200e9);
    facts.oversubscription = 1;
    return facts;
  }

  static Scenario make_scenario(const Cluster& cluster) {
    Scenario scenario;
    scenario.name = "tiny";
    scenario.seed = 7;
    scenario.cluster = cluster;
    scenario.fabric_kind = "single_switch";
    scenario.routing.policy = "ecmp";
    scenario.resolved = "name: tiny\n";
    return scenario;
  }

  static Workload make_workload() {
    Workload w;
    w.kind = "training";
    w.grid = Grid({{"tp", 2}, {"pp", 2}});
    w.lanes = 1;
    w.iterations = 2;
    w.streams = {{"compute", Traffic::tensor, true},
                 {"pipeline", Traffic::pipeline, false},
                 {"all", Traffic::data, false}};
    w.inboxes = 1;
    w.communicators = {{"tensor", Traffic::tensor, 1}, {"all", Traffic::data, 3}};
    w.algorithms = {std::make_shared<NamedAlgorithm>("ring"),
                    std::make_shared<NamedAlgorithm>("direct")};
    w.names = {"forward", "activations", "gradient all-reduce"};
    ProgramBuilder builder(w.streams.size());
    const CollectiveCall inner{Operation::all_reduce, 0, 0, Bytes(100'000'000)};
    const auto block =
        builder.block(0, 0, 3, {{Seconds(0.1), builder.call(inner)}}, 2, {});         // op 0
    builder.send(1, 1, 3, 1, 1, 0, Bytes(1'000'000), {ProgramBuilder::done(block)});  // op 1
    builder.collective(2, 2, {Operation::all_reduce, 1, 0, Bytes(200'000'000)}, {});  // op 2
    w.programs = {builder.take()};
    w.pipelined = true;
    w.compute = {Flops(3e15), Flops(4.5e15), 12'000, 6};
    w.memory = {Bytes(10), Bytes(20), Bytes(30), Bytes(40), 1};
    return w;
  }

  static Timeline make_timeline(std::size_t links) {
    Timeline t;
    t.iteration_end = {1, 3};
    t.end = 3;
    t.first_rank = {0, 2};
    t.lanes = {0, 1};
    Account first, second;
    first.compute = 1.5;
    first.bubble = 0.9;
    first.idle = 0.1;
    first.exposed = {0.3, 0.2, 0, 0, 0, 0};
    first.overlapped = {0, 0, 0.8, 0, 0, 0};
    second.compute = 2.1;
    second.bubble = 0.5;
    second.idle = 0.1;
    second.exposed = {0.3, 0, 0, 0, 0, 0};
    t.workers = {first, second};
    t.links.resize(links);
    t.links[2] = {6.25e9, 0.3, 1, 2, true, 0.15};
    t.links[5] = {6.25e9, 0.2, 0.5, 1, true};
    t.flows = 10;
    t.flows_stood_for = 32;
    t.flow_bytes = 6.25e9;
    t.link_bytes = 12.5e9;
    t.fct.add(0.1, 9);
    t.fct.add(0.3);
    t.slowdown.add(1, 9);
    t.slowdown.add(3);
    CollectiveStats stats;
    stats.operation = Operation::all_reduce;
    stats.ranks = 2;
    stats.size = Bytes(100'000'000);
    stats.count = 8;
    stats.total_s = 8e-3;  // 100 MB x 2(n-1)/n at 100 GB/s
    stats.mode = "closed form";
    stats.flows = 32;
    t.collectives = {stats};
    return t;
  }
};

}  // namespace weft::test
