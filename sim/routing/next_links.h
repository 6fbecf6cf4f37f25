// Which links lead on to a destination by a shortest path.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/routing/switch_graph.h"

namespace weft::routing {

/// The choices at a switch on the way to a target.
///
/// Distances to a goal are computed when it is first asked for, the choices at a switch when a path
/// first comes by. A switch has few different sets of choices (a leaf: all its uplinks; a core: the
/// cables to one pod): each is kept once, and a goal's row says where. Beside the goal the choices
/// are the cables straight to the target, which are the target's alone.
class NextLinks {
 public:
  explicit NextLinks(const SwitchGraph& graph);

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
  void compute(std::uint32_t goal, Row& row);

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

  std::uint32_t find_place(std::uint32_t s, std::uint32_t goal, const Row& row);

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

}  // namespace weft::routing
