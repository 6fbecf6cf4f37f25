// The hash that spreads flows over equal links.
#pragma once

#include <cstdint>
#include <span>

#include "sim/ids.h"
#include "sim/random.h"
#include "sim/routing/switch_graph.h"

namespace weft::routing {

/// A hash of source, destination, flow key and place: each switch has its own, so the choices of
/// two tiers are independent.
struct HashPolicy {
  std::uint64_t hash;

  HashPolicy(std::uint64_t seed, NicId source, NicId destination, std::uint64_t flow_key)
      : hash(mix(mix(seed, (std::uint64_t{at(source)} << 32) | at(destination)), flow_key)) {}

  std::uint32_t pick(std::uint32_t where, std::uint32_t count) const {
    return count == 1 ? 0 : bounded(mix(hash, where), count);
  }
  std::uint32_t pick(std::uint32_t s, std::span<const Choice> choices) const {
    return pick(s, static_cast<std::uint32_t>(choices.size()));
  }
};

}  // namespace weft::routing
