#include "workloads/collectives/catalog.h"

#include "workloads/collectives/direct.h"
#include "workloads/collectives/ring.h"

namespace weft::workloads {
namespace {

template <class Algorithm>
std::shared_ptr<const CollectiveAlgorithm> make() {
  return std::make_shared<Algorithm>();
}

constexpr Operation kOperations[] = {Operation::all_reduce, Operation::reduce_scatter,
                                     Operation::all_gather, Operation::all_to_all};

}  // namespace

const std::vector<AlgorithmEntry>& algorithm_catalog() {
  static const std::vector<AlgorithmEntry> table = {
      {"ring",
       "each rank sends to the next only; all_reduce: 2(n-1) steps of S/n, 2(n-1)/n S per rank",
       make<Ring>},
      {"direct",
       "each rank sends to all others at once; all_to_all: 1 step, (n-1)/n S per rank; "
       "all_reduce: 2 steps",
       make<Direct>},
  };
  return table;
}

Operation read_operation(const Section& section) {
  std::vector<std::string> names;
  for (const Operation operation : kOperations) names.emplace_back(to_text(operation));
  const auto name = section.choice(
      {.name = "operation", .help = "what the collective does", .example = "all_reduce"}, names);
  for (const Operation operation : kOperations)
    if (name == to_text(operation)) return operation;
  section.fail("operation", "unknown operation");
}

std::shared_ptr<const CollectiveAlgorithm> read_algorithm(const Section& section,
                                                          Operation operation) {
  std::vector<std::string> names;
  for (const auto& entry : algorithm_catalog()) names.push_back(entry.name);
  const bool ring = Ring().supports(operation);
  const auto name = section.choice({.name = "algorithm",
                                    .help = "how it is done",
                                    .initial = ring ? "ring" : "direct",
                                    .source = "NCCL's choice for large buffers"},
                                   names);
  for (const auto& entry : algorithm_catalog()) {
    if (entry.name != name) continue;
    auto algorithm = entry.make();
    if (!algorithm->supports(operation))
      section.fail("algorithm", name + " has no " + to_text(operation), "possible: direct");
    return algorithm;
  }
  section.fail("algorithm", "unknown algorithm");
}

}  // namespace weft::workloads
