#include "sim/topology_export.h"

#include <algorithm>
#include <boost/graph/graphml.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/property_map/dynamic_property_map.hpp>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

namespace weft {
namespace {

struct DrawnVertex {
  std::string name;
  std::string kind;  // "nic" or "switch"
  int level = 0;
  int group = -1;
};
struct DrawnCable {
  std::string tier;
  long rate_bps = 0;  // a double would be written with six digits
  double latency_s = 0;
  double length_m = 0;
  int weight = 1;
};
using Drawing =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, DrawnVertex, DrawnCable>;

/// The graph as one would draw it: no inner ports, one edge per cable.
Drawing draw(const Topology& t) {
  Drawing drawing;
  std::vector<std::size_t> drawn(num_vertices(t.graph), 0);
  for (std::size_t v = 0; v < drawn.size(); ++v) {
    const Vertex& vertex = t.graph[v];
    if (vertex.kind == Vertex::Kind::nic_port) {
      drawn[v] = drawn[at(t.nics[vertex.index])];
      continue;
    }
    const VertexId id{static_cast<std::uint32_t>(v)};
    drawn[v] = add_vertex(DrawnVertex{t.name(id), t.is_switch(id) ? "switch" : "nic", vertex.tier,
                                      t.groups > 0 ? vertex.group : -1},
                          drawing);
  }
  for (std::size_t i = 0; i < t.links.size(); i += 2) {
    const Link& link = t.links[i];
    if (t.is_inside_nic(link.id)) continue;
    // The way towards a NIC has the cable's latency without the sender's.
    const double latency = std::min(link.latency, t.links[i + 1].latency).value;
    add_edge(drawn[at(t.ends[i].first)], drawn[at(t.ends[i].second)],
             DrawnCable{t.link_tiers[link.tier], std::lround(link.capacity.value), latency,
                        static_cast<double>(link.length), link.weight},
             drawing);
  }
  return drawing;
}

boost::dynamic_properties properties_of(Drawing& drawing) {
  boost::dynamic_properties properties;
  properties.property("kind", get(&DrawnVertex::kind, drawing));
  properties.property("level", get(&DrawnVertex::level, drawing));
  properties.property("group", get(&DrawnVertex::group, drawing));
  properties.property("tier", get(&DrawnCable::tier, drawing));
  properties.property("rate_bps", get(&DrawnCable::rate_bps, drawing));
  properties.property("latency_s", get(&DrawnCable::latency_s, drawing));
  properties.property("length_m", get(&DrawnCable::length_m, drawing));
  properties.property("weight", get(&DrawnCable::weight, drawing));
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
