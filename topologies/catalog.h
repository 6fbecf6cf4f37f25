// All fabrics there are: the one list.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/config.h"
#include "sim/topology.h"

namespace weft {

struct FabricInfo {
  std::string name;     ///< what `fabric.kind` says
  std::string help;     ///< one line
  std::string picture;  ///< ASCII
  std::unique_ptr<Fabric> (*read)(const Section& fabric, const Cluster&);
};

const std::vector<FabricInfo>& fabric_catalog();

/// Reads `fabric:`: its `kind`, then what that kind asks for. Sizes left open follow the cluster.
std::unique_ptr<Fabric> read_fabric(const Section& fabric, const Cluster&);

}  // namespace weft
