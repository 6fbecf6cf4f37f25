#include "workloads/training/schedule.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace weft::workloads {
namespace {

/// All forward passes, then all backward passes (Huang et al., NeurIPS 2019).
std::vector<Work> gpipe(int, int, int m, int) {
  std::vector<Work> order;
  for (const bool forward : {true, false})
    for (int i = 0; i < m; ++i) order.push_back({forward, 0, i});
  return order;
}

/// `warm_up` forward passes, then one forward and one backward in turn, then what is left. The k-th
/// forward or backward pass goes round the chunks in groups of p micro-batches (Narayanan et al.,
/// SC'21, section 2.2); with v = 1 it is micro-batch k.
std::vector<Work> one_forward_one_backward(int p, int m, int v, int warm_up) {
  const int total = m * v;
  const auto pass = [&](bool forward, int k) {
    if (v == 1) return Work{forward, 0, k};
    const int round = k / (p * v), within = k % (p * v), chunk = within / p;
    return Work{forward, forward ? chunk : v - 1 - chunk, round * p + within % p};
  };
  std::vector<Work> order;
  warm_up = std::min(warm_up, total);
  for (int k = 0; k < warm_up; ++k) order.push_back(pass(true, k));
  for (int k = warm_up; k < total; ++k) {
    order.push_back(pass(true, k));
    order.push_back(pass(false, k - warm_up));
  }
  for (int k = total - warm_up; k < total; ++k) order.push_back(pass(false, k));
  return order;
}

std::vector<Work> plain_1f1b(int stage, int p, int m, int) {
  return one_forward_one_backward(p, m, 1, p - 1 - stage);
}

std::vector<Work> interleaved(int stage, int p, int m, int v) {
  if (v == 1) return plain_1f1b(stage, p, m, v);
  return one_forward_one_backward(p, m, v, 2 * (p - 1 - stage) + (v - 1) * p);
}

/// Layers per stage, the first ones having one more.
std::vector<std::int64_t> even_as_can_be(std::int64_t layers, int stages) {
  std::vector<std::int64_t> list;
  for (int i = 0; i < stages; ++i) list.push_back(layers / stages + (i < layers % stages ? 1 : 0));
  return list;
}

}  // namespace

const std::vector<ScheduleEntry>& schedule_catalog() {
  static const std::vector<ScheduleEntry> table = {
      {"gpipe", "all forward passes, then all backward passes", "(p-1)(F+B)", "m", false, gpipe},
      {"1f1b",
       "one forward, one backward in turn; with virtual_stages v > 1 interleaved, each stage "
       "holding v chunks of layers",
       "(p-1)(F+B) / v", "p - stage (v = 1)", true, interleaved},
  };
  return table;
}

int Schedule::most_in_flight(int stage, int p, int m) const {
  int now = 0, most = 0;
  for (const Work& work : entry->order(stage, p, m, virtual_stages))
    most = std::max(most, now += work.forward ? 1 : -1);
  return most;
}

Schedule read_schedule(const Section& workload, int stages, int micro_batches,
                       std::int64_t layers) {
  const Section section = workload.section("schedule", "the order of work on pipeline stages");
  std::vector<std::string> names;
  for (const auto& entry : schedule_catalog()) names.push_back(entry.name);
  const auto name = section.choice({.name = "pipeline",
                                    .help = "which schedule",
                                    .initial = "1f1b",
                                    .source = "Megatron-LM's default"},
                                   names);
  Schedule schedule;
  for (const auto& entry : schedule_catalog())
    if (entry.name == name) schedule.entry = &entry;
  schedule.virtual_stages =
      static_cast<int>(section.integer({.name = "virtual_stages",
                                        .help = "chunks of layers per stage (interleaving)",
                                        .initial = "1",
                                        .source = "Megatron-LM's default"},
                                       1, 1'000'000));
  if (section.has("stage_layers"))
    schedule.stage_layers = section.integers({.name = "stage_layers",
                                              .help = "layers of each stage, where they differ",
                                              .example = "[7, 8, 8, 7]"},
                                             0, 1'000'000);
  if (section.describing()) return schedule;
  const int v = schedule.virtual_stages;
  if (v > 1 && stages == 1)
    section.fail("virtual_stages", "interleaving needs at least 2 pipeline stages",
                 "set parallelism.pipeline, or leave virtual_stages out");
  if (v > 1 && !schedule.entry->interleaves)
    section.fail("virtual_stages", fmt::format("schedule {} does not interleave", name),
                 "possible: 1f1b");
  if (v > 1 && micro_batches % stages != 0)
    section.fail("virtual_stages",
                 fmt::format("interleaving needs micro-batches in multiples of the stages, and {} "
                             "is not a multiple of {}",
                             micro_batches, stages),
                 "change batch.global or batch.micro");
  if (!schedule.stage_layers.empty()) {
    const auto& list = schedule.stage_layers;
    if (v > 1)
      section.fail("stage_layers", "uneven stages are not modelled together with interleaving",
                   "use virtual_stages: 1");
    if (list.size() != static_cast<std::size_t>(stages))
      section.fail("stage_layers",
                   fmt::format("{} entries, but there are {} pipeline stages", list.size(), stages),
                   "give one number for each stage");
    const auto sum = std::accumulate(list.begin(), list.end(), std::int64_t{0});
    if (sum != layers)
      section.fail("stage_layers",
                   fmt::format("the stages have {} layers, but the model has {}", sum, layers),
                   "the entries must add up to the layers of the model");
    return schedule;
  }
  if (layers % (std::int64_t{stages} * v) != 0) {
    const std::string chunks =
        v == 1 ? fmt::format("{} pipeline stages", stages)
               : fmt::format("{} pipeline stages x {} virtual stages", stages, v);
    std::string hint = "choose stages and virtual stages whose product divides the layers";
    if (v == 1 && layers < stages) hint = fmt::format("use at most {} stages", layers);
    if (v == 1 && layers > stages)
      hint = fmt::format("say with `schedule: {{stage_layers: [{}]}}` which stage has how many",
                         fmt::join(even_as_can_be(layers, stages), ", "));
    workload.section("parallelism", "")
        .fail("pipeline", fmt::format("{} layers do not divide into {}", layers, chunks), hint);
  }
  return schedule;
}

}  // namespace weft::workloads
