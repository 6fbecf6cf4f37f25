#include "sim/routing/d_mod_k.h"

#include <array>

#include "sim/check.h"
#include "sim/routing/shortest_paths.h"

namespace weft::routing {
namespace {

/// Destination modulo k (Zahavi, Fat-tree routing and node ordering providing contention free
/// traffic for MPI global collectives, 2012): the uplink is a digit of the destination's number,
/// so that destinations next to each other climb by different uplinks, and each destination always
/// comes down the same way.
///
/// Going up among n uplinks takes uplink q % n. Above the parent that it leads to by K parallel
/// cables, of which it is the r-th, the destinations of one leaf that come this way are numbered
/// q / n * K + r. Coming down to a switch takes the cable by which that switch's uplink of the same
/// rank goes up: the mirror image, so a destination has its links down for itself.
class DModKRouter : public Router {
 public:
  explicit DModKRouter(const Topology& topology) : paths_(topology), ranks_(topology.links.size()) {
    const SwitchGraph& graph = paths_.graph();
    for (std::uint32_t s = 0; s < graph.switches(); ++s) {
      check(graph.info(s).tier < kMostTiers, "a tree has few tiers");
      std::uint32_t rank = 0;
      for (const Arc& arc : graph.arcs(s)) {
        if (graph.info(arc.to).tier > graph.info(s).tier) ranks_[at(arc.link)] = rank++;
      }
    }
  }

  void route(NicId source, NicId destination, std::uint64_t, std::vector<LinkId>& path) override {
    check(source != destination, "a path joins two NICs");
    paths_.route(source, destination, Policy{paths_.graph(), ranks_, at(destination), {}}, path);
  }

 private:
  static constexpr std::size_t kMostTiers = 16;

  struct Policy {
    const SwitchGraph& graph;
    const std::vector<std::uint32_t>& ranks;
    std::uint64_t q;
    std::array<std::uint32_t, kMostTiers> climbed;  // [tier] rank of the uplink taken from it

    std::uint32_t pick(std::uint32_t, std::uint32_t count) const {
      return static_cast<std::uint32_t>(q % count);
    }
    std::uint32_t pick(std::uint32_t s, std::span<const Choice> choices) {
      const auto tier = graph.info(s).tier;
      const auto count = static_cast<std::uint32_t>(choices.size());
      if (graph.info(choices[0].to).tier < tier) {
        for (std::uint32_t i = 0; i + 1 < count; ++i) {
          const auto [to, link] = choices[i];
          if (ranks[at(reverse(link))] == climbed[graph.info(to).tier]) return i;
        }
        return count - 1;
      }
      const auto chosen = static_cast<std::uint32_t>(q % count);
      std::uint64_t parallel = 0;
      std::uint64_t rank = 0;
      for (std::uint32_t i = 0; i < count; ++i) {
        if (choices[i].to != choices[chosen].to) continue;
        rank += i < chosen ? 1u : 0u;
        ++parallel;
      }
      q = q / count * parallel + rank;
      climbed[tier] = ranks[at(choices[chosen].link)];
      return chosen;
    }
  };

  ShortestPaths paths_;
  std::vector<std::uint32_t> ranks_;  // [LinkId] of an uplink among its switch's uplinks
};

}  // namespace

std::unique_ptr<Router> make_d_mod_k(const Topology& topology) {
  return std::make_unique<DModKRouter>(topology);
}

}  // namespace weft::routing
