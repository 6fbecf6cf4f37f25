// The kinds of workload there are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/workload.h"

namespace weft::workloads {

struct WorkloadEntry {
  std::string name, help;
  std::shared_ptr<const WorkloadSpec> (*read)(const Section&, const Cluster&);
};

const std::vector<WorkloadEntry>& workload_catalog();

/// Reads `workload:`; its `kind` picks the reader.
std::shared_ptr<const WorkloadSpec> read_workload(const Section&, const Cluster&);

}  // namespace weft::workloads
