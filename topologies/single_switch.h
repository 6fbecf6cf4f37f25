// Every NIC on one switch of unlimited ports.
#pragma once

#include <string_view>

#include "sim/topology.h"
#include "topologies/link.h"

namespace weft {

/// A switch that is never a bottleneck: what a network can do at best, and what collectives are
/// checked against. From GPU to GPU of two hosts a message takes NIC latency + 2 x link latency.
struct SingleSwitch {
  static constexpr std::string_view kPicture = R"(
        [ switch0 ]
       /  |  |  |  \
   NIC 0  1  2 ...  n-1
)";

  PortSpec link = {};  ///< each cable

  static SingleSwitch read(const Section&, const Cluster&);
  Topology build(const Cluster&) const;
};

}  // namespace weft
