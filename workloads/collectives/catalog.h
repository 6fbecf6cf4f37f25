// The collective algorithms there are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/collective.h"
#include "sim/config.h"

namespace weft::workloads {

struct AlgorithmEntry {
  std::string name, help;
  std::shared_ptr<const CollectiveAlgorithm> (*make)();
};

/// One row per algorithm.
const std::vector<AlgorithmEntry>& algorithm_catalog();

/// Reads `operation` and `algorithm` (ring where the operation has one, else direct).
Operation read_operation(const Section&);
std::shared_ptr<const CollectiveAlgorithm> read_algorithm(const Section&, Operation);

}  // namespace weft::workloads
