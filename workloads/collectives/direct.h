// Direct algorithms: every rank sends to every other at once.
#pragma once

#include "sim/collective.h"

namespace weft::workloads {

/// All-to-all: one step, part j of the buffer to rank j, (n-1)/n S per rank. Reduce-scatter: the
/// same with chunk j; all-gather: its own chunk to all; all-reduce: both, 2 steps. As many bytes as
/// the ring, fewer latencies (2 instead of 2(n-1)), more flows at once.
class Direct : public CollectiveAlgorithm {
 public:
  std::string name() const override { return "direct"; }
  bool supports(Operation) const override { return true; }
  int steps(Operation, int n) const override;
  void sends(Operation, Bytes size, int n, int rank, int step,
             std::vector<Send>& out) const override;
  int receives(Operation, int n, int, int) const override { return n - 1; }
  bool fixed_peer() const override { return false; }
};

}  // namespace weft::workloads
