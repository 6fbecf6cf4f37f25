#include "sim/routing/ecmp.h"

#include "sim/check.h"
#include "sim/routing/hash_policy.h"
#include "sim/routing/shortest_paths.h"

namespace weft::routing {
namespace {

class HashRouter : public Router {
 public:
  HashRouter(const Topology& topology, std::uint64_t seed) : paths_(topology), seed_(mix(seed)) {}

  void route(NicId source, NicId destination, std::uint64_t flow_key,
             std::vector<LinkId>& path) override {
    check(source != destination, "a path joins two NICs");
    paths_.route(source, destination, HashPolicy(seed_, source, destination, flow_key), path);
  }

 private:
  ShortestPaths paths_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Router> make_ecmp(const Topology& topology, std::uint64_t seed) {
  return std::make_unique<HashRouter>(topology, seed);
}

}  // namespace weft::routing
