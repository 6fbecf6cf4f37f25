#include "topologies/single_switch.h"

namespace weft {

SingleSwitch SingleSwitch::read(const Section& fabric, const Cluster&) {
  return {.link = read_link(fabric, kRowLength)};
}

Topology SingleSwitch::build(const Cluster& cluster) const {
  TopologyBuilder builder("single_switch", cluster);
  const VertexId only = builder.add_switch("switch", 1, 0);
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(cluster.nics()); ++i) {
    builder.attach(NicId{i}, only, link);
  }
  builder.topology().tree = true;
  builder.topology().oversubscription = {1};
  return builder.finish();
}

}  // namespace weft
