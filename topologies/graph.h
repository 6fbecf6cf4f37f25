// An arbitrary network, cable by cable.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/topology.h"
#include "topologies/link.h"

namespace weft {

/// Hosts are `host0`, `host1`, ...; one NIC of a host is `host0.nic3`; every other name is a
/// switch. The cables of a bare `host0` are dealt to its NICs in turn.
struct GraphFabric {
  static constexpr std::string_view kPicture = R"(
   host0 ====== s0 ------ s1 ------ host1      between: [host0, s0], cables: 2
                 \        /                    between: [s0, s1]
                  \      /                     ...
                   s2 -------------- host2
)";

  struct Cables {
    std::string a, b;
    PortSpec link = {};
    int cables = 1;
    Place place = {};
  };
  std::vector<Cables> links = {};
  Place place = {};

  static GraphFabric read(const Section&, const Cluster&);
  Topology build(const Cluster&) const;
};

}  // namespace weft
