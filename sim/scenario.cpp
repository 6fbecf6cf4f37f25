#include "sim/scenario.h"

#include <algorithm>
#include <filesystem>

#include "sim/network_model.h"
#include "sim/presets.h"

namespace weft {
namespace {

template <class Info>
std::vector<std::string> names_of(const std::vector<Info>& catalog) {
  std::vector<std::string> names;
  for (const Info& info : catalog) names.push_back(info.name);
  return names;
}

RoutingSpec read_routing(const Section& section, std::uint64_t seed) {
  RoutingSpec spec;
  spec.policy = section.choice({.name = "policy",
                                .help = "how a flow's path is chosen",
                                .initial = "ecmp",
                                .source = "what switches do unless configured otherwise"},
                               names_of(routing_catalog()));
  spec.seed = seed;
  spec.section = section;
  return spec;
}

void read_engine(const Section& section, SimulationOptions& options) {
  options.network = section.choice({.name = "network",
                                    .help = "the network model",
                                    .initial = "fluid",
                                    .source = "same answers as simgrid_cm02, much faster"},
                                   names_of(network_model_catalog()));
  const auto mode = section.choice(
      {.name = "collectives",
       .help =
           "every message a flow, or one variable for a collective's flows; auto: steps up to " +
           std::to_string(kMostStepFlows) + " messages",
       .initial = "auto",
       .source = "exact where that is cheap"},
      {"steps", "coupled", "auto"});
  options.collectives = mode == "steps"     ? CollectiveMode::steps
                        : mode == "coupled" ? CollectiveMode::coupled
                                            : CollectiveMode::automatic;
  if (options.collectives == CollectiveMode::coupled && options.network != "fluid")
    section.fail("collectives", "only the network model fluid couples flows",
                 "use steps, or network: fluid");
  options.closed_forms = section.boolean(
      {.name = "closed_forms",
       .help = "collectives on NVLink ports that nobody else uses cost their exact time",
       .initial = "true",
       .source = "the same times to 1e-9, without their flows"});
  options.record_ops = section.boolean(
      {.name = "critical_path",
       .help = "keep when each op was over (16 bytes an op), to find the critical path",
       .initial = "true",
       .source = "a few percent of a run's time and memory"});
}

/// Everything but what the catalogues read.
void read_scenario(const Section& root, Scenario& scenario, const Catalogs* catalogs) {
  scenario.name = root.text({.name = "name",
                             .help = "of the scenario, for reports",
                             .initial = scenario.name.empty() ? "scenario" : scenario.name,
                             .source = "the file's name"});
  // Written by weft into resolved.yaml, so that a result says what made it.
  root.text({.name = "weft_version",
             .help = "the version that resolved the scenario; written, not needed",
             .initial = WEFT_VERSION,
             .source = "this program"});
  scenario.seed = static_cast<std::uint64_t>(
      root.integer({.name = "seed",
                    .help = "of everything random: ECMP hashes, Valiant routes, placement",
                    .initial = "1",
                    .source = "any number"},
                   0));
  scenario.cluster = read_cluster(root.section("cluster", "the servers"));
  if (catalogs != nullptr) {
    const Section fabric =
        root.preset("fabric", "the network: a preset's name, a YAML file, or its parameters",
                    preset_loader("fabric"), preset_names("fabric"));
    scenario.fabric = catalogs->read_fabric(fabric, scenario.cluster);
    scenario.fabric_kind =
        fabric.text({.name = "kind", .help = "which fabric", .example = "fat_tree"});
    scenario.routing =
        fabric.has("routing")
            ? read_routing(fabric.section("routing", "in place of the scenario's"), scenario.seed)
            : RoutingSpec{};
    const bool own = !scenario.routing.policy.empty();
    const RoutingSpec general =
        read_routing(root.section("routing", "how paths are chosen"), scenario.seed);
    if (!own) scenario.routing = general;
    scenario.workload =
        catalogs->read_workload(root.section("workload", "what the GPUs do"), scenario.cluster);
  } else {
    scenario.routing = read_routing(root.section("routing", "how paths are chosen"), scenario.seed);
  }
  scenario.placement = read_placement(root.section("placement", "which rank sits where"),
                                      scenario.cluster, scenario.seed);
  read_engine(root.section("engine", "how it is simulated"), scenario.engine);
  const Section trace = root.section("trace", "the trace for the Chrome viewer");
  scenario.trace.on = trace.boolean(
      {.name = "on", .help = "write trace.json", .initial = "true", .source = "contract of a run"});
  scenario.trace.ranks = static_cast<int>(
      trace.integer({.name = "ranks",
                     .help = "how many ranks to show; 0: one of each pipeline stage, 16 at most",
                     .initial = "0",
                     .source = "all ranks of a stage do the same"},
                    0, 1 << 20));
  scenario.trace.max_bytes = trace.size({.name = "max_bytes",
                                         .help = "the most that trace.json may hold",
                                         .initial = "50 MB",
                                         .source = "what browsers load in seconds"},
                                        Bytes(10'000));
  const Section output = root.section("output", "files on request");
  scenario.flows_csv = output.boolean({.name = "flows",
                                       .help = "write flows.csv, one line per simulated flow",
                                       .initial = "false",
                                       .source = "it can be large"});
  scenario.engine.record_flows = scenario.flows_csv;
}

Scenario load(const ConfigFile& file, const std::string& path, const Catalogs& catalogs) {
  Scenario scenario;
  scenario.name = std::filesystem::path(path).stem().string();
  read_scenario(file.root(), scenario, &catalogs);
  file.refuse_unread();
  scenario.resolved = file.resolved_yaml();
  return scenario;
}

}  // namespace

Scenario load_scenario(const std::string& path, const std::vector<std::string>& overrides,
                       const Catalogs& catalogs) {
  return load(ConfigFile::read_file(path, overrides), path, catalogs);
}

Scenario load_scenario_text(const std::string& name, const std::string& text,
                            const std::vector<std::string>& overrides, const Catalogs& catalogs) {
  return load(ConfigFile::read_text(name, text, overrides), name, catalogs);
}

std::vector<KeyInfo> describe_scenario() {
  return describe_keys([](const Section& root) {
    Scenario scenario;
    read_scenario(root, scenario, nullptr);
  });
}

}  // namespace weft
