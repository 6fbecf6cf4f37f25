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
  steps,     ///< every message of every step is a flow
  coupled,   ///< one weighted variable for all flows of a phase: they progress with the slowest
  automatic  ///< steps up to kMostStepFlows messages in a collective, coupled above
};

/// `automatic` simulates collectives of at most this many messages step by step.
inline constexpr std::uint64_t kMostStepFlows = 4096;

/// Follows a simulation from outside: a progress line, Ctrl-C.
class Monitor {
 public:
  virtual ~Monitor() = default;
  /// Called now and then (every thousand events). `done` is the share of the job's ops and
  /// messages that are over, 0 to 1; `flows` have been started; the clock stands at `now` seconds.
  /// Returning false ends the simulation with Interrupted.
  virtual bool go_on(double done, std::uint64_t flows, double now) = 0;
};

/// A monitor ended the simulation early.
struct Interrupted {
  double done = 0;  ///< as in Monitor::go_on
  double now = 0;   ///< simulated seconds
};

struct SimulationOptions {
  std::string network = "fluid";
  CollectiveMode collectives = CollectiveMode::automatic;
  bool closed_forms =
      true;  ///< collectives on links that nobody else can use cost their exact time
  std::vector<std::uint32_t> traced_workers;  ///< sorted; spans are kept of these
  std::size_t max_spans = 2'000'000;
  bool record_flows = false;
  bool record_ops = true;  ///< for the critical path: 16 bytes an op and iteration
  Monitor* monitor = nullptr;
};

/// Runs all iterations. One call per process (SimGrid's kernel is a singleton). Deterministic.
/// Throws Interrupted where the monitor says so.
Timeline simulate(const Network&, const Workload&, const Placement&, const SimulationOptions&);

}  // namespace weft
