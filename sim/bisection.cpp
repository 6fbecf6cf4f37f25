#include "sim/bisection.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace weft {
namespace {

/// A flow network: arcs between vertices 0 (source), 1 (sink) and others.
struct FlowNetwork {
  struct Arc {
    std::uint32_t from, to;
    std::int64_t capacity;  // bits/s
  };
  std::uint32_t vertices = 2;
  std::vector<Arc> arcs;
};

/// Merges vertices that are alike: the coarsest partition in which every vertex of a class has the
/// same capacity to, and from, each class. A flow between classes can be dealt to the members in
/// proportion to the arcs' capacities without breaking conservation, so the maximum flow stays the
/// same. Gives up (the network as it is) where the partition takes very many rounds.
FlowNetwork merge_alike(const FlowNetwork& net) {
  constexpr int kRounds = 64;
  using Signature = std::vector<std::pair<std::uint64_t, std::int64_t>>;  // (way, class), capacity
  std::vector<std::vector<std::pair<std::uint64_t, std::int64_t>>> around(net.vertices);
  for (const auto& arc : net.arcs) {
    around[arc.from].emplace_back(arc.to, arc.capacity);
    around[arc.to].emplace_back((std::uint64_t{1} << 32) | arc.from, arc.capacity);
  }
  std::vector<std::uint32_t> color(net.vertices, 2);
  color[0] = 0, color[1] = 1;
  std::size_t colors = 3;
  for (int round = 0;; ++round) {
    if (round == kRounds) return net;
    std::map<std::pair<std::uint32_t, Signature>, std::uint32_t> classes;
    std::vector<std::uint32_t> next(net.vertices);
    for (std::uint32_t v = 0; v < net.vertices; ++v) {
      Signature signature;
      signature.reserve(around[v].size());
      for (const auto& [end, capacity] : around[v]) {
        signature.emplace_back((end >> 32 << 32) | color[end & UINT32_MAX], capacity);
      }
      std::sort(signature.begin(), signature.end());
      std::size_t kept = 0;
      for (const auto& entry : signature) {
        if (kept > 0 && signature[kept - 1].first == entry.first) {
          signature[kept - 1].second += entry.second;
        } else {
          signature[kept++] = entry;
        }
      }
      signature.resize(kept);
      next[v] = classes
                    .emplace(std::pair(color[v], std::move(signature)),
                             static_cast<std::uint32_t>(classes.size()))
                    .first->second;
    }
    color.swap(next);
    if (classes.size() == colors) break;
    colors = classes.size();
  }
  FlowNetwork merged;  // source and sink, the first two vertices, are classes 0 and 1
  merged.vertices = static_cast<std::uint32_t>(colors);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> sums;
  for (const auto& arc : net.arcs) sums[{color[arc.from], color[arc.to]}] += arc.capacity;
  for (const auto& [ends, capacity] : sums) {
    if (ends.first != ends.second) merged.arcs.push_back({ends.first, ends.second, capacity});
  }
  return merged;
}

std::int64_t max_flow(const FlowNetwork& net) {
  using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
  struct Arc {
    std::int64_t capacity = 0;
    std::int64_t residual = 0;
    Traits::edge_descriptor back;
  };
  using Flow =
      boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Arc>;
  Flow flow(net.vertices);
  // An arc and its opposite share their reverse edges.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> both;
  for (const auto& arc : net.arcs) {
    both[{arc.from, arc.to}] += arc.capacity;
    both[{arc.to, arc.from}] += 0;
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, Traits::edge_descriptor> made;
  for (const auto& [ends, capacity] : both) {
    const auto edge = add_edge(ends.first, ends.second, flow).first;
    flow[edge].capacity = capacity;
    made[ends] = edge;
  }
  for (const auto& [ends, edge] : made) flow[edge].back = made.at({ends.second, ends.first});
  return boost::push_relabel_max_flow(flow, 0, 1,
                                      boost::capacity_map(get(&Arc::capacity, flow))
                                          .residual_capacity_map(get(&Arc::residual, flow))
                                          .reverse_edge_map(get(&Arc::back, flow))
                                          .vertex_index_map(get(boost::vertex_index, flow)));
}

/// The minimum cut between the NICs marked in `first` and the others.
BitsPerSecond cut_between(const Topology& t, const Skeleton& net, const std::vector<bool>& first) {
  // Whole bits/s, or a coarser unit where their sum would not fit.
  double total = 0;
  for (const Link& link : t.links) total += link.capacity.value;
  const double unit = std::max(1.0, total / 0x1p61);
  const auto whole = [unit](double rate) { return std::int64_t{std::llround(rate / unit)}; };
  const auto capacity = [&](LinkId id) { return whole(t.links[at(id)].capacity.value); };
  FlowNetwork flow;
  const auto of_switch = [](std::uint32_t s) { return s + 2; };
  flow.vertices = static_cast<std::uint32_t>(net.arcs.size() + 2);
  for (std::uint32_t s = 0; s < net.arcs.size(); ++s) {
    for (const auto& arc : net.arcs[s]) {
      flow.arcs.push_back({of_switch(s), of_switch(arc.to), whole(arc.capacity)});
    }
  }
  // NICs do not forward: those of the first half only send, the others only receive. The common
  // NIC with one cable needs no vertex: source or sink are joined to its switch.
  std::map<std::uint32_t, std::int64_t> sending, receiving;
  std::vector<std::uint32_t> own(net.nics.size(), Skeleton::kNone);
  for (std::size_t i = 0; i < net.nics.size(); ++i) {
    const NicCables& nic = net.nics[i];
    if (nic.cables.size() == 1 && t.is_switch(nic.cables[0].far)) {
      const std::uint32_t s = of_switch(net.number[at(nic.cables[0].far)]);
      (first[i] ? sending : receiving)[s] += capacity(nic.cables[0].out);
    } else {
      own[i] = flow.vertices++;
    }
  }
  for (const auto& [s, sum] : sending) flow.arcs.push_back({0, s, sum});
  for (const auto& [s, sum] : receiving) flow.arcs.push_back({s, 1, sum});
  for (std::size_t i = 0; i < net.nics.size(); ++i) {
    if (own[i] == Skeleton::kNone) continue;
    const NicCables& nic = net.nics[i];
    std::int64_t rate = 0;
    if (nic.has_port) {
      rate = capacity(nic.port_out);
    } else {
      for (const NicCable& c : nic.cables) rate += capacity(c.out);
    }
    if (first[i]) {
      flow.arcs.push_back({0, own[i], rate});
    } else {
      flow.arcs.push_back({own[i], 1, rate});
    }
    for (const NicCable& c : nic.cables) {
      if (t.is_switch(c.far)) {
        const std::uint32_t s = of_switch(net.number[at(c.far)]);
        if (first[i]) {
          flow.arcs.push_back({own[i], s, capacity(c.out)});
        } else {
          flow.arcs.push_back({s, own[i], capacity(c.out)});
        }
      } else if (const std::uint32_t other = t.graph[at(c.far)].index; first[i] && !first[other]) {
        flow.arcs.push_back({own[i], own[other], capacity(c.out)});
      }
    }
  }
  return BitsPerSecond(unit * static_cast<double>(max_flow(merge_alike(flow))));
}

}  // namespace

BitsPerSecond bisection(const Topology& t, const Skeleton& net) {
  const std::size_t count = net.nics.size();
  const std::size_t per_host = static_cast<std::size_t>(t.nics_per_host);
  const std::size_t hosts = count / per_host;
  const std::size_t half = t.grid.empty() && hosts > 1 ? hosts / 2 * per_host : count / 2;
  if (half == 0) return BitsPerSecond(0);
  std::vector<bool> first(count, false);
  if (t.grid.empty()) {
    std::fill_n(first.begin(), half, true);
    return cut_between(t, net, first);
  }
  BitsPerSecond least(kInfinity);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order(count);  // coordinate, NIC
  std::uint32_t stride = 1;
  for (const std::uint32_t extent : t.grid) {
    for (std::uint32_t i = 0; i < count; ++i) {
      order[i] = {t.graph[at(net.nics[i].cables[0].far)].index / stride % extent, i};
    }
    std::sort(order.begin(), order.end());
    std::fill(first.begin(), first.end(), false);
    for (std::size_t i = 0; i < half; ++i) first[order[i].second] = true;
    least = std::min(least, cut_between(t, net, first));
    stride *= extent;
  }
  return least;
}

}  // namespace weft
