#include "tools/weft/simulate_scenario.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <thread>

#include "sim/check.h"
#include "sim/metrics.h"
#include "sim/report.h"
#include "sim/topology_facts.h"
#include "sim/trace.h"
#include "tools/weft/exit_code.h"
#include "tools/weft/in_child.h"
#include "tools/weft/progress.h"
#include "topologies/catalog.h"
#include "workloads/catalog.h"

namespace weft::program {
namespace {

std::unique_ptr<Router> checked_router(const Scenario& scenario, const Topology& topology) {
  const auto why = routing_mismatch(topology, scenario.routing.policy);
  if (!why.empty()) {
    std::vector<std::string> fitting;
    for (const RoutingInfo& info : routing_catalog())
      if (routing_mismatch(topology, info.name).empty()) fitting.push_back(info.name);
    scenario.routing.section->fail(
        "policy", why, fmt::format("on {}: {}", topology.kind, fmt::join(fitting, ", ")));
  }
  return make_router(topology, scenario.routing);
}

/// Where each rank of the workload runs.
Placement checked_placement(const Scenario& scenario, const Workload& workload) {
  const PlacementSpec& spec = scenario.placement;
  if (workload.programs.empty() || !workload.pinned.empty()) {
    if (spec.kind != PlacementSpec::Kind::contiguous)
      spec.section->fail("hosts", "has no effect: the workload names its GPUs itself",
                         workload.programs.empty() ? "leave `placement` out"
                                                   : "leave it out, or use `ranks: all`");
    return {workload.pinned};
  }
  const Cluster& cluster = scenario.cluster;
  const auto gpus = static_cast<std::size_t>(cluster.host.gpus);
  const std::uint32_t ranks = workload.grid.ranks();
  if (spec.kind == PlacementSpec::Kind::list && ranks > spec.hosts.size() * gpus)
    spec.section->fail(
        "hosts",
        fmt::format("{} ranks do not fit on the {} GPUs of the {} host{} listed", ranks,
                    spec.hosts.size() * gpus, spec.hosts.size(), spec.hosts.size() == 1 ? "" : "s"),
        fmt::format("list {} hosts", (ranks + gpus - 1) / gpus));
  return place(spec, cluster, ranks);
}

/// The workers whose rows the trace shows: the first of each role, then the second, and so on.
std::vector<std::uint32_t> traced_workers(const TraceSpec& spec, const Workload& workload) {
  constexpr std::size_t kMost = 16;
  if (!spec.on || workload.programs.empty()) return {};
  const Grid& grid = workload.grid;
  std::vector<std::vector<std::uint32_t>> by_role(workload.programs.size());
  std::uint32_t worker = 0;
  for (std::uint32_t rank = 0; rank < grid.ranks(); ++rank) {
    if (grid.base(rank, workload.lanes) != rank) continue;
    const int role = workload.role_axis < 0 ? 0 : grid.coordinate(rank, workload.role_axis);
    by_role[static_cast<std::size_t>(role)].push_back(worker++);
  }
  const std::size_t wanted =
      spec.ranks == 0 ? std::min(kMost, by_role.size()) : static_cast<std::size_t>(spec.ranks);
  std::vector<std::uint32_t> workers;
  for (std::size_t row = 0; row < by_role[0].size() && workers.size() < wanted; ++row)
    for (std::size_t role = 0; role < by_role.size() && workers.size() < wanted; ++role)
      workers.push_back(by_role[role][row]);
  std::sort(workers.begin(), workers.end());
  return workers;
}

}  // namespace

Experiment::Experiment(Scenario s)
    : scenario(std::move(s)),
      topology(scenario.fabric->build(scenario.cluster)),
      router(checked_router(scenario, topology)),
      network(scenario.cluster, topology, *router),
      workload(scenario.workload->build(scenario.cluster)),
      placement(checked_placement(scenario, workload)) {
  scenario.engine.traced_workers = traced_workers(scenario.trace, workload);
}

const Catalogs& catalogs() {
  static const Catalogs all{
      [](const Section& s, const Cluster& cluster) -> std::shared_ptr<const Fabric> {
        return read_fabric(s, cluster);
      },
      workloads::read_workload};
  return all;
}

nlohmann::ordered_json run(const Experiment& experiment, const std::filesystem::path& folder) {
  if (!folder.empty()) prepare_folder(folder);
  const auto begin = std::chrono::steady_clock::now();
  const Timeline timeline = [&] {
    Progress progress(experiment.scenario.name);
    SimulationOptions options = experiment.scenario.engine;
    options.monitor = &progress;
    return simulate(experiment.network, experiment.workload, experiment.placement, options);
  }();
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  spdlog::info("{}: {} flows in {:.2f} s", experiment.scenario.name, timeline.flows, wall);
  const Metrics metrics =
      measure(experiment.scenario, experiment.network, facts_of(experiment.topology),
              experiment.workload, experiment.placement, timeline);
  const auto broken = broken_invariants(experiment.network, experiment.workload,
                                        experiment.placement, timeline, metrics);
  if (!broken.empty()) throw InternalError(fmt::format("{}", fmt::join(broken, "\n")));
  if (!folder.empty()) {
    if (experiment.scenario.trace.on)
      write_trace(folder / "trace.json", experiment.scenario, experiment.network,
                  experiment.workload, experiment.placement, timeline);
    write_files(folder, experiment.scenario, experiment.network, experiment.workload,
                experiment.placement, timeline, metrics, gather_run_facts(wall, 1));
  }
  return to_json(metrics);
}

std::vector<nlohmann::ordered_json> run_apart(const std::vector<Scenario>& scenarios,
                                              const std::vector<std::filesystem::path>& folders) {
  const std::size_t at_once = std::max(1u, std::thread::hardware_concurrency());
  std::map<pid_t, std::size_t> running;
  std::size_t next = 0;
  int failed = 0;
  std::fflush(nullptr);
  while (next < scenarios.size() || !running.empty()) {
    if (next < scenarios.size() && running.size() < at_once && failed == 0) {
      const pid_t child = fork();
      if (child < 0) throw std::runtime_error("cannot start another process");
      if (child == 0) {
        const int code = guarded([&] {
          run(Experiment(scenarios[next]), folders[next]);
          return 0;
        });
        std::fflush(nullptr);
        _exit(code);
      }
      running[child] = next++;
      continue;
    }
    if (running.empty()) break;
    int status = 0;
    const pid_t child = wait(&status);  // interrupted by Ctrl-C: the children end by themselves
    if (running.erase(child) == 0) continue;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kOurFault;
    failed = std::max(failed, code);
  }
  if (failed != 0) throw ChildFailed{failed};
  std::vector<nlohmann::ordered_json> summaries;
  for (const auto& folder : folders)
    summaries.push_back(nlohmann::ordered_json::parse(std::ifstream(folder / "summary.json")));
  return summaries;
}

}  // namespace weft::program
