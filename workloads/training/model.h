// A transformer's shape: parameters and FLOPs per layer.
#pragma once

#include <cstdint>
#include <string>

#include "sim/config.h"
#include "sim/units.h"

namespace weft::workloads {

/// A decoder-only transformer.
struct ModelSpec {
  std::int64_t layers = 1;
  std::int64_t hidden = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;  ///< < heads: grouped-query attention
  std::int64_t head_dim = 1;  ///< hidden / heads unless given
  std::int64_t ffn = 1;       ///< inner width of the feed-forward part
  std::int64_t vocab = 1;
  bool gated = false;                ///< SwiGLU: three feed-forward matrices instead of two
  bool tied_embeddings = true;       ///< the output layer shares the input embedding's weights
  bool biases_and_positions = true;  ///< GPT: biases, layer norms with bias, learned positions

  /// Weights of one layer: attention h(q + 2kv) + qh, feed-forward 2hf (3hf gated), norms, biases.
  /// For GPT this is 12 h^2 + 13 h.
  std::int64_t layer_parameters() const;
  std::int64_t embedding_parameters() const { return vocab * hidden; }
  /// All weights; GPT adds sequence x hidden positions.
  std::int64_t parameters(std::int64_t sequence) const;

  /// Forward FLOPs of one layer for one sequence: 2 per weight and token in the matrices, and
  /// 4 s^2 q for attention scores and values (the causal half is not taken off). For GPT:
  /// 24 s h^2 + 4 s^2 h (Narayanan et al., SC'21, appendix; backward is twice this).
  Flops layer_forward(std::int64_t sequence) const;
  /// The part of it that selective recomputation repeats: attention scores and values, 4 s^2 q.
  Flops attention_core_forward(std::int64_t sequence) const;
  /// Forward FLOPs of the output layer for one sequence: 2 s h V.
  Flops output_forward(std::int64_t sequence) const;
};

/// Reads `model:`: a preset's name, a file, or inline.
ModelSpec read_model(const Section& workload);

}  // namespace weft::workloads
