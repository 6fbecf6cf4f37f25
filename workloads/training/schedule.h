// In which order a pipeline stage works on its micro-batches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/config.h"

namespace weft::workloads {

/// One forward or backward pass of one micro-batch through one chunk of a stage's layers.
struct Work {
  bool forward = true;
  int chunk = 0;  ///< 0 .. virtual stages - 1
  int micro_batch = 0;
};

/// A schedule with its costs where forward takes F, backward B, on p stages, m micro-batches,
/// v chunks a stage, and the network is free.
struct ScheduleEntry {
  std::string name;
  std::string help;
  std::string bubble;       ///< idle time of each stage, as a formula
  std::string activations;  ///< micro-batches held at most
  bool interleaves;         ///< takes v > 1
  std::vector<Work> (*order)(int stage, int p, int m, int v);
};
const std::vector<ScheduleEntry>& schedule_catalog();

/// How pipeline stages are scheduled.
struct Schedule {
  const ScheduleEntry* entry = nullptr;
  int virtual_stages = 1;
  std::vector<std::int64_t> stage_layers;  ///< [stages], or empty: all alike
  /// The most micro-batches whose activations stage `stage` holds, in units of a chunk.
  int most_in_flight(int stage, int p, int m) const;
};

/// Reads `schedule:` and refuses what does not fit `stages`, `layers` and `micro_batches`.
Schedule read_schedule(const Section& workload, int stages, int micro_batches, std::int64_t layers);

}  // namespace weft::workloads
