#include "workloads/catalog.h"

#include "workloads/collective.h"
#include "workloads/flows.h"
#include "workloads/training/training.h"

namespace weft::workloads {

const std::vector<WorkloadEntry>& workload_catalog() {
  static const std::vector<WorkloadEntry> table = {
      {"training", "one training iteration of a model, split over the GPUs", Training::read},
      {"collective", "one collective among some ranks", Collective::read},
      {"flows", "flows given one by one", Flows::read},
  };
  return table;
}

std::shared_ptr<const WorkloadSpec> read_workload(const Section& section, const Cluster& cluster) {
  std::vector<std::string> kinds;
  for (const auto& entry : workload_catalog()) kinds.push_back(entry.name);
  const auto kind =
      section.choice({.name = "kind", .help = "what the GPUs do", .example = "training"}, kinds);
  for (const auto& entry : workload_catalog())
    if (entry.name == kind) return entry.read(section, cluster);
  section.fail("kind", "unknown workload");
}

}  // namespace weft::workloads
