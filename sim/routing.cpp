#include "sim/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "sim/check.h"
#include "sim/random.h"

namespace weft {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

/// A link between two switches, seen from the first.
struct Arc {
  std::uint32_t to;
  std::uint32_t weight;
  LinkId link;
};

/// The switches numbered 0.. with their arcs, and where each NIC hangs. A *target* is a set of
/// switches where a path may end: target s < switches is switch s alone; the others are those of
/// NICs with cables to several.
class SwitchGraph {
 public:
  struct Hook {
    std::uint32_t to;  ///< switch, or kNone for a cable to another NIC
    std::uint32_t other_nic;
    LinkId out, in;
  };
  struct NicHooks {
    std::uint32_t first, last;  ///< in hooks_
    std::uint32_t target;
    bool has_port, wired;  ///< several cables; some of them to other NICs
    LinkId port_out, port_in;
  };

  explicit SwitchGraph(const Topology& topology) {
    const std::size_t vertices = num_vertices(topology.graph);
    std::vector<std::uint32_t> number(vertices, kNone);
    for (std::size_t v = 0; v < vertices; ++v) {
      if (!topology.is_switch(VertexId{static_cast<std::uint32_t>(v)})) continue;
      number[v] = switches();
      info_.push_back(topology.graph[v]);
    }
    offsets_.reserve(info_.size() + 1);
    offsets_.push_back(0);
    for (std::size_t v = 0; v < vertices; ++v) {
      if (number[v] == kNone) continue;
      for (auto [edge, last] = out_edges(v, topology.graph); edge != last; ++edge) {
        const Link& link = topology.graph[*edge];
        const std::uint32_t to = number[target(*edge, topology.graph)];
        if (to == kNone) continue;
        arcs_.push_back({to, link.weight, link.id});
        heaviest_ = std::max<std::uint32_t>(heaviest_, link.weight);
      }
      std::sort(arcs_.begin() + offsets_.back(), arcs_.end(),
                [](const Arc& a, const Arc& b) { return a.link < b.link; });
      offsets_.push_back(static_cast<std::uint32_t>(arcs_.size()));
      most_arcs_ = std::max(most_arcs_, offsets_.back() - offsets_[offsets_.size() - 2]);
    }
    std::map<std::vector<std::uint32_t>, std::uint32_t> sets;
    for (std::size_t i = 0; i < topology.nics.size(); ++i) {
      const NicCables nic = topology.cables_of(NicId{static_cast<std::uint32_t>(i)});
      NicHooks hooks{};
      hooks.first = static_cast<std::uint32_t>(hooks_.size());
      hooks.has_port = nic.has_port;
      hooks.port_out = nic.port_out;
      hooks.port_in = nic.port_in;
      std::vector<std::uint32_t> set;
      for (const NicCable& cable : nic.cables) {
        const std::uint32_t to = number[at(cable.far)];
        hooks.wired |= to == kNone;
        if (to != kNone) set.push_back(to);
        hooks_.push_back(
            {to, to == kNone ? topology.graph[at(cable.far)].index : kNone, cable.out, cable.in});
      }
      hooks.last = static_cast<std::uint32_t>(hooks_.size());
      most_arcs_ = std::max(most_arcs_, hooks.last - hooks.first);
      std::sort(set.begin(), set.end());
      set.erase(std::unique(set.begin(), set.end()), set.end());
      if (set.size() == 1) {
        hooks.target = set[0];
      } else {
        const auto next = static_cast<std::uint32_t>(switches() + sets_.size());
        const auto [found, fresh] = sets.emplace(set, next);
        if (fresh) sets_.push_back(set);
        hooks.target = found->second;
      }
      nics_.push_back(hooks);
    }
  }

  std::uint32_t switches() const { return static_cast<std::uint32_t>(info_.size()); }
  std::size_t targets() const { return info_.size() + sets_.size(); }
  const Vertex& info(std::uint32_t s) const { return info_[s]; }
  std::span<const Arc> arcs(std::uint32_t s) const {
    return {arcs_.data() + offsets_[s], arcs_.data() + offsets_[s + 1]};
  }
  const NicHooks& nic(NicId id) const { return nics_[at(id)]; }
  std::span<const Hook> hooks(const NicHooks& nic) const {
    return {hooks_.data() + nic.first, hooks_.data() + nic.last};
  }
  std::span<const std::uint32_t> members(const std::uint32_t& target) const {
    if (target < switches()) return {&target, 1};
    return sets_[target - switches()];
  }
  std::uint32_t heaviest() const { return heaviest_; }
  std::uint32_t most_arcs() const { return most_arcs_; }

 private:
  std::vector<Vertex> info_;
  std::vector<std::uint32_t> offsets_;
  std::vector<Arc> arcs_;
  std::vector<Hook> hooks_;
  std::vector<NicHooks> nics_;
  std::vector<std::vector<std::uint32_t>> sets_;
  std::uint32_t heaviest_ = 1;
  std::uint32_t most_arcs_ = 1;
};

/// Distances of all switches to one target. One byte each, where that is enough.
class Distances {
 public:
  static constexpr std::uint32_t kFar = UINT32_MAX / 2;  ///< plus a weight, still far

  bool known() const { return !narrow_.empty() || !wide_.empty(); }
  bool narrow() const { return !narrow_.empty(); }
  const std::uint8_t* narrow_row() const { return narrow_.data(); }
  const std::uint32_t* wide_row() const { return wide_.data(); }

  /// Dijkstra with one bucket per distance in reach (Dial, CACM 1969). A cable has the same weight
  /// both ways, so distances from the target are distances to it.
  void compute(const SwitchGraph& graph, std::uint32_t target) {
    std::vector<std::uint32_t> row(graph.switches(), kFar);
    std::vector<std::vector<std::uint32_t>> buckets(graph.heaviest() + 1);
    std::size_t waiting = 0;
    for (const std::uint32_t s : graph.members(target)) {
      row[s] = 0;
      buckets[0].push_back(s);
      ++waiting;
    }
    std::uint32_t furthest = 0;
    for (std::uint32_t d = 0; waiting > 0; ++d) {
      std::vector<std::uint32_t>& bucket = buckets[d % buckets.size()];
      // All weights are at least 1: nothing joins the bucket while it is emptied.
      waiting -= bucket.size();
      for (const std::uint32_t s : bucket) {
        if (row[s] != d) continue;
        furthest = d;
        for (const Arc& arc : graph.arcs(s)) {
          if (d + arc.weight >= row[arc.to]) continue;
          row[arc.to] = d + arc.weight;
          buckets[row[arc.to] % buckets.size()].push_back(arc.to);
          ++waiting;
        }
      }
      bucket.clear();
    }
    if (furthest < UINT8_MAX) {
      narrow_.resize(row.size());
      std::transform(row.begin(), row.end(), narrow_.begin(), [](std::uint32_t d) {
        return static_cast<std::uint8_t>(std::min<std::uint32_t>(d, UINT8_MAX));
      });
    } else {
      wide_ = std::move(row);
    }
  }

 private:
  std::vector<std::uint8_t> narrow_;
  std::vector<std::uint32_t> wide_;
};

/// Walks down the distances to a target; a Policy picks among equal ones.
///
/// A Policy has `pick(where, count)` for the cables at a NIC (`where` tells places apart) and
/// `pick(s, candidates)` for those at switch s; each returns an index.
class ShortestPaths {
 public:
  explicit ShortestPaths(const Topology& topology)
      : graph_(topology), distances_(graph_.targets()), candidates_(graph_.most_arcs()) {}

  const SwitchGraph& graph() const { return graph_; }

  /// The whole way from NIC to NIC.
  template <class Policy>
  void route(NicId source, NicId destination, Policy&& policy, std::vector<LinkId>& path) {
    if (wire(source, destination, policy, path)) return;
    const std::uint32_t target = graph_.nic(destination).target;
    const std::uint32_t first = leave(source, target, policy, path);
    const std::uint32_t last = walk(first, target, policy, path, [](std::uint32_t) {});
    arrive(destination, last, policy, path);
  }

  /// Direct cables between the two NICs, if there are any.
  template <class Policy>
  bool wire(NicId source, NicId destination, Policy&& policy, std::vector<LinkId>& path) {
    const auto& from = graph_.nic(source);
    if (!from.wired) return false;
    std::uint32_t count = 0;
    for (const auto& hook : graph_.hooks(from))
      count += hook.other_nic == at(destination) ? 1u : 0u;
    if (count == 0) return false;
    std::uint32_t chosen = policy.pick(kNone - 1, count);
    if (from.has_port) path.push_back(from.port_out);
    for (const auto& hook : graph_.hooks(from)) {
      if (hook.other_nic == at(destination) && chosen-- == 0) path.push_back(hook.out);
    }
    const auto& to = graph_.nic(destination);
    if (to.has_port) path.push_back(to.port_in);
    return true;
  }

  /// From the NIC to the switch of its own that is nearest to the target.
  template <class Policy>
  std::uint32_t leave(NicId source, std::uint32_t target, Policy&& policy,
                      std::vector<LinkId>& path) {
    const auto& from = graph_.nic(source);
    const auto hooks = graph_.hooks(from);
    if (hooks.size() == 1) {
      path.push_back(hooks[0].out);
      return hooks[0].to;
    }
    const Distances& to = distances(target);
    const auto distance = [&](std::uint32_t s) {
      return to.narrow() ? to.narrow_row()[s] : to.wide_row()[s];
    };
    std::uint32_t nearest = Distances::kFar;
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < hooks.size(); ++i) {
      if (hooks[i].to == kNone) continue;
      const std::uint32_t d = distance(hooks[i].to);
      if (d < nearest) nearest = d, count = 0;
      if (d == nearest) picks_at(count++) = i;
    }
    check(count > 0, "every NIC reaches every other over switches");
    const auto& hook = hooks[candidates_[policy.pick(kNone, count)]];
    path.push_back(from.port_out);
    path.push_back(hook.out);
    return hook.to;
  }

  /// From a switch to one of the target's, which is returned. `visit` hears of each switch entered.
  template <class Policy, class Visit>
  std::uint32_t walk(std::uint32_t from, std::uint32_t target, Policy&& policy,
                     std::vector<LinkId>& path, Visit&& visit) {
    const Distances& to = distances(target);
    return to.narrow() ? descend(from, to.narrow_row(), policy, path, visit)
                       : descend(from, to.wide_row(), policy, path, visit);
  }

  /// From the last switch to the NIC.
  template <class Policy>
  void arrive(NicId destination, std::uint32_t last, Policy&& policy, std::vector<LinkId>& path) {
    const auto& to = graph_.nic(destination);
    const auto hooks = graph_.hooks(to);
    if (hooks.size() == 1) {
      path.push_back(hooks[0].in);
      return;
    }
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < hooks.size(); ++i) {
      if (hooks[i].to == last) picks_at(count++) = i;
    }
    path.push_back(hooks[candidates_[policy.pick(last, count)]].in);
    path.push_back(to.port_in);
  }

 private:
  const Distances& distances(std::uint32_t target) {
    Distances& found = distances_[target];
    if (!found.known()) [[unlikely]]
      found.compute(graph_, target);
    return found;
  }

  std::uint32_t& picks_at(std::uint32_t i) { return candidates_[i]; }

  template <class Distance, class Policy, class Visit>
  std::uint32_t descend(std::uint32_t s, const Distance* distance, Policy&& policy,
                        std::vector<LinkId>& path, Visit&& visit) {
    std::uint32_t* const found = candidates_.data();
    while (distance[s] != 0) {
      const auto arcs = graph_.arcs(s);
      const std::uint32_t here = distance[s];
      std::uint32_t count = 0;
      for (std::uint32_t i = 0; i < arcs.size(); ++i) {
        found[count] = i;
        count += distance[arcs[i].to] + arcs[i].weight == here ? 1u : 0u;
      }
      check(count > 0, "every switch in use reaches every NIC");
      const std::uint32_t chosen =
          count == 1 ? policy.pick_only(s, arcs[found[0]])
                     : policy.pick(s, arcs, std::span<const std::uint32_t>(found, count));
      const Arc& arc = arcs[found[chosen]];
      path.push_back(arc.link);
      s = arc.to;
      visit(s);
    }
    return s;
  }

  SwitchGraph graph_;
  std::vector<Distances> distances_;       // [target], computed when first asked for
  std::vector<std::uint32_t> candidates_;  // scratch
};

/// A hash of source, destination, flow key and place: each switch has its own, so the choices of
/// two tiers are independent.
struct HashPolicy {
  std::uint64_t hash;

  HashPolicy(std::uint64_t seed, NicId source, NicId destination, std::uint64_t flow_key)
      : hash(mix(mix(seed, (std::uint64_t{at(source)} << 32) | at(destination)), flow_key)) {}

  std::uint32_t pick(std::uint32_t where, std::uint32_t count) const {
    return count == 1 ? 0 : bounded(mix(hash, where), count);
  }
  std::uint32_t pick(std::uint32_t s, std::span<const Arc>,
                     std::span<const std::uint32_t> candidates) const {
    return pick(s, static_cast<std::uint32_t>(candidates.size()));
  }
  std::uint32_t pick_only(std::uint32_t, const Arc&) const { return 0; }
};

class HashRouter : public Router {
 public:
  HashRouter(const Topology& topology, std::uint64_t seed) : paths_(topology), seed_(mix(seed)) {}

  void route(NicId source, NicId destination, std::uint64_t flow_key,
             std::vector<LinkId>& path) override {
    check(source != destination, "a path joins two NICs");
    paths_.route(source, destination, HashPolicy(seed_, source, destination, flow_key), path);
  }

 private:
  ShortestPaths paths_;
  std::uint64_t seed_;
};

/// Destination modulo k (Zahavi, Fat-tree routing and node ordering providing contention free
/// traffic for MPI global collectives, 2012): the uplink is a digit of the destination's number,
/// so that destinations next to each other climb by different uplinks, and each destination always
/// comes down the same way.
///
/// Going up among n uplinks takes uplink q % n. Above the parent that it leads to by K parallel
/// cables, of which it is the r-th, the destinations of one leaf that come this way are numbered
/// q / n * K + r. Coming down to a switch takes the cable by which that switch's uplink of the same
/// rank goes up: the mirror image, so a destination has its links down for itself.
class DModKRouter : public Router {
 public:
  explicit DModKRouter(const Topology& topology) : paths_(topology), ranks_(topology.links.size()) {
    const SwitchGraph& graph = paths_.graph();
    for (std::uint32_t s = 0; s < graph.switches(); ++s) {
      check(graph.info(s).tier < kMostTiers, "a tree has few tiers");
      std::uint32_t rank = 0;
      for (const Arc& arc : graph.arcs(s)) {
        if (graph.info(arc.to).tier > graph.info(s).tier) ranks_[at(arc.link)] = rank++;
      }
    }
  }

  void route(NicId source, NicId destination, std::uint64_t, std::vector<LinkId>& path) override {
    check(source != destination, "a path joins two NICs");
    paths_.route(source, destination, Policy{paths_.graph(), ranks_, at(destination), {}}, path);
  }

 private:
  static constexpr std::size_t kMostTiers = 16;

  struct Policy {
    const SwitchGraph& graph;
    const std::vector<std::uint32_t>& ranks;
    std::uint64_t q;
    std::array<std::uint32_t, kMostTiers> climbed;  // [tier] rank of the uplink taken from it

    std::uint32_t pick(std::uint32_t, std::uint32_t count) const {
      return static_cast<std::uint32_t>(q % count);
    }
    std::uint32_t pick(std::uint32_t s, std::span<const Arc> arcs,
                       std::span<const std::uint32_t> candidates) {
      const Arc& first = arcs[candidates[0]];
      if (graph.info(first.to).tier < graph.info(s).tier) return down(arcs, candidates);
      const auto count = static_cast<std::uint32_t>(candidates.size());
      const auto chosen = static_cast<std::uint32_t>(q % count);
      const std::uint32_t parent = arcs[candidates[chosen]].to;
      std::uint64_t parallel = 0;
      std::uint64_t rank = 0;
      for (std::uint32_t i = 0; i < count; ++i) {
        if (arcs[candidates[i]].to != parent) continue;
        rank += i < chosen ? 1u : 0u;
        ++parallel;
      }
      q = q / count * parallel + rank;
      climbed[graph.info(s).tier] = ranks[at(arcs[candidates[chosen]].link)];
      return chosen;
    }
    std::uint32_t pick_only(std::uint32_t s, const Arc& arc) {
      if (graph.info(arc.to).tier > graph.info(s).tier) {
        climbed[graph.info(s).tier] = ranks[at(arc.link)];
      }
      return 0;
    }
    std::uint32_t down(std::span<const Arc> arcs, std::span<const std::uint32_t> candidates) const {
      for (std::uint32_t i = 0; i < candidates.size(); ++i) {
        const Arc& arc = arcs[candidates[i]];
        if (ranks[at(reverse(arc.link))] == climbed[graph.info(arc.to).tier]) return i;
      }
      return static_cast<std::uint32_t>(q % candidates.size());
    }
  };

  ShortestPaths paths_;
  std::vector<std::uint32_t> ranks_;  // [LinkId] of an uplink among its switch's uplinks
};

/// Valiant's detour (SIAM J. Comput. 1982) as dragonflies use it (Kim et al., ISCA 2008): to a
/// random router of a random other group, then on, each half minimal. A detour that comes back to
/// a router it has passed is cut short there.
class ValiantRouter : public Router {
 public:
  ValiantRouter(const Topology& topology, std::uint64_t seed)
      : paths_(topology), seed_(mix(seed)), routers_(static_cast<std::size_t>(topology.groups)) {
    const SwitchGraph& graph = paths_.graph();
    for (std::uint32_t s = 0; s < graph.switches(); ++s) {
      if (graph.info(s).group >= 0) {
        routers_[static_cast<std::size_t>(graph.info(s).group)].push_back(s);
      }
    }
  }

  void route(NicId source, NicId destination, std::uint64_t flow_key,
             std::vector<LinkId>& path) override {
    check(source != destination, "a path joins two NICs");
    const HashPolicy policy(seed_, source, destination, flow_key);
    const SwitchGraph& graph = paths_.graph();
    const std::uint32_t target = graph.nic(destination).target;
    const auto groups = static_cast<std::uint32_t>(routers_.size());
    const auto group_of = [&](std::uint32_t s) { return graph.info(s).group; };
    const std::uint32_t last = graph.members(target).empty() ? kNone : graph.members(target)[0];
    if (groups < 3 || last == kNone || paths_.wire(source, destination, policy, path)) {
      if (groups < 3 || last == kNone) paths_.route(source, destination, policy, path);
      return;
    }
    const std::uint32_t first = paths_.leave(source, target, policy, path);
    visited_.assign(1, {first, path.size()});
    if (group_of(first) == group_of(last)) {
      paths_.arrive(destination, paths_.walk(first, target, policy, path, [](std::uint32_t) {}),
                    policy, path);
      return;
    }
    auto low = static_cast<std::uint32_t>(group_of(first));
    auto high = static_cast<std::uint32_t>(group_of(last));
    if (low > high) std::swap(low, high);
    std::uint32_t middle = bounded(mix(policy.hash, kGroupDraw), groups - 2);
    if (middle >= low) ++middle;
    if (middle >= high) ++middle;
    const auto& there = routers_[middle];
    const std::uint32_t detour =
        there[bounded(mix(policy.hash, kRouterDraw), static_cast<std::uint32_t>(there.size()))];

    const auto remember = [&](std::uint32_t s) { visited_.emplace_back(s, path.size()); };
    paths_.walk(first, detour, policy, path, remember);
    const auto cut = [&](std::uint32_t s) {
      for (const auto& [seen, length] : visited_) {
        if (seen == s) {
          path.resize(length);
          return;
        }
      }
    };
    paths_.arrive(destination, paths_.walk(detour, target, policy, path, cut), policy, path);
  }

 private:
  // Places of the hash that are no switch.
  static constexpr std::uint64_t kGroupDraw = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kRouterDraw = kGroupDraw + 1;

  ShortestPaths paths_;
  std::uint64_t seed_;
  std::vector<std::vector<std::uint32_t>> routers_;             // [group]
  std::vector<std::pair<std::uint32_t, std::size_t>> visited_;  // switch, path length there
};

}  // namespace

const std::vector<RoutingInfo>& routing_catalog() {
  static const std::vector<RoutingInfo> table = {
      {"ecmp",
       "a shortest path by a hash of source, destination and flow at every switch; any "
       "fabric"},
      {"d_mod_k",
       "the uplink by the digits of the destination's number: no two destinations of a "
       "shift collide; trees"},
      {"minimal", "the same as ecmp, as it is called on a dragonfly: at most one global cable"},
      {"valiant", "over a random third group, to spread adversarial traffic; fabrics with groups"},
  };
  return table;
}

std::string routing_mismatch(const Topology& topology, const std::string& policy) {
  std::vector<std::string> names;
  for (const RoutingInfo& info : routing_catalog()) names.push_back(info.name);
  if (std::find(names.begin(), names.end(), policy) == names.end()) {
    const std::string close = nearest(policy, names);
    return fmt::format("there is no routing `{}`{}", policy,
                       close.empty() ? "" : fmt::format(", did you mean `{}`?", close));
  }
  if (policy == "d_mod_k" && !topology.tree) {
    return fmt::format("d_mod_k climbs a tree, and {} is none", topology.kind);
  }
  if (policy == "valiant" && topology.groups == 0) {
    return fmt::format("valiant makes a detour over a third group, and {} has no groups",
                       topology.kind);
  }
  return {};
}

std::unique_ptr<Router> make_router(const Topology& topology, const RoutingSpec& spec) {
  check(routing_mismatch(topology, spec.policy).empty(), "the routing fits the topology");
  if (spec.policy == "d_mod_k") return std::make_unique<DModKRouter>(topology);
  if (spec.policy == "valiant") return std::make_unique<ValiantRouter>(topology, spec.seed);
  return std::make_unique<HashRouter>(topology, spec.seed);
}

}  // namespace weft
