// The straight line, from a scenario to its files.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/network.h"
#include "sim/placement.h"
#include "sim/routing.h"
#include "sim/scenario.h"
#include "sim/topology.h"
#include "sim/workload.h"

namespace weft::program {

/// A scenario with all that it describes built. Everything that input can get wrong has been
/// checked. Not movable: its parts refer to one another.
struct Experiment {
  explicit Experiment(Scenario);
  Experiment(const Experiment&) = delete;
  Experiment& operator=(const Experiment&) = delete;

  Scenario scenario;
  Topology topology;
  std::unique_ptr<Router> router;
  Network network;
  Workload workload;
  Placement placement;
};

/// This program's catalogues.
const Catalogs& catalogs();

/// Simulates and measures, checks the invariants (InternalError), writes the files where `folder`
/// is not empty. Returns summary.json. One call per process.
nlohmann::ordered_json run(const Experiment&, const std::filesystem::path& folder);

/// Runs each scenario in a process of its own, as many at a time as there are cores, each into its
/// folder. Returns their summaries. Throws ChildFailed.
std::vector<nlohmann::ordered_json> run_apart(const std::vector<Scenario>&,
                                              const std::vector<std::filesystem::path>& folders);

}  // namespace weft::program
