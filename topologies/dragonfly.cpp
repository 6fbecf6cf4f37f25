#include "topologies/dragonfly.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/check.h"

namespace weft {
namespace {

constexpr std::uint8_t kGlobalWeight = 3;

/// Pairs of groups that get one cable more, `degree` for each group: neighbours on a circle, and
/// opposite groups where the degree is odd. Where both are odd nobody can have the sum right, and
/// the last group gets one less.
std::vector<std::pair<std::uint32_t, std::uint32_t>> extra_pairs(std::uint32_t groups,
                                                                 std::uint32_t degree) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  const auto circle = [&](std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t d = first; d <= last; ++d) {
      for (std::uint32_t i = 0; i < groups; ++i) pairs.push_back(std::minmax(i, (i + d) % groups));
    }
  };
  if (degree % 2 == 0) {
    circle(1, degree / 2);
  } else if (groups % 2 == 0) {
    circle(1, degree / 2);
    for (std::uint32_t i = 0; i < groups / 2; ++i) pairs.emplace_back(i, i + groups / 2);
  } else {
    circle(2, degree / 2 + 1);
    for (std::uint32_t i = 0; i + 1 < groups; i += 2) pairs.emplace_back(i, i + 1);
  }
  return pairs;
}

}  // namespace

std::vector<GlobalCable> global_cables(std::uint32_t groups, std::uint32_t ports) {
  check(groups >= 1 && groups - 1 <= ports, "each pair of groups gets a cable");
  std::vector<GlobalCable> cables;
  if (groups == 1) return cables;
  const std::uint32_t others = groups - 1;
  const std::uint32_t rounds = ports / others;
  for (std::uint32_t i = 0; i < groups; ++i) {
    for (std::uint32_t j = i + 1; j < groups; ++j) {
      for (std::uint32_t r = 0; r < rounds; ++r) {
        cables.push_back({i, r * others + (j - i) - 1, j, r * others + (groups - (j - i)) - 1});
      }
    }
  }
  auto pairs = extra_pairs(groups, ports % others);
  std::sort(pairs.begin(), pairs.end());
  std::vector<std::uint32_t> next(groups, rounds * others);
  for (const auto& [i, j] : pairs) cables.push_back({i, next[i]++, j, next[j]++});
  return cables;
}

Dragonfly Dragonfly::read(const Section& fabric, const Cluster& cluster) {
  constexpr int kMost = 65536;
  Dragonfly fly;
  fly.place.section = fabric;
  fly.routers_per_group = static_cast<int>(fabric.integer(
      {.name = "routers_per_group", .help = "each wired to each other", .example = "8"}, 1, kMost));
  fly.endpoints_per_router = static_cast<int>(fabric.integer(
      {.name = "endpoints_per_router", .help = "NICs on a router", .example = "4"}, 1, kMost));
  fly.global_links_per_router =
      static_cast<int>(fabric.integer({.name = "global_links_per_router",
                                       .help = "cables of a router to other groups",
                                       .example = "4"},
                                      0, kMost));
  const bool open = !fabric.describing() && !fabric.has("groups");
  const std::string fewest = open ? std::to_string(fly.fewest_groups(cluster)) : "33";
  fly.groups = static_cast<int>(fabric.integer({.name = "groups",
                                                .help = "of routers",
                                                .initial = fewest,
                                                .source = "the fewest that hold the hosts"},
                                               1, kMost));
  fly.link = read_link(fabric);
  fly.local =
      read_link(fabric, "local", "cables between the routers of a group", fly.link, kRackLength);
  fly.global = read_link(fabric, "global", "cables between groups", fly.link, kHallLength);
  return fly;
}

int Dragonfly::fewest_groups(const Cluster& cluster) const {
  const auto a = static_cast<std::uint64_t>(routers_per_group);
  const auto p = static_cast<std::uint64_t>(endpoints_per_router);
  const auto h = static_cast<std::uint64_t>(global_links_per_router);
  const auto endpoints = static_cast<std::uint64_t>(cluster.nics());
  const std::uint64_t needed = (endpoints + a * p - 1) / (a * p);
  if (needed > a * h + 1) {
    place.fail("global_links_per_router",
               fmt::format("{} endpoints (NICs) take {} groups of {}, but {} routers x {} global "
                           "links reach {} other groups",
                           endpoints, needed, a * p, a, h, a * h),
               fmt::format("at most {} groups, or {} global links per router", a * h + 1,
                           (needed - 1 + a - 1) / a));
  }
  return static_cast<int>(needed);
}

Topology Dragonfly::build(const Cluster& cluster) const {
  const auto a = static_cast<std::uint64_t>(routers_per_group);
  const auto p = static_cast<std::uint64_t>(endpoints_per_router);
  const auto h = static_cast<std::uint64_t>(global_links_per_router);
  const auto endpoints = static_cast<std::uint64_t>(cluster.nics());
  const std::uint64_t needed = (endpoints + a * p - 1) / (a * p);
  const auto g = static_cast<std::uint64_t>(groups > 0 ? groups : fewest_groups(cluster));
  const std::uint64_t most = a * h + 1;
  if (g > most) {
    place.fail(
        "groups",
        fmt::format("{} groups, but {} routers x {} global links reach {} other groups", g, a, h,
                    a * h),
        fmt::format("at most {} groups, or {} global links per router", most, (g - 1 + a - 1) / a));
  }
  if (g < needed) {
    place.fail("groups",
               fmt::format("{} endpoints (NICs) do not fit: {} groups x {} routers x {} hold {}",
                           endpoints, g, a, p, g * a * p),
               needed <= most ? fmt::format("{} groups are enough", needed)
                              : fmt::format("these routers take at most {} groups, which hold {}",
                                            most, most * a * p));
  }
  const double per_group = static_cast<double>(a) * static_cast<double>(a - 1 + h) / 2;
  place.refuse_huge("routers_per_group",
                    static_cast<double>(g) * per_group + static_cast<double>(endpoints));

  TopologyBuilder builder("dragonfly", cluster);
  std::vector<VertexId> routers;
  for (std::uint64_t i = 0; i < g * a; ++i) {
    routers.push_back(builder.add_switch("router", 1, static_cast<std::uint32_t>(i % a),
                                         static_cast<int>(i / a)));
  }
  for (std::uint64_t e = 0; e < endpoints; ++e) {
    builder.attach(NicId{static_cast<std::uint32_t>(e)}, routers[e / p], link);
  }
  for (std::uint64_t group = 0; group < g; ++group) {
    for (std::uint64_t i = 0; i < a; ++i) {
      for (std::uint64_t j = i + 1; j < a; ++j) {
        builder.connect(routers[group * a + i], routers[group * a + j], local.value_or(link),
                        "local");
      }
    }
  }
  const auto between =
      global_cables(static_cast<std::uint32_t>(g), static_cast<std::uint32_t>(a * h));
  for (const GlobalCable& cable : between) {
    builder.connect(routers[cable.group_a * a + cable.port_a / h],
                    routers[cable.group_b * a + cable.port_b / h], global.value_or(link), "global",
                    kGlobalWeight);
  }
  if (g > 1) {
    const double down =
        static_cast<double>(a * p) * std::min(link.rate, cluster.host.nic.rate).value;
    const double up = static_cast<double>(a * h) * global.value_or(link).rate.value;
    builder.topology().oversubscription = {down / up};
  }
  builder.topology().groups = static_cast<int>(g);
  return builder.finish();
}

}  // namespace weft
