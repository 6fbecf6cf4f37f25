// How much a fabric carries between its halves.
#pragma once

#include "sim/topology.h"
#include "sim/topology_skeleton.h"
#include "sim/units.h"

namespace weft {

/// The minimum cut between two halves of the NICs, by maximum flow. The halves are the first and
/// the second half of the hosts (the smaller half first); where the switches form a grid, the
/// halves along each of its dimensions, and the least cut counts.
BitsPerSecond bisection(const Topology&, const Skeleton&);

}  // namespace weft
