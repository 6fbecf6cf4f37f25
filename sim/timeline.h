// What a simulation leaves behind: the only thing that metrics, reports and traces read.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/network_model.h"
#include "sim/units.h"
#include "sim/workload.h"

namespace weft {

/// Quantiles of a stream of positive numbers. Exact up to 65,536 different values in a row, then a
/// histogram with buckets of 1/1024 relative width; maximum and mean stay exact.
class Distribution {
 public:
  void add(double value, std::uint64_t times = 1);
  std::uint64_t count() const { return count_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  double max() const { return max_; }
  /// The smallest value that at least `fraction` of the values do not exceed (rounded up to its
  /// bucket's upper edge where the histogram is used); 0 when empty.
  double quantile(double fraction) const;

 private:
  struct Counted {
    double value;
    std::uint64_t times;
  };
  void count_in_bucket(double value, std::uint64_t times);
  std::uint64_t count_ = 0;
  double sum_ = 0, max_ = 0;
  std::vector<Counted> exact_;          ///< until the histogram takes over
  std::vector<std::uint64_t> buckets_;  ///< empty until then
};

/// Where a worker's time went, summed over the iterations.
/// INVARIANT: compute + sum(exposed) + bubble + idle = sum of the iteration times.
struct Account {
  double compute = 0;
  double bubble = 0;  ///< waiting for another pipeline stage
  double idle = 0;    ///< waiting for others to join a collective, or with nothing left to do
  std::array<double, kTraffics> exposed{};     ///< waiting while a message or collective runs
  std::array<double, kTraffics> overlapped{};  ///< communication that ran behind compute
};

/// Collectives of one shape, together.
struct CollectiveStats {
  Operation operation{};
  std::uint16_t communicator = 0, algorithm = 0;
  int ranks = 0;
  Bytes size;
  std::uint64_t count = 0;  ///< communicators x times
  double total_s = 0;       ///< from the last to join to the last flow's end
  std::string mode;         ///< "steps", "coupled", "closed form"
  std::uint64_t flows = 0;  ///< simulated, or stood for
};

/// A stretch of time on one stream of one worker, for the trace. Only of the workers asked for.
struct Span {
  enum class Kind : std::uint8_t { block, compute, call, send, collective } kind{};
  std::uint32_t worker = 0;
  std::uint32_t op = 0;    ///< index into the worker's program
  std::uint32_t part = 0;  ///< compute, call: index of the segment, counted over repeats
  std::uint32_t iteration = 0;
  double start = 0, end = 0;  ///< seconds; a send ends with its arrival
  double joined = 0;          ///< collective: when the worker joined
};

/// The executed DAG: when each op was over. What released it follows from the programs: it starts
/// when the last of the op before it on its stream, its dependencies and, of a collective, its
/// members' is over. Empty unless SimulationOptions::record_ops.
struct ExecutedOps {
  struct Record {
    double end = 0;      ///< seconds from 0
    double compute = 0;  ///< seconds of a block in which the GPU computed
  };
  std::vector<std::size_t> first;  ///< [workers] of the worker's ops within an iteration
  std::size_t per_iteration = 0;
  std::vector<Record> records;   ///< [iterations * per_iteration]
  std::vector<double> flow_end;  ///< [Workload::flows] seconds from 0

  bool known() const { return !records.empty() || !flow_end.empty(); }
  const Record& at(std::size_t iteration, std::uint32_t worker, std::uint32_t op) const {
    return records[iteration * per_iteration + first[worker] + op];
  }
  Record& at(std::size_t iteration, std::uint32_t worker, std::uint32_t op) {
    return records[iteration * per_iteration + first[worker] + op];
  }
};

/// A flow that was asked for by `record_flows`.
struct FlowRecord {
  GpuId source{}, destination{};
  Traffic traffic{};
  std::uint64_t bytes = 0;
  double start = 0, end = 0, alone = 0;  ///< alone: its time on an idle network
};

/// Everything that happened.
struct Timeline {
  std::vector<double> iteration_end;      ///< [iterations] seconds from 0
  std::vector<Account> workers;           ///< [workers]
  std::vector<std::uint32_t> first_rank;  ///< [workers] rank of lane 0
  std::vector<std::uint32_t> lanes;       ///< offsets of a worker's ranks from its first
  std::vector<LinkUse> links;             ///< [LinkId]
  std::uint64_t flows = 0;                ///< simulated one by one
  std::uint64_t flows_stood_for = 0;      ///< by coupled variables and closed forms
  double flow_bytes = 0;                  ///< of the flows that crossed links
  double link_bytes = 0;                  ///< sum over flows of bytes x hops
  Distribution fct, slowdown;
  std::vector<CollectiveStats> collectives;
  std::vector<Span> spans;
  std::uint64_t spans_left_out = 0;  ///< over SimulationOptions::max_spans
  std::vector<FlowRecord> flow_records;
  ExecutedOps executed;
  double end = 0;  ///< the clock at the end

  double iteration_time(std::size_t i) const {
    return iteration_end[i] - (i == 0 ? 0 : iteration_end[i - 1]);
  }
};

}  // namespace weft
