// Collectives in flight: step by step, or coupled into one variable a communicator.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sim/engine.h"
#include "sim/flow_book.h"
#include "sim/network.h"
#include "sim/placement.h"
#include "sim/timeline.h"
#include "sim/workload.h"

namespace weft {

/// Runs collectives that have all their members. Slots are pooled.
///
/// A run covers the communicators of all lanes of the workers that joined: with TP 8 a
/// data-parallel all-reduce of a stage is eight rings side by side. It ends with its last flow.
///
/// Steps: each message is a flow; a rank goes to its next step when what it sent has arrived and
/// what it gets has come. Coupled: the flows of all steps with the same peers (a ring's 2(n-1))
/// are one variable that crosses each link as often as they do; it moves at the rate of the slowest
/// flow and pays the largest latency once per step.
class CollectiveRuns {
 public:
  CollectiveRuns(const Network&, const Workload&, const Placement&, const SimulationOptions&,
                 Kernel&, FlowBook&, Timeline&);

  /// Starts `call` among the group of `rank` along the communicator's axes and those of its
  /// `lanes`. `tag` comes back when it is over. Returns false (and starts nothing) when there is
  /// nothing to do: one rank.
  bool start(const CollectiveCall& call, std::uint32_t rank, std::uint64_t tag);

  /// Exact seconds of a call among a worker's own ranks when nothing else uses their links, or a
  /// negative number when it must be simulated. Counts it as done `times` times by a worker.
  Seconds closed_form(const CollectiveCall& call, std::uint64_t times);
  bool is_closed(std::uint16_t communicator) const { return closed_[communicator]; }

  /// How many flows a call starts: messages, variables where they are coupled, none where closed.
  std::uint64_t flows(const CollectiveCall& call) const;

  /// A flow of kind step or coupled ended. True when its collective is over: its tag is in `tag`.
  bool on_flow_done(const FlowOwner&, std::uint64_t& tag);

 private:
  struct Member {
    std::uint32_t step = 0;
    std::uint32_t pending = 0;   ///< own messages still on the way
    std::uint32_t received = 0;  ///< of this step
    std::uint32_t expected = 0;  ///< in this step
    bool over = false;
  };
  struct Run {
    const CollectiveCall* call = nullptr;
    const CollectiveAlgorithm* algorithm = nullptr;
    Traffic traffic{};
    int n = 0;
    std::uint32_t communicators = 0;
    std::uint32_t steps = 0;
    std::uint64_t tag = 0;
    double start = 0;
    bool coupled = false;
    std::uint32_t left = 0;            ///< members, or communicators, that are not done
    std::vector<GpuId> gpus;           ///< [communicators * n]
    std::vector<Member> members;       ///< steps: [communicators * n]
    std::vector<Route> routes;         ///< fixed peer: [communicators * n]
    std::vector<std::uint32_t> phase;  ///< coupled, not fixed peer: [communicators] the step
    std::unordered_map<std::uint64_t, std::uint32_t> early;  ///< (member, step) -> messages
  };

  void decide_closed_forms();
  void begin_step(std::uint32_t slot, std::uint32_t member);
  void advance(std::uint32_t slot, std::uint32_t member);
  void begin_phase(std::uint32_t slot, std::uint32_t communicator);
  bool coupled(const CollectiveCall&, int n) const;
  CollectiveStats& stats(const CollectiveCall&, int n, const char* mode);
  std::uint64_t flow_key(const CollectiveCall& call) const;

  const Network& network_;
  const Workload& workload_;
  const Placement& placement_;
  const SimulationOptions& options_;
  Kernel& kernel_;
  FlowBook& book_;
  Timeline& timeline_;
  std::vector<bool> closed_;                         ///< [communicators]
  std::vector<std::vector<std::uint32_t>> offsets_;  ///< [communicators] of a group's ranks
  std::vector<std::vector<std::uint32_t>> lanes_;    ///< [communicators] lanes outside of it
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<std::uint32_t> free_;
  std::map<std::tuple<std::uint16_t, std::uint16_t, Operation, std::uint64_t>, double> alone_;
  std::vector<Send> sends_;            ///< scratch
  std::vector<std::uint32_t> weight_;  ///< scratch: [LinkId] 0 between uses
};

}  // namespace weft
