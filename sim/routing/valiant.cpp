#include "sim/routing/valiant.h"

#include <utility>
#include <vector>

#include "sim/check.h"
#include "sim/routing/hash_policy.h"
#include "sim/routing/shortest_paths.h"

namespace weft::routing {
namespace {

/// Valiant's detour (SIAM J. Comput. 1982) as dragonflies use it (Kim et al., ISCA 2008): to a
/// random router of a random other group, then on, each half minimal. A detour that comes back to
/// a router it has passed is cut short there.
class ValiantRouter : public Router {
 public:
  ValiantRouter(const Topology& topology, std::uint64_t seed)
      : paths_(topology), seed_(mix(seed)), routers_(static_cast<std::size_t>(topology.groups)) {
    const SwitchGraph& graph = paths_.graph();
    for (std::uint32_t s = 0; s < graph.switches(); ++s) {
      if (graph.info(s).group >= 0) {
        routers_[static_cast<std::size_t>(graph.info(s).group)].push_back(s);
      }
    }
  }

  void route(NicId source, NicId destination, std::uint64_t flow_key,
             std::vector<LinkId>& path) override {
    check(source != destination, "a path joins two NICs");
    const HashPolicy policy(seed_, source, destination, flow_key);
    const SwitchGraph& graph = paths_.graph();
    const std::uint32_t target = paths_.target(destination);
    const auto groups = static_cast<std::uint32_t>(routers_.size());
    const auto group_of = [&](std::uint32_t s) { return graph.info(s).group; };
    const std::uint32_t last = graph.members(target).empty() ? kNone : graph.members(target)[0];
    if (groups < 3 || last == kNone || paths_.wire(source, destination, policy, path)) {
      if (groups < 3 || last == kNone) paths_.route(source, destination, policy, path);
      return;
    }
    const std::uint32_t first = paths_.leave(source, target, policy, path);
    visited_.assign(1, {first, path.size()});
    if (group_of(first) == group_of(last)) {
      paths_.arrive(destination, paths_.walk(first, target, policy, path, [](std::uint32_t) {}),
                    policy, path);
      return;
    }
    auto low = static_cast<std::uint32_t>(group_of(first));
    auto high = static_cast<std::uint32_t>(group_of(last));
    if (low > high) std::swap(low, high);
    std::uint32_t middle = bounded(mix(policy.hash, kGroupDraw), groups - 2);
    if (middle >= low) ++middle;
    if (middle >= high) ++middle;
    const auto& there = routers_[middle];
    const std::uint32_t detour =
        there[bounded(mix(policy.hash, kRouterDraw), static_cast<std::uint32_t>(there.size()))];

    const auto remember = [&](std::uint32_t s) { visited_.emplace_back(s, path.size()); };
    paths_.walk(first, detour, policy, path, remember);
    const auto cut = [&](std::uint32_t s) {
      for (const auto& [seen, length] : visited_) {
        if (seen == s) {
          path.resize(length);
          return;
        }
      }
    };
    paths_.arrive(destination, paths_.walk(detour, target, policy, path, cut), policy, path);
  }

 private:
  // Places of the hash that are no switch.
  static constexpr std::uint64_t kGroupDraw = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kRouterDraw = kGroupDraw + 1;

  ShortestPaths paths_;
  std::uint64_t seed_;
  std::vector<std::vector<std::uint32_t>> routers_;             // [group]
  std::vector<std::pair<std::uint32_t, std::size_t>> visited_;  // switch, path length there
};

}  // namespace

std::unique_ptr<Router> make_valiant(const Topology& topology, std::uint64_t seed) {
  return std::make_unique<ValiantRouter>(topology, seed);
}

}  // namespace weft::routing
