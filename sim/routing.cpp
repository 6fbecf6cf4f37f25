#include "sim/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

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

/// One of the equally good next links.
struct Choice {
  std::uint32_t to;
  LinkId link;

  bool operator==(const Choice&) const = default;
};

/// The switches numbered 0.. with their arcs, and where each NIC hangs. A *target* is a set of
/// switches where a path may end: target s < switches is switch s alone; the others are those of
/// NICs with cables to several.
///
/// *Twins* are switches with cables of equal weights to the same switches, as the leaves of a pod
/// are. A *goal* is a target with its twins: any other switch is equally far from all of them, and
/// no shortest path to one of them passes another, as the cable that it leaves it by leads straight
/// to the goal too.
class SwitchGraph {
 public:
  struct Hook {
    std::uint32_t to;         ///< switch, or kNone for a cable to another NIC
    std::uint32_t other_nic;  ///< kNone for a cable to a switch
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
    }
    std::map<std::vector<std::uint32_t>, std::uint32_t> sets;
    nics_.reserve(topology.nics.size());
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
      const bool single = hooks.last == hooks.first + 1 && !hooks.wired;
      fronts_.push_back(single ? hooks_[hooks.first] : Hook{kNone, kNone, LinkId{}, LinkId{}});
      most_hooks_ = std::max(most_hooks_, hooks.last - hooks.first);
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
    find_goals();
    find_direct();
  }

  std::uint32_t switches() const { return static_cast<std::uint32_t>(info_.size()); }
  std::size_t targets() const { return info_.size() + sets_.size(); }
  const Vertex& info(std::uint32_t s) const { return info_[s]; }
  std::span<const Arc> arcs(std::uint32_t s) const {
    return {arcs_.data() + offsets_[s], arcs_.data() + offsets_[s + 1]};
  }
  const NicHooks& nic(NicId id) const { return nics_[at(id)]; }
  /// The only cable of a NIC, to a switch; `to` is kNone for NICs wired otherwise.
  const Hook& front(NicId id) const { return fronts_[at(id)]; }
  std::span<const Hook> hooks(const NicHooks& nic) const {
    return {hooks_.data() + nic.first, hooks_.data() + nic.last};
  }
  std::span<const std::uint32_t> members(const std::uint32_t& target) const {
    if (target < switches()) return {&target, 1};
    return sets_[target - switches()];
  }
  std::size_t goals() const { return goals_.size(); }
  std::uint32_t goal(std::uint32_t target) const { return goal_of_[target]; }
  /// All switches of the goal.
  std::span<const std::uint32_t> ends(std::uint32_t goal) const { return goals_[goal]; }
  /// Whether the goal stands for several targets.
  bool shared(std::uint32_t goal) const { return goal < twins_ && goals_[goal].size() > 1; }
  /// The lightest cables from one switch to a neighbour, by link id.
  std::span<const Choice> direct(std::uint32_t from, std::uint32_t to) const {
    const Choice* const first = direct_.data() + direct_offsets_[from];
    const Choice* const last = direct_.data() + direct_offsets_[from + 1];
    const auto [begin, end] = std::equal_range(
        first, last, Choice{to, {}}, [](const Choice& a, const Choice& b) { return a.to < b.to; });
    return {begin, end};
  }
  std::uint32_t heaviest() const { return heaviest_; }
  std::uint32_t most_hooks() const { return most_hooks_; }

 private:
  void find_goals() {
    using Cable = std::pair<std::uint32_t, std::uint32_t>;  // neighbour, weight
    std::map<std::vector<Cable>, std::uint32_t> known;
    goal_of_.reserve(targets());
    std::vector<Cable> cables;
    for (std::uint32_t s = 0; s < switches(); ++s) {
      cables.clear();
      for (const Arc& arc : arcs(s)) cables.emplace_back(arc.to, arc.weight);
      std::sort(cables.begin(), cables.end());
      const auto [goal, fresh] = known.emplace(cables, static_cast<std::uint32_t>(goals_.size()));
      if (fresh) goals_.emplace_back();
      goals_[goal->second].push_back(s);
      goal_of_.push_back(goal->second);
    }
    twins_ = static_cast<std::uint32_t>(goals_.size());
    for (const auto& set : sets_) {
      goal_of_.push_back(static_cast<std::uint32_t>(goals_.size()));
      goals_.push_back(set);
    }
  }

  void find_direct() {
    direct_offsets_.reserve(info_.size() + 1);
    direct_offsets_.push_back(0);
    std::vector<Arc> sorted;
    for (std::uint32_t s = 0; s < switches(); ++s) {
      sorted.assign(arcs(s).begin(), arcs(s).end());
      std::sort(sorted.begin(), sorted.end(), [](const Arc& a, const Arc& b) {
        return std::tie(a.to, a.weight, a.link) < std::tie(b.to, b.weight, b.link);
      });
      const Arc* lightest = nullptr;
      for (const Arc& arc : sorted) {
        if (lightest == nullptr || arc.to != lightest->to) lightest = &arc;
        if (arc.weight == lightest->weight) direct_.push_back({arc.to, arc.link});
      }
      direct_offsets_.push_back(static_cast<std::uint32_t>(direct_.size()));
    }
  }

  std::vector<Vertex> info_;
  std::vector<std::uint32_t> offsets_;
  std::vector<Arc> arcs_;
  std::vector<Hook> hooks_;
  std::vector<NicHooks> nics_;
  std::vector<Hook> fronts_;  // apart from nics_: what most paths need, on few cache lines
  std::vector<std::vector<std::uint32_t>> sets_;
  std::vector<std::uint32_t> goal_of_;             // [target]
  std::vector<std::vector<std::uint32_t>> goals_;  // those of twins first
  std::uint32_t twins_ = 0;                        // how many those are
  std::vector<std::uint32_t> direct_offsets_;
  std::vector<Choice> direct_;  // by neighbour and link
  std::uint32_t heaviest_ = 1;
  std::uint32_t most_hooks_ = 1;
};

/// The choices at a switch on the way to a target.
///
/// Distances to a goal are computed when it is first asked for, the choices at a switch when a path
/// first comes by. A switch has few different sets of choices (a leaf: all its uplinks; a core: the
/// cables to one pod): each is kept once, and a goal's row says where. Beside the goal the choices
/// are the cables straight to the target, which are the target's alone.
class NextLinks {
 public:
  explicit NextLinks(const SwitchGraph& graph)
      : graph_(graph),
        rows_(graph.goals()),
        latest_(graph.switches(), 0),
        scratch_(graph.switches()),
        buckets_(graph.heaviest() + 1) {
    pool_.assign(kFirstPlace, {0, LinkId{}});
  }

  /// Equally good links from switch s to the target, by link id; none at one of a target's several
  /// switches. Valid until the next call. Precondition: s is not the target.
  std::span<const Choice> at(std::uint32_t s, std::uint32_t target) {
    const std::uint32_t goal = graph_.goal(target);
    Row& row = row_of(goal);
    std::uint32_t place = row.places[s];
    if (place == kUnknown) [[unlikely]]
      place = row.places[s] = find_place(s, goal, row);
    if (place == kDirect) return graph_.direct(s, target);
    if (place == kMixed) [[unlikely]] {
      scan(s, distance(s, goal, row), row,
           [&](const Arc& arc, bool ends) { return !ends || arc.to == target; });
      return found_;
    }
    return {pool_.data() + place + 1, pool_[place].to};
  }

  std::uint32_t distance(std::uint32_t s, std::uint32_t target) {
    if (s == target) return 0;
    const std::uint32_t goal = graph_.goal(target);
    return distance(s, goal, row_of(goal));
  }

 private:
  static constexpr std::uint32_t kFar = UINT32_MAX / 2;  // plus a weight, still far
  // Places that are none in pool_, but for the empty one.
  static constexpr std::uint32_t kUnknown = 0;
  static constexpr std::uint32_t kEmpty = 1;
  static constexpr std::uint32_t kDirect = 2;  // straight to the target
  static constexpr std::uint32_t kMixed = 3;   // straight to it, or over others
  static constexpr std::uint32_t kFirstPlace = 4;

  struct Row {
    std::vector<std::uint32_t> places;  // [switch] in pool_
    std::vector<std::uint8_t> narrow;   // [switch] distance
    std::vector<std::uint32_t> wide;    // the same where a byte is not enough

    std::uint32_t distance(std::uint32_t s) const {
      if (wide.empty()) return narrow[s] == UINT8_MAX ? kFar : narrow[s];
      return wide[s];
    }
  };

  Row& row_of(std::uint32_t goal) {
    Row& row = rows_[goal];
    if (row.places.empty()) [[unlikely]]
      compute(goal, row);
    return row;
  }

  /// From s to any target of the goal but itself.
  std::uint32_t distance(std::uint32_t s, std::uint32_t goal, const Row& row) const {
    std::uint32_t least = row.distance(s);
    if (least > 0 || !graph_.shared(goal)) return least;
    least = kFar;
    for (const Arc& arc : graph_.arcs(s)) {
      least = std::min(least, arc.weight + row.distance(arc.to));
    }
    return least;
  }

  /// Dijkstra with one bucket per distance in reach (Dial, CACM 1969). A cable has the same weight
  /// both ways, so distances from the goal are distances to it.
  void compute(std::uint32_t goal, Row& row) {
    std::fill(scratch_.begin(), scratch_.end(), kFar);
    std::size_t waiting = 0;
    for (const std::uint32_t s : graph_.ends(goal)) {
      scratch_[s] = 0;
      buckets_[0].push_back(s);
      ++waiting;
    }
    std::uint32_t furthest = 0;
    for (std::uint32_t d = 0; waiting > 0; ++d) {
      std::vector<std::uint32_t>& bucket = buckets_[d % buckets_.size()];
      waiting -= bucket.size();  // weights are at least 1: nothing joins while it is emptied
      for (const std::uint32_t s : bucket) {
        if (scratch_[s] != d) continue;
        furthest = d;
        for (const Arc& arc : graph_.arcs(s)) {
          if (d + arc.weight >= scratch_[arc.to]) continue;
          scratch_[arc.to] = d + arc.weight;
          buckets_[(d + arc.weight) % buckets_.size()].push_back(arc.to);
          ++waiting;
        }
      }
      bucket.clear();
    }
    row.places.assign(scratch_.size(), kUnknown);
    if (furthest >= UINT8_MAX) {
      row.wide = scratch_;
      return;
    }
    row.narrow.resize(scratch_.size());
    std::transform(scratch_.begin(), scratch_.end(), row.narrow.begin(), [](std::uint32_t d) {
      return static_cast<std::uint8_t>(std::min<std::uint32_t>(d, UINT8_MAX));
    });
  }

  /// Fills found_ with the arcs from s that are on a shortest path, `there` being its length, and
  /// that `wanted` wants, who is also told whether they end at the goal.
  template <class Wanted>
  void scan(std::uint32_t s, std::uint32_t there, const Row& row, Wanted&& wanted) {
    found_.clear();
    const auto over = [&](const auto& distance) {
      for (const Arc& arc : graph_.arcs(s)) {
        if (distance[arc.to] + arc.weight == there && wanted(arc, distance[arc.to] == 0)) {
          found_.push_back({arc.to, arc.link});
        }
      }
    };
    row.wide.empty() ? over(row.narrow) : over(row.wide);
  }

  std::uint32_t find_place(std::uint32_t s, std::uint32_t goal, const Row& row) {
    const std::uint32_t there = distance(s, goal, row);
    if (there == 0) return kEmpty;
    const bool shared = graph_.shared(goal);
    bool direct = false;
    scan(s, there, row, [&](const Arc&, bool ends) {
      direct |= shared && ends;
      return !shared || !ends;
    });
    if (direct) return found_.empty() ? kDirect : kMixed;
    check(!found_.empty(), "every NIC reaches every other over switches");
    if (holds_found(latest_[s])) return latest_[s];
    std::uint64_t hash = 0;
    for (const Choice& choice : found_) hash = mix(hash, weft::at(choice.link));
    for (;; hash = mix(hash)) {  // another entry for another set with the same hash
      const auto next = static_cast<std::uint32_t>(pool_.size());
      const auto [known, fresh] = places_.emplace(hash, next);
      if (fresh) {
        check(pool_.size() + found_.size() < UINT32_MAX, "places have 32 bits");
        pool_.push_back({static_cast<std::uint32_t>(found_.size()), LinkId{}});
        pool_.insert(pool_.end(), found_.begin(), found_.end());
      }
      if (fresh || holds_found(known->second)) return latest_[s] = known->second;
    }
  }

  bool holds_found(std::uint32_t place) const {
    return pool_[place].to == found_.size() &&
           std::equal(found_.begin(), found_.end(), pool_.begin() + place + 1);
  }

  const SwitchGraph& graph_;
  std::vector<Row> rows_;              // [goal]
  std::vector<Choice> pool_;           // each set: its size in `to`, then its choices
  std::vector<std::uint32_t> latest_;  // [switch] the place found last
  std::unordered_map<std::uint64_t, std::uint32_t> places_;  // by hash; only looked up
  std::vector<std::uint32_t> scratch_;
  std::vector<std::vector<std::uint32_t>> buckets_;
  std::vector<Choice> found_;
};

/// Walks shortest paths; a Policy picks among equal ones.
///
/// A Policy has `pick(where, count)` for the cables of a NIC (`where` tells places apart) and
/// `pick(s, choices)` for those at switch s, of which there is at least one; each returns an index.
class ShortestPaths {
 public:
  explicit ShortestPaths(const Topology& topology)
      : graph_(topology), next_(graph_), candidates_(graph_.most_hooks()) {}
  ShortestPaths(const ShortestPaths&) = delete;
  ShortestPaths& operator=(const ShortestPaths&) = delete;

  const SwitchGraph& graph() const { return graph_; }

  /// The whole way from NIC to NIC.
  template <class Policy>
  void route(NicId source, NicId destination, Policy&& policy, std::vector<LinkId>& path) {
    if (wire(source, destination, policy, path)) return;
    const std::uint32_t target = this->target(destination);
    const std::uint32_t first = leave(source, target, policy, path);
    const std::uint32_t last = walk(first, target, policy, path, [](std::uint32_t) {});
    arrive(destination, last, policy, path);
  }

  /// The target where paths to the NIC end.
  std::uint32_t target(NicId destination) const {
    const std::uint32_t to = graph_.front(destination).to;
    return to != kNone ? to : graph_.nic(destination).target;
  }

  /// Over a direct cable between the two NICs, if there is one.
  template <class Policy>
  bool wire(NicId source, NicId destination, Policy&& policy, std::vector<LinkId>& path) {
    if (graph_.front(source).to != kNone) return false;
    const auto& from = graph_.nic(source);
    if (!from.wired) return false;
    std::uint32_t count = 0;
    for (const auto& hook : graph_.hooks(from)) {
      count += hook.other_nic == at(destination) ? 1u : 0u;
    }
    if (count == 0) return false;
    std::uint32_t chosen = policy.pick(kNone, count);
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
    if (const auto& front = graph_.front(source); front.to != kNone) {
      path.push_back(front.out);
      return front.to;
    }
    const auto& from = graph_.nic(source);
    const auto hooks = graph_.hooks(from);
    std::uint32_t nearest = kNone;
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < hooks.size(); ++i) {
      if (hooks[i].to == kNone) continue;
      const std::uint32_t distance = next_.distance(hooks[i].to, target);
      if (distance < nearest) nearest = distance, count = 0;
      if (distance == nearest) candidates_[count++] = i;
    }
    check(count > 0, "every NIC reaches every other over switches");
    const auto& hook = hooks[candidates_[policy.pick(kNone, count)]];
    path.push_back(from.port_out);
    path.push_back(hook.out);
    return hook.to;
  }

  /// From a switch to one of the target's, which is returned. `visit` hears of each switch entered.
  template <class Policy, class Visit>
  std::uint32_t walk(std::uint32_t s, std::uint32_t target, Policy&& policy,
                     std::vector<LinkId>& path, Visit&& visit) {
    while (s != target) {
      const std::span<const Choice> choices = next_.at(s, target);
      if (choices.empty()) return s;  // a target of several switches
      const Choice& choice = choices[policy.pick(s, choices)];
      path.push_back(choice.link);
      s = choice.to;
      visit(s);
    }
    return s;
  }

  /// From the last switch to the NIC.
  template <class Policy>
  void arrive(NicId destination, std::uint32_t last, Policy&& policy, std::vector<LinkId>& path) {
    if (const auto& front = graph_.front(destination); front.to != kNone) {
      path.push_back(front.in);
      return;
    }
    const auto& to = graph_.nic(destination);
    const auto hooks = graph_.hooks(to);
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < hooks.size(); ++i) {
      if (hooks[i].to == last) candidates_[count++] = i;
    }
    check(count > 0, "a path ends at a switch of its destination");
    path.push_back(hooks[candidates_[policy.pick(last, count)]].in);
    path.push_back(to.port_in);
  }

 private:
  SwitchGraph graph_;
  NextLinks next_;
  std::vector<std::uint32_t> candidates_;  // scratch: hooks of a NIC
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
  std::uint32_t pick(std::uint32_t s, std::span<const Choice> choices) const {
    return pick(s, static_cast<std::uint32_t>(choices.size()));
  }
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
    std::uint32_t pick(std::uint32_t s, std::span<const Choice> choices) {
      const auto tier = graph.info(s).tier;
      const auto count = static_cast<std::uint32_t>(choices.size());
      if (graph.info(choices[0].to).tier < tier) {
        for (std::uint32_t i = 0; i + 1 < count; ++i) {
          const auto [to, link] = choices[i];
          if (ranks[at(reverse(link))] == climbed[graph.info(to).tier]) return i;
        }
        return count - 1;
      }
      const auto chosen = static_cast<std::uint32_t>(q % count);
      std::uint64_t parallel = 0;
      std::uint64_t rank = 0;
      for (std::uint32_t i = 0; i < count; ++i) {
        if (choices[i].to != choices[chosen].to) continue;
        rank += i < chosen ? 1u : 0u;
        ++parallel;
      }
      q = q / count * parallel + rank;
      climbed[tier] = ranks[at(choices[chosen].link)];
      return chosen;
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
    const std::uint32_t target = paths_.target(destination);
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
