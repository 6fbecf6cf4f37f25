#include "topologies/fat_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/check.h"

namespace weft {
namespace {

constexpr int kMostTiers = 3;
constexpr std::int64_t kMostPorts = 1 << 20;

const std::vector<std::string>& labels(std::size_t tiers) {
  static const std::vector<std::string> two = {"leaf", "spine"};
  static const std::vector<std::string> three = {"leaf", "agg", "core"};
  return tiers == 3 ? three : two;
}

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

/// Uplinks that carry `down` cables at `ratio` uplinks per downlink; tolerant of rounding in the
/// ratio.
std::uint64_t uplinks_for(std::uint64_t down, double ratio) {
  return static_cast<std::uint64_t>(
      std::max(1.0, std::ceil(static_cast<double>(down) * ratio * (1 - 1e-12))));
}

/// Uplinks per downlink of tier `t` (0 is the leaf) that is not the top one.
double ratio(const FatTree& tree, std::size_t t) {
  const double over = t < tree.oversubscription.size() ? tree.oversubscription[t] : 1;
  const double up = tree.uplink.value_or(tree.link).rate.value;
  return (t == 0 ? tree.link.rate.value : up) / (over * up);
}

/// Most ports down of a switch of tier `t` whose uplinks still fit the radix; 0 if none do.
std::uint64_t most_down(const FatTree& tree, std::uint64_t radix, std::size_t t) {
  const double per_port = ratio(tree, t);
  auto down = static_cast<std::uint64_t>(static_cast<double>(radix) / (1 + per_port)) + 1;
  while (down > 0 && down + uplinks_for(down, per_port) > radix) --down;
  return down;
}

/// Most endpoints of a tree.
std::uint64_t capacity(const FatTree& tree, std::uint64_t radix, std::size_t tiers) {
  std::uint64_t endpoints = radix;
  for (std::size_t t = 0; t + 1 < tiers; ++t) endpoints *= most_down(tree, radix, t);
  return endpoints;
}

/// Parents of a switch with `uplinks` cables where at most `parallel` of them may end at the same
/// one: as few as possible. Below the top tier all get equally many, so that the switches above
/// are alike.
std::uint64_t parents_for(std::uint64_t uplinks, std::uint64_t parallel, bool equal) {
  std::uint64_t parents = ceil_div(uplinks, parallel);
  while (equal && uplinks % parents != 0) ++parents;
  return parents;
}

std::string list_text(const std::vector<std::int64_t>& list) {
  std::string text;
  for (const std::int64_t item : list) text += (text.empty() ? "" : ", ") + std::to_string(item);
  return "[" + text + "]";
}

FatTreeShape general_shape(const FatTree& tree, std::uint64_t endpoints) {
  const std::size_t tiers = tree.down.size();
  if (tiers > kMostTiers) {
    tree.place.fail("down", fmt::format("{} tiers, but a fat-tree has 1 to {}", tiers, kMostTiers));
  }
  if (tree.up.size() + 1 != tiers) {
    tree.place.fail("up",
                    fmt::format("{} entries for {} tiers: one for each tier but the top",
                                tree.up.size(), tiers),
                    fmt::format("`down: {}` makes it {}", list_text(tree.down), tiers - 1));
  }
  if (!tree.cables.empty() && tree.cables.size() + 1 != tiers) {
    tree.place.fail("cables", fmt::format("{} entries for {} tiers: one for each tier but the top",
                                          tree.cables.size(), tiers));
  }
  FatTreeShape shape;
  shape.endpoints_per_leaf = static_cast<std::uint32_t>(tree.down[0]);
  std::uint64_t below = endpoints;
  double switches = 1;
  double most = 1;
  double cables = static_cast<double>(endpoints);
  for (std::size_t t = 0; t < tiers; ++t) {
    most *= static_cast<double>(tree.down[t]);
    const std::uint64_t subtrees = ceil_div(below, static_cast<std::uint64_t>(tree.down[t]));
    const std::int64_t up = t + 1 < tiers ? tree.up[t] : 0;
    const std::int64_t parallel = t < tree.cables.size() ? tree.cables[t] : 1;
    const double uplinks = static_cast<double>(up) * static_cast<double>(parallel);
    cables += static_cast<double>(subtrees) * switches * uplinks;
    tree.place.refuse_huge("up", std::max(cables, switches));
    shape.tiers.push_back({
        .subtrees = static_cast<std::uint32_t>(subtrees),
        .switches = static_cast<std::uint32_t>(switches),
        .children = static_cast<std::uint32_t>(tree.down[t]),
        .parents = static_cast<std::uint32_t>(up),
        .uplinks = static_cast<std::uint32_t>(uplinks),
    });
    switches *= static_cast<double>(up);
    below = subtrees;
  }
  if (below > 1) {
    std::vector<std::int64_t> enough = tree.down;
    enough.back() =
        static_cast<std::int64_t>(tiers > 1 ? shape.tiers[tiers - 2].subtrees : endpoints);
    tree.place.fail("down",
                    fmt::format("{} endpoints (NICs) do not fit: `down: {}` holds {:.0f}",
                                endpoints, list_text(tree.down), most),
                    fmt::format("`down: {}` is enough", list_text(enough)));
  }
  return shape;
}

}  // namespace

FatTreeShape FatTree::shape(std::uint64_t endpoints) const {
  check(endpoints > 0, "a cluster has NICs");
  if (!down.empty()) return general_shape(*this, endpoints);

  const auto ports = static_cast<std::uint64_t>(radix);
  std::size_t named = 0;  // tiers whose oversubscription matters
  for (std::size_t t = 0; t < oversubscription.size(); ++t) {
    if (oversubscription[t] != 1) named = t + 1;
  }
  std::size_t count = static_cast<std::size_t>(tiers);
  if (count == 0) count = named < 2 && capacity(*this, ports, 2) >= endpoints ? 2 : kMostTiers;
  if (named >= count) {
    place.fail("oversubscription",
               fmt::format("tier {} of {} has no uplinks to oversubscribe", named, count),
               "the list begins at the leaves; the top tier has none");
  }
  if (const std::uint64_t most = capacity(*this, ports, count); most < endpoints) {
    std::string hint;
    for (std::uint64_t r = ports + 1; hint.empty() && r <= 65536; ++r) {
      if (capacity(*this, r, count) >= endpoints) hint = fmt::format("radix {} is enough", r);
    }
    if (count < kMostTiers) {
      hint += fmt::format("{}{} tiers of radix {} hold {}", hint.empty() ? "" : "; ", count + 1,
                          radix, capacity(*this, ports, count + 1));
    }
    place.fail(tiers == 0 ? "radix" : "tiers",
               fmt::format("{} endpoints (NICs) do not fit: {} tiers of radix {} hold {}",
                           endpoints, count, radix, most),
               hint);
  }

  FatTreeShape shape;
  shape.endpoints_per_leaf =
      static_cast<std::uint32_t>(count == 1 ? ports : most_down(*this, ports, 0));
  shape.tiers.resize(count);
  // As few subtrees as hold what is below them, then of equal size.
  std::uint64_t below = endpoints;
  for (std::size_t t = 0; t < count; ++t) {
    const std::uint64_t most = t + 1 < count ? most_down(*this, ports, t) : ports;
    const std::uint64_t subtrees = ceil_div(below, most);
    shape.tiers[t].subtrees = static_cast<std::uint32_t>(subtrees);
    shape.tiers[t].children = static_cast<std::uint32_t>(t == 0 ? most : ceil_div(below, subtrees));
    below = subtrees;
  }
  // From the leaf up: the uplinks that the downlinks in use ask for, and as few parents as have
  // ports for them.
  std::uint64_t down_cables = std::min<std::uint64_t>(shape.endpoints_per_leaf, endpoints);
  std::uint64_t switches = 1;
  double wired = static_cast<double>(endpoints);
  for (std::size_t t = 0; t < count; ++t) {
    FatTreeShape::Tier& tier = shape.tiers[t];
    tier.switches = static_cast<std::uint32_t>(switches);
    if (t + 1 == count) break;
    const bool below_top = t + 2 == count;
    const std::uint64_t ports_down = below_top ? ports : most_down(*this, ports, t + 1);
    const std::uint64_t uplinks = uplinks_for(down_cables, ratio(*this, t));
    const std::uint64_t siblings = shape.tiers[t + 1].children;
    const std::uint64_t parents = parents_for(uplinks, ports_down / siblings, !below_top);
    tier.uplinks = static_cast<std::uint32_t>(uplinks);
    tier.parents = static_cast<std::uint32_t>(parents);
    wired += static_cast<double>(tier.subtrees) * static_cast<double>(switches * uplinks);
    place.refuse_huge("radix", wired);
    down_cables = siblings * ceil_div(uplinks, parents);
    switches *= parents;
  }
  return shape;
}

FatTree FatTree::read(const Section& fabric, const Cluster& cluster) {
  FatTree tree;
  tree.place.section = fabric;
  const bool general = fabric.has("down");
  if (general) {
    for (const char* other : {"radix", "tiers", "oversubscription"}) {
      if (!fabric.describing() && fabric.has(other)) {
        fabric.fail(other, "`down` describes the tree tier by tier: one of the two",
                    "leave out either");
      }
    }
    tree.down = fabric.integers(
        {.name = "down",
         .help = "in place of radix: per tier from the leaf, endpoints or subtrees below a switch",
         .example = "[16, 192, 8]"},
        1, kMostPorts);
    if (fabric.has("up") || tree.down.size() > 1) {
      tree.up = fabric.integers(
          {.name = "up",
           .help = "with `down`: per tier but the top, switches above that a switch is wired to",
           .example = "[16, 28]"},
          1, kMostPorts);
    }
    if (fabric.has("cables")) {
      tree.cables =
          fabric.integers({.name = "cables",
                           .help = "with `up`: parallel cables to each of them; 1 where left out",
                           .example = "[1, 1]"},
                          1, kMostPorts);
    }
  }
  if (!general || fabric.describing()) {
    if (!general) {
      for (const char* other : {"up", "cables"}) {
        if (fabric.has(other)) fabric.fail(other, "goes with `down`, which is missing");
      }
    }
    tree.radix = static_cast<int>(fabric.integer(
        {.name = "radix", .help = "ports of every switch", .example = "64"}, 2, 65536));
    const Key key{.name = "oversubscription",
                  .help = "down : up capacity of the leaves, or a list per tier from the leaf",
                  .initial = "1",
                  .source = "full bisection"};
    if (fabric.is_sequence("oversubscription")) {
      tree.oversubscription = fabric.numbers(key, 0.01, 1000);
    } else {
      tree.oversubscription = {fabric.number(key, 0.01, 1000)};
    }
  }
  tree.link = read_link(fabric);
  tree.uplink = read_link(fabric, "uplink", "cables between switches", tree.link);
  if (!general || fabric.describing()) {
    const bool open = !fabric.describing() && !fabric.has("tiers");
    const auto endpoints = static_cast<std::uint64_t>(cluster.nics());
    const std::string fewest = open ? std::to_string(tree.shape(endpoints).tiers.size()) : "2";
    tree.tiers = static_cast<int>(fabric.integer({.name = "tiers",
                                                  .help = "of switches",
                                                  .initial = fewest,
                                                  .source = "3 where the hosts do not fit 2"},
                                                 1, kMostTiers));
  }
  if (fabric.describing()) tree.down.clear();
  return tree;
}

Topology FatTree::build(const Cluster& cluster) const {
  const auto endpoints = static_cast<std::uint32_t>(cluster.nics());
  const FatTreeShape plan = shape(endpoints);
  const PortSpec between = uplink.value_or(link);
  const std::size_t count = plan.tiers.size();
  const std::vector<std::string>& label = labels(count);

  TopologyBuilder builder("fat_tree", cluster);
  std::vector<std::vector<VertexId>> made(count);  // [tier][subtree * switches + position]
  for (std::size_t t = 0; t < count; ++t) {
    const FatTreeShape::Tier& tier = plan.tiers[t];
    for (std::uint32_t i = 0; i < tier.subtrees * tier.switches; ++i) {
      // Pods are the subtrees of the middle tier of three.
      int pod = -1;
      if (count == 3 && t == 0) pod = static_cast<int>(i / plan.tiers[1].children);
      if (count == 3 && t == 1) pod = static_cast<int>(i / tier.switches);
      made[t].push_back(builder.add_switch(label[t], static_cast<int>(t) + 1, i, pod));
    }
  }
  for (std::uint32_t e = 0; e < endpoints; ++e) {
    builder.attach(NicId{e}, made[0][e / plan.endpoints_per_leaf], link);
  }
  std::uint32_t down_cables = std::min(plan.endpoints_per_leaf, endpoints);  // of a full switch
  double down_rate = std::min(link.rate, cluster.host.nic.rate).value;
  for (std::size_t t = 0; t + 1 < count; ++t) {
    const FatTreeShape::Tier& tier = plan.tiers[t];
    const FatTreeShape::Tier& above = plan.tiers[t + 1];
    const std::string name = label[t] + "-" + label[t + 1];
    for (std::uint32_t subtree = 0; subtree < tier.subtrees; ++subtree) {
      for (std::uint32_t a = 0; a < tier.switches; ++a) {
        const VertexId low = made[t][subtree * tier.switches + a];
        const std::uint32_t first = subtree / above.children * above.switches + a * tier.parents;
        for (std::uint32_t c = 0; c < tier.uplinks; ++c) {
          builder.connect(low, made[t + 1][first + c % tier.parents], between, name);
        }
      }
    }
    builder.topology().oversubscription.push_back(down_cables * down_rate /
                                                  (tier.uplinks * between.rate.value));
    const std::uint32_t parallel = (tier.uplinks + tier.parents - 1) / tier.parents;
    down_cables = std::min(above.children, tier.subtrees) * parallel;
    down_rate = between.rate.value;
  }
  builder.topology().tree = true;
  return builder.finish();
}

}  // namespace weft
