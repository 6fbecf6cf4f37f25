#include "sim/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/graphml.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <boost/property_map/dynamic_property_map.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <ostream>
#include <queue>
#include <set>

#include "sim/check.h"

namespace weft {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr const char* kNicTier = "nic";
constexpr const char* kPortTier = "nic-port";  // inside a NIC: no cable

VertexId vertex(std::size_t index) { return VertexId{static_cast<std::uint32_t>(index)}; }
LinkId link_id(std::size_t index) { return LinkId{static_cast<std::uint32_t>(index)}; }
NicId nic_id(std::size_t index) { return NicId{static_cast<std::uint32_t>(index)}; }

/// The position of `text` in `table`, appended where it is new.
std::uint8_t intern(std::vector<std::string>& table, std::string_view text) {
  const auto found = std::find(table.begin(), table.end(), text);
  if (found != table.end()) return static_cast<std::uint8_t>(found - table.begin());
  check(table.size() < 256, "at most 256 labels and tiers");
  table.emplace_back(text);
  return static_cast<std::uint8_t>(table.size() - 1);
}

/// Sets that are merged, with path halving.
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t n) : parent_(n) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void merge(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace

// ---- Topology --------------------------------------------------------------------------------

std::size_t Topology::switches() const {
  std::size_t count = 0;
  for (std::size_t v = 0; v < num_vertices(graph); ++v) count += is_switch(vertex(v)) ? 1u : 0u;
  return count;
}

std::size_t Topology::cables() const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < links.size(); i += 2) {
    count += link_tiers[links[i].tier] != kPortTier ? 1u : 0u;
  }
  return count;
}

NicCables Topology::cables_of(NicId id) const {
  NicCables found;
  std::size_t end = at(nics[at(id)]);
  const auto [begin, stop] = out_edges(end, graph);
  if (begin != stop && graph[target(*begin, graph)].kind == Vertex::Kind::nic_port &&
      graph[target(*begin, graph)].index == graph[end].index) {
    found.has_port = true;
    found.port_out = graph[*begin].id;
    found.port_in = reverse(found.port_out);
    end = target(*begin, graph);
  }
  for (auto [edge, last] = out_edges(end, graph); edge != last; ++edge) {
    const LinkId out = graph[*edge].id;
    if (found.has_port && out == found.port_in) continue;
    std::size_t far = target(*edge, graph);
    if (graph[far].kind == Vertex::Kind::nic_port) far = at(nics[graph[far].index]);
    found.cables.push_back({vertex(far), out, reverse(out)});
  }
  return found;
}

std::string Topology::name(VertexId id) const {
  if (at(id) < vertex_names.size() && !vertex_names[at(id)].empty()) return vertex_names[at(id)];
  const Vertex& v = graph[at(id)];
  if (v.kind == Vertex::Kind::network_switch) {
    if (groups > 0 && v.group >= 0) {
      return fmt::format("{}{}.{}", vertex_labels[v.label], v.group, v.index);
    }
    return fmt::format("{}{}", vertex_labels[v.label], v.index);
  }
  const auto per_host = static_cast<std::uint32_t>(nics_per_host);
  std::string text = fmt::format("host{}", v.index / per_host);
  if (per_host > 1) text += fmt::format(".nic{}", v.index % per_host);
  if (v.kind == Vertex::Kind::nic_port) text += ".port";
  return text;
}

std::string Topology::name(LinkId id) const {
  const auto [from, to] = ends[at(id)];
  std::size_t earlier = 0;  // parallel links with a lower id
  for (auto [edge, last] = out_edges(at(from), graph); edge != last; ++edge) {
    earlier += target(*edge, graph) == at(to) && graph[*edge].id < id ? 1u : 0u;
  }
  std::string text = name(from) + "->" + name(to);
  if (earlier > 0) text += fmt::format("#{}", earlier);
  return text;
}

// ---- TopologyBuilder -------------------------------------------------------------------------

TopologyBuilder::TopologyBuilder(std::string kind, const Cluster& cluster) : cluster_(cluster) {
  const auto count = static_cast<std::size_t>(cluster.nics());
  topology_.kind = std::move(kind);
  topology_.nics_per_host = cluster.host.nics;
  topology_.vertex_labels = {"host"};
  topology_.link_tiers = {kNicTier};
  topology_.graph = Graph(count);
  topology_.nics.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    topology_.graph[i] = {Vertex::Kind::nic, 0, 0, -1, static_cast<std::uint32_t>(i)};
    topology_.nics.push_back(vertex(i));
  }
  cables_at_.assign(count, 0);
  ports_ = topology_.nics;
}

VertexId TopologyBuilder::nic(NicId id) const { return topology_.nics[at(id)]; }

VertexId TopologyBuilder::add_switch(std::string_view label, int tier, std::uint32_t index,
                                     int group) {
  Vertex v;
  v.kind = Vertex::Kind::network_switch;
  v.label = intern(topology_.vertex_labels, label);
  v.tier = static_cast<std::uint8_t>(std::min(tier, 255));
  v.group = group;
  v.index = index;
  return vertex(add_vertex(v, topology_.graph));
}

void TopologyBuilder::connect(VertexId a, VertexId b, const PortSpec& link, std::string_view tier,
                              std::uint8_t weight) {
  check(topology_.is_switch(a) && topology_.is_switch(b), "connect() is for switches");
  check(a != b && weight >= 1, "a cable has two ends and a length");
  cables_.push_back({a, b, link, intern(topology_.link_tiers, tier), weight});
}

void TopologyBuilder::attach(NicId id, VertexId to, const PortSpec& link, int cables) {
  check(topology_.is_switch(to), "attach() is for a NIC and a switch");
  for (int i = 0; i < cables; ++i) cables_.push_back({nic(id), to, link, 0, 1});
  cables_at_[at(id)] += static_cast<std::uint32_t>(cables);
}

void TopologyBuilder::attach(NicId a, NicId b, const PortSpec& link, int cables) {
  check(a != b, "a NIC is not wired to itself");
  for (int i = 0; i < cables; ++i) cables_.push_back({nic(a), nic(b), link, 0, 1});
  cables_at_[at(a)] += static_cast<std::uint32_t>(cables);
  cables_at_[at(b)] += static_cast<std::uint32_t>(cables);
}

std::string TopologyBuilder::disconnected() const {
  // Two NICs see each other where they touch the same connected component of switches or share a
  // cable. NICs that touch the same components and nothing else are alike: a pair of kinds is
  // looked at once.
  const std::size_t vertices = num_vertices(topology_.graph);
  DisjointSets components(vertices);
  for (const Cable& c : cables_) {
    if (topology_.is_switch(c.a) && topology_.is_switch(c.b)) components.merge(at(c.a), at(c.b));
  }
  const std::size_t count = topology_.nics.size();
  std::vector<std::vector<std::size_t>> touched(count);
  std::vector<bool> wired(count, false);  // to another NIC
  std::set<std::pair<std::size_t, std::size_t>> direct;
  for (const Cable& c : cables_) {
    if (topology_.is_switch(c.a)) continue;
    const std::size_t a = topology_.graph[at(c.a)].index;
    if (topology_.is_switch(c.b)) {
      touched[a].push_back(components.find(at(c.b)));
    } else {
      const std::size_t b = topology_.graph[at(c.b)].index;
      wired[a] = wired[b] = true;
      direct.insert(std::minmax(a, b));
    }
  }
  std::map<std::vector<std::size_t>, std::size_t> kinds;
  std::vector<std::size_t> firsts;   // the lowest NIC of each kind, and every wired one
  std::vector<std::size_t> seconds;  // another NIC of the same kind, or `count`
  for (std::size_t i = 0; i < count; ++i) {
    auto& set = touched[i];
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    if (wired[i]) {
      firsts.push_back(i), seconds.push_back(count);
    } else if (const auto [found, fresh] = kinds.emplace(set, firsts.size()); fresh) {
      firsts.push_back(i), seconds.push_back(count);
    } else if (seconds[found->second] == count) {
      seconds[found->second] = i;
    }
  }
  const auto apart = [&](std::size_t a, std::size_t b) {
    if (direct.count(std::minmax(a, b)) > 0) return false;
    std::vector<std::size_t> common;
    std::set_intersection(touched[a].begin(), touched[a].end(), touched[b].begin(),
                          touched[b].end(), std::back_inserter(common));
    return common.empty();
  };
  const auto text = [&](std::size_t a, std::size_t b) {
    return topology_.name(topology_.nics[b]) + " and " + topology_.name(topology_.nics[a]);
  };
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    if (seconds[i] < count && apart(firsts[i], seconds[i])) return text(firsts[i], seconds[i]);
    for (std::size_t j = i + 1; j < firsts.size(); ++j) {
      if (apart(firsts[i], firsts[j])) return text(firsts[i], firsts[j]);
    }
  }
  return {};
}

void TopologyBuilder::add_cable(VertexId a, VertexId b, const Link& forth, const Link& back) {
  check(topology_.links.size() < UINT32_MAX - 2, "link ids have 32 bits");
  for (const bool forward : {true, false}) {
    Link link = forward ? forth : back;
    link.id = link_id(topology_.links.size());
    const VertexId from = forward ? a : b;
    const VertexId to = forward ? b : a;
    add_edge(at(from), at(to), link, topology_.graph);
    topology_.links.push_back(link);
    topology_.ends.emplace_back(from, to);
  }
}

VertexId TopologyBuilder::inner_port(VertexId nic) {
  const std::uint32_t index = topology_.graph[at(nic)].index;
  if (cables_at_[index] > 1 && ports_[index] == nic) {
    ports_[index] =
        vertex(add_vertex(Vertex{Vertex::Kind::nic_port, 0, 0, -1, index}, topology_.graph));
    const PortSpec& own = cluster_.host.nic;
    const std::uint8_t tier = intern(topology_.link_tiers, kPortTier);
    add_cable(nic, ports_[index], Link{{}, own.rate, own.latency, tier, 1},
              Link{{}, own.rate, Seconds(0), tier, 1});
  }
  return ports_[index];
}

Topology TopologyBuilder::finish() {
  check(disconnected().empty(), "each pair of NICs is connected by switches");  // INVARIANT
  const PortSpec& own = cluster_.host.nic;
  topology_.links.reserve(2 * cables_.size());
  topology_.ends.reserve(2 * cables_.size());
  for (const Cable& c : cables_) {
    Link forth{{}, c.link.rate, c.link.latency, c.tier, c.weight};
    Link back = forth;
    VertexId a = c.a;
    VertexId b = c.b;
    // The NIC's rate and its latency (when sending) are the cable's own where it is the only one,
    // and those of the inner link otherwise.
    const auto enter = [&](VertexId& end, Link& out, Link& in) {
      if (topology_.is_switch(end)) return;
      const VertexId outer = inner_port(end);
      if (outer == end) {
        out.capacity = in.capacity = std::min(out.capacity, own.rate);
        out.latency += own.latency;
      }
      end = outer;
    };
    enter(a, forth, back);
    enter(b, back, forth);
    add_cable(a, b, forth, back);
  }
  return std::move(topology_);
}

// ---- facts -----------------------------------------------------------------------------------

namespace {

/// Switches numbered 0.., their neighbours, and the cables of every NIC: what the facts are about.
struct Skeleton {
  struct Arc {
    std::uint32_t to = 0;
    std::uint32_t cables = 0;
    std::uint8_t weight = 1;
    double capacity = 0;  ///< of all cables of this pair and weight, bits/s
  };
  std::vector<std::uint32_t> number;   ///< [VertexId] of a switch, or kNone
  std::vector<std::vector<Arc>> arcs;  ///< [switch]
  std::vector<NicCables> nics;         ///< [NicId]

  explicit Skeleton(const Topology& t) : number(num_vertices(t.graph), kNone) {
    std::uint32_t count = 0;
    for (std::size_t v = 0; v < number.size(); ++v) {
      if (t.is_switch(vertex(v))) number[v] = count++;
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
    for (std::size_t i = 0; i < t.nics.size(); ++i) nics.push_back(t.cables_of(nic_id(i)));
  }
};

/// Most cables on a shortest path between two NICs: breadth-first search from 64 sources at a time,
/// one bit each. NICs that hang from the same switches are one source.
int diameter(const Topology& t, const Skeleton& net) {
  struct Kind {
    std::vector<std::uint32_t> switches;
    std::vector<std::size_t> wired;  // kinds of the NICs at the other end of direct cables
    std::size_t members = 0;
  };
  std::vector<Kind> kinds;
  std::map<std::vector<std::uint32_t>, std::size_t> known;
  std::vector<std::size_t> kind_of(net.nics.size());
  for (std::size_t i = 0; i < net.nics.size(); ++i) {
    std::vector<std::uint32_t> switches;
    bool direct = false;
    for (const NicCable& c : net.nics[i].cables) {
      const std::uint32_t far = net.number[at(c.far)];
      if (far != kNone) switches.push_back(far);
      direct |= far == kNone;
    }
    std::sort(switches.begin(), switches.end());
    switches.erase(std::unique(switches.begin(), switches.end()), switches.end());
    std::size_t kind = kinds.size();
    if (!direct) kind = known.emplace(switches, kind).first->second;
    if (kind == kinds.size()) kinds.push_back({std::move(switches), {}, 0});
    ++kinds[kind].members;
    kind_of[i] = kind;
  }
  for (std::size_t i = 0; i < net.nics.size(); ++i) {
    for (const NicCable& c : net.nics[i].cables) {
      if (!t.is_switch(c.far)) {
        kinds[kind_of[i]].wired.push_back(kind_of[t.graph[at(c.far)].index]);
      }
    }
  }
  std::vector<std::vector<std::size_t>> kinds_at(net.arcs.size());
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    for (const std::uint32_t s : kinds[k].switches) kinds_at[s].push_back(k);
  }

  int most = 0;
  std::vector<std::uint64_t> seen, fresh, next, done;
  std::vector<std::uint32_t> front, new_front;
  for (std::size_t first = 0; first < kinds.size(); first += 64) {
    seen.assign(net.arcs.size(), 0);
    fresh.assign(net.arcs.size(), 0);
    next.assign(net.arcs.size(), 0);
    done.assign(kinds.size(), 0);
    front.clear();
    for (std::size_t k = first; k < std::min(first + 64, kinds.size()); ++k) {
      const std::uint64_t bit = std::uint64_t{1} << (k - first);
      if (kinds[k].members == 1) done[k] |= bit;
      for (const std::size_t other : kinds[k].wired) {
        done[other] |= bit;
        most = std::max(most, 1);
      }
      for (const std::uint32_t s : kinds[k].switches) {
        if (fresh[s] == 0) front.push_back(s);
        fresh[s] |= bit;
      }
    }
    for (int level = 0; !front.empty(); ++level) {
      new_front.clear();
      for (const std::uint32_t s : front) {
        seen[s] |= fresh[s];
        for (const std::size_t k : kinds_at[s]) {
          if ((fresh[s] & ~done[k]) != 0) most = std::max(most, level + 2);
          done[k] |= fresh[s];
        }
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
  return most;
}

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

BitsPerSecond bisection(const Topology& t, const Skeleton& net) {
  const std::size_t per_host = static_cast<std::size_t>(t.nics_per_host);
  const std::size_t hosts = net.nics.size() / per_host;
  const std::size_t half = hosts > 1 ? hosts / 2 * per_host : net.nics.size() / 2;
  if (half == 0) return BitsPerSecond(0);

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
  std::vector<std::uint32_t> own(net.nics.size(), kNone);
  for (std::size_t i = 0; i < net.nics.size(); ++i) {
    const NicCables& nic = net.nics[i];
    if (nic.cables.size() == 1 && t.is_switch(nic.cables[0].far)) {
      const std::uint32_t s = of_switch(net.number[at(nic.cables[0].far)]);
      (i < half ? sending : receiving)[s] += capacity(nic.cables[0].out);
    } else {
      own[i] = flow.vertices++;
    }
  }
  for (const auto& [s, sum] : sending) flow.arcs.push_back({0, s, sum});
  for (const auto& [s, sum] : receiving) flow.arcs.push_back({s, 1, sum});
  for (std::size_t i = 0; i < net.nics.size(); ++i) {
    if (own[i] == kNone) continue;
    const NicCables& nic = net.nics[i];
    std::int64_t rate = 0;
    if (nic.has_port) {
      rate = capacity(nic.port_out);
    } else {
      for (const NicCable& c : nic.cables) rate += capacity(c.out);
    }
    if (i < half) {
      flow.arcs.push_back({0, own[i], rate});
    } else {
      flow.arcs.push_back({own[i], 1, rate});
    }
    for (const NicCable& c : nic.cables) {
      if (t.is_switch(c.far)) {
        const std::uint32_t s = of_switch(net.number[at(c.far)]);
        if (i < half) {
          flow.arcs.push_back({own[i], s, capacity(c.out)});
        } else {
          flow.arcs.push_back({s, own[i], capacity(c.out)});
        }
      } else if (const std::uint32_t other = t.graph[at(c.far)].index; i < half && other >= half) {
        flow.arcs.push_back({own[i], own[other], capacity(c.out)});
      }
    }
  }
  return BitsPerSecond(unit * static_cast<double>(max_flow(merge_alike(flow))));
}

std::size_t saturating_add_product(std::size_t sum, std::size_t a, std::size_t b) {
  std::size_t product = 0;
  std::size_t total = 0;
  if (__builtin_mul_overflow(a, b, &product)) return SIZE_MAX;
  return __builtin_add_overflow(sum, product, &total) ? SIZE_MAX : total;
}

/// How many shortest paths (by weight, parallel cables apart) lead from the first to the last NIC.
std::size_t count_shortest_paths(const Topology& t, const Skeleton& net) {
  if (net.nics.size() < 2) return 0;
  const NicCables& from = net.nics.front();
  const NicCables& to = net.nics.back();
  const auto direct = static_cast<std::size_t>(
      std::count_if(from.cables.begin(), from.cables.end(),
                    [&](const NicCable& c) { return c.far == t.nics.back(); }));
  if (direct > 0) return direct;

  constexpr std::uint64_t kFar = UINT64_MAX;
  std::vector<std::uint64_t> distance(net.arcs.size(), kFar);
  std::vector<std::size_t> paths(net.arcs.size(), 0);
  using Entry = std::pair<std::uint64_t, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (const NicCable& c : to.cables) {
    const std::uint32_t s = net.number[at(c.far)];
    if (s == kNone) continue;
    if (distance[s] == kFar) queue.emplace(0, s);
    distance[s] = 0;
    ++paths[s];
  }
  while (!queue.empty()) {
    const auto [d, s] = queue.top();
    queue.pop();
    if (d != distance[s]) continue;
    for (const auto& arc : net.arcs[s]) {
      const std::uint64_t reached = d + arc.weight;
      if (reached < distance[arc.to]) {
        distance[arc.to] = reached;
        paths[arc.to] = 0;
        queue.emplace(reached, arc.to);
      }
      if (reached == distance[arc.to]) {
        paths[arc.to] = saturating_add_product(paths[arc.to], paths[s], arc.cables);
      }
    }
    distance[s] = d;
  }
  std::uint64_t nearest = kFar;
  std::size_t count = 0;
  for (const NicCable& c : from.cables) {
    const std::uint32_t s = net.number[at(c.far)];
    if (s == kNone) continue;
    if (distance[s] < nearest) nearest = distance[s], count = 0;
    if (distance[s] == nearest) count = saturating_add_product(count, paths[s], 1);
  }
  return count;
}

}  // namespace

TopologyFacts facts_of(const Topology& t) {
  TopologyFacts facts;
  facts.switches = t.switches();
  facts.cables = t.cables();
  std::vector<std::size_t> by_label(t.vertex_labels.size(), 0);
  for (std::size_t v = 0; v < num_vertices(t.graph); ++v) {
    if (!t.is_switch(vertex(v))) continue;
    ++by_label[t.graph[v].label];
    facts.most_ports = std::max(facts.most_ports, out_degree(v, t.graph));
  }
  for (std::size_t i = 1; i < by_label.size(); ++i) {
    facts.switches_by_label.emplace_back(t.vertex_labels[i], by_label[i]);
  }
  std::vector<std::size_t> by_tier(t.link_tiers.size(), 0);
  for (std::size_t i = 0; i < t.links.size(); i += 2) ++by_tier[t.links[i].tier];
  for (std::size_t i = 0; i < by_tier.size(); ++i) {
    if (t.link_tiers[i] != kPortTier)
      facts.cables_by_tier.emplace_back(t.link_tiers[i], by_tier[i]);
  }
  for (const double ratio : t.oversubscription) {
    facts.oversubscription = std::max(facts.oversubscription.value_or(1), ratio);
  }
  const Skeleton net(t);
  facts.diameter_hops = diameter(t, net);
  facts.bisection = bisection(t, net);
  facts.shortest_paths = count_shortest_paths(t, net);
  return facts;
}

// ---- export ----------------------------------------------------------------------------------

namespace {

struct DrawnVertex {
  std::string name;
  std::string kind;  // "nic" or "switch"
};
struct DrawnCable {
  std::string tier;
  long rate_bps = 0;  // a double would be written with six digits
  double latency_s = 0;
};
using Drawing =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, DrawnVertex, DrawnCable>;

/// The graph as one would draw it: no inner ports, one edge per cable.
Drawing draw(const Topology& t) {
  Drawing drawing;
  std::vector<std::size_t> drawn(num_vertices(t.graph), 0);
  for (std::size_t v = 0; v < drawn.size(); ++v) {
    if (t.graph[v].kind == Vertex::Kind::nic_port) {
      drawn[v] = drawn[at(t.nics[t.graph[v].index])];
    } else {
      drawn[v] = add_vertex(
          DrawnVertex{t.name(vertex(v)), t.is_switch(vertex(v)) ? "switch" : "nic"}, drawing);
    }
  }
  for (std::size_t i = 0; i < t.links.size(); i += 2) {
    const std::string& tier = t.link_tiers[t.links[i].tier];
    if (tier == kPortTier) continue;
    // The way towards a NIC has the cable's latency without the sender's.
    const double latency = std::min(t.links[i].latency, t.links[i + 1].latency).value;
    add_edge(drawn[at(t.ends[i].first)], drawn[at(t.ends[i].second)],
             DrawnCable{tier, std::lround(t.links[i].capacity.value), latency}, drawing);
  }
  return drawing;
}

boost::dynamic_properties properties_of(Drawing& drawing) {
  boost::dynamic_properties properties;
  properties.property("kind", get(&DrawnVertex::kind, drawing));
  properties.property("tier", get(&DrawnCable::tier, drawing));
  properties.property("rate_bps", get(&DrawnCable::rate_bps, drawing));
  properties.property("latency_s", get(&DrawnCable::latency_s, drawing));
  return properties;
}

}  // namespace

void write_dot(const Topology& t, std::ostream& out) {
  Drawing drawing = draw(t);
  boost::dynamic_properties properties = properties_of(drawing);
  properties.property("node_id", get(&DrawnVertex::name, drawing));
  boost::write_graphviz_dp(out, drawing, properties);
}

void write_graphml(const Topology& t, std::ostream& out) {
  Drawing drawing = draw(t);
  boost::dynamic_properties properties = properties_of(drawing);
  properties.property("name", get(&DrawnVertex::name, drawing));
  boost::write_graphml(out, drawing, properties, true);
}

}  // namespace weft
