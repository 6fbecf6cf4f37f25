// How a training job is split over GPUs: degrees, rank order, groups.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/workload.h"
#include "workloads/training/model.h"

namespace weft::workloads {

/// Degrees of parallelism. Their product is the number of GPUs.
struct Parallelism {
  int tensor = 1;
  int pipeline = 1;
  int data = 1;
  bool sequence = false;  ///< all-gather and reduce-scatter in place of the tensor all-reduces
  std::vector<std::string> order = {"tp", "cp", "ep", "dp", "pp"};  ///< innermost first

  /// Axes "tp", "dp", "pp" in the order given.
  Grid grid() const;
};

/// Reads `parallelism:` and refuses what does not fit the cluster or the model.
Parallelism read_parallelism(const Section& workload, const Cluster&, const ModelSpec&);

/// The groups of a job, by kind in the order TP, PP, DP, model-parallel; each a list of ranks.
using NamedGroups = std::vector<std::pair<std::string, std::vector<std::vector<std::uint32_t>>>>;
NamedGroups groups_of(const Parallelism&);

}  // namespace weft::workloads
