// One training iteration of a transformer: from a model and a split to programs per stage.
#pragma once

#include <memory>

#include "sim/workload.h"
#include "workloads/training/model.h"
#include "workloads/training/parallelism.h"
#include "workloads/training/schedule.h"

namespace weft::workloads {

/// What the backward pass computes again instead of keeping it.
enum class Recompute : std::uint8_t { none, selective, full };

/// Per stage, micro-batch m of 1F1B:
///
///     compute   F0 F1 F2 B0 F3 B1 ...  B(m-1) in parts      optimizer
///     tensor    inside F and B: all-reduces after each attention and feed-forward part
///     forward   activations to the next stage, as soon as an F is done
///     backward  gradients to the previous one, as soon as a B is done
///     data                             all-reduce of bucket 0, 1, ... as parts of B(m-1) are done
struct Training : WorkloadSpec {
  ModelSpec model;
  Parallelism parallelism;
  Schedule schedule;
  std::int64_t sequence_length = 2048;
  int global_batch = 1, micro_batch = 1;
  Recompute recompute = Recompute::none;
  bool overlap_data = true;
  Bytes bucket{80'000'000};
  int gradient_bytes = 2;  ///< per parameter in the data-parallel all-reduce
  int iterations = 1;
  /// Measured seconds of a layer's forward and backward pass; negative: from FLOPs.
  Seconds layer_forward{-1}, layer_backward{-1};

  /// Layers of one chunk of a stage.
  int chunk_layers(int stage) const {
    return static_cast<int>(schedule.stage_layers.empty()
                                ? model.layers /
                                      (std::int64_t{parallelism.pipeline} * schedule.virtual_stages)
                                : schedule.stage_layers[static_cast<std::size_t>(stage)]);
  }
  int micro_batches() const { return global_batch / (parallelism.data * micro_batch); }

  static std::shared_ptr<const WorkloadSpec> read(const Section&, const Cluster&);
  Workload build(const Cluster&) const override;
};

}  // namespace weft::workloads
