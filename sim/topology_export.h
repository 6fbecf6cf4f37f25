// The fabric as a drawing, for other programs and to be read back by the fabric `graph`.
#pragma once

#include <iosfwd>

#include "sim/topology.h"

namespace weft {

/// GraphViz and GraphML (Boost.Graph's writers): undirected, one edge per cable, parallel ones
/// kept. Vertices have name, kind (nic, switch), level (0 for NICs, 1 for the switches above, ...)
/// and group (-1: none); edges have tier, rate_bps, latency_s (of the cable alone), length_m and
/// weight.
void write_dot(const Topology&, std::ostream&);
void write_graphml(const Topology&, std::ostream&);

}  // namespace weft
