// A whole experiment as the user wrote it: checked values, nothing unread, nothing left open.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "sim/config.h"
#include "sim/engine.h"
#include "sim/placement.h"
#include "sim/routing.h"
#include "sim/topology.h"
#include "sim/workload.h"

namespace weft {

/// How much of the run goes into trace.json.
struct TraceSpec {
  bool on = true;
  int ranks = 0;                ///< 0: one rank of each pipeline stage (at most 16)
  Bytes max_bytes{50'000'000};  ///< what would exceed it is left out, and the trace says so
};

struct Scenario {
  std::string name;
  std::uint64_t seed = 1;
  Cluster cluster;
  std::string fabric_kind;
  std::shared_ptr<const Fabric> fabric;
  RoutingSpec routing;
  std::shared_ptr<const WorkloadSpec> workload;
  PlacementSpec placement;
  SimulationOptions engine;
  TraceSpec trace;
  bool flows_csv = false;
  std::string resolved;  ///< resolved.yaml
};

/// The catalogues as the loader needs them, so that sim knows no particular fabric or workload.
struct Catalogs {
  /// Reads `fabric:` (its `kind` picks the reader).
  std::function<std::shared_ptr<const Fabric>(const Section&, const Cluster&)> read_fabric;
  /// Reads `workload:`.
  std::function<std::shared_ptr<const WorkloadSpec>(const Section&, const Cluster&)> read_workload;
};

/// Loads and checks a scenario. `overrides` are the texts of --set.
Scenario load_scenario(const std::string& path, const std::vector<std::string>& overrides,
                       const Catalogs&);

/// The same from memory; `name` stands for the file in messages.
Scenario load_scenario_text(const std::string& name, const std::string& text,
                            const std::vector<std::string>& overrides, const Catalogs&);

/// All keys of a scenario but those of `fabric` and `workload`, for `weft describe scenario`.
std::vector<KeyInfo> describe_scenario();

}  // namespace weft
