// `weft verify`: the same scenario by other means, and how far the answers are apart.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sim/check.h"
#include "tools/weft/commands.h"
#include "tools/weft/exit_code.h"
#include "tools/weft/in_child.h"
#include "tools/weft/progress.h"
#include "tools/weft/simulate_scenario.h"

namespace weft::program {
namespace {

/// A flow's end with what identifies it whatever the order of ending: of equal flows between the
/// same GPUs the k-th to end is compared with the k-th.
struct Finish {
  std::uint32_t source, destination;
  std::uint64_t bytes;
  double end;
  auto key() const { return std::tie(source, destination, bytes); }
  bool operator<(const Finish& o) const {
    return std::tie(source, destination, bytes, end) <
           std::tie(o.source, o.destination, o.bytes, o.end);
  }
};

struct Outcome {
  std::vector<double> iterations;
  std::vector<Finish> flows;
};

/// Simulates in a process of its own.
Outcome simulate_apart(const Scenario& scenario, const std::string& network, CollectiveMode mode,
                       bool closed_forms) {
  const std::string bytes = in_child([&] {
    Scenario copy = scenario;
    copy.engine.network = network;
    copy.engine.collectives = mode;
    copy.engine.closed_forms = closed_forms;
    copy.engine.record_flows = mode == CollectiveMode::steps;
    copy.trace.on = false;
    const Experiment experiment(std::move(copy));
    Progress progress(fmt::format("{}, {}", scenario.name, network));
    SimulationOptions options = experiment.scenario.engine;
    options.monitor = &progress;
    const Timeline timeline =
        simulate(experiment.network, experiment.workload, experiment.placement, options);
    std::string out;
    const auto put = [&out](const auto& value) {
      out.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    put(timeline.iteration_end.size());
    for (std::size_t i = 0; i < timeline.iteration_end.size(); ++i) put(timeline.iteration_time(i));
    for (const FlowRecord& flow : timeline.flow_records)
      put(Finish{static_cast<std::uint32_t>(flow.source),
                 static_cast<std::uint32_t>(flow.destination), flow.bytes, flow.end});
    return out;
  });
  Outcome outcome;
  std::size_t at = 0;
  const auto take = [&](auto& value) {
    check(at + sizeof value <= bytes.size(), "a child's answer is cut off");
    std::memcpy(&value, bytes.data() + at, sizeof value);
    at += sizeof value;
  };
  std::size_t iterations = 0;
  take(iterations);
  outcome.iterations.resize(iterations);
  for (double& time : outcome.iterations) take(time);
  outcome.flows.resize((bytes.size() - at) / sizeof(Finish));
  for (Finish& flow : outcome.flows) take(flow);
  std::sort(outcome.flows.begin(), outcome.flows.end());
  return outcome;
}

double relative(double a, double b) {
  const double most = std::max(std::abs(a), std::abs(b));
  return most > 0 ? std::abs(a - b) / most : 0;
}

struct Difference {
  double iteration = 0, finish = 0;
};

Difference difference(const Outcome& a, const Outcome& b, bool flows) {
  Difference d;
  check(a.iterations.size() == b.iterations.size(), "runs of one scenario differ in iterations");
  for (std::size_t i = 0; i < a.iterations.size(); ++i)
    d.iteration = std::max(d.iteration, relative(a.iterations[i], b.iterations[i]));
  if (!flows) return d;
  check(a.flows.size() == b.flows.size(), "runs of one scenario differ in flows");
  for (std::size_t i = 0; i < a.flows.size(); ++i) {
    check(a.flows[i].key() == b.flows[i].key(), "runs of one scenario differ in flows");
    d.finish = std::max(d.finish, relative(a.flows[i].end, b.flows[i].end));
  }
  return d;
}

}  // namespace

int verify_command(const Options& options) {
  // Chains of dependent flows longer than some forty steps amplify rounding: two exact models drift
  // apart by more than rounding there, yet never by much.
  constexpr double kModels = 0.01;
  constexpr double kCoupled = 0.05;
  const Scenario scenario = load_scenario(options.scenario, options.overrides, catalogs());
  const bool closed = scenario.engine.closed_forms;
  const Outcome fluid = simulate_apart(scenario, "fluid", CollectiveMode::steps, closed);
  const Outcome cm02 = simulate_apart(scenario, "simgrid_cm02", CollectiveMode::steps, closed);
  const Outcome coupled = simulate_apart(scenario, "fluid", CollectiveMode::coupled, closed);
  const Difference models = difference(fluid, cm02, true);
  const Difference modes = difference(fluid, coupled, false);
  const bool good =
      models.iteration <= kModels && models.finish <= kModels && modes.iteration <= kCoupled;
  if (options.json) {
    nlohmann::ordered_json json;
    json["scenario"] = scenario.name;
    json["flows"] = fluid.flows.size();
    json["fluid_simgrid_cm02"] = {{"iteration", models.iteration}, {"finish", models.finish}};
    json["steps_coupled"] = {{"iteration", modes.iteration}};
    json["passed"] = good;
    if (!options.quiet) fmt::print("{}\n", json.dump(2));
  } else if (!options.quiet) {
    fmt::print("{}: {} flows, largest relative differences\n", scenario.name, fluid.flows.size());
    fmt::print(
        "  fluid against simgrid_cm02:  iteration time {:.2g}, finish of a flow {:.2g} "
        "(allowed {:.2g})\n",
        models.iteration, models.finish, kModels);
    fmt::print("  steps against coupled:       iteration time {:.2g} (allowed {:.2g})\n",
               modes.iteration, kCoupled);
    fmt::print("{}\n", good ? "verified" : "the answers are too far apart");
  }
  return good ? 0 : kOurFault;
}

}  // namespace weft::program
