#include "sim/routing/switch_graph.h"

#include <map>
#include <tuple>
#include <utility>

namespace weft::routing {

SwitchGraph::SwitchGraph(const Topology& topology) {
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

void SwitchGraph::find_goals() {
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

void SwitchGraph::find_direct() {
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

}  // namespace weft::routing
