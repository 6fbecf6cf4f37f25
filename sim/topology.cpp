#include "sim/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sim/check.h"

namespace weft {
namespace {

constexpr const char* kNicTier = "nic";
constexpr const char* kPortTier = "nic-port";  // inside a NIC: no cable

VertexId vertex(std::size_t index) { return VertexId{static_cast<std::uint32_t>(index)}; }
LinkId link_id(std::size_t index) { return LinkId{static_cast<std::uint32_t>(index)}; }

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
  for (std::size_t i = 0; i < links.size(); i += 2) count += is_inside_nic(link_id(i)) ? 0u : 1u;
  return count;
}

bool Topology::is_inside_nic(LinkId id) const {
  return link_tiers[links[at(id)].tier] == kPortTier;
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
  // looked at once. Where rails are apart, so are the kinds of different rails.
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
  const auto rail = [&](std::size_t i) -> std::size_t {
    return topology_.rails_apart ? i % static_cast<std::size_t>(topology_.nics_per_host) : 0;
  };
  std::map<std::pair<std::size_t, std::vector<std::size_t>>, std::size_t> kinds;
  std::vector<std::size_t> firsts;   // the lowest NIC of each kind, and every wired one
  std::vector<std::size_t> seconds;  // another NIC of the same kind, or `count`
  for (std::size_t i = 0; i < count; ++i) {
    auto& set = touched[i];
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    if (wired[i]) {
      firsts.push_back(i), seconds.push_back(count);
    } else if (const auto [found, fresh] = kinds.emplace(std::pair(rail(i), set), firsts.size());
               fresh) {
      firsts.push_back(i), seconds.push_back(count);
    } else if (seconds[found->second] == count) {
      seconds[found->second] = i;
    }
  }
  const auto apart = [&](std::size_t a, std::size_t b) {
    if (rail(a) != rail(b)) return false;
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
    Link forth{{},     c.link.rate, c.link.latency,
               c.tier, c.weight,    static_cast<float>(c.link.length.value)};
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

}  // namespace weft
