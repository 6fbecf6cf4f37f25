// Every fabric over many sizes, small and odd ones too: counts against closed forms, and what must
// hold of any fabric and any path.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/random.h"
#include "sim/routing.h"
#include "sim/topology.h"
#include "sim/topology_facts.h"
#include "topologies/dragonfly.h"
#include "topologies/fat_tree.h"
#include "topologies/single_switch.h"

namespace weft {
namespace {

using namespace literals;

const PortSpec kLink{400_Gbps, 600_ns};

Cluster cluster_of(int hosts, int nics = 1) {
  Cluster cluster;
  cluster.hosts = hosts;
  cluster.host.nics = nics;
  cluster.host.nic = {400_Gbps, 1_us};
  return cluster;
}

std::size_t count_of(const std::vector<std::pair<std::string, std::size_t>>& counts,
                     const std::string& name) {
  for (const auto& [key, count] : counts) {
    if (key == name) return count;
  }
  return 0;
}

/// What holds of every fabric: link ids, both ways of a cable, names, NICs with one cable.
void check_topology(const Topology& t, std::size_t nics) {
  ASSERT_EQ(t.nics.size(), nics);
  ASSERT_EQ(t.links.size(), t.ends.size());
  ASSERT_EQ(num_edges(t.graph), t.links.size());
  std::set<std::string> names;
  for (std::size_t i = 0; i < t.links.size(); ++i) {
    EXPECT_EQ(at(t.links[i].id), i);
    EXPECT_EQ(t.ends[i].first, t.ends[i ^ 1].second);
    EXPECT_EQ(t.links[i].capacity, t.links[i ^ 1].capacity);
    EXPECT_EQ(t.links[i].tier, t.links[i ^ 1].tier);
    if (t.links.size() < 3000) {
      EXPECT_TRUE(names.insert(t.name(LinkId{static_cast<std::uint32_t>(i)})).second);
    }
  }
}

/// A path joins its ends link by link, over switches alone and over none of them twice.
void check_path(const Topology& t, NicId from, NicId to, const std::vector<LinkId>& path) {
  ASSERT_FALSE(path.empty());
  EXPECT_EQ(t.ends[at(path.front())].first, t.nics[at(from)]);
  EXPECT_EQ(t.ends[at(path.back())].second, t.nics[at(to)]);
  std::set<VertexId> inner;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    const VertexId v = t.ends[at(path[i])].second;
    EXPECT_EQ(v, t.ends[at(path[i + 1])].first);
    EXPECT_TRUE(t.is_switch(v));
    EXPECT_TRUE(inner.insert(v).second) << "passes " << t.name(v) << " twice";
  }
}

/// Routes between all pairs, or many random ones of a large fabric, with every policy that fits.
/// All but valiant's paths must be shortest ones.
void check_routes(const Topology& t) {
  const auto n = static_cast<std::uint32_t>(t.nics.size());
  if (n < 2) return;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  const bool all = n <= 48;
  if (all) {
    for (std::uint32_t s = 0; s < n; ++s) {
      for (std::uint32_t d = 0; d < n; ++d) {
        if (s != d) pairs.emplace_back(s, d);
      }
    }
  } else {
    Random random(n);
    while (pairs.size() < 2000) {
      const std::uint32_t s = random.below(n);
      const std::uint32_t d = random.below(n);
      if (s != d) pairs.emplace_back(s, d);
    }
  }
  const auto weight = [&](const std::vector<LinkId>& path) {
    int sum = 0;
    for (const LinkId id : path) sum += t.links[at(id)].weight;
    return sum;
  };
  for (const RoutingInfo& info : routing_catalog()) {
    if (!routing_mismatch(t, info.name).empty()) continue;
    const auto router = make_router(t, {info.name, 42});
    const auto shortest = make_router(t, {"ecmp", 1});
    std::vector<LinkId> path, other;
    for (const auto& [s, d] : pairs) {
      for (std::uint64_t key = 0; key < (all ? 8u : 2u); ++key) {
        path.clear();
        other.clear();
        router->route(NicId{s}, NicId{d}, key, path);
        check_path(t, NicId{s}, NicId{d}, path);
        shortest->route(NicId{s}, NicId{d}, key, other);
        const auto global = std::count_if(path.begin(), path.end(),
                                          [&](LinkId id) { return t.links[at(id)].weight > 1; });
        if (info.name == "valiant") {
          EXPECT_LE(global, 2);
        } else {
          EXPECT_LE(global, 1);
          EXPECT_EQ(weight(path), weight(other));
        }
      }
    }
  }
}

TEST(Sweep, SingleSwitchOfAnySize) {
  for (const int hosts : {1, 2, 3, 7, 64}) {
    for (const int nics : {1, 2, 8}) {
      const Topology t = SingleSwitch{.link = kLink}.build(cluster_of(hosts, nics));
      const auto n = static_cast<std::size_t>(hosts * nics);
      check_topology(t, n);
      const TopologyFacts facts = facts_of(t);
      EXPECT_EQ(facts.switches, 1u);
      EXPECT_EQ(facts.cables, n);
      EXPECT_EQ(facts.diameter_hops, n > 1 ? 2 : 0);
      check_routes(t);
    }
  }
}

TEST(Sweep, FullFatTreesHaveTheTextbookCounts) {
  for (const int k : {2, 4, 6, 8, 10, 16}) {
    const auto r = static_cast<std::size_t>(k);
    {
      const std::size_t n = r * r / 2;
      const Topology t =
          FatTree{.radix = k, .tiers = 2, .link = kLink}.build(cluster_of(static_cast<int>(n)));
      check_topology(t, n);
      const TopologyFacts facts = facts_of(t);
      EXPECT_EQ(count_of(facts.switches_by_label, "leaf"), r);
      EXPECT_EQ(count_of(facts.switches_by_label, "spine"), r / 2);
      EXPECT_EQ(facts.cables, 2 * n);
      EXPECT_EQ(facts.most_ports, r);
      EXPECT_EQ(facts.diameter_hops, 4);
      EXPECT_EQ(facts.shortest_paths, r / 2);
      EXPECT_DOUBLE_EQ(facts.bisection.value, static_cast<double>(n / 2) * 400e9);
      check_routes(t);
    }
    {
      const std::size_t n = r * r * r / 4;
      const Topology t =
          FatTree{.radix = k, .tiers = 3, .link = kLink}.build(cluster_of(static_cast<int>(n)));
      check_topology(t, n);
      const TopologyFacts facts = facts_of(t);
      EXPECT_EQ(count_of(facts.switches_by_label, "leaf"), r * r / 2);
      EXPECT_EQ(count_of(facts.switches_by_label, "agg"), r * r / 2);
      EXPECT_EQ(count_of(facts.switches_by_label, "core"), r * r / 4);
      EXPECT_EQ(facts.cables, 3 * n);
      EXPECT_EQ(facts.most_ports, r);
      EXPECT_EQ(facts.diameter_hops, 6);
      EXPECT_EQ(facts.shortest_paths, r * r / 4);
      EXPECT_DOUBLE_EQ(facts.bisection.value, static_cast<double>(n / 2) * 400e9);
      check_routes(t);
    }
  }
}

TEST(Sweep, FatTreesOfAnyRadixAndSizeKeepToTheirPortsAndTheirBisection) {
  for (const int tiers : {1, 2, 3}) {
    for (const int radix : {2, 3, 4, 5, 7, 8, 9, 12, 16, 22, 62}) {
      const std::size_t down =
          tiers == 1 ? static_cast<std::size_t>(radix) : static_cast<std::size_t>(radix) / 2;
      std::size_t most = static_cast<std::size_t>(radix);
      for (int t = 1; t < tiers; ++t) most *= down;
      for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{3}, down, down + 1,
                                  most / 3, most / 2, most - 1, most}) {
        if (n < 1 || n > most || n > 2000) continue;
        SCOPED_TRACE("tiers " + std::to_string(tiers) + " radix " + std::to_string(radix) +
                     " endpoints " + std::to_string(n));
        const Topology t = FatTree{.radix = radix, .tiers = tiers, .link = kLink}.build(
            cluster_of(static_cast<int>(n)));
        check_topology(t, n);
        const TopologyFacts facts = facts_of(t);
        EXPECT_LE(facts.most_ports, static_cast<std::size_t>(radix));
        const std::size_t leaves = (n + down - 1) / down;
        EXPECT_EQ(count_of(facts.switches_by_label, "leaf"), leaves);
        EXPECT_LE(facts.diameter_hops, 2 * tiers);
        EXPECT_DOUBLE_EQ(facts.bisection.value, static_cast<double>(n / 2) * 400e9);
        for (const double over : t.oversubscription) EXPECT_LE(over, 1 + 1e-12);
        check_routes(t);
      }
      if (most <= 2000) {
        const FatTree tree{.radix = radix, .tiers = tiers, .link = kLink};
        EXPECT_THROW(tree.build(cluster_of(static_cast<int>(most + 1))), ConfigError);
      }
    }
  }
}

TEST(Sweep, TopSwitchesOfFatTreesAreMoreThanHalfUsed) {
  for (const int radix : {8, 12, 20, 22, 32, 36, 62, 64}) {
    const std::size_t down = static_cast<std::size_t>(radix) / 2;
    for (std::size_t leaves = 2; leaves <= static_cast<std::size_t>(radix); ++leaves) {
      const FatTreeShape shape =
          FatTree{.radix = radix, .tiers = 2, .link = kLink}.shape(leaves * down);
      const double used = static_cast<double>(leaves) * static_cast<double>(shape.tiers[0].uplinks);
      const double ports = static_cast<double>(shape.tiers[0].parents) * radix;
      EXPECT_GE(used, 0.5 * ports) << "radix " << radix << " leaves " << leaves;
    }
  }
}

TEST(Sweep, OversubscriptionIsWhatWasAskedAndBoundsTheBisection) {
  for (const int radix : {16, 32, 64}) {
    for (const double over : {1.0, 1.5, 2.0, 3.0, 4.0, 7.0}) {
      const FatTree tree{.radix = radix, .tiers = 2, .oversubscription = {over}, .link = kLink};
      const std::uint32_t down = tree.shape(1).endpoints_per_leaf;
      const Topology t = tree.build(cluster_of(static_cast<int>(down) * 4));
      ASSERT_EQ(t.oversubscription.size(), 1u);
      EXPECT_LE(t.oversubscription[0], over + 1e-9);
      EXPECT_GE(t.oversubscription[0], 0.75 * over);
      const TopologyFacts facts = facts_of(t);
      EXPECT_LE(facts.most_ports, static_cast<std::size_t>(radix));
      EXPECT_NEAR(facts.bisection.value, down * 2 * 400e9 / t.oversubscription[0], 1);
    }
  }
}

TEST(Sweep, GlobalCablesOfDragonfliesAreEvenAndLeaveNoPortEmptyWithoutNeed) {
  for (std::uint32_t ports = 1; ports <= 24; ++ports) {
    for (std::uint32_t groups = 2; groups <= ports + 1; ++groups) {
      SCOPED_TRACE(std::to_string(groups) + " groups of " + std::to_string(ports) + " ports");
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> between;
      std::set<std::pair<std::uint32_t, std::uint32_t>> taken;
      for (const GlobalCable& c : global_cables(groups, ports)) {
        ASSERT_LT(c.group_a, c.group_b);
        ASSERT_LT(c.port_a, ports);
        ASSERT_LT(c.port_b, ports);
        EXPECT_TRUE(taken.emplace(c.group_a, c.port_a).second);
        EXPECT_TRUE(taken.emplace(c.group_b, c.port_b).second);
        ++between[{c.group_a, c.group_b}];
      }
      EXPECT_EQ(between.size(), groups * (groups - 1) / 2);
      for (const auto& [pair, count] : between) {
        EXPECT_GE(count, ports / (groups - 1));
        EXPECT_LE(count, (ports + groups - 2) / (groups - 1));
      }
      EXPECT_EQ(groups * ports - taken.size(), groups * ports % 2);
    }
  }
}

TEST(Sweep, DragonfliesOfAnyShapeHaveTheirCounts) {
  struct Shape {
    int a, p, h;
  };
  for (const auto& [a, p, h] : std::vector<Shape>{
           {1, 1, 1}, {1, 2, 3}, {2, 1, 1}, {3, 2, 1}, {4, 2, 2}, {5, 3, 2}, {2, 3, 5}}) {
    for (int g = 1; g <= a * h + 1; ++g) {
      for (const int hosts : {1, g * a * p - 1, g * a * p}) {
        if (hosts < 1) continue;
        SCOPED_TRACE("g " + std::to_string(g) + " a " + std::to_string(a) + " p " +
                     std::to_string(p) + " h " + std::to_string(h) + " hosts " +
                     std::to_string(hosts));
        const Topology t = Dragonfly{.groups = g,
                                     .routers_per_group = a,
                                     .endpoints_per_router = p,
                                     .global_links_per_router = h,
                                     .link = kLink}
                               .build(cluster_of(hosts));
        check_topology(t, static_cast<std::size_t>(hosts));
        const TopologyFacts facts = facts_of(t);
        const auto all = static_cast<std::size_t>(g * a);
        EXPECT_EQ(facts.switches, all);
        EXPECT_LE(facts.most_ports, static_cast<std::size_t>(p + a - 1 + h));
        EXPECT_EQ(count_of(facts.cables_by_tier, "local"),
                  static_cast<std::size_t>(g * a * (a - 1) / 2));
        EXPECT_EQ(count_of(facts.cables_by_tier, "global"),
                  static_cast<std::size_t>(g > 1 ? g * a * h / 2 : 0));
        EXPECT_LE(facts.diameter_hops, 5);
        check_routes(t);
      }
    }
  }
}

TEST(Sweep, EveryCableIsUsedParallelOnesToo) {
  const auto all_used = [](const Topology& t, const std::string& policy) {
    const auto router = make_router(t, {policy, 9});
    std::vector<bool> used(t.links.size(), false);
    std::vector<LinkId> path;
    const auto n = static_cast<std::uint32_t>(t.nics.size());
    for (std::uint32_t s = 0; s < n; ++s) {
      for (std::uint32_t d = 0; d < n; ++d) {
        if (s == d) continue;
        for (std::uint64_t key = 0; key < 4; ++key) {
          path.clear();
          router->route(NicId{s}, NicId{d}, key, path);
          for (const LinkId id : path) used[at(id)] = true;
        }
      }
    }
    return std::count(used.begin(), used.end(), false);
  };
  for (const auto& [radix, tiers, hosts] : std::vector<std::tuple<int, int, int>>{
           {8, 2, 32}, {16, 2, 32}, {14, 2, 21}, {8, 3, 128}, {8, 3, 48}, {16, 3, 128}}) {
    const Topology t =
        FatTree{.radix = radix, .tiers = tiers, .link = kLink}.build(cluster_of(hosts));
    EXPECT_EQ(all_used(t, "ecmp"), 0) << radix << " " << hosts;
    EXPECT_EQ(all_used(t, "d_mod_k"), 0) << radix << " " << hosts;
  }
  for (const int groups : {2, 3, 4, 6, 8, 9}) {
    const Topology t = Dragonfly{.groups = groups,
                                 .routers_per_group = 4,
                                 .endpoints_per_router = 2,
                                 .global_links_per_router = 2,
                                 .link = kLink}
                           .build(cluster_of(groups * 8));
    EXPECT_EQ(all_used(t, "minimal"), 0) << groups;
    EXPECT_EQ(all_used(t, "valiant"), 0) << groups;
  }
}

TEST(Sweep, BalancedDragonfliesOfFullSizeHaveHalfTheirGlobalCablesAcross) {
  // a = 2p = 2h, g = ah + 1: the cut between halves of the groups is the smallest; each of the
  // floor(g/2) * ceil(g/2) pairs across it has one cable. Hosts fill all but the middle group's
  // second half, so the minimum cut may take that group to either side.
  for (const int h : {1, 2, 3}) {
    const int a = 2 * h;
    const int g = a * h + 1;
    const Topology t = Dragonfly{.groups = g,
                                 .routers_per_group = a,
                                 .endpoints_per_router = h,
                                 .global_links_per_router = h,
                                 .link = kLink}
                           .build(cluster_of(g * a * h));
    const TopologyFacts facts = facts_of(t);
    const double across = (g / 2) * (g - g / 2);
    EXPECT_EQ(facts.diameter_hops, 5);
    EXPECT_GE(facts.bisection.value, across * 400e9);
    EXPECT_LE(facts.bisection.value, (across + a * a) * 400e9);
  }
}

}  // namespace
}  // namespace weft
