// Integer ids, one type each, so that a rank is never taken for a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

enum class RankId : std::uint32_t {};  ///< a worker of the job: one GPU's share of it
enum class GpuId : std::uint32_t {};   ///< a GPU of the cluster: host * gpus_per_host + local index
enum class NicId : std::uint32_t {};   ///< a NIC of the cluster: host * nics_per_host + local index
enum class HostId : std::uint32_t {};  ///< a server
enum class LinkId : std::uint32_t {
};  ///< a directed link; ids 2k and 2k+1 are one cable's two ways
enum class VertexId : std::uint32_t {};  ///< a vertex of the fabric's graph: a NIC or a switch

/// The id as an index into the table it belongs to.
template <class Id>
constexpr std::size_t at(Id id) {
  return static_cast<std::size_t>(id);
}

/// The other direction of the same cable.
constexpr LinkId reverse(LinkId id) { return LinkId{static_cast<std::uint32_t>(id) ^ 1u}; }

}  // namespace weft
