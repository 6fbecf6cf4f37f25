// The builder's rules, the names, and every fabric where a drawing says what to expect.
#include "sim/topology.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <sstream>

#include "sim/check.h"
#include "sim/network.h"
#include "sim/presets.h"
#include "sim/routing.h"
#include "sim/topology_export.h"
#include "sim/topology_facts.h"
#include "topologies/catalog.h"
#include "topologies/dragonfly.h"
#include "topologies/fat_tree.h"
#include "topologies/graph.h"
#include "topologies/single_switch.h"

namespace weft {
namespace {

using namespace literals;

Cluster cluster_of(int hosts, int nics, int gpus = 1) {
  Cluster cluster;
  cluster.hosts = hosts;
  cluster.host.gpus = gpus;
  cluster.host.nics = nics;
  cluster.host.nic = {400_Gbps, 1_us};
  cluster.host.nvlink = {3600_Gbps, 500_ns};
  for (int i = 0; i < gpus; ++i) cluster.host.nic_of_gpu.push_back(i * nics / gpus);
  return cluster;
}

const PortSpec kLink{400_Gbps, 600_ns};

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

Topology build_yaml(const std::string& yaml, const Cluster& cluster) {
  const ConfigFile file = ConfigFile::read_text("net.yaml", yaml, {});
  const auto fabric = read_fabric(file.root().section("fabric", "the network"), cluster);
  file.refuse_unread();
  return fabric->build(cluster);
}

std::vector<std::string> names_of(const Topology& t, const std::vector<LinkId>& path) {
  std::vector<std::string> names;
  for (const LinkId id : path) names.push_back(t.name(id));
  return names;
}

// ---- builder ---------------------------------------------------------------------------------

TEST(TopologyBuilder, GivesASingleCableTheNicsRateAndItsLatencyOnTheWayOut) {
  Cluster cluster = cluster_of(2, 1);
  cluster.host.nic.rate = 200_Gbps;
  const Topology t = SingleSwitch{.link = kLink}.build(cluster);
  ASSERT_EQ(t.links.size(), 4u);
  EXPECT_EQ(t.name(LinkId{0}), "host0->switch0");
  EXPECT_EQ(t.name(LinkId{1}), "switch0->host0");
  EXPECT_EQ(t.links[0].capacity, 200_Gbps);
  EXPECT_EQ(t.links[1].capacity, 200_Gbps);
  EXPECT_DOUBLE_EQ(t.links[0].latency.value, 1.6e-6);
  EXPECT_DOUBLE_EQ(t.links[1].latency.value, 0.6e-6);
}

TEST(TopologyBuilder, PutsAPortBetweenANicAndItsSeveralCablesSoThatItsRateBoundsThemTogether) {
  const Cluster cluster = cluster_of(2, 1);
  TopologyBuilder builder("test", cluster);
  const VertexId s = builder.add_switch("switch", 1, 0);
  builder.attach(NicId{0}, s, {100_Gbps, 600_ns}, 2);
  builder.attach(NicId{1}, s, {100_Gbps, 600_ns}, 1);
  const Topology t = builder.finish();
  ASSERT_EQ(t.links.size(), 8u);
  EXPECT_EQ(t.cables(), 3u);
  EXPECT_EQ(t.name(LinkId{0}), "host0->host0.port");
  EXPECT_EQ(t.links[0].capacity, 400_Gbps);
  EXPECT_EQ(t.links[0].latency, 1_us);
  EXPECT_EQ(t.links[1].latency, 0_s);
  EXPECT_EQ(t.name(LinkId{2}), "host0.port->switch0");
  EXPECT_EQ(t.name(LinkId{4}), "host0.port->switch0#1");
  EXPECT_EQ(t.name(LinkId{5}), "switch0->host0.port#1");
  EXPECT_EQ(t.links[2].latency, 600_ns);
  const NicCables nic = t.cables_of(NicId{0});
  EXPECT_TRUE(nic.has_port);
  ASSERT_EQ(nic.cables.size(), 2u);
  EXPECT_EQ(nic.cables[1].far, s);
  EXPECT_EQ(nic.cables[1].in, LinkId{5});
  const TopologyFacts facts = facts_of(t);
  EXPECT_EQ(facts.diameter_hops, 2);
  EXPECT_EQ(facts.shortest_paths, 2u);
  EXPECT_DOUBLE_EQ(facts.bisection.value, 100e9);
}

TEST(TopologyBuilder, NamesWhatIsCutOff) {
  const Cluster cluster = cluster_of(3, 2);
  TopologyBuilder builder("test", cluster);
  const VertexId left = builder.add_switch("switch", 1, 0);
  const VertexId right = builder.add_switch("switch", 1, 1);
  for (std::uint32_t i = 0; i < 5; ++i) builder.attach(NicId{i}, left, kLink);
  builder.attach(NicId{5}, right, kLink);
  EXPECT_EQ(builder.disconnected(), "host2.nic1 and host0.nic0");
  EXPECT_THROW(builder.finish(), InternalError);
  builder.connect(left, right, kLink, "switch");
  EXPECT_EQ(builder.disconnected(), "");
  EXPECT_EQ(builder.finish().cables(), 7u);
}

TEST(TopologyBuilder, KnowsThatNicsDoNotForward) {
  const Cluster cluster = cluster_of(3, 1);
  TopologyBuilder builder("test", cluster);
  builder.attach(NicId{0}, NicId{1}, kLink);
  builder.attach(NicId{1}, NicId{2}, kLink);
  EXPECT_EQ(builder.disconnected(), "host2 and host0");
  builder.attach(NicId{0}, NicId{2}, kLink);
  EXPECT_EQ(builder.disconnected(), "");
}

// ---- facts and export ------------------------------------------------------------------------

TEST(Facts, OfASingleSwitch) {
  const TopologyFacts facts = facts_of(SingleSwitch{.link = kLink}.build(cluster_of(5, 2)));
  EXPECT_EQ(facts.switches, 1u);
  EXPECT_EQ(facts.cables, 10u);
  EXPECT_EQ(facts.most_ports, 10u);
  EXPECT_EQ(facts.diameter_hops, 2);
  EXPECT_EQ(facts.shortest_paths, 1u);
  EXPECT_DOUBLE_EQ(facts.bisection.value, 4 * 400e9);  // 2 of 5 hosts against 3
  EXPECT_EQ(facts.oversubscription, 1);
}

TEST(Facts, OfALonelyNicAreZero) {
  const TopologyFacts facts = facts_of(SingleSwitch{.link = kLink}.build(cluster_of(1, 1)));
  EXPECT_EQ(facts.diameter_hops, 0);
  EXPECT_EQ(facts.shortest_paths, 0u);
  EXPECT_EQ(facts.bisection.value, 0);
}

TEST(Facts, BisectionOfAHighestRateDoesNotOverflow) {
  Cluster cluster = cluster_of(64, 1);
  cluster.host.nic.rate = BitsPerSecond(1e18);
  const PortSpec fast{BitsPerSecond(1e18), 0_s};
  EXPECT_NEAR(facts_of(SingleSwitch{.link = fast}.build(cluster)).bisection.value, 32e18, 1e12);
}

TEST(Export, WritesOneEdgePerCableInDot) {
  const Topology t = build_yaml(
      "fabric: {kind: graph, links: [{between: [host0, s0], rate: 100 Gbps, cables: 2},"
      " {between: [s0, host1], rate: 100 Gbps, latency: 1 us}]}",
      cluster_of(2, 1));
  std::ostringstream dot;
  write_dot(t, dot);
  EXPECT_EQ(
      dot.str(),
      "graph G {\n"
      "host0 [group=-1, kind=nic, level=0];\n"
      "host1 [group=-1, kind=nic, level=0];\n"
      "s0 [group=-1, kind=switch, level=1];\n"
      "host0--s0  [latency_s=\"6e-07\", length_m=0, rate_bps=100000000000, tier=nic, weight=1];\n"
      "host0--s0  [latency_s=\"6e-07\", length_m=0, rate_bps=100000000000, tier=nic, weight=1];\n"
      "host1--s0  [latency_s=\"1e-06\", length_m=0, rate_bps=100000000000, tier=nic, weight=1];\n"
      "}\n");
}

TEST(Export, WritesOneEdgePerCableInGraphml) {
  const Topology t = FatTree{.radix = 4, .link = kLink}.build(cluster_of(8, 1));
  std::ostringstream xml;
  write_graphml(t, xml);
  const std::string text = xml.str();
  std::size_t edges = 0;
  for (std::size_t i = text.find("<edge "); i != std::string::npos;
       i = text.find("<edge ", i + 1)) {
    ++edges;
  }
  EXPECT_EQ(edges, t.cables());
  EXPECT_NE(text.find("edgedefault=\"undirected\""), std::string::npos);
  EXPECT_NE(text.find(">leaf3<"), std::string::npos);
}

// ---- fat-tree --------------------------------------------------------------------------------

TEST(FatTree, OfRadix4AndThreeTiersIsTheTextbookOne) {
  const Topology t = FatTree{.radix = 4, .tiers = 3, .link = kLink}.build(cluster_of(16, 1));
  const TopologyFacts facts = facts_of(t);
  using Counts = std::vector<std::pair<std::string, std::size_t>>;
  EXPECT_EQ(facts.switches_by_label, (Counts{{"leaf", 8}, {"agg", 8}, {"core", 4}}));
  EXPECT_EQ(facts.cables_by_tier, (Counts{{"nic", 16}, {"leaf-agg", 16}, {"agg-core", 16}}));
  EXPECT_EQ(facts.diameter_hops, 6);
  EXPECT_EQ(facts.shortest_paths, 4u);
  EXPECT_DOUBLE_EQ(facts.bisection.value, 8 * 400e9);
  EXPECT_EQ(t.oversubscription, (std::vector<double>{1, 1}));
  // leaf5 is in pod 2 (leaves 4, 5), which has agg4 and agg5.
  const auto leaf5 = t.cables_of(NicId{10}).cables[0].far;
  EXPECT_EQ(t.name(leaf5), "leaf5");
  EXPECT_EQ(t.graph[at(leaf5)].group, 2);
  std::set<std::string> up;
  for (const auto& [from, to] : t.ends) {
    if (from == leaf5 && t.is_switch(to)) up.insert(t.name(to));
  }
  EXPECT_EQ(up, (std::set<std::string>{"agg4", "agg5"}));
}

TEST(FatTree, UsesFewerSpinesWithParallelCablesWhereLeavesAreFew) {
  const FatTree tree{.radix = 64, .tiers = 2, .link = kLink};
  const FatTreeShape shape = tree.shape(1024);
  EXPECT_EQ(shape.endpoints_per_leaf, 32u);
  EXPECT_EQ(shape.tiers[0].subtrees, 32u);
  EXPECT_EQ(shape.tiers[0].uplinks, 32u);
  EXPECT_EQ(shape.tiers[0].parents, 16u);
  const Topology t = tree.build(cluster_of(128, 8));
  const TopologyFacts facts = facts_of(t);
  EXPECT_EQ(facts.switches, 48u);
  EXPECT_EQ(facts.most_ports, 64u);
  EXPECT_EQ(facts.shortest_paths, 64u);  // 16 spines, 2 x 2 cables
  EXPECT_DOUBLE_EQ(facts.bisection.value, 512 * 400e9);
}

TEST(FatTree, SpreadsOddUplinksOverSpinesWithoutLosingBisection) {
  // 31 uplinks of each of 3 leaves: 2 spines with 16 and 15 cables to each leaf.
  const FatTree tree{.radix = 62, .tiers = 2, .link = kLink};
  EXPECT_EQ(tree.shape(93).tiers[0].parents, 2u);
  const Topology t = tree.build(cluster_of(93, 1));
  EXPECT_EQ(facts_of(t).most_ports, 62u);
  EXPECT_DOUBLE_EQ(facts_of(t).bisection.value, 46 * 400e9);
}

TEST(FatTree, TakesTheFewestTiersThatFit) {
  const FatTree tree{.radix = 8, .link = kLink};
  EXPECT_EQ(tree.shape(32).tiers.size(), 2u);
  EXPECT_EQ(tree.shape(33).tiers.size(), 3u);
}

TEST(FatTree, OversubscribesTheTierThatIsAsked) {
  const FatTree leaf{.radix = 64, .tiers = 2, .oversubscription = {3}, .link = kLink};
  EXPECT_EQ(leaf.shape(48 * 64).endpoints_per_leaf, 48u);
  EXPECT_EQ(leaf.shape(48 * 64).tiers[0].uplinks, 16u);
  const Topology t = leaf.build(cluster_of(48 * 4, 1));
  EXPECT_EQ(t.oversubscription, std::vector<double>{3});
  EXPECT_DOUBLE_EQ(facts_of(t).bisection.value, 2 * 16 * 400e9);

  const FatTree agg{.radix = 16, .tiers = 3, .oversubscription = {1, 7}, .link = kLink};
  const FatTreeShape shape = agg.shape(8 * 14 * 16);
  EXPECT_EQ(shape.tiers[1].children, 14u);
  EXPECT_EQ(shape.tiers[1].uplinks, 2u);
}

TEST(FatTree, CountsOversubscriptionInCapacitySoFasterUplinksAreFewer) {
  const FatTree tree{.radix = 48, .tiers = 2, .link = kLink, .uplink = PortSpec{800_Gbps, 600_ns}};
  const FatTreeShape shape = tree.shape(1024);
  EXPECT_EQ(shape.endpoints_per_leaf, 32u);
  EXPECT_EQ(shape.tiers[0].uplinks, 16u);
  EXPECT_EQ(tree.build(cluster_of(1024, 1)).oversubscription, std::vector<double>{1});
}

TEST(FatTree, BuildsLlama3sClusterTierByTier) {
  // Grattafiori et al., The Llama 3 Herd of Models, 2024, 3.3.1: racks of 16 GPUs, pods of 192
  // racks (3072 GPUs) with full bisection, 8 pods, 1:7 above them.
  const FatTree tree{.down = {16, 192, 8}, .up = {16, 28}, .cables = {1, 1}, .link = kLink};
  const Topology t = tree.build(cluster_of(3072, 8));
  EXPECT_EQ(t.switches(), 8u * 192 + 8 * 16 + 16 * 28);
  ASSERT_EQ(t.oversubscription.size(), 2u);
  EXPECT_EQ(t.oversubscription[0], 1);
  EXPECT_NEAR(t.oversubscription[1], 192.0 / 28, 1e-12);
  const TopologyFacts facts = facts_of(t);
  EXPECT_EQ(facts.diameter_hops, 6);
  EXPECT_DOUBLE_EQ(facts.bisection.value, 4.0 * 16 * 28 * 400e9);
}

TEST(FatTree, RefusesWhatDoesNotFitWithTheNearestSizes) {
  EXPECT_EQ(error_of([] { FatTree{.radix = 8, .tiers = 2, .link = kLink}.shape(40); }),
            "tiers: 40 endpoints (NICs) do not fit: 2 tiers of radix 8 hold 32\n"
            "radix 10 is enough; 3 tiers of radix 8 hold 128");
  EXPECT_EQ(error_of([] { FatTree{.radix = 8, .link = kLink}.shape(129); }),
            "radix: 129 endpoints (NICs) do not fit: 3 tiers of radix 8 hold 128\n"
            "radix 9 is enough");
  EXPECT_EQ(error_of([] {
              FatTree{.down = {4, 2}, .up = {2}, .link = kLink}.shape(9);
            }),
            "down: 9 endpoints (NICs) do not fit: `down: [4, 2]` holds 8\n"
            "`down: [4, 3]` is enough");
  EXPECT_EQ(error_of([] {
              FatTree{.radix = 8, .tiers = 2, .oversubscription = {1, 2}, .link = kLink}.shape(8);
            }),
            "oversubscription: tier 2 of 2 has no uplinks to oversubscribe\n"
            "the list begins at the leaves; the top tier has none");
}

TEST(FatTree, ReadsYamlAndPointsAtTheKeyWhenTheHostsDoNotFit) {
  const Topology t = build_yaml(
      "fabric:\n"
      "  kind: fat_tree\n"
      "  radix: 8\n"
      "  oversubscription: [1, 3]\n"
      "  link: {rate: 400 Gbps}\n"
      "  uplink: {latency: 1 us}\n",
      cluster_of(64, 1));
  EXPECT_EQ(t.oversubscription, (std::vector<double>{1, 3}));
  EXPECT_EQ(t.links.back().latency, 1_us);
  EXPECT_EQ(t.links.back().capacity, 400_Gbps);
  EXPECT_EQ(error_of([] {
              build_yaml(
                  "fabric:\n"
                  "  kind: fat_tree\n"
                  "  radix: 4\n"
                  "  link: {rate: 400 Gbps}\n",
                  cluster_of(17, 1));
            }),
            "net.yaml:3:10: fabric.radix: 17 endpoints (NICs) do not fit: 3 tiers of radix 4 hold "
            "16\n"
            "    radix: 4\n"
            "           ^\n"
            "  radix 5 is enough");
}

// ---- dragonfly -------------------------------------------------------------------------------

TEST(Dragonfly, OfNineGroupsHasOneCableForEachPairOfGroups) {
  const Dragonfly fly{.groups = 9,
                      .routers_per_group = 4,
                      .endpoints_per_router = 2,
                      .global_links_per_router = 2,
                      .link = kLink};
  const Topology t = fly.build(cluster_of(72, 1));
  const TopologyFacts facts = facts_of(t);
  using Counts = std::vector<std::pair<std::string, std::size_t>>;
  EXPECT_EQ(facts.switches_by_label, (Counts{{"router", 36}}));
  EXPECT_EQ(facts.cables_by_tier, (Counts{{"nic", 72}, {"local", 54}, {"global", 36}}));
  EXPECT_EQ(facts.most_ports, 7u);
  EXPECT_EQ(facts.diameter_hops, 5);
  EXPECT_EQ(t.groups, 9);
  EXPECT_EQ(t.name(t.cables_of(NicId{21}).cables[0].far), "router2.2");
  EXPECT_EQ(t.oversubscription, std::vector<double>{1});
}

TEST(Dragonfly, TakesTheFewestGroupsThatHoldTheHosts) {
  const Dragonfly fly{.routers_per_group = 16,
                      .endpoints_per_router = 8,
                      .global_links_per_router = 8,
                      .link = kLink};
  EXPECT_EQ(fly.build(cluster_of(128, 8)).groups, 8);
  EXPECT_EQ(fly.build(cluster_of(1, 8)).groups, 1);
}

TEST(Dragonfly, RefusesWhatDoesNotFitWithTheNearestSizes) {
  Dragonfly fly{.groups = 10,
                .routers_per_group = 4,
                .endpoints_per_router = 2,
                .global_links_per_router = 2,
                .link = kLink};
  EXPECT_EQ(error_of([&] { fly.build(cluster_of(8, 1)); }),
            "groups: 10 groups, but 4 routers x 2 global links reach 8 other groups\n"
            "at most 9 groups, or 3 global links per router");
  fly.groups = 2;
  EXPECT_EQ(error_of([&] { fly.build(cluster_of(17, 1)); }),
            "groups: 17 endpoints (NICs) do not fit: 2 groups x 4 routers x 2 hold 16\n"
            "3 groups are enough");
  fly.groups = 0;
  EXPECT_EQ(error_of([&] { fly.build(cluster_of(73, 1)); }),
            "global_links_per_router: 73 endpoints (NICs) take 10 groups of 8, but 4 routers x 2 "
            "global links reach 8 other groups\n"
            "at most 9 groups, or 3 global links per router");
}

// ---- graph -----------------------------------------------------------------------------------

TEST(Graph, DealsTheCablesOfABareHostToItsNicsInTurn) {
  const Topology t = build_yaml(
      "fabric:\n"
      "  kind: graph\n"
      "  link: {rate: 100 Gbps, latency: 500 ns}\n"
      "  links:\n"
      "    - {between: [host0, left], cables: 4}\n"
      "    - {between: [left, right], rate: 200 Gbps, cables: 3}\n"
      "    - {between: [right, host1.nic0]}\n"
      "    - {between: [host1.nic1, right], latency: 2 us}\n",
      cluster_of(2, 2));
  EXPECT_EQ(t.cables_of(NicId{0}).cables.size(), 2u);
  EXPECT_EQ(t.cables_of(NicId{1}).cables.size(), 2u);
  EXPECT_EQ(t.cables_of(NicId{2}).cables.size(), 1u);
  EXPECT_EQ(t.cables(), 9u);
  EXPECT_EQ(t.switches(), 2u);
  EXPECT_DOUBLE_EQ(t.links[at(t.cables_of(NicId{3}).cables[0].in)].latency.value, 2e-6);
  const TopologyFacts facts = facts_of(t);
  EXPECT_EQ(facts.diameter_hops, 3);
  EXPECT_EQ(facts.shortest_paths, 6u);
  EXPECT_DOUBLE_EQ(facts.bisection.value, 200e9);
}

TEST(Graph, WiresHostsBackToBack) {
  const std::string yaml =
      "fabric: {kind: graph, links: [{between: [host0, host1], rate: 100 Gbps, latency: 0 s,"
      " cables: 2}]}";
  const Topology t = build_yaml(yaml, cluster_of(2, 1));
  EXPECT_EQ(t.switches(), 0u);
  const TopologyFacts facts = facts_of(t);
  EXPECT_EQ(facts.cables, 2u);
  EXPECT_EQ(facts.diameter_hops, 1);
  EXPECT_EQ(facts.shortest_paths, 2u);
  EXPECT_DOUBLE_EQ(facts.bisection.value, 200e9);
  const auto router = make_router(t, {"ecmp", 1});
  std::set<std::vector<std::string>> paths;
  for (std::uint64_t key = 0; key < 20; ++key) {
    std::vector<LinkId> path;
    router->route(NicId{1}, NicId{0}, key, path);
    paths.insert(names_of(t, path));
  }
  EXPECT_EQ(paths, (std::set<std::vector<std::string>>{
                       {"host1->host1.port", "host1.port->host0.port", "host0.port->host0"},
                       {"host1->host1.port", "host1.port->host0.port#1", "host0.port->host0"}}));
  // NIC to NIC of the same number is not enough: those of different numbers do not meet.
  EXPECT_NE(error_of([&] {
              build_yaml(yaml, cluster_of(2, 2));
            }).find("no path over switches between host0.nic1 and host0.nic0"),
            std::string::npos);
}

TEST(Graph, ExplainsWhatIsWrong) {
  const auto error = [](const std::string& links) {
    return error_of([&] {
      build_yaml("fabric: {kind: graph, link: {rate: 1 Gbps}, links: [" + links + "]}",
                 cluster_of(2, 2));
    });
  };
  const auto ends_with = [](const std::string& text, const std::string& tail) {
    return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
  };
  const std::string ok = "{between: [host0, s], cables: 2}, ";
  for (const auto& [links, problem, hint] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"{between: [host9, s]}", "fabric.links.0.between: there is no `host9`",
            "the cluster has 2 hosts: host0 to host1"},
           {"{between: [host01, s]}", "there is no `host01`",
            "the cluster has 2 hosts: host0 to host1"},
           {"{between: [s, host1.nic2]}", "there is no `host1.nic2`",
            "a host has 2 NICs: host1.nic0 to host1.nic1"},
           {"{between: [s, s]}", "a cable from `s` to itself", "^"},
           {"{between: [host0, host0.nic1]}", "a cable from `host0` to itself",
            "GPUs of one host talk over NVLink"},
           {"{between: [host0, s, q]}", "a cable has 2 ends, not 3", "^"},
           {"{between: [host0, s], cables: 3}",
            "links.0.cables: 3 cables cannot be dealt evenly to the 2 NICs of host0",
            "a multiple of 2, or name the NIC: `host0.nic0`"},
           {ok + "{between: [host1.nic0, s]}", "fabric.links: `host1.nic1` has no cable",
            "the cluster has 2 hosts with 2 NICs each"},
           {ok + "{between: [host1, t], cables: 2}",
            "no path over switches between host1.nic0 and host0.nic0",
            "hosts do not forward what is meant for others"},
       }) {
    const std::string text = error(links);
    EXPECT_NE(text.find(problem + "\n"), std::string::npos) << text;
    EXPECT_TRUE(ends_with(text, hint)) << text;
  }
}

// ---- catalogue and presets -------------------------------------------------------------------

TEST(FabricCatalog, DescribesEveryKindAndRefusesAnUnknownOne) {
  for (const FabricInfo& info : fabric_catalog()) {
    const auto keys = describe_keys([&](const Section& s) { info.read(s, cluster_of(128, 8)); });
    EXPECT_FALSE(keys.empty()) << info.name;
    for (const KeyInfo& key : keys) EXPECT_FALSE(key.help.empty()) << info.name << " " << key.path;
    EXPECT_FALSE(info.help.empty());
    EXPECT_FALSE(info.picture.empty());
    EXPECT_NE(info.picture.front(), '\n');
  }
  EXPECT_NE(error_of([] {
              build_yaml("fabric: {kind: fat_treee, link: {rate: 1 Gbps}}", cluster_of(2, 1));
            }).find("did you mean `fat_tree`"),
            std::string::npos);
}

TEST(FabricPresets, BuildForAThousandGpus) {
  int count = 0;
  for (const Preset& preset : presets()) {
    if (preset.kind != "fabric") continue;
    ++count;
    const ConfigFile file = ConfigFile::read_text(preset.name + ".yaml", preset.yaml, {});
    const auto fabric = read_fabric(file.root(), cluster_of(128, 8));
    file.refuse_unread();
    const Topology t = fabric->build(cluster_of(128, 8));
    EXPECT_EQ(t.kind, preset.name);
    // What is read back from the resolved file is the same fabric.
    const ConfigFile again = ConfigFile::read_text("resolved.yaml", file.resolved_yaml(), {});
    const auto same = read_fabric(again.root(), cluster_of(128, 8));
    EXPECT_EQ(same->build(cluster_of(128, 8)).links.size(), t.links.size());
    EXPECT_EQ(again.resolved_yaml(), file.resolved_yaml());
  }
  EXPECT_GE(count, 3);
}

// ---- network ---------------------------------------------------------------------------------

TEST(Network, TakesNvlinkInsideAHostAndTheFabricBetweenHosts) {
  const Cluster cluster = cluster_of(2, 2, 4);
  const Topology t = SingleSwitch{.link = kLink}.build(cluster);
  const auto router = make_router(t, {"ecmp", 1});
  const Network network(cluster, t, *router);
  std::vector<LinkId> path;
  EXPECT_DOUBLE_EQ(network.path(GpuId{4}, GpuId{6}, 0, path).value, 500e-9);
  ASSERT_EQ(path.size(), 2u);
  EXPECT_EQ(network.name(path[0]), "host1.gpu0->host1.nvswitch");
  EXPECT_EQ(network.name(path[1]), "host1.nvswitch->host1.gpu2");
  EXPECT_EQ(network.tier(path[0]), "nvlink");
  EXPECT_EQ(network.links()[at(path[1])].capacity, 3600_Gbps);

  // NIC latency + 2 x link latency; GPU 1 of 4 uses NIC 0 of 2, GPU 7 is host 1's last.
  EXPECT_DOUBLE_EQ(network.path(GpuId{1}, GpuId{7}, 0, path).value, 1e-6 + 2 * 600e-9);
  EXPECT_EQ(names_of(t, path),
            (std::vector<std::string>{"host0.nic0->switch0", "switch0->host1.nic1"}));
  EXPECT_EQ(network.tier(path[0]), "nic");
}

}  // namespace
}  // namespace weft
