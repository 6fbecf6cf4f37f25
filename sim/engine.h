// Runs a workload on a network. SimGrid lives and dies in here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/network.h"
#include "sim/placement.h"
#include "sim/timeline.h"
#include "sim/workload.h"

namespace weft {

/// How collectives run on the network.
enum class CollectiveMode : std::uint8_t {
  steps,    ///< every message of every step is a flow
  coupled,  ///< one weighted variable for all flows of a phase: they progress with the slowest
  automatic ///< steps up to kMostStepFlows messages in a collective, coupled above
};

/// `automatic` simulates collectives of at most this many messages step by step.
inline constexpr std::uint64_t kMostStepFlows = 4096;

struct SimulationOptions {
  std::string network = "fluid";
  CollectiveMode collectives = CollectiveMode::automatic;
  bool closed_forms = true;  ///< collectives on links that nobody else can use cost their exact time
  std::vector<std::uint32_t> traced_workers;  ///< sorted; spans are kept of these
  std::size_t max_spans = 2'000'000;
  bool record_flows = false;
};

/// Runs all iterations. One call per process (SimGrid's kernel is a singleton). Deterministic.
Timeline simulate(const Network&, const Workload&, const Placement&, const SimulationOptions&);

}  // namespace weft
