// One collective, for experiments and for checking the model.
#pragma once

#include <memory>
#include <vector>

#include "sim/workload.h"

namespace weft::workloads {

/// `operation`, `algorithm`, `size` (nccl-tests' size), `ranks` (all, or GPU numbers in the order
/// of the communicator), `group_size` (several communicators side by side), `layout`, `iterations`.
struct Collective : WorkloadSpec {
  /// How ranks are dealt to groups: neighbours together, or group j takes ranks j, j+g, j+2g, ...
  enum class Layout { contiguous, interleaved };

  Operation operation = Operation::all_reduce;
  std::shared_ptr<const CollectiveAlgorithm> algorithm;
  Bytes size;
  int group_size = 2;
  Layout layout = Layout::contiguous;
  int iterations = 1;
  std::vector<GpuId> gpus;  ///< where the user listed them; else empty: all of the cluster

  static std::shared_ptr<const WorkloadSpec> read(const Section&, const Cluster&);
  Workload build(const Cluster&) const override;
};

}  // namespace weft::workloads
