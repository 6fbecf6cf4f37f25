#include "topologies/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <optional>

namespace weft {
namespace {

/// One end of an entry.
struct End {
  std::optional<std::uint32_t> host;
  std::optional<std::uint32_t> nic;  // of the host; none: all its NICs in turn
  std::string_view name;             // of the switch, where it is no host
};

/// The digits after `prefix`, as a number written the one usual way.
std::optional<std::uint32_t> number_after(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  std::uint32_t value = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || last != text.data() + text.size()) return std::nullopt;
  return std::to_string(value) == text ? std::optional(value) : std::nullopt;
}

std::string range_text(std::string_view name, int count) {
  return count == 1 ? fmt::format("{}0", name) : fmt::format("{}0 to {}{}", name, name, count - 1);
}

End parse_end(const std::string& text, const Cluster& cluster, const Place& place) {
  constexpr std::string_view kHost = "host";
  const bool host_like = text.size() > kHost.size() && text.starts_with(kHost) &&
                         text[kHost.size()] >= '0' && text[kHost.size()] <= '9';
  if (!host_like) return {std::nullopt, std::nullopt, text};
  const std::size_t dot = std::min(text.find('.'), text.size());
  End end;
  end.host = number_after(kHost, std::string_view(text).substr(0, dot));
  if (!end.host || *end.host >= static_cast<std::uint32_t>(cluster.hosts)) {
    place.fail("between", fmt::format("there is no `{}`", text.substr(0, dot)),
               fmt::format("the cluster has {} host{}: {}", cluster.hosts,
                           cluster.hosts == 1 ? "" : "s", range_text("host", cluster.hosts)));
  }
  if (dot == text.size()) return end;
  end.nic = number_after("nic", std::string_view(text).substr(dot + 1));
  if (!end.nic || *end.nic >= static_cast<std::uint32_t>(cluster.host.nics)) {
    const std::string prefix = fmt::format("host{}.nic", *end.host);
    place.fail(
        "between", fmt::format("there is no `{}`", text),
        fmt::format("a host has {} NIC{}: {}", cluster.host.nics, cluster.host.nics == 1 ? "" : "s",
                    range_text(prefix, cluster.host.nics)));
  }
  return end;
}

/// Tiers count upwards from the switches NICs hang from.
void number_tiers(Topology& topology, const std::vector<std::pair<VertexId, VertexId>>& wires,
                  const std::vector<VertexId>& attached) {
  std::vector<std::vector<std::size_t>> around(num_vertices(topology.graph));
  for (const auto& [a, b] : wires) {
    around[at(a)].push_back(at(b));
    around[at(b)].push_back(at(a));
  }
  std::vector<int> tier(around.size(), 0);
  std::deque<std::size_t> queue;
  for (const VertexId v : attached) {
    if (tier[at(v)] == 0) queue.push_back(at(v));
    tier[at(v)] = 1;
  }
  while (!queue.empty()) {
    const std::size_t v = queue.front();
    queue.pop_front();
    topology.graph[v].tier = static_cast<std::uint8_t>(std::min(tier[v], 255));
    for (const std::size_t next : around[v]) {
      if (tier[next] != 0) continue;
      tier[next] = tier[v] + 1;
      queue.push_back(next);
    }
  }
}

}  // namespace

GraphFabric GraphFabric::read(const Section& fabric, const Cluster&) {
  constexpr std::string_view kSomeLatency = "600 ns";
  GraphFabric graph;
  graph.place.section = fabric;
  // `link` may be left out where every entry has its own rate.
  std::optional<PortSpec> link;
  if (fabric.has("link")) link = read_link(fabric);
  for (const Section& entry : fabric.sections("links", "the cables")) {
    Cables cables;
    cables.place.section = entry;
    const std::vector<std::string> ends =
        entry.texts({.name = "between",
                     .help = "the two ends: hosts (host0), NICs (host0.nic1) or names of switches",
                     .example = "[host0, s0]"});
    if (ends.size() != 2) {
      entry.fail("between", fmt::format("a cable has 2 ends, not {}", ends.size()));
    }
    cables.a = ends[0];
    cables.b = ends[1];
    entry.has("rate");  // so that it is described as optional: `link` may stand for it
    const std::string rate = link && !fabric.describing() ? yaml_text(link->rate) : "";
    const std::string latency = link ? yaml_text(link->latency) : std::string(kSomeLatency);
    cables.link.rate = entry.rate({.name = "rate",
                                   .help = "data rate per direction; left out: that of `link`",
                                   .initial = rate,
                                   .source = "as `link`",
                                   .example = "400 Gbps"});
    cables.link.latency = entry.time({.name = "latency",
                                      .help = "one way, the switch at its end included",
                                      .initial = latency,
                                      .source = "as `link`"});
    cables.cables = static_cast<int>(entry.integer(
        {.name = "cables", .help = "in parallel; each carries its own flows", .initial = "1"}, 1,
        1'000'000));
    graph.links.push_back(std::move(cables));
  }
  return graph;
}

Topology GraphFabric::build(const Cluster& cluster) const {
  TopologyBuilder builder("graph", cluster);
  Topology& topology = builder.topology();
  std::map<std::string, VertexId, std::less<>> switches;
  const auto switch_named = [&](std::string_view name) {
    if (const auto found = switches.find(name); found != switches.end()) return found->second;
    const VertexId made =
        builder.add_switch("switch", 1, static_cast<std::uint32_t>(switches.size()));
    topology.vertex_names.resize(num_vertices(topology.graph));
    topology.vertex_names[at(made)] = name;
    switches.emplace(name, made);
    return made;
  };
  const auto nics = static_cast<std::uint32_t>(cluster.host.nics);
  const auto nic_of = [&](const End& end, int cable) {
    const std::uint32_t local = end.nic.value_or(static_cast<std::uint32_t>(cable) % nics);
    return NicId{*end.host * nics + local};
  };

  std::vector<bool> has_cable(topology.nics.size(), false);
  std::vector<std::pair<VertexId, VertexId>> wires;
  std::vector<VertexId> attached;
  double total = 0;
  for (const Cables& entry : links) {
    total += entry.cables;
    entry.place.refuse_huge("cables", total);
    End a = parse_end(entry.a, cluster, entry.place);
    End b = parse_end(entry.b, cluster, entry.place);
    if (entry.a == entry.b || (a.host && a.host == b.host)) {
      entry.place.fail("between", fmt::format("a cable from `{}` to itself", entry.a),
                       a.host ? "GPUs of one host talk over NVLink" : "");
    }
    for (const End* end : {&a, &b}) {
      if (!end->host || end->nic || entry.cables % static_cast<int>(nics) == 0) continue;
      entry.place.fail(
          "cables",
          fmt::format("{} cable{} cannot be dealt evenly to the {} NICs of host{}", entry.cables,
                      entry.cables == 1 ? "" : "s", nics, *end->host),
          fmt::format("a multiple of {}, or name the NIC: `host{}.nic0`", nics, *end->host));
    }
    if (!a.host && b.host) std::swap(a, b);
    if (!a.host) {
      wires.emplace_back(switch_named(a.name), switch_named(b.name));
    } else if (!b.host) {
      attached.push_back(switch_named(b.name));
    }
    for (int i = 0; i < entry.cables; ++i) {
      for (const End* end : {&a, &b}) {
        if (end->host) has_cable[at(nic_of(*end, i))] = true;
      }
      if (!a.host) {
        builder.connect(wires.back().first, wires.back().second, entry.link, "switch");
      } else if (!b.host) {
        builder.attach(nic_of(a, i), attached.back(), entry.link);
      } else {
        builder.attach(nic_of(a, i), nic_of(b, i), entry.link);
      }
    }
  }
  for (std::size_t i = 0; i < has_cable.size(); ++i) {
    if (has_cable[i]) continue;
    place.fail("links", fmt::format("`{}` has no cable", topology.name(topology.nics[i])),
               fmt::format("the cluster has {} hosts with {} NIC{} each", cluster.hosts, nics,
                           nics == 1 ? "" : "s"));
  }
  if (const std::string pair = builder.disconnected(); !pair.empty()) {
    place.fail("links", fmt::format("no path over switches between {}", pair),
               "hosts do not forward what is meant for others");
  }
  number_tiers(topology, wires, attached);
  topology.vertex_names.resize(num_vertices(topology.graph));
  return builder.finish();
}

}  // namespace weft
