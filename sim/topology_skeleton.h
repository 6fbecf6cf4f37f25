// A topology as the facts about it see it: switches with merged parallel cables, NICs with theirs.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/topology.h"

namespace weft {

/// Switches numbered 0.., their neighbours, and the cables of every NIC.
struct Skeleton {
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Arc {
    std::uint32_t to = 0;
    std::uint32_t cables = 0;
    std::uint8_t weight = 1;
    double capacity = 0;  ///< of all cables of this pair and weight, bits/s
  };
  /// NICs that hang from the same switches and are wired to nothing else are alike.
  struct Kind {
    std::vector<std::uint32_t> switches;  ///< each once, ascending
    std::vector<std::size_t> wired;       ///< kinds of the NICs at the other end of direct cables
    std::size_t members = 0;
    std::uint32_t first = 0;  ///< the lowest NIC
  };

  std::vector<std::uint32_t> number;               ///< [VertexId] of a switch, or kNone
  std::vector<std::vector<Arc>> arcs;              ///< [switch]
  std::vector<NicCables> nics;                     ///< [NicId]
  std::vector<Kind> kinds;                         ///< in the order of their first NICs
  std::vector<std::size_t> kind_of;                ///< [NicId]
  std::vector<std::vector<std::size_t>> kinds_at;  ///< [switch]

  explicit Skeleton(const Topology&);
};

}  // namespace weft
