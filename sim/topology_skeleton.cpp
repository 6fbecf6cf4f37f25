#include "sim/topology_skeleton.h"

#include <algorithm>
#include <map>
#include <utility>

namespace weft {

Skeleton::Skeleton(const Topology& t) : number(num_vertices(t.graph), kNone) {
  std::uint32_t count = 0;
  for (std::size_t v = 0; v < number.size(); ++v) {
    if (t.is_switch(VertexId{static_cast<std::uint32_t>(v)})) number[v] = count++;
  }
  arcs.resize(count);
  for (std::size_t v = 0; v < number.size(); ++v) {
    if (number[v] == kNone) continue;
    auto& row = arcs[number[v]];
    for (auto [edge, last] = out_edges(v, t.graph); edge != last; ++edge) {
      const std::uint32_t to = number[target(*edge, t.graph)];
      const Link& link = t.graph[*edge];
      if (to != kNone) row.push_back({to, 1, link.weight, link.capacity.value});
    }
    std::sort(row.begin(), row.end(), [](const Arc& a, const Arc& b) {
      return std::pair(a.to, a.weight) < std::pair(b.to, b.weight);
    });
    std::size_t kept = 0;
    for (const Arc& arc : row) {
      if (kept > 0 && row[kept - 1].to == arc.to && row[kept - 1].weight == arc.weight) {
        ++row[kept - 1].cables;
        row[kept - 1].capacity += arc.capacity;
      } else {
        row[kept++] = arc;
      }
    }
    row.resize(kept);
  }
  nics.reserve(t.nics.size());
  for (std::size_t i = 0; i < t.nics.size(); ++i)
    nics.push_back(t.cables_of(NicId{static_cast<std::uint32_t>(i)}));

  std::map<std::pair<std::size_t, std::vector<std::uint32_t>>, std::size_t> known;
  kind_of.resize(nics.size());
  for (std::size_t i = 0; i < nics.size(); ++i) {
    std::vector<std::uint32_t> switches;
    bool direct = false;
    for (const NicCable& c : nics[i].cables) {
      const std::uint32_t far = number[at(c.far)];
      if (far != kNone) switches.push_back(far);
      direct |= far == kNone;
    }
    std::sort(switches.begin(), switches.end());
    switches.erase(std::unique(switches.begin(), switches.end()), switches.end());
    const std::size_t rail = t.rails_apart ? t.rail(NicId{static_cast<std::uint32_t>(i)}) : 0;
    std::size_t kind = kinds.size();
    if (!direct) kind = known.emplace(std::pair(rail, switches), kind).first->second;
    if (kind == kinds.size()) {
      kinds.push_back({std::move(switches), {}, 0, static_cast<std::uint32_t>(i)});
    }
    ++kinds[kind].members;
    kind_of[i] = kind;
  }
  for (std::size_t i = 0; i < nics.size(); ++i) {
    for (const NicCable& c : nics[i].cables) {
      if (!t.is_switch(c.far)) kinds[kind_of[i]].wired.push_back(kind_of[t.graph[at(c.far)].index]);
    }
  }
  kinds_at.resize(arcs.size());
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    for (const std::uint32_t s : kinds[k].switches) kinds_at[s].push_back(k);
  }
}

}  // namespace weft
