#include "workloads/training/model.h"

#include "sim/presets.h"

namespace weft::workloads {

std::int64_t ModelSpec::layer_parameters() const {
  const std::int64_t q = heads * head_dim;
  const std::int64_t kv = kv_heads * head_dim;
  std::int64_t weights = hidden * (q + 2 * kv) + q * hidden + (gated ? 3 : 2) * hidden * ffn;
  weights += biases_and_positions ? q + 2 * kv + hidden + ffn + hidden + 4 * hidden : 2 * hidden;
  return weights;
}

std::int64_t ModelSpec::parameters(std::int64_t sequence) const {
  return layers * layer_parameters() + (tied_embeddings ? 1 : 2) * embedding_parameters() +
         (biases_and_positions ? sequence * hidden + 2 * hidden : hidden);
}

Flops ModelSpec::layer_forward(std::int64_t sequence) const {
  const double h = static_cast<double>(hidden), s = static_cast<double>(sequence);
  const double q = static_cast<double>(heads * head_dim);
  const double kv = static_cast<double>(kv_heads * head_dim);
  const double matrices = h * (q + 2 * kv) + q * h + (gated ? 3 : 2) * h * static_cast<double>(ffn);
  return Flops(2 * s * matrices) + attention_core_forward(sequence);
}

Flops ModelSpec::attention_core_forward(std::int64_t sequence) const {
  const double s = static_cast<double>(sequence);
  return Flops(4 * s * s * static_cast<double>(heads * head_dim));
}

Flops ModelSpec::output_forward(std::int64_t sequence) const {
  return Flops(2.0 * static_cast<double>(sequence) * static_cast<double>(hidden) *
               static_cast<double>(vocab));
}

namespace {
constexpr std::int64_t kMost = 1'000'000'000;  ///< of any dimension
}

ModelSpec read_model(const Section& workload) {
  const Section section =
      workload.preset("model", "the model: a preset's name, a YAML file, or its dimensions",
                      preset_loader("model"), preset_names("model"));
  constexpr std::int64_t kMostLayers = 65'535;
  const auto count = [&](std::string_view name, std::string_view help, std::string_view example,
                         std::int64_t most = kMost) {
    return section.integer({.name = name, .help = help, .example = example}, 1, most);
  };
  ModelSpec model;
  model.layers = count("layers", "transformer layers", "96", kMostLayers);
  model.hidden = count("hidden", "width of the residual stream", "12288");
  model.heads = count("heads", "attention heads", "96");
  model.kv_heads = section.integer({.name = "kv_heads",
                                    .help = "heads of keys and values (fewer: grouped-query)",
                                    .initial = std::to_string(model.heads),
                                    .source = "plain multi-head attention: as many as heads"},
                                   1, model.heads);
  if (model.heads % model.kv_heads != 0)
    section.fail("kv_heads", "heads (" + std::to_string(model.heads) + ") is not a multiple of it",
                 "each head of keys and values serves equally many heads");
  const bool even = model.hidden % model.heads == 0;
  if (!even && !section.has("head_dim"))
    section.fail("heads", "hidden (" + std::to_string(model.hidden) + ") is not a multiple of it",
                 "give head_dim if that is meant");
  model.head_dim = section.integer({.name = "head_dim",
                                    .help = "width of a head",
                                    .initial = std::to_string(model.hidden / model.heads),
                                    .source = "hidden / heads"},
                                   1, kMost);
  model.ffn = section.integer({.name = "ffn",
                               .help = "inner width of the feed-forward part",
                               .initial = std::to_string(4 * model.hidden),
                               .source = "GPT: 4 x hidden"},
                              1, kMost);
  model.vocab = count("vocab", "vocabulary size", "51200");
  model.gated = section.boolean({.name = "gated",
                                 .help = "SwiGLU feed-forward (three matrices)",
                                 .initial = "false",
                                 .source = "GPT"});
  model.tied_embeddings = section.boolean({.name = "tied_embeddings",
                                           .help = "output layer shares the embedding's weights",
                                           .initial = "true",
                                           .source = "GPT"});
  model.biases_and_positions =
      section.boolean({.name = "biases",
                       .help = "biases, layer norms with bias and learned positions (GPT)",
                       .initial = "true",
                       .source = "GPT"});
  // Products of these sizes stay far from the limits of 64-bit integers.
  constexpr double kMostParameters = 1e15;
  const double width = static_cast<double>(model.hidden);
  const double attention =
      2 * static_cast<double>(model.head_dim) * static_cast<double>(model.heads + model.kv_heads);
  const double layer = width * (attention + 3 * static_cast<double>(model.ffn));
  if (static_cast<double>(model.layers) * layer + 2 * width * static_cast<double>(model.vocab) >
      kMostParameters)
    section.fail("hidden", "the model would have more than 10^15 parameters",
                 "look for a digit too many in its dimensions");
  return model;
}

}  // namespace weft::workloads
