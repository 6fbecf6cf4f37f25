#include "sim/topology_facts.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "sim/bisection.h"
#include "sim/topology_skeleton.h"

namespace weft {
namespace {

constexpr std::uint32_t kNone = Skeleton::kNone;

struct Distances {
  int most = 0;
  double mean = 0;
};

/// Cables on shortest paths between NICs: breadth-first search from 64 sources at a time, one bit
/// each. NICs that hang from the same switches are one source.
Distances distances(const Skeleton& net) {
  const std::vector<Skeleton::Kind>& kinds = net.kinds;
  int most = 0;
  double sum = 0, pairs = 0;
  std::vector<std::uint64_t> seen, fresh, next, done;
  std::vector<std::uint32_t> front, new_front;
  for (std::size_t first = 0; first < kinds.size(); first += 64) {
    seen.assign(net.arcs.size(), 0);
    fresh.assign(net.arcs.size(), 0);
    next.assign(net.arcs.size(), 0);
    done.assign(kinds.size(), 0);
    front.clear();
    const auto reached = [&](std::size_t k, std::uint64_t bits, int hops) {
      for (std::uint64_t news = bits & ~done[k]; news != 0; news &= news - 1) {
        const std::size_t from = first + static_cast<std::size_t>(__builtin_ctzll(news));
        const auto ends = static_cast<double>(kinds[k].members - (from == k ? 1u : 0u));
        if (ends == 0) continue;
        most = std::max(most, hops);
        sum += static_cast<double>(kinds[from].members) * ends * hops;
        pairs += static_cast<double>(kinds[from].members) * ends;
      }
      done[k] |= bits;
    };
    for (std::size_t k = first; k < std::min(first + 64, kinds.size()); ++k) {
      const std::uint64_t bit = std::uint64_t{1} << (k - first);
      for (const std::size_t other : kinds[k].wired) reached(other, bit, 1);
      for (const std::uint32_t s : kinds[k].switches) {
        if (fresh[s] == 0) front.push_back(s);
        fresh[s] |= bit;
      }
    }
    for (int level = 0; !front.empty(); ++level) {
      new_front.clear();
      for (const std::uint32_t s : front) {
        seen[s] |= fresh[s];
        for (const std::size_t k : net.kinds_at[s]) reached(k, fresh[s], level + 2);
      }
      for (const std::uint32_t s : front) {
        for (const Skeleton::Arc& arc : net.arcs[s]) {
          const std::uint64_t news = fresh[s] & ~seen[arc.to];
          if (news == 0) continue;
          if (next[arc.to] == 0) new_front.push_back(arc.to);
          next[arc.to] |= news;
        }
      }
      for (const std::uint32_t s : front) fresh[s] = 0;
      for (const std::uint32_t s : new_front) {
        fresh[s] = next[s];
        next[s] = 0;
      }
      front.swap(new_front);
    }
  }
  return {most, pairs > 0 ? sum / pairs : 0};
}

/// Shortest paths (by weight, parallel cables apart) from every switch to one NIC.
struct Tree {
  static constexpr std::uint64_t kFar = UINT64_MAX;
  std::vector<std::uint64_t> distance;  ///< [switch]
  std::vector<double> paths;            ///< [switch]

  Tree(const Skeleton& net, const NicCables& to)
      : distance(net.arcs.size(), kFar), paths(net.arcs.size(), 0) {
    using Entry = std::pair<std::uint64_t, std::uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (const NicCable& c : to.cables) {
      const std::uint32_t s = net.number[at(c.far)];
      if (s == kNone) continue;
      if (distance[s] == kFar) queue.emplace(0, s);
      distance[s] = 0;
      ++paths[s];
    }
    std::vector<bool> settled(net.arcs.size(), false);
    while (!queue.empty()) {
      const auto [d, s] = queue.top();
      queue.pop();
      if (settled[s]) continue;
      settled[s] = true;
      for (const auto& arc : net.arcs[s]) {
        const std::uint64_t there = d + arc.weight;
        if (there < distance[arc.to]) {
          distance[arc.to] = there;
          paths[arc.to] = 0;
          queue.emplace(there, arc.to);
        }
        if (there == distance[arc.to]) paths[arc.to] += paths[s] * arc.cables;
      }
    }
  }

  /// Paths from a NIC; 0 where there is none.
  double from(const Skeleton& net, const NicCables& nic) const {
    std::uint64_t nearest = kFar;
    double count = 0;
    for (const NicCable& c : nic.cables) {
      const std::uint32_t s = net.number[at(c.far)];
      if (s == kNone) continue;
      if (distance[s] < nearest) nearest = distance[s], count = 0;
      if (distance[s] == nearest && nearest < kFar) count += paths[s];
    }
    return count;
  }
};

double shortest_paths(const Topology& t, const Skeleton& net, const Tree& to_there, NicId from,
                      NicId there) {
  const NicCables& cables = net.nics[at(from)];
  const auto direct = std::count_if(cables.cables.begin(), cables.cables.end(),
                                    [&](const NicCable& c) { return c.far == t.nics[at(there)]; });
  return direct > 0 ? static_cast<double>(direct) : to_there.from(net, cables);
}

/// What a NIC can send: no more than its own rate, no more than its cables carry.
double send_rate(const Topology& t, const NicCables& nic) {
  double cables = 0;
  for (const NicCable& c : nic.cables) cables += t.links[at(c.out)].capacity.value;
  return nic.has_port ? std::min(cables, t.links[at(nic.port_out)].capacity.value) : cables;
}

}  // namespace

TopologyFacts facts_of(const Topology& t) {
  TopologyFacts facts;
  facts.switches = t.switches();
  facts.cables = t.cables();
  std::vector<SwitchFacts> by_label(t.vertex_labels.size());
  for (std::size_t v = 0; v < num_vertices(t.graph); ++v) {
    if (!t.is_switch(VertexId{static_cast<std::uint32_t>(v)})) continue;
    SwitchFacts& label = by_label[t.graph[v].label];
    const std::size_t ports = out_degree(v, t.graph);
    ++label.switches;
    label.ports += ports;
    label.most_ports = std::max(label.most_ports, ports);
    facts.most_ports = std::max(facts.most_ports, ports);
  }
  for (std::size_t i = 1; i < by_label.size(); ++i) {
    facts.switches_by_label.emplace_back(t.vertex_labels[i], by_label[i].switches);
    facts.switch_tiers.emplace_back(t.vertex_labels[i], by_label[i]);
  }
  std::vector<std::size_t> by_tier(t.link_tiers.size(), 0);
  std::vector<bool> inside(t.link_tiers.size(), false);
  for (std::size_t i = 0; i < t.links.size(); i += 2) {
    ++by_tier[t.links[i].tier];
    inside[t.links[i].tier] = t.is_inside_nic(t.links[i].id);
  }
  for (std::size_t i = 0; i < by_tier.size(); ++i) {
    if (!inside[i]) facts.cables_by_tier.emplace_back(t.link_tiers[i], by_tier[i]);
  }
  facts.oversubscription_by_tier = t.oversubscription;
  for (const double ratio : t.oversubscription) {
    facts.oversubscription = std::max(facts.oversubscription.value_or(1), ratio);
  }
  const Skeleton net(t);
  const Distances hops = distances(net);
  facts.diameter_hops = hops.most;
  facts.mean_distance_hops = hops.mean;
  facts.bisection = bisection(t, net);
  double sent = 0;
  for (const NicCables& nic : net.nics) sent += send_rate(t, nic);
  facts.endpoint = BitsPerSecond(sent / static_cast<double>(net.nics.size()));
  if (net.nics.size() > 1) {
    // Of rails apart the last NIC that the first has a path to.
    NicId last{static_cast<std::uint32_t>(net.nics.size() - 1)};
    while (!t.connected(NicId{0}, last)) last = NicId{static_cast<std::uint32_t>(last) - 1};
    if (last != NicId{0}) {
      const double count = shortest_paths(t, net, Tree(net, net.nics[at(last)]), NicId{0}, last);
      facts.shortest_paths = count < 0x1p63 ? static_cast<std::size_t>(count)
                                            : std::numeric_limits<std::size_t>::max();
    }
  }
  return facts;
}

PathFacts path_diversity(const Topology& t) {
  constexpr std::size_t kSources = 64;
  const Skeleton net(t);
  PathFacts facts;
  const std::size_t kinds = net.kinds.size();
  facts.sampled = kinds > kSources;
  double sum = 0, pairs = 0;
  for (std::size_t i = 0; i < std::min(kinds, kSources); ++i) {
    const Skeleton::Kind& to = net.kinds[facts.sampled ? i * kinds / kSources : i];
    const Tree tree(net, net.nics[to.first]);
    for (const Skeleton::Kind& from : net.kinds) {
      const std::size_t ends = from.members - (&from == &to ? 1u : 0u);
      const NicId source{from.first}, there{to.first};
      if (ends == 0 || !t.connected(source, there)) continue;
      // Between alike NICs the paths are those over their common switches.
      const double count = &from == &to ? tree.from(net, net.nics[from.first])
                                        : shortest_paths(t, net, tree, source, there);
      if (count == 0) continue;
      const double weight = static_cast<double>(ends) * static_cast<double>(to.members);
      facts.least = pairs == 0 ? count : std::min(facts.least, count);
      facts.most = std::max(facts.most, count);
      sum += count * weight;
      pairs += weight;
    }
  }
  if (pairs > 0) facts.mean = sum / pairs;
  return facts;
}

}  // namespace weft
