#include "workloads/collectives/direct.h"

namespace weft::workloads {

int Direct::steps(Operation operation, int) const {
  return operation == Operation::all_reduce ? 2 : 1;
}

void Direct::sends(Operation operation, Bytes size, int n, int rank, int step,
                   std::vector<Send>& out) const {
  const bool gathers = operation == Operation::all_gather || step == 1;
  const auto parts = static_cast<std::uint64_t>(n);
  // Starting with the next rank spreads the order; the flows of a step start together anyway.
  for (int k = 1; k < n; ++k) {
    const int peer = (rank + k) % n;
    out.push_back({peer, part_of(size, parts, static_cast<std::uint64_t>(gathers ? rank : peer))});
  }
}

}  // namespace weft::workloads
