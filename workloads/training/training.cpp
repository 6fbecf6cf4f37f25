#include "workloads/training/training.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "workloads/collectives/ring.h"

namespace weft::workloads {
namespace {

constexpr int kActivationBytes = 2;  // bf16
// Adam in mixed precision keeps 32-bit weights, momentum and variance per parameter.
constexpr int kOptimizerBytes = 12;

enum StreamIndex : std::uint8_t { kCompute, kForward, kBackward, kData };
enum InboxIndex : std::uint8_t { kActivations, kGradients };
enum CommunicatorIndex : std::uint16_t { kTensorGroup, kDataGroup };

/// Builds the program of one pipeline stage.
class Stage {
 public:
  Stage(const Training& spec, const GpuSpec& gpu, int stage, Workload& workload)
      : spec_(spec),
        stage_(stage),
        stages_(spec.parallelism.pipeline),
        tensor_(spec.parallelism.tensor),
        layers_(spec.chunk_layers(stage)),
        speed_(gpu.peak * gpu.matmul_efficiency * tensor_ / spec.micro_batch),
        memory_rate_(gpu.memory_rate),
        pipeline_axis_(workload.grid.axis("pp")),
        workload_(workload),
        builder_(workload.streams.size()) {}

  Program build() {
    const int m = spec_.micro_batches(), v = spec_.schedule.virtual_stages;
    int backward_left = m * v;
    for (const Work& work : spec_.schedule.entry->order(stage_, stages_, m, v)) {
      if (work.forward) {
        forward(work);
      } else {
        // A chunk's last micro-batch completes its gradients.
        backward(work, work.micro_batch == m - 1);
        --backward_left;
      }
    }
    finish();
    return builder_.take();
  }

  /// Parameters on each GPU of the stage.
  std::int64_t parameters() const {
    const auto& model = spec_.model;
    std::int64_t whole = model.layer_parameters() * layers_ * spec_.schedule.virtual_stages;
    if (stage_ == 0) whole += model.embedding_parameters();
    if (stage_ == stages_ - 1 && (stages_ > 1 || !model.tied_embeddings))
      whole += model.embedding_parameters();
    return (whole + tensor_ - 1) / tensor_;
  }

 private:
  bool first(int chunk) const { return stage_ == 0 && chunk == 0; }
  bool last(int chunk) const {
    return stage_ == stages_ - 1 && chunk == spec_.schedule.virtual_stages - 1;
  }
  /// Seconds of work that the tensor-parallel group shares, for a micro-batch; `work` is of one
  /// sequence.
  Seconds time(Flops work) const { return work / speed_; }

  std::uint16_t name(const std::string& text) {
    auto& names = workload_.names;
    const auto found = std::find(names.begin(), names.end(), text);
    if (found != names.end()) return static_cast<std::uint16_t>(found - names.begin());
    names.push_back(text);
    return static_cast<std::uint16_t>(names.size() - 1);
  }

  Bytes activation() const {
    return Bytes(static_cast<std::uint64_t>(spec_.micro_batch * spec_.sequence_length *
                                            spec_.model.hidden * kActivationBytes));
  }

  std::int32_t tensor_call(Operation operation) {
    if (tensor_ == 1) return -1;
    return builder_.call({operation, kTensorGroup, 0, activation()});
  }

  /// A layer's two halves, each followed by its exchange: an all-reduce, or with sequence
  /// parallelism an all-gather before and a reduce-scatter after, which moves the same bytes.
  std::vector<Segment> layer(Seconds attention, Seconds feed_forward) {
    if (!spec_.parallelism.sequence)
      return {{attention, tensor_call(Operation::all_reduce)},
              {feed_forward, tensor_call(Operation::all_reduce)}};
    const auto gather = tensor_call(Operation::all_gather);
    const auto scatter = tensor_call(Operation::reduce_scatter);
    return {
        {Seconds(0), gather}, {attention, scatter}, {Seconds(0), gather}, {feed_forward, scatter}};
  }

  std::vector<Segment> forward_layer() {
    const auto& model = spec_.model;
    const double s = static_cast<double>(spec_.sequence_length);
    const Flops feed_forward(2 * s * static_cast<double>(model.hidden) *
                             static_cast<double>((model.gated ? 3 : 2) * model.ffn));
    const Flops all = model.layer_forward(spec_.sequence_length);
    if (spec_.layer_forward.value >= 0) {
      const double share = feed_forward / all;
      return layer(spec_.layer_forward * (1 - share), spec_.layer_forward * share);
    }
    return layer(time(all - feed_forward), time(feed_forward));
  }

  std::vector<Segment> backward_layer() {
    std::vector<Segment> segments = forward_layer();
    const bool measured = spec_.layer_backward.value >= 0;
    const double ratio =
        measured && spec_.layer_forward.value > 0 ? spec_.layer_backward / spec_.layer_forward : 2;
    std::vector<Segment> all;
    if (spec_.recompute == Recompute::full) all = segments;
    for (Segment& segment : segments) segment.compute = segment.compute * ratio;
    if (spec_.recompute == Recompute::selective) {
      // The attention core once more, in the half that has it. Of a measured layer it takes its
      // share of the FLOPs.
      const Flops core = spec_.model.attention_core_forward(spec_.sequence_length);
      const Flops layer = spec_.model.layer_forward(spec_.sequence_length);
      const std::size_t half = spec_.parallelism.sequence ? 1 : 0;
      segments[half].compute += measured ? spec_.layer_forward * (core / layer) : time(core);
    }
    all.insert(all.end(), segments.begin(), segments.end());
    return all;
  }

  Seconds output_forward() const {
    if (spec_.layer_forward.value >= 0) return Seconds(0);
    return time(spec_.model.output_forward(spec_.sequence_length));
  }

  /// What arrives from a neighbour is one slice per tensor-parallel rank; unless the layers work on
  /// slices anyway (sequence parallelism), the group gathers it first.
  void gather(std::int32_t micro_batch, const Dependency& arrival) {
    const bool whole = spec_.parallelism.sequence || tensor_ == 1;
    builder_.block(kCompute, name("receive"), micro_batch,
                   {{Seconds(0), whole ? -1 : tensor_call(Operation::all_gather)}}, 1, {arrival});
  }

  Bytes slice() const {
    const auto t = static_cast<std::uint64_t>(tensor_);
    return Bytes((activation().value + t - 1) / t);
  }

  /// A pass through `count` layers. A stage that has none (but the embedding, say) passes on what
  /// it gets in its turn, at no cost.
  OpRef layers(const char* what, const Work& work, const std::vector<Segment>& layer, int count) {
    return count > 0
               ? builder_.block(kCompute, name(what), work.micro_batch, layer, count, {})
               : builder_.block(kCompute, name(what), work.micro_batch, {{Seconds(0), -1}}, 1, {});
  }

  void forward(const Work& work) {
    if (!first(work.chunk))
      gather(work.micro_batch, ProgramBuilder::arrived(kActivations, ++activations_in_));
    const OpRef end = layers("forward", work, forward_layer(), layers_);
    if (last(work.chunk)) {
      if (output_forward().value > 0)
        builder_.block(kCompute, name("output"), work.micro_batch, {{output_forward(), -1}}, 1, {});
      return;
    }
    builder_.send(kForward, name("activations"), work.micro_batch, pipeline_axis_, +1, kActivations,
                  slice(), {ProgramBuilder::done(end)});
  }

  void backward(const Work& work, bool completes_gradients) {
    bool output_to_reduce = completes_gradients && last(work.chunk) && output_weights_apart();
    if (!last(work.chunk)) {
      gather(work.micro_batch, ProgramBuilder::arrived(kGradients, ++gradients_in_));
    } else if (output_forward().value > 0) {
      const OpRef ref = builder_.block(kCompute, name("output backward"), work.micro_batch,
                                       {{output_forward() * 2, -1}}, 1, {});
      if (output_to_reduce) ready(spec_.model.embedding_parameters(), ref);
      output_to_reduce = false;
    }
    const auto segments = backward_layer();
    OpRef end;
    if (completes_gradients && spec_.parallelism.data > 1) {
      // In parts of as many layers as fill a bucket, so that its all-reduce can start. Where the
      // output has no time of its own, its gradients are there with the first part's.
      const int part = layers_per_bucket();
      int left = layers_;
      do {
        const int now = std::min(part, left);
        end = layers("backward", work, segments, now);
        if (std::exchange(output_to_reduce, false)) ready(spec_.model.embedding_parameters(), end);
        if (now > 0) ready(spec_.model.layer_parameters() * now, end);
        left -= now;
      } while (left > 0);
      if (first(work.chunk)) ready(spec_.model.embedding_parameters(), end);
    } else {
      end = layers("backward", work, segments, layers_);
    }
    if (first(work.chunk)) return;
    builder_.send(kBackward, name("gradients"), work.micro_batch, pipeline_axis_, -1, kGradients,
                  slice(), {ProgramBuilder::done(end)});
  }

  bool output_weights_apart() const {
    return stage_ == stages_ - 1 && (stages_ > 1 || !spec_.model.tied_embeddings);
  }

  std::uint64_t gradient_size(std::int64_t parameters) const {
    return static_cast<std::uint64_t>((parameters + tensor_ - 1) / tensor_) *
           static_cast<std::uint64_t>(spec_.gradient_bytes);
  }

  int layers_per_bucket() const {
    const auto layer = gradient_size(spec_.model.layer_parameters());
    return static_cast<int>(
        std::clamp<std::uint64_t>((spec_.bucket.value + layer - 1) / layer, 1,
                                  static_cast<std::uint64_t>(std::max(layers_, 1))));
  }

  /// A bucket of gradients is complete: its all-reduce may start now, or after the last backward
  /// pass.
  void ready(std::int64_t parameters, OpRef when) {
    if (spec_.parallelism.data > 1) buckets_.push_back({Bytes(gradient_size(parameters)), when});
    if (spec_.overlap_data) reduce_buckets();
  }

  void reduce_buckets() {
    for (const auto& [size, when] : buckets_) {
      std::vector<Dependency> after;
      if (when.count > 0) after.push_back(ProgramBuilder::done(when));
      data_ = builder_.collective(kData, name("gradient all-reduce"),
                                  {Operation::all_reduce, kDataGroup, 0, size}, after);
    }
    buckets_.clear();
  }

  void finish() {
    if (!spec_.overlap_data && !buckets_.empty()) {
      // All of them wait for the last backward pass, which is the last bucket's.
      for (auto& bucket : buckets_) bucket.second = buckets_.back().second;
      reduce_buckets();
    }
    std::vector<Dependency> after;
    if (data_.count > 0) after.push_back(ProgramBuilder::done(data_));
    // Adam is bound by memory: read and write 32-bit weights, momentum and variance, read the
    // gradient, write the 16-bit weight.
    const double traffic = static_cast<double>(parameters()) *
                           (2 * kOptimizerBytes + spec_.gradient_bytes + kActivationBytes);
    builder_.block(kCompute, name("optimizer"), -1,
                   {{Seconds(traffic / bytes_per_second(memory_rate_)), -1}}, 1, after);
  }

  const Training& spec_;
  const int stage_, stages_, tensor_, layers_;
  const FlopsPerSecond speed_;  ///< FLOPs of one sequence per second of a micro-batch's time
  const BitsPerSecond memory_rate_;
  const int pipeline_axis_;
  Workload& workload_;
  ProgramBuilder builder_;
  std::uint32_t activations_in_ = 0, gradients_in_ = 0;
  std::vector<std::pair<Bytes, OpRef>> buckets_;
  OpRef data_;
};

/// Activations kept for one layer and micro-batch on one GPU, in bytes (Korthikanti et al.,
/// arXiv 2205.05198, equations 1 to 4 and 6; 16-bit, without flash attention): s b h (10 + 24/t +
/// 5 a s / (h t)), with sequence parallelism all of it over t; selective recomputation drops the
/// attention core's 5 a s / h; full recomputation keeps only the input, 2 s b h.
double layer_activation_bytes(const Training& spec) {
  const double sbh =
      static_cast<double>(spec.sequence_length * spec.micro_batch * spec.model.hidden);
  const double t = spec.parallelism.tensor;
  const double shared = spec.parallelism.sequence ? t : 1;
  if (spec.recompute == Recompute::full) return 2 * sbh / shared;
  const double core = spec.recompute == Recompute::selective
                          ? 0
                          : 5 * static_cast<double>(spec.model.heads * spec.sequence_length) /
                                static_cast<double>(spec.model.hidden);
  return sbh * (10 / shared + 24 / t + core / t);
}

/// Refuses measured times shorter than the FLOPs take at the GPUs' peak: utilisation would be above
/// 1. The output layer's FLOPs, which have no time of their own then, count with the layers'.
void refuse_faster_than_peak(const Training& spec, const Cluster& cluster,
                             const Section& measured) {
  const FlopsPerSecond speed =
      cluster.host.gpu.peak * spec.parallelism.tensor / static_cast<double>(spec.micro_batch);
  const Flops layer = spec.model.layer_forward(spec.sequence_length);
  const Seconds forward = layer / speed;
  if (spec.layer_forward < forward)
    measured.fail("layer_forward", "faster than the peak of the GPUs that share it",
                  fmt::format("their peak takes {}", to_text(forward)));
  const double layers = static_cast<double>(spec.model.layers);
  const Flops all = layer * layers + spec.model.output_forward(spec.sequence_length);
  const Seconds both = all * 3 / layers / speed;
  if (spec.layer_forward + spec.layer_backward < both)
    measured.fail("layer_backward", "faster than the peak of the GPUs that share it",
                  fmt::format("forward and backward together take {} at their peak, a layer's "
                              "share of the output layer included",
                              to_text(both)));
}

}  // namespace

std::shared_ptr<const WorkloadSpec> Training::read(const Section& section, const Cluster& cluster) {
  auto spec = std::make_shared<Training>();
  spec->model = read_model(section);
  spec->sequence_length = section.integer(
      {.name = "sequence_length", .help = "tokens of a sequence", .example = "2048"}, 1, 1 << 30);
  spec->parallelism = read_parallelism(section, cluster, spec->model);
  const Section batch = section.section("batch", "sequences per iteration");
  spec->micro_batch = static_cast<int>(batch.integer({.name = "micro",
                                                      .help = "sequences of a micro-batch",
                                                      .initial = "1",
                                                      .source = "the least activation memory"},
                                                     1, 1 << 20));
  spec->global_batch = static_cast<int>(batch.integer(
      {.name = "global", .help = "sequences of an iteration, all replicas", .example = "1536"}, 1,
      1 << 30));
  const std::int64_t step = std::int64_t{spec->parallelism.data} * spec->micro_batch;
  if (spec->global_batch % step != 0 && !section.describing()) {
    const std::int64_t below = spec->global_batch / step * step;
    batch.fail("global",
               fmt::format("{} sequences are not a multiple of data x micro = {} x {} = {}",
                           spec->global_batch, spec->parallelism.data, spec->micro_batch, step),
               fmt::format("nearest possible: {}",
                           below == 0 ? fmt::format("{}", step)
                                      : fmt::format("{} or {}", below, below + step)));
  }
  constexpr double kMostElements = 1e15;
  if (static_cast<double>(spec->micro_batch) * static_cast<double>(spec->sequence_length) *
          static_cast<double>(spec->model.hidden) >
      kMostElements)
    section.fail("sequence_length", "the activations of a micro-batch have more than 10^15 numbers",
                 "a shorter sequence, or a smaller batch.micro");
  spec->schedule =
      read_schedule(section, spec->parallelism.pipeline, spec->micro_batches(), spec->model.layers);
  constexpr std::int64_t kMostPasses = 10'000'000;
  const std::int64_t passes = std::int64_t{spec->micro_batches()} * spec->parallelism.pipeline *
                              spec->schedule.virtual_stages;
  if (passes > kMostPasses)
    batch.fail("global",
               fmt::format("{} micro-batches on {} stages are more than 10 million passes",
                           spec->micro_batches(), spec->parallelism.pipeline),
               "a smaller batch.global, or a larger batch.micro");
  const auto recompute = section.choice(
      {.name = "recompute",
       .help = "what the backward pass computes again: nothing, the attention core, or all layers",
       .initial = "none",
       .source = "the fastest where memory allows"},
      {"none", "selective", "full"});
  spec->recompute = recompute == "none"        ? Recompute::none
                    : recompute == "selective" ? Recompute::selective
                                               : Recompute::full;
  const Section overlap = section.section("overlap", "what runs behind compute");
  spec->overlap_data = overlap.boolean({.name = "data",
                                        .help = "gradient all-reduces start during the last "
                                                "backward pass",
                                        .initial = "true",
                                        .source = "Megatron-LM's --overlap-grad-reduce"});
  spec->bucket = overlap.size({.name = "bucket",
                               .help = "gradients are reduced in buckets of whole layers, of at "
                                       "least this size",
                               .initial = "80 MB",
                               .source = "Megatron-Core: 40 million parameters, 2 bytes each"});
  const auto precision = section.choice(
      {.name = "gradient_precision",
       .help = "of gradients in the data-parallel all-reduce",
       .initial = "bf16",
       .source = "5.5 GB per GPU for GPT-3 175B, TP 8, PP 8 (Qian et al., SIGCOMM 2024)"},
      {"bf16", "fp32"});
  spec->gradient_bytes = precision == "bf16" ? 2 : 4;
  if (section.has("measured")) {
    const Section measured =
        section.section("measured", "measured times in place of FLOPs / (peak x efficiency)");
    spec->layer_forward = measured.time({.name = "layer_forward",
                                         .help = "one layer and micro-batch, forward, on its GPUs",
                                         .example = "5 ms"},
                                        Seconds(1e-12));
    spec->layer_backward = measured.time({.name = "layer_backward",
                                          .help = "the same backward, without recomputation",
                                          .example = "10 ms"},
                                         Seconds(1e-12));
    if (!section.describing()) refuse_faster_than_peak(*spec, cluster, measured);
  }
  spec->iterations = static_cast<int>(section.integer({.name = "iterations",
                                                       .help = "iterations to simulate",
                                                       .initial = "1",
                                                       .source = "without noise all are alike"},
                                                      1, 1'000'000));
  return spec;
}

Workload Training::build(const Cluster& cluster) const {
  Workload workload;
  workload.kind = "training";
  workload.grid = parallelism.grid();
  const auto axis = [&](const char* name) { return AxisMask{1} << workload.grid.axis(name); };
  workload.lanes = axis("tp");
  workload.role_axis = workload.grid.axis("pp");
  workload.iterations = iterations;
  workload.pipelined = parallelism.pipeline > 1;
  workload.streams = {{"compute", Traffic::tensor, true},
                      {"activations", Traffic::pipeline, false},
                      {"gradients", Traffic::pipeline, false},
                      {"data", Traffic::data, false}};
  workload.inboxes = 2;
  workload.communicators = {{"tensor", Traffic::tensor, axis("tp")},
                            {"data", Traffic::data, axis("dp")}};
  workload.algorithms = {std::make_shared<Ring>()};
  constexpr double kMostBytes = 1e18;  // more than any memory; keeps the sum in 64 bits
  double most = -1;
  for (int stage = 0; stage < parallelism.pipeline; ++stage) {
    Stage builder(*this, cluster.host.gpu, stage, workload);
    workload.programs.push_back(builder.build());
    const auto parameters = static_cast<std::uint64_t>(builder.parameters());
    const int held = schedule.most_in_flight(stage, parallelism.pipeline, micro_batches());
    const double layers = chunk_layers(stage);
    MemoryFacts memory{.weights = Bytes(parameters * kActivationBytes),
                       .gradients = Bytes(parameters * static_cast<std::uint64_t>(gradient_bytes)),
                       .optimizer = Bytes(parameters * kOptimizerBytes),
                       .activations = Bytes(static_cast<std::uint64_t>(
                           std::min(kMostBytes, held * layers * layer_activation_bytes(*this)))),
                       .stage = stage};
    if (static_cast<double>(memory.total().value) > most) {
      most = static_cast<double>(memory.total().value);
      workload.memory = memory;
    }
  }
  const double sequences = global_batch;
  const double layers = static_cast<double>(model.layers);
  const Flops forward =
      model.layer_forward(sequence_length) * layers + model.output_forward(sequence_length);
  workload.compute.model = forward * (3 * sequences);
  workload.compute.hardware = workload.compute.model;
  if (recompute == Recompute::full)
    workload.compute.hardware += model.layer_forward(sequence_length) * (layers * sequences);
  if (recompute == Recompute::selective)
    workload.compute.hardware +=
        model.attention_core_forward(sequence_length) * (layers * sequences);
  workload.compute.samples = static_cast<std::uint64_t>(global_batch);
  workload.compute.tokens = workload.compute.samples * static_cast<std::uint64_t>(sequence_length);
  return workload;
}

}  // namespace weft::workloads
