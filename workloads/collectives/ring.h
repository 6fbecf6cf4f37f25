// Ring algorithms: every rank sends to its right neighbour only.
#pragma once

#include "sim/collective.h"

namespace weft::workloads {

///     0 -> 1 -> 2 -> ... -> n-1 -> 0
///
/// Reduce-scatter: n-1 steps of one chunk (S/n); rank r ends with chunk r reduced. All-gather: n-1
/// steps likewise. All-reduce is one after the other: 2(n-1) steps, each rank sends 2(n-1)/n S
/// (Patarasuk & Yuan, JPDC 2009: the least any all-reduce can). Alone: steps x (S/(n B) + a).
class Ring : public CollectiveAlgorithm {
 public:
  std::string name() const override { return "ring"; }
  bool supports(Operation) const override;
  int steps(Operation, int n) const override;
  void sends(Operation, Bytes size, int n, int rank, int step,
             std::vector<Send>& out) const override;
  int receives(Operation, int, int, int) const override { return 1; }
  bool fixed_peer() const override { return true; }
};

}  // namespace weft::workloads
