#include "workloads/collective.h"

#include <fmt/core.h>

#include <set>

#include "workloads/collectives/catalog.h"

namespace weft::workloads {

std::shared_ptr<const WorkloadSpec> Collective::read(const Section& section,
                                                     const Cluster& cluster) {
  auto spec = std::make_shared<Collective>();
  spec->operation = read_operation(section);
  spec->algorithm = read_algorithm(section, spec->operation);
  spec->size = section.size({.name = "size",
                             .help = "nccl-tests' size: the larger of a rank's two buffers",
                             .example = "128 MiB"});
  int ranks = cluster.gpus();
  if (section.is_sequence("ranks")) {
    std::set<std::int64_t> seen;
    for (const auto gpu : section.integers({.name = "ranks",
                          .help = "GPU numbers in the communicator's order",
                          .example = "[0, 1]"},
                                           0, cluster.gpus() - 1)) {
      if (!seen.insert(gpu).second)
        section.fail("ranks", "GPU " + std::to_string(gpu) + " is listed twice",
                     "a GPU is one rank of a communicator");
      spec->gpus.push_back(GpuId{static_cast<std::uint32_t>(gpu)});
    }
    ranks = static_cast<int>(spec->gpus.size());
  } else {
    const Key key{.name = "ranks",
                  .help = "who takes part: all GPUs, or a list of GPU numbers",
                  .initial = "all",
                  .source = "the whole cluster"};
    if (section.has("ranks") && !section.describing() && section.text(key) != "all")
      section.fail("ranks", "expected `all` or a sequence of GPU numbers",
                   "for example `ranks: [0, 1, 2, 3]`");
    section.choice(key, {"all"});
  }
  spec->group_size = static_cast<int>(
      section.integer({.name = "group_size",
                       .help = "ranks of a communicator; the ranks form several, side by side",
                       .initial = std::to_string(ranks),
                       .source = "one communicator of all ranks"},
                      1, ranks));
  if (ranks % spec->group_size != 0)
    section.fail("group_size",
                 std::to_string(ranks) + " ranks do not divide into groups of " +
                     std::to_string(spec->group_size),
                 "choose a divisor of the number of ranks");
  if (spec->group_size < 2 && !section.describing())
    section.fail(section.has("group_size") ? "group_size" : "ranks",
                 "a collective of one rank moves nothing", "at least 2 ranks are needed");
  constexpr std::uint64_t kMostMessages = 100'000'000;
  const auto n = static_cast<std::uint64_t>(spec->group_size);
  if (!spec->algorithm->fixed_peer() && n * n > kMostMessages)
    section.fail(
        section.has("group_size") ? "group_size" : "ranks",
        fmt::format("{} messages a step among {} ranks are too many to simulate", n * (n - 1), n),
        "use algorithm: ring, or smaller groups");
  const auto layout = section.choice(
      {.name = "layout",
       .help = "which ranks form a group: contiguous neighbours, or interleaved (every g-th)",
       .initial = "contiguous",
       .source = "tensor-parallel groups are neighbours; data-parallel ones interleaved"},
      {"contiguous", "interleaved"});
  spec->layout = layout == "contiguous" ? Layout::contiguous : Layout::interleaved;
  spec->iterations = static_cast<int>(section.integer({.name = "iterations",
                                                       .help = "how often, one after another",
                                                       .initial = "1",
                                                       .source = "once"},
                                                      1, 1'000'000));
  return spec;
}

Workload Collective::build(const Cluster& cluster) const {
  const int ranks = gpus.empty() ? cluster.gpus() : static_cast<int>(gpus.size());
  const Grid::Axis members{"member", group_size};
  const Grid::Axis groups{"group", ranks / group_size};
  Workload workload;
  workload.kind = "collective";
  const bool neighbours = layout == Layout::contiguous;
  workload.grid = Grid(neighbours ? std::vector{members, groups} : std::vector{groups, members});
  workload.iterations = iterations;
  workload.streams = {{"collective", Traffic::other, false}};
  workload.communicators = {{"group", Traffic::other, AxisMask{1} << workload.grid.axis("member")}};
  workload.algorithms = {algorithm};
  workload.names = {to_text(operation)};
  workload.pinned = gpus;
  ProgramBuilder builder(1);
  builder.collective(0, 0, {operation, 0, 0, size}, {});
  workload.programs = {builder.take()};
  return workload;
}

}  // namespace weft::workloads
