// The fabric as routing sees it: numbered switches, their arcs, and where each NIC hangs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/ids.h"
#include "sim/topology.h"

namespace weft::routing {

inline constexpr std::uint32_t kNone = UINT32_MAX;

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

  explicit SwitchGraph(const Topology& topology);

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
  void find_goals();
  void find_direct();

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

}  // namespace weft::routing
