// Flows on fabrics, with answers by hand: who shares what, and how long that takes.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/fork.h"
#include "tests/support/world.h"
#include "topologies/dragonfly.h"
#include "topologies/fat_tree.h"
#include "topologies/graph.h"
#include "workloads/collective.h"
#include "workloads/collectives/ring.h"
#include "workloads/flows.h"

namespace weft {
namespace {

using namespace literals;
using test::World;
using workloads::Flows;

constexpr double kExact = 1e-9;

/// Every GPU i sends `count` flows of `size` to GPU i + by.
Flows shift(int gpus, int by, Bytes size, int count = 1) {
  Flows spec;
  for (int gpu = 0; gpu < gpus; ++gpu)
    for (int i = 0; i < count; ++i)
      spec.flows.push_back({GpuId{static_cast<std::uint32_t>(gpu)},
                            GpuId{static_cast<std::uint32_t>((gpu + by) % gpus)}, size,
                            Seconds(0)});
  return spec;
}

//     host0 ======== host1      one cable of 100 Gb/s and 1 us
World two_hosts() {
  GraphFabric fabric;
  fabric.links = {{"host0", "host1", {100_Gbps, 1_us}, 1, {}}};
  return World(test::plain_cluster(2, 100_Gbps), fabric);
}

TEST(OneCable, CarriesAGigabyteIn80001Microseconds) {
  Flows spec;
  spec.flows = {{GpuId{0}, GpuId{1}, 1_GB, Seconds(0)}};
  EXPECT_NEAR(two_hosts().run(spec).end, 0.080001, 0.080001 * kExact);
}

TEST(OneCable, IsFullDuplex) {
  EXPECT_NEAR(two_hosts().run(shift(2, 1, 1_GB)).end, 0.080001, 0.080001 * kExact);
}

TEST(ParallelCables, AddUp) {
  // Two switches with four cables between them; eight hosts a side at the cables' rate.
  GraphFabric fabric;
  for (int host = 0; host < 16; ++host)
    fabric.links.push_back(
        {"host" + std::to_string(host), host < 8 ? "left" : "right", {100_Gbps, 0_s}, 1, {}});
  fabric.links.push_back({"left", "right", {100_Gbps, 0_s}, 4, {}});
  Flows spec;
  for (std::uint32_t host = 0; host < 8; ++host)
    for (int i = 0; i < 200; ++i)
      spec.flows.push_back({GpuId{host}, GpuId{host + 8}, 1_MB, Seconds(0)});
  const Timeline timeline = World(test::plain_cluster(16, 100_Gbps), fabric).run(spec);
  // 1600 MB over 4 x 12.5 GB/s take 32 ms where the hash is even; it nearly is for 1600 flows.
  EXPECT_GT(timeline.end, 0.032 * (1 - kExact));
  EXPECT_LT(timeline.end, 0.032 * 1.15);
}

// Nine groups of four routers, two endpoints and two global links each: 8 hosts a group share the
// one cable to the next group.
World dragonfly(const std::string& policy) {
  Dragonfly fabric;
  fabric.groups = 9;
  fabric.routers_per_group = 4;
  fabric.endpoints_per_router = 2;
  fabric.global_links_per_router = 2;
  fabric.link = {100_Gbps, Seconds(0)};
  return World(test::plain_cluster(72, 100_Gbps), fabric, {policy, 1});
}

TEST(DragonflyNeighbourGroups, GetAnEighthOfTheRateByMinimalRouting) {
  const Timeline timeline = dragonfly("minimal").run(shift(72, 8, 125_MB));
  EXPECT_NEAR(timeline.end, 8 * 0.010, 0.080 * kExact);
}

TEST(DragonflyNeighbourGroups, GetTowardsHalfOfTheRateByValiantRouting) {
  const Timeline timeline = dragonfly("valiant").run(shift(72, 8, Bytes(125'000'000 / 100), 100));
  // Each global cable carries twice the traffic of uniform load: half the rate, less the unevenness
  // of random choice.
  EXPECT_GT(timeline.end, 2 * 0.010);
  EXPECT_LT(timeline.fct.mean(), 3 * 0.010);
  EXPECT_LT(timeline.end, 4.5 * 0.010);
}

TEST(OversubscribedLeaves, GiveEachHostItsShare) {
  // Leaves of 12 hosts with 4 uplinks (3:1), every host sends to the next leaf; d-mod-k spreads the
  // 12 destinations of a leaf evenly over the 4 uplinks.
  FatTree fabric;
  fabric.radix = 16;
  fabric.tiers = 2;
  fabric.oversubscription = {3};
  fabric.link = {100_Gbps, Seconds(0)};
  const World world(test::plain_cluster(48, 100_Gbps), fabric, {"d_mod_k", 1});
  EXPECT_NEAR(world.run(shift(48, 12, 125_MB)).end, 3 * 0.010, 0.030 * kExact);
}

TEST(Rates, TimesKWithoutLatencyGiveTimesOverK) {
  const auto end = [](BitsPerSecond rate) {
    FatTree fabric;
    fabric.radix = 8;
    fabric.tiers = 3;
    fabric.link = {rate, Seconds(0)};
    return test::in_child([&] {
      const World world(test::plain_cluster(128, rate), fabric);
      return std::vector<double>{world.run(shift(128, 37, 10_MB, 3)).end};
    })[0];
  };
  const double slow = end(100_Gbps);
  EXPECT_NEAR(end(700_Gbps), slow / 7, slow * kExact);
}

/// Seconds of a ring all-reduce of 100 MB in groups of every second host, on leaves of 32 hosts
/// with `uplinks` of 400 Gb/s each.
double interleaved_rings(int groups, std::int64_t uplinks, CollectiveMode mode) {
  FatTree fabric;
  fabric.down = {32, 4};
  fabric.up = {uplinks};
  fabric.link = {400_Gbps, 600_ns};
  workloads::Collective spec;
  spec.algorithm = std::make_shared<workloads::Ring>();
  spec.size = 100_MB;
  spec.group_size = 128 / groups;
  spec.layout = workloads::Collective::Layout::interleaved;
  return test::in_child([&] {
    SimulationOptions options;
    options.collectives = mode;
    const World world(test::plain_cluster(128, 400_Gbps), fabric);
    return std::vector<double>{world.run(spec, options).iteration_end.back()};
  })[0];
}

TEST(CoupledRings, TakeTheTimeOfTheirStepsWhereNothingElseUsesTheirLinks) {
  const double steps = interleaved_rings(1, 32, CollectiveMode::steps);
  EXPECT_NEAR(interleaved_rings(1, 32, CollectiveMode::coupled), steps, steps * 1e-3);
}

TEST(CoupledRings, ThatShareOversubscribedUplinksAreWithinTwoPercentOfTheirSteps) {
  const double steps = interleaved_rings(2, 8, CollectiveMode::steps);
  EXPECT_NEAR(interleaved_rings(2, 8, CollectiveMode::coupled), steps, steps * 0.02);
}

}  // namespace
}  // namespace weft
