#include "workloads/collectives/ring.h"

namespace weft::workloads {

bool Ring::supports(Operation operation) const { return operation != Operation::all_to_all; }

int Ring::steps(Operation operation, int n) const {
  return (operation == Operation::all_reduce ? 2 : 1) * (n - 1);
}

void Ring::sends(Operation operation, Bytes size, int n, int rank, int step,
                 std::vector<Send>& out) const {
  // In step k of a reduce-scatter rank r passes on chunk r-1-k, which it got (and reduced) in step
  // k-1; in step k of an all-gather chunk r-k, beginning with its own.
  const bool gathers = operation == Operation::all_gather || step >= n - 1;
  const int k = operation == Operation::all_reduce && gathers ? step - (n - 1) : step;
  const int chunk = gathers ? rank - k : rank - 1 - k;
  out.push_back({(rank + 1) % n, part_of(size, static_cast<std::uint64_t>(n),
                                         static_cast<std::uint64_t>((chunk + n) % n))});
}

}  // namespace weft::workloads
