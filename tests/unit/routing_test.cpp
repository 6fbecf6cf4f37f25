// Routing: which path a flow takes, on small fabrics and on those where a theorem says how it ends.
#include "sim/routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/random.h"
#include "sim/topology_facts.h"
#include "topologies/dragonfly.h"
#include "topologies/fat_tree.h"
#include "topologies/graph.h"
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
  cluster.host.nic_of_gpu = {0};
  return cluster;
}

std::vector<LinkId> path_of(Router& router, std::uint32_t from, std::uint32_t to,
                            std::uint64_t key = 0) {
  std::vector<LinkId> path;
  router.route(NicId{from}, NicId{to}, key, path);
  return path;
}

std::size_t links_of_tier(const Topology& t, const std::vector<LinkId>& path,
                          const std::string& tier) {
  return static_cast<std::size_t>(std::count_if(path.begin(), path.end(), [&](LinkId id) {
    return t.link_tiers[t.links[at(id)].tier] == tier;
  }));
}

/// 9 groups of 4 routers with 2 NICs and 2 global cables each.
Topology nine_groups() {
  return Dragonfly{.groups = 9,
                   .routers_per_group = 4,
                   .endpoints_per_router = 2,
                   .global_links_per_router = 2,
                   .link = kLink}
      .build(cluster_of(72));
}

/// Most flows on a link when every NIC sends to the one `shift` further.
std::size_t most_on_a_link(const Topology& t, Router& router, std::size_t shift) {
  std::vector<std::size_t> flows(t.links.size(), 0);
  const std::size_t n = t.nics.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (const LinkId id : path_of(router, static_cast<std::uint32_t>(i),
                                   static_cast<std::uint32_t>((i + shift) % n))) {
      ++flows[at(id)];
    }
  }
  return *std::max_element(flows.begin(), flows.end());
}

// ---- ecmp ------------------------------------------------------------------------------------

TEST(Ecmp, GivesTheSameFlowTheSamePathWhateverWasAskedBefore) {
  const Topology t = FatTree{.radix = 8, .tiers = 3, .link = kLink}.build(cluster_of(128));
  const auto forward = make_router(t, {"ecmp", 7});
  const auto backward = make_router(t, {"ecmp", 7});
  std::map<std::uint32_t, std::vector<LinkId>> paths;
  for (std::uint32_t d = 1; d < 128; ++d) paths[d] = path_of(*forward, 0, d, d);
  for (std::uint32_t d = 127; d > 0; --d) EXPECT_EQ(path_of(*backward, 0, d, d), paths[d]);
}

TEST(Ecmp, ChangesPathsWithFlowKeyAndSeed) {
  const Topology t = FatTree{.radix = 8, .tiers = 3, .link = kLink}.build(cluster_of(128));
  const auto router = make_router(t, {"ecmp", 1});
  std::set<std::vector<LinkId>> by_key, by_seed;
  for (std::uint64_t k = 0; k < 500; ++k) {
    by_key.insert(path_of(*router, 0, 127, k));
    by_seed.insert(path_of(*make_router(t, {"ecmp", k}), 0, 127));
  }
  EXPECT_EQ(by_key.size(), 16u);  // (8 / 2)^2
  EXPECT_EQ(by_seed.size(), 16u);
}

TEST(Ecmp, ChoosesTheSamePathsOnEveryMachine) {
  const Topology t = FatTree{.radix = 8, .tiers = 2, .link = kLink}.build(cluster_of(32));
  const auto router = make_router(t, {"ecmp", 1});
  std::vector<std::string> spines;
  for (std::uint32_t d = 4; d < 32; d += 4) {
    spines.push_back(t.name(t.ends[at(path_of(*router, 0, d)[1])].second));
  }
  EXPECT_EQ(spines, (std::vector<std::string>{"spine0", "spine0", "spine3", "spine0", "spine2",
                                              "spine3", "spine1"}));
}

TEST(Ecmp, SpreadsFlowsEvenlyOverAllCablesOfEveryTier) {
  // 16 leaves, 8 spines with 2 cables to each leaf.
  const Topology t = FatTree{.radix = 32, .tiers = 2, .link = kLink}.build(cluster_of(256));
  const auto router = make_router(t, {"ecmp", 3});
  std::vector<double> up(16, 0), down(16, 0);
  std::map<std::pair<std::size_t, std::size_t>, double> pairs;
  const double flows = 32000;
  std::map<LinkId, std::size_t> first, second;
  for (std::uint64_t k = 0; k < 32000; ++k) {
    const auto path = path_of(*router, 0, 255, k);
    ASSERT_EQ(path.size(), 4u);
    const std::size_t u = first.emplace(path[1], first.size()).first->second;
    const std::size_t d = second.emplace(path[2], second.size()).first->second;
    ++up[u];
    ++down[d];
    ++pairs[{u, d}];
  }
  const auto chi_square = [&](const std::vector<double>& counts) {
    double sum = 0;
    const double mean = flows / static_cast<double>(counts.size());
    for (const double c : counts) sum += (c - mean) * (c - mean) / mean;
    return sum;
  };
  EXPECT_EQ(first.size(), 16u);
  EXPECT_EQ(second.size(), 16u);
  EXPECT_LT(chi_square(up), 37.7);  // 15 degrees of freedom, 99.9 %
  EXPECT_LT(chi_square(down), 37.7);
  // The choices of the two tiers are independent: 16 x 2 pairs are reachable, all alike.
  ASSERT_EQ(pairs.size(), 32u);
  std::vector<double> joint;
  for (const auto& [ends, count] : pairs) joint.push_back(count);
  EXPECT_LT(chi_square(joint), 61.1);  // 31 degrees of freedom
}

TEST(Ecmp, OfSixteenSendersOverSixteenUplinksLeavesAMeanShareOf0644) {
  // Each of N flows picks one of N uplinks: the mean share is 1 - (1 - 1/N)^N.
  const Topology t = FatTree{.radix = 32, .tiers = 2, .link = kLink}.build(cluster_of(32));
  double sum = 0;
  constexpr int kSeeds = 2000;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto router = make_router(t, {"ecmp", seed});
    std::map<LinkId, int> flows;
    for (std::uint32_t i = 0; i < 16; ++i) ++flows[path_of(*router, i, 16 + i)[1]];
    sum += static_cast<double>(flows.size()) / 16;  // each used uplink is shared out in full
  }
  EXPECT_NEAR(sum / kSeeds, 0.6439, 0.6439 * 0.02);
}

TEST(Ecmp, UsesBothSwitchesOfANicWithTwoPorts) {
  // Two planes: each NIC has a cable to each of two switches that do not meet.
  const Cluster cluster = cluster_of(4);
  TopologyBuilder planes("planes", cluster);
  const VertexId a = planes.add_switch("leaf", 1, 0);
  const VertexId b = planes.add_switch("leaf", 1, 1);
  for (std::uint32_t i = 0; i < 4; ++i) {
    planes.attach(NicId{i}, a, kLink);
    planes.attach(NicId{i}, b, kLink);
  }
  const Topology t = planes.finish();
  const auto router = make_router(t, {"ecmp", 1});
  std::set<std::string> used;
  for (std::uint64_t k = 0; k < 50; ++k) {
    const auto path = path_of(*router, 0, 3, k);
    ASSERT_EQ(path.size(), 4u);
    EXPECT_EQ(t.name(path[0]), "host0->host0.port");
    EXPECT_EQ(t.name(path[3]), "host3.port->host3");
    used.insert(t.name(path[1]) + " " + t.name(path[2]));
  }
  EXPECT_EQ(used, (std::set<std::string>{"host0.port->leaf0 leaf0->host3.port",
                                         "host0.port->leaf1 leaf1->host3.port"}));
}

TEST(Ecmp, TakesAllShortestPathsAndNoOthersWhereSwitchesAreTwins) {
  // Leaves with the same cables, two of a kind, and some more cables that break or shorten ways.
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const std::uint32_t kinds = 2 + random.below(2), spines = 1 + random.below(3);
    const std::uint32_t leaves = 2 * kinds, switches = leaves + spines;
    TopologyBuilder builder("twins", cluster_of(static_cast<int>(leaves)));
    std::vector<VertexId> all;
    for (std::uint32_t s = 0; s < switches; ++s) all.push_back(builder.add_switch("s", 1, s));
    std::vector<std::vector<std::uint32_t>> far(switches,
                                                std::vector<std::uint32_t>(switches, 1000));
    const auto join = [&](std::uint32_t a, std::uint32_t b, std::uint32_t weight) {
      builder.connect(all[a], all[b], kLink, "cable", static_cast<std::uint8_t>(weight));
      far[a][b] = far[b][a] = std::min(far[a][b], weight);
    };
    for (std::uint32_t kind = 0; kind < kinds; ++kind) {
      for (std::uint32_t spine = leaves; spine < switches; ++spine) {
        const std::uint32_t weight = 1 + random.below(3), cables = 1 + random.below(2);
        for (std::uint32_t i = 0; i < cables; ++i) {
          join(2 * kind, spine, weight);
          join(2 * kind + 1, spine, weight);
        }
      }
    }
    for (std::uint32_t i = random.below(3); i > 0; --i) {
      const std::uint32_t a = random.below(switches), b = random.below(switches);
      if (a != b) join(a, b, 1 + random.below(3));
    }
    for (std::uint32_t i = 0; i < leaves; ++i) builder.attach(NicId{i}, all[i], kLink);
    const Topology t = builder.finish();
    auto near = far;  // Floyd and Warshall
    for (std::uint32_t i = 0; i < switches; ++i) near[i][i] = 0;
    for (std::uint32_t k = 0; k < switches; ++k) {
      for (auto& row : near) {
        for (std::uint32_t j = 0; j < switches; ++j) row[j] = std::min(row[j], row[k] + near[k][j]);
      }
    }
    const auto router = make_router(t, {"ecmp", seed});
    std::map<VertexId, std::uint32_t> number;
    for (std::uint32_t s = 0; s < switches; ++s) number[all[s]] = s;
    for (std::uint32_t from = 0; from < leaves; ++from) {
      for (std::uint32_t to = 0; to < leaves; ++to) {
        if (from == to) continue;
        std::set<LinkId> used, good;
        for (std::uint64_t key = 0; key < 400; ++key) {
          const auto path = path_of(*router, from, to, key);
          std::uint32_t length = 0;
          for (std::size_t i = 1; i + 1 < path.size(); ++i) length += t.links[at(path[i])].weight;
          ASSERT_EQ(length, near[from][to]) << "seed " << seed;
          used.insert(path.begin() + 1, path.end() - 1);
        }
        for (const Link& link : t.links) {
          const auto [out, in] = t.ends[at(link.id)];
          if (!number.contains(out) || !number.contains(in)) continue;
          const std::uint32_t a = number[out], b = number[in];
          if (near[from][a] + link.weight + near[b][to] == near[from][to]) good.insert(link.id);
        }
        EXPECT_EQ(used, good) << "seed " << seed;
      }
    }
  }
}

TEST(Ecmp, FindsItsWayOverAVeryLongChain) {
  constexpr int kSwitches = 400;  // distances do not fit a byte
  const Cluster cluster = cluster_of(2);
  TopologyBuilder builder("chain", cluster);
  VertexId last = builder.add_switch("switch", 1, 0);
  builder.attach(NicId{0}, last, kLink);
  for (std::uint32_t i = 1; i < kSwitches; ++i) {
    const VertexId next = builder.add_switch("switch", 1, i);
    builder.connect(last, next, kLink, "switch");
    last = next;
  }
  builder.attach(NicId{1}, last, kLink);
  const Topology t = builder.finish();
  const auto router = make_router(t, {"ecmp", 1});
  EXPECT_EQ(path_of(*router, 0, 1).size(), kSwitches + 1u);
  EXPECT_EQ(facts_of(t).diameter_hops, kSwitches + 1);
}

// ---- d_mod_k ---------------------------------------------------------------------------------

TEST(DModK, CarriesEveryShiftWithOneFlowPerLinkOnAFullFatTree) {
  const Topology t = FatTree{.radix = 8, .tiers = 3, .link = kLink}.build(cluster_of(128));
  const auto router = make_router(t, {"d_mod_k", 1});
  for (std::size_t shift = 1; shift < 128; ++shift) {
    EXPECT_EQ(most_on_a_link(t, *router, shift), 1u) << "shift " << shift;
  }
}

TEST(DModK, CarriesEveryShiftWithOneFlowPerLinkOnCompactFatTrees) {
  // Fewer leaves than the radix allows: parallel cables in one tier or both. All leaves are full,
  // and all pods.
  struct Case {
    int radix, tiers, hosts;
  };
  for (const auto& [radix, tiers, hosts] : std::vector<Case>{{8, 2, 16},
                                                             {8, 2, 12},
                                                             {8, 2, 20},
                                                             {16, 2, 40},
                                                             {14, 2, 21},
                                                             {62, 2, 93},
                                                             {8, 3, 32},
                                                             {8, 3, 8},
                                                             {8, 3, 48},
                                                             {16, 3, 256},
                                                             {16, 3, 192},
                                                             {12, 3, 216},
                                                             {12, 3, 180},
                                                             {12, 3, 72},
                                                             {16, 3, 24},
                                                             {20, 3, 40},
                                                             {8, 1, 8}}) {
    const FatTree tree{.radix = radix, .tiers = tiers, .link = kLink};
    const Topology t = tree.build(cluster_of(hosts));
    const auto router = make_router(t, {"d_mod_k", 1});
    std::size_t worst = 0;
    for (std::size_t shift = 1; shift < t.nics.size(); ++shift) {
      worst = std::max(worst, most_on_a_link(t, *router, shift));
    }
    EXPECT_EQ(worst, 1u) << "radix " << radix << ", " << tiers << " tiers, " << hosts << " hosts";
  }
}

TEST(DModK, SharesAnOversubscribedLeafEvenly) {
  const Topology t = FatTree{.radix = 32, .tiers = 2, .oversubscription = {3}, .link = kLink}.build(
      cluster_of(24 * 8));
  const auto router = make_router(t, {"d_mod_k", 1});
  EXPECT_EQ(most_on_a_link(t, *router, 24), 3u);
}

TEST(DModK, AlwaysComesDownTheSameWayToADestination) {
  const Topology t = FatTree{.radix = 8, .tiers = 3, .link = kLink}.build(cluster_of(64));
  const auto router = make_router(t, {"d_mod_k", 1});
  std::set<LinkId> last_hops;
  for (std::uint32_t s = 32; s < 64; ++s) {
    const auto path = path_of(*router, s, 5);
    last_hops.insert(path[path.size() - 2]);
  }
  EXPECT_EQ(last_hops.size(), 1u);
}

// ---- minimal and valiant ---------------------------------------------------------------------

TEST(Minimal, CrossesAtMostOneGlobalCable) {
  const Topology t = nine_groups();
  const auto router = make_router(t, {"minimal", 1});
  for (std::uint32_t s = 0; s < 72; ++s) {
    for (std::uint32_t d = 0; d < 72; ++d) {
      if (s == d) continue;
      const auto path = path_of(*router, s, d);
      EXPECT_EQ(links_of_tier(t, path, "global"), s / 8 == d / 8 ? 0u : 1u);
      EXPECT_LE(path.size(), 5u);
    }
  }
}

TEST(Minimal, SendsAWholeGroupsTrafficToTheNextOverOneCable) {
  const Topology t = nine_groups();
  const auto router = make_router(t, {"minimal", 1});
  EXPECT_EQ(most_on_a_link(t, *router, 8), 8u);
}

TEST(Valiant, CrossesTwoGlobalCablesOverAThirdGroupAndNoneInsideAGroup) {
  const Topology t = nine_groups();
  const auto router = make_router(t, {"valiant", 1});
  std::map<std::int32_t, int> middles;
  std::set<VertexId> entered;
  for (std::uint64_t k = 0; k < 4000; ++k) {
    const auto path = path_of(*router, 0, 8 + k % 8, k);
    ASSERT_EQ(links_of_tier(t, path, "global"), 2u);
    std::set<VertexId> seen;
    for (const LinkId id : path) {
      EXPECT_TRUE(seen.insert(t.ends[at(id)].first).second) << "a loop";
    }
    for (const LinkId id : path) {
      if (t.link_tiers[t.links[at(id)].tier] != "global") continue;
      const VertexId to = t.ends[at(id)].second;
      if (t.graph[at(to)].group > 1) ++middles[t.graph[at(to)].group];
    }
  }
  EXPECT_EQ(middles.size(), 7u);
  for (const auto& [group, count] : middles) EXPECT_NEAR(count, 4000 / 7.0, 5 * 22.2) << group;
  EXPECT_EQ(links_of_tier(t, path_of(*router, 0, 7), "global"), 0u);
}

TEST(Valiant, SpreadsAGroupsTrafficToTheNext) {
  const Topology t = nine_groups();
  const auto router = make_router(t, {"valiant", 1});
  EXPECT_LE(most_on_a_link(t, *router, 8), 6u);  // 8 with minimal routing
}

TEST(Valiant, IsMinimalWhereThereIsNoThirdGroup) {
  const Topology t = Dragonfly{.groups = 2,
                               .routers_per_group = 4,
                               .endpoints_per_router = 2,
                               .global_links_per_router = 2,
                               .link = kLink}
                         .build(cluster_of(16));
  const auto minimal = make_router(t, {"minimal", 5});
  const auto valiant = make_router(t, {"valiant", 5});
  for (std::uint32_t d = 1; d < 16; ++d) {
    EXPECT_EQ(path_of(*valiant, 0, d, d), path_of(*minimal, 0, d, d));
  }
}

// ---- catalogue -------------------------------------------------------------------------------

TEST(RoutingCatalog, SaysWhichPolicyFitsWhichFabric) {
  const Topology tree = FatTree{.radix = 4, .link = kLink}.build(cluster_of(4));
  const Topology fly = nine_groups();
  for (const RoutingInfo& info : routing_catalog()) {
    EXPECT_FALSE(info.help.empty());
    EXPECT_EQ(routing_mismatch(tree, info.name).empty(), info.name != "valiant");
    EXPECT_EQ(routing_mismatch(fly, info.name).empty(), info.name != "d_mod_k");
  }
  EXPECT_EQ(routing_mismatch(tree, "valiant"),
            "valiant makes a detour over a third group, and fat_tree has no groups");
  EXPECT_EQ(routing_mismatch(fly, "d_mod_k"), "d_mod_k climbs a tree, and dragonfly is none");
  EXPECT_EQ(routing_mismatch(fly, "minmal"),
            "there is no routing `minmal`, did you mean `minimal`?");
}

}  // namespace
}  // namespace weft
