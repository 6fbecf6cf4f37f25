// Training iterations with known answers, and the order of work on every stage.
#include "workloads/training/training.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "sim/presets.h"
#include "tests/support/fork.h"
#include "tests/support/world.h"
#include "topologies/single_switch.h"

namespace weft {
namespace {

using namespace literals;
using test::World;
using workloads::ModelSpec;
using workloads::Training;
using workloads::Work;

constexpr double kExact = 1e-9;
constexpr BitsPerSecond kFree{1e24};

/// A pipeline of equal stages of one layer, measured times, a network that costs nothing.
Training pipeline(const std::string& schedule, int stages, int micro_batches, int v = 1,
                  double forward = 1, double backward = 1) {
  Training spec;
  spec.model = {.layers = stages * v,
                .hidden = 1,
                .heads = 1,
                .kv_heads = 1,
                .head_dim = 1,
                .ffn = 4,
                .vocab = 1};
  spec.sequence_length = 1;
  spec.parallelism.pipeline = stages;
  spec.global_batch = micro_batches;
  spec.layer_forward = Seconds(forward);
  spec.layer_backward = Seconds(backward);
  for (const auto& entry : workloads::schedule_catalog())
    if (entry.name == schedule) spec.schedule = {&entry, v, {}};
  return spec;
}

World free_network(int hosts) {
  Cluster cluster = test::plain_cluster(hosts, kFree);
  cluster.host.gpu.memory_rate = kFree;  // the optimizer step is not what these tests are about
  return World(cluster, SingleSwitch{{kFree, Seconds(0)}});
}

double bubble_share(const Timeline& timeline) {
  double bubble = 0;
  for (const Account& account : timeline.workers) bubble += account.bubble;
  return bubble / static_cast<double>(timeline.workers.size()) / timeline.iteration_end.back();
}

// Eight stages, 32 micro-batches, forward as long as backward: 78 slots, of which 14 are bubble.
TEST(OneForwardOneBackward, Takes78SlotsOfWhichSevenThirtyNinthsAreBubble) {
  const Timeline timeline = free_network(8).run(pipeline("1f1b", 8, 32));
  EXPECT_NEAR(timeline.iteration_end.back(), 78, 78 * kExact);
  EXPECT_NEAR(bubble_share(timeline), 7.0 / 39, kExact);
}

TEST(GPipe, TakesAsLongAsOneForwardOneBackward) {
  const Timeline timeline = free_network(8).run(pipeline("gpipe", 8, 32));
  EXPECT_NEAR(timeline.iteration_end.back(), 78, 78 * kExact);
  EXPECT_NEAR(bubble_share(timeline), 7.0 / 39, kExact);
}

TEST(GPipe, HoldsAllMicroBatchesWhereOneForwardOneBackwardHoldsAsManyAsStages) {
  EXPECT_EQ(pipeline("gpipe", 8, 32).schedule.most_in_flight(0, 8, 32), 32);
  EXPECT_EQ(pipeline("1f1b", 8, 32).schedule.most_in_flight(0, 8, 32), 8);
  EXPECT_EQ(pipeline("1f1b", 8, 32).schedule.most_in_flight(7, 8, 32), 1);
}

// Backward twice as long as forward, as FLOPs have it: the bubble's share is the same.
class Bubble : public testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(Bubble, IsPMinusOneOverVMOfTheWork) {
  const auto [p, m, v] = GetParam();
  const Timeline timeline = free_network(p).run(pipeline("1f1b", p, m, v, 1, 2));
  const double work = 3.0 * m * v, bubble = 3.0 * (p - 1);
  EXPECT_NEAR(timeline.iteration_end.back(), work + bubble, (work + bubble) * kExact);
  EXPECT_NEAR(bubble_share(timeline), bubble / (work + bubble), kExact);
}

INSTANTIATE_TEST_SUITE_P(, Bubble,
                         testing::Values(std::tuple(2, 2, 1), std::tuple(4, 4, 1),
                                         std::tuple(4, 7, 1), std::tuple(8, 96, 1),
                                         std::tuple(2, 4, 2), std::tuple(4, 8, 3),
                                         std::tuple(8, 16, 2)));

TEST(Schedules, DoEachPassOnceForwardBeforeBackwardAndWithinMemory) {
  for (const auto& entry : workloads::schedule_catalog())
    for (int p = 1; p <= 6; ++p)
      for (int m = 1; m <= 12; ++m)
        for (int v = 1; v <= 3; ++v) {
          if (v > 1 && (!entry.interleaves || p == 1 || m % p != 0)) continue;
          for (int stage = 0; stage < p; ++stage) {
            const auto order = entry.order(stage, p, m, v);
            EXPECT_EQ(order.size(), static_cast<std::size_t>(2 * m * v));
            std::vector<int> state(static_cast<std::size_t>(m * v), 0);
            int held = 0;
            for (const Work& work : order) {
              int& s = state[static_cast<std::size_t>(work.chunk * m + work.micro_batch)];
              EXPECT_EQ(s, work.forward ? 0 : 1);
              ++s;
              held += work.forward ? 1 : -1;
              if (entry.name == "1f1b" && v == 1) {
                EXPECT_LE(held, p - stage);
              }
            }
            EXPECT_EQ(held, 0);
          }
        }
}

// One micro-batch through two stages: the second starts when the first's activations have come.
TEST(Pipeline, StageBoundariesCostLatencyAndBytes) {
  Training spec = pipeline("1f1b", 2, 1);
  spec.model.hidden = 1'000'000;
  spec.model.ffn = 1;
  const World world = [] {
    Cluster cluster = test::plain_cluster(2, 16_Gbps);
    cluster.host.gpu.memory_rate = kFree;
    return World(cluster, SingleSwitch{{16_Gbps, 1_ms}});
  }();
  const Timeline timeline = world.run(spec);
  // 2 MB each way at 2 GB/s and twice 1 ms; forward, forward, backward, backward of 1 s.
  const double message = 1e-3 + 2e-3;
  EXPECT_NEAR(timeline.iteration_end.back(), 4 + 2 * message, 1e-8);
  const auto pipeline_traffic = static_cast<std::size_t>(Traffic::pipeline);
  EXPECT_NEAR(timeline.workers[0].exposed[pipeline_traffic], message, 1e-9);
  EXPECT_NEAR(timeline.workers[1].exposed[pipeline_traffic], message, 1e-9);
  EXPECT_NEAR(timeline.workers[0].compute, 2, 1e-8);
}

ModelSpec gpt3() {
  return {.layers = 96,
          .hidden = 12288,
          .heads = 96,
          .kv_heads = 96,
          .head_dim = 128,
          .ffn = 49152,
          .vocab = 51200};
}

// Narayanan et al.: F = 96 B s l h^2 (1 + s / 6h + V / 16 l h) with full recomputation, which is
// forward 24 + backward 48 + recomputed 24; without it 72 and V / 12 l h.
TEST(ModelFlops, AgreeWithThePublishedFormula) {
  const ModelSpec m = gpt3();
  const double s = 2048, h = 12288, l = 96, V = 51200;
  const Flops mine = (m.layer_forward(2048) * 96 + m.output_forward(2048)) * 3;
  const double formula = 72 * s * l * h * h * (1 + s / (6 * h) + V / (12 * l * h));
  EXPECT_NEAR(mine.value, formula, formula * 1e-12);
}

TEST(ModelParameters, OfGptLayersAre12HSquaredPlus13H) {
  const ModelSpec m = gpt3();
  EXPECT_EQ(m.layer_parameters(), 12 * 12288LL * 12288 + 13 * 12288);
  EXPECT_NEAR(static_cast<double>(m.parameters(2048)), 174.6e9, 0.1e9);
}

// Each preset's first line states the published size.
TEST(ModelPresets, HaveThePublishedNumberOfParameters) {
  int checked = 0;
  for (const Preset& preset : presets()) {
    if (preset.kind != "model") continue;
    const double published = std::stod(preset.yaml.substr(2)) * 1e9;
    const auto file = ConfigFile::read_text(preset.name, "model: " + preset.name + "\n", {});
    const ModelSpec model = workloads::read_model(file.root());
    const double counted = static_cast<double>(model.parameters(2048));
    // Published sizes are rounded to two or three digits.
    const double tolerance = published < 10e9 ? 0.03 : 0.005;
    EXPECT_NEAR(counted, published, published * tolerance) << preset.name;
    ++checked;
  }
  EXPECT_GE(checked, 20);
}

/// A small GPT on hosts of two GPUs: TP 2 inside a host, two stages, two replicas.
Training small_gpt() {
  Training spec;
  spec.model = {.layers = 8,
                .hidden = 1024,
                .heads = 16,
                .kv_heads = 16,
                .head_dim = 64,
                .ffn = 4096,
                .vocab = 1000};
  spec.sequence_length = 512;
  spec.parallelism = {.tensor = 2, .pipeline = 2, .data = 2};
  spec.global_batch = 8;
  spec.schedule = {&workloads::schedule_catalog()[1], 1, {}};
  spec.bucket = 10_MB;
  return spec;
}

World small_cluster() {
  Cluster cluster = test::plain_cluster(4, 2, 100_Gbps, 2400_Gbps);
  cluster.host.nvlink.latency = 1_us;
  cluster.host.gpu.peak = FlopsPerSecond(1e14);
  return World(cluster, SingleSwitch{{100_Gbps, 1_us}});
}

TEST(Training, ComputesModelFlopsOverPeakTimesEfficiency) {
  Training spec = small_gpt();
  const World world = small_cluster();
  const Workload workload = spec.build(world.cluster());
  const Timeline timeline = world.run(workload);
  double compute = 0;
  for (const Account& account : timeline.workers) compute += account.compute;
  compute /= static_cast<double>(timeline.workers.size());
  // The optimizer reads and writes 28 bytes for each parameter of a stage; the embedding is on
  // both.
  const auto& m = spec.model;
  const double optimizer =
      (4 * static_cast<double>(m.layer_parameters()) + 1000 * 1024) / 2 * 28 / (1e15 / 8);
  EXPECT_NEAR(compute, workload.compute.model.value / (8 * 1e14) + optimizer, compute * kExact);
}

TEST(Training, ExchangesTensorsTwiceForwardAndTwiceBackwardPerLayer) {
  Training spec = small_gpt();
  const Timeline timeline = small_cluster().run(spec);
  std::uint64_t count = 0;
  for (const auto& c : timeline.collectives)
    if (c.communicator == 0 && c.operation == Operation::all_reduce) count += c.count;
  // 8 layers x 8 sequences x 4 all-reduces, each of one tensor-parallel group.
  EXPECT_EQ(count, 8u * 8 * 4);
}

TEST(Training, SequenceParallelismMovesTheSameTensorBytes) {
  Training spec = small_gpt();
  const Workload plain = spec.build(small_cluster().cluster());
  // Without the stage boundary's gather, which sequence parallelism does not need.
  const auto per_layer = [](const Workload& w) {
    const Program& p = w.programs[0];
    double all = 0;
    for (const Op& op : p.ops) {
      if (op.kind != Op::Kind::block || w.names[op.name] == "receive") continue;
      for (std::uint32_t i = 0; i < op.segments; ++i) {
        const auto call = p.segments[op.first_segment + i].call;
        if (call < 0) continue;
        const auto& c = p.calls[static_cast<std::size_t>(call)];
        all += op.repeat * bus_factor(c.operation, 2) * static_cast<double>(c.size.value);
      }
    }
    return all;
  };
  const double layer_plain = per_layer(plain);
  spec.parallelism.sequence = true;
  const double layer_sequence = per_layer(spec.build(small_cluster().cluster()));
  EXPECT_GT(layer_plain, 0);
  EXPECT_DOUBLE_EQ(layer_plain, layer_sequence);
}

// What stands for tensor-parallel collectives on private NVLink ports must change nothing.
class ClosedForms : public testing::TestWithParam<bool> {};
TEST_P(ClosedForms, GiveTheTimeOfTheSimulatedCollectives) {
  Training spec = small_gpt();
  spec.parallelism.sequence = GetParam();
  double times[2];
  for (const bool closed : {true, false}) {
    // The second kernel of a process would be refused.
    times[closed] = test::in_child([&] {
      SimulationOptions options;
      options.collectives = CollectiveMode::steps;
      options.closed_forms = closed;
      const Timeline t = small_cluster().run(spec, options);
      return std::vector<double>{t.iteration_end.back()};
    })[0];
  }
  EXPECT_NEAR(times[0], times[1], times[0] * kExact);
}
INSTANTIATE_TEST_SUITE_P(, ClosedForms, testing::Bool());

TEST(Training, AccountsForAllOfEveryWorkersTime) {
  Training spec = small_gpt();
  spec.iterations = 3;
  const Timeline timeline = small_cluster().run(spec);
  ASSERT_EQ(timeline.iteration_end.size(), 3u);
  for (const Account& a : timeline.workers)
    EXPECT_NEAR(
        a.compute + a.bubble + a.idle + std::accumulate(a.exposed.begin(), a.exposed.end(), 0.0),
        timeline.iteration_end.back(), timeline.iteration_end.back() * kExact);
  // Iterations are alike where nothing is random.
  EXPECT_NEAR(timeline.iteration_time(0), timeline.iteration_time(2),
              timeline.iteration_time(0) * kExact);
}

TEST(Training, OverlappedGradientsAreNotSlowerThanExposedOnes) {
  Training spec = small_gpt();
  spec.parallelism = {.tensor = 1, .pipeline = 2, .data = 4};
  double exposed[2], times[2];
  for (const bool overlap : {false, true}) {
    spec.overlap_data = overlap;
    const auto result = test::in_child([&] {
      const Timeline t = small_cluster().run(spec);
      return std::vector<double>{t.iteration_end.back(),
                                 t.workers[0].exposed[static_cast<std::size_t>(Traffic::data)]};
    });
    times[overlap] = result[0];
    exposed[overlap] = result[1];
  }
  EXPECT_LT(times[1], times[0]);
  EXPECT_LT(exposed[1], exposed[0]);
}

}  // namespace
}  // namespace weft
