// Flows given by hand, for experiments and for checking the network.
#pragma once

#include <memory>
#include <vector>

#include "sim/workload.h"

namespace weft::workloads {

/// `flows: [{source: 0, destination: 1, size: 1 GB, start: 0 s, count: 1}]`, GPUs by their number;
/// or `shift: {by: 8, size: 1 GB, count: 1}`: every GPU i sends to GPU i + by (modulo all), the
/// classic permutation that is easy or adversarial depending on the fabric and the distance.
struct Flows : WorkloadSpec {
  std::vector<TimedFlow> flows;

  static std::shared_ptr<const WorkloadSpec> read(const Section&, const Cluster&);
  Workload build(const Cluster&) const override;
};

}  // namespace weft::workloads
