// The fabric as a validated graph: NICs and switches, every cable two directed links with ids.
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/cluster.h"
#include "sim/config.h"
#include "sim/ids.h"
#include "sim/units.h"

namespace weft {

/// A NIC port or a switch. Names are made on demand: no text is kept per vertex.
struct Vertex {
  enum class Kind : std::uint8_t { nic, nic_port, network_switch };
  Kind kind = Kind::network_switch;
  std::uint8_t label = 0;   ///< index into Topology::vertex_labels ("leaf", "spine", "router")
  std::uint8_t tier = 0;    ///< 0 for NICs, 1 for the switches NICs attach to, and so on up
  std::int32_t group = -1;  ///< dragonfly group or fat-tree pod; -1 where there is none
  std::uint32_t index = 0;  ///< number within its label; where Topology::groups > 0, in its group
};

/// A directed link.
struct Link {
  LinkId id{};
  BitsPerSecond capacity;
  Seconds latency;
  std::uint8_t tier = 0;    ///< index into Topology::link_tiers ("nic", "leaf-spine", "global")
  std::uint8_t weight = 1;  ///< length for shortest paths: a dragonfly's global links weigh more
  float length = 0;         ///< of the cable, metres
};

/// Boost's adjacency list, but it moves and is never copied (Boost 1.74 copies where one moves).
/// Out edges of a vertex stand in the order of their link ids.
struct Graph : boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Vertex, Link> {
  using adjacency_list::adjacency_list;
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  Graph(Graph&& other) noexcept { m_vertices.swap(other.m_vertices); }
  Graph& operator=(Graph&& other) noexcept {
    m_vertices.swap(other.m_vertices);
    return *this;
  }
  ~Graph() = default;
};

/// A cable of a NIC, seen from the NIC.
struct NicCable {
  VertexId far{};  ///< the switch at the other end, or the other NIC (never its inner port)
  LinkId out{};    ///< away from the NIC
  LinkId in{};     ///< towards the NIC
};

/// All cables of a NIC in the order of their ids, and the links between the NIC and its inner port
/// where it has several.
struct NicCables {
  bool has_port = false;
  LinkId port_out{};  ///< NIC to inner port; only where has_port
  LinkId port_in{};   ///< inner port to NIC; only where has_port
  std::vector<NicCable> cables;
};

/// A fabric that has been built. Links are numbered from 0; link 2k and 2k+1 are one cable.
/// INVARIANT: every NIC of the cluster has a vertex, `nics[NicId]`, and each pair of NICs (of one
/// rail, where `rails_apart`) is connected by switches alone (NICs do not forward).
struct Topology {
  std::string kind;  ///< "fat_tree", ...
  Graph graph;
  std::vector<VertexId> nics;  ///< [hosts * nics per host]
  int nics_per_host = 1;
  std::vector<std::string> vertex_labels;  ///< "host" first, then the switches' labels
  std::vector<std::string> vertex_names;   ///< only where the user named them (`graph`)
  std::vector<std::string> link_tiers;
  std::vector<Link> links;                          ///< [LinkId], a copy of the edge's property
  std::vector<std::pair<VertexId, VertexId>> ends;  ///< [LinkId] from, to
  std::vector<double> oversubscription;             ///< down : up per switch tier, lowest first
  bool tree = false;                                ///< up/down structure: d_mod_k makes sense
  int groups = 0;  ///< dragonfly groups: valiant makes sense (0: none)
  /// Rail-only: NICs of different rails (of different local numbers) have no path to each other.
  bool rails_apart = false;
  /// [NicId] its place in the order of the leaves; empty where that is the NIC's own number.
  std::vector<std::uint32_t> order;
  /// Extents where the switches form a grid whose halves along each dimension are natural; the
  /// first dimension varies fastest in their numbers. Empty elsewhere.
  std::vector<std::uint32_t> grid;
  /// Where what was built differs from what was asked, one sentence each.
  std::vector<std::string> notes;

  std::size_t switches() const;
  /// Cables one could buy: the inner links of NICs with several ports do not count.
  std::size_t cables() const;
  NicCables cables_of(NicId) const;
  /// Whether there is a path between two NICs.
  bool connected(NicId a, NicId b) const { return !rails_apart || rail(a) == rail(b); }
  /// Rail i is the NICs i of all hosts.
  std::uint32_t rail(NicId id) const {
    return static_cast<std::uint32_t>(id) % static_cast<std::uint32_t>(nics_per_host);
  }
  /// The NIC's place when one walks along the leaves: those of one leaf follow each other.
  std::uint32_t order_of(NicId id) const {
    return order.empty() ? static_cast<std::uint32_t>(id) : order[at(id)];
  }
  /// Cables inside a NIC, between it and its ports, are none that one could buy.
  bool is_inside_nic(LinkId) const;
  bool is_switch(VertexId id) const { return graph[at(id)].kind == Vertex::Kind::network_switch; }
  std::string name(VertexId) const;  ///< "host3.nic2", "spine4", "router2.5"
  std::string name(LinkId) const;    ///< "leaf12->spine4", with "#1" for the second parallel cable
};

/// Builds a topology step by step, in the order of the calls. Every fabric goes through it, so the
/// rules about NICs stand in one place.
class TopologyBuilder {
 public:
  TopologyBuilder(std::string kind, const Cluster&);

  /// Makes a switch; `label` names its row ("leaf"), `index` counts within it.
  VertexId add_switch(std::string_view label, int tier, std::uint32_t index, int group = -1);
  /// A cable between two switches.
  void connect(VertexId a, VertexId b, const PortSpec& link, std::string_view tier,
               std::uint8_t weight = 1);
  /// `cables` cables from a NIC to a switch (or to another host's NIC). The NIC's own rate bounds
  /// them together and its latency counts once per message, on the sending side: one cable becomes
  /// one link of min(rate); several hang from an inner "nic_port" vertex.
  void attach(NicId, VertexId, const PortSpec& link, int cables = 1);
  /// Two NICs wired back to back.
  void attach(NicId, NicId, const PortSpec& link, int cables = 1);

  VertexId nic(NicId id) const;
  Topology& topology() { return topology_; }  ///< to set names, oversubscription, groups
  /// Empty when every NIC reaches every other (of its rail, where rails are apart), else what is
  /// cut off: "host3.nic0 and host0.nic0".
  std::string disconnected() const;
  /// Numbers the links in the order of the cables and hands the topology over. Precondition:
  /// disconnected() is empty (checked), and nothing is called afterwards.
  Topology finish();

 private:
  struct Cable {
    VertexId a{}, b{};
    PortSpec link;
    std::uint8_t tier = 0, weight = 1;
  };
  VertexId inner_port(VertexId nic);
  void add_cable(VertexId a, VertexId b, const Link& forth, const Link& back);

  Topology topology_;
  const Cluster& cluster_;
  std::vector<Cable> cables_;             // as asked for; they become links in finish()
  std::vector<std::uint32_t> cables_at_;  // [NicId] how many end there
  std::vector<VertexId> ports_;           // [NicId] its inner port, once made; else the NIC
};

/// A fabric as the user described it, before it is built.
class Fabric {
 public:
  virtual ~Fabric() = default;
  /// Builds it for the cluster. Throws ConfigError where the hosts do not fit.
  virtual Topology build(const Cluster&) const = 0;
};

}  // namespace weft
