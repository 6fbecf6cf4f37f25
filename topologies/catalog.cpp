#include "topologies/catalog.h"

#include <algorithm>

#include "sim/check.h"
#include "topologies/dragonfly.h"
#include "topologies/fat_tree.h"
#include "topologies/graph.h"
#include "topologies/single_switch.h"

namespace weft {
namespace {

/// Gives a plain struct with read() and build() the common face.
template <class T>
class Built : public Fabric {
 public:
  explicit Built(T fabric) : fabric_(std::move(fabric)) {}
  Topology build(const Cluster& cluster) const override { return fabric_.build(cluster); }

 private:
  T fabric_;
};

template <class T>
FabricInfo row(std::string name, std::string help) {
  return {std::move(name), std::move(help), std::string(T::kPicture.substr(1)),
          [](const Section& fabric, const Cluster& cluster) -> std::unique_ptr<Fabric> {
            return std::make_unique<Built<T>>(T::read(fabric, cluster));
          }};
}

}  // namespace

const std::vector<FabricInfo>& fabric_catalog() {
  static const std::vector<FabricInfo> table = {
      row<SingleSwitch>("single_switch", "every NIC on one switch: no network bottleneck"),
      row<FatTree>("fat_tree", "folded Clos of leaves, spines or pods, oversubscribed or not"),
      row<Dragonfly>("dragonfly", "all-to-all groups of all-to-all routers, few long cables"),
      row<GraphFabric>("graph", "any network, cable by cable"),
  };
  return table;
}

std::unique_ptr<Fabric> read_fabric(const Section& fabric, const Cluster& cluster) {
  std::vector<std::string> names;
  for (const FabricInfo& info : fabric_catalog()) names.push_back(info.name);
  const std::string kind = fabric.choice(
      {.name = "kind", .help = "which network joins the hosts", .example = "fat_tree"}, names);
  const auto found = std::find_if(fabric_catalog().begin(), fabric_catalog().end(),
                                  [&](const FabricInfo& info) { return info.name == kind; });
  check(found != fabric_catalog().end(), "a choice is one of its values");
  return found->read(fabric, cluster);
}

}  // namespace weft
