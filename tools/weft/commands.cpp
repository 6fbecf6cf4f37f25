#include "tools/weft/commands.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/presets.h"
#include "sim/report.h"
#include "sim/topology_export.h"
#include "sim/topology_facts.h"
#include "tools/weft/simulate_scenario.h"
#include "workloads/training/training.h"

namespace weft::program {
namespace {

namespace fs = std::filesystem;

void print(const Options& options, const std::string& text) {
  if (!options.quiet) fmt::print("{}", text);
}

void print(const Options& options, const nlohmann::ordered_json& json) {
  print(options, json.dump(2) + "\n");
}

Scenario load(const Options& options) {
  return load_scenario(options.scenario, options.overrides, catalogs());
}

/// A fabric's name in a comparison: the preset's, or the file's without folder and ending.
std::string fabric_name(const std::string& given) { return fs::path(given).stem().string(); }

/// The scenario on another fabric. A fabric of the kind that the scenario has itself keeps the
/// scenario's own parameters.
Scenario on_fabric(const Options& options, const std::string& fabric, const std::string& own_kind) {
  auto overrides = options.overrides;
  if (fabric != own_kind)
    overrides.insert(overrides.begin(),
                     "fabric=" + (fs::exists(fabric) ? fs::absolute(fabric).string() : fabric));
  Scenario scenario = load_scenario(options.scenario, overrides, catalogs());
  return scenario;
}

void write_graph(const std::string& path, const Topology& topology,
                 void (*write)(const Topology&, std::ostream&)) {
  if (path.empty()) return;
  errno = 0;
  std::ofstream file(path);
  if (file) write(topology, file);
  file.close();
  if (!file)
    throw ConfigError(fmt::format("{}: cannot be written: {}\n  choose another file", path,
                                  std::strerror(errno)));
}

}  // namespace

int run_command(const Options& options) {
  const Experiment experiment(load(options));
  const auto summary = run(experiment, options.output);
  options.json ? print(options, summary) : print(options, run_report(summary));
  return 0;
}

int compare_command(const Options& options) {
  if (options.fabrics.size() < 2)
    throw ConfigError("compare: at least two fabrics are needed\n  give --fabric twice or more");
  const std::string own_kind = load(options).fabric_kind;
  std::vector<std::string> names;
  std::vector<Scenario> scenarios;
  for (const auto& fabric : options.fabrics) {
    names.push_back(fabric_name(fabric));
    if (std::count(names.begin(), names.end(), names.back()) > 1)
      throw ConfigError(
          fmt::format("compare: two fabrics are named `{}`\n"
                      "  give each once, or rename one of the files",
                      names.back()));
    scenarios.push_back(on_fabric(options, fabric, own_kind));
    Experiment check(scenarios.back());  // before any of them runs
  }
  // Summaries travel through files, so that a comparison without -o keeps them for a moment only.
  std::optional<fs::path> temporary;
  fs::path folder = options.output;
  if (folder.empty()) {
    std::string pattern = (fs::temp_directory_path() / "weft-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw ConfigError(fmt::format("{}: cannot be made\n  give a folder with -o", pattern));
    folder = pattern;
    temporary = folder;
  }
  prepare_folder(folder);
  std::vector<fs::path> folders;
  for (const auto& name : names) folders.push_back(folder / name);
  std::vector<NamedSummary> runs;
  try {
    const auto summaries = run_apart(scenarios, folders);
    for (std::size_t i = 0; i < names.size(); ++i) runs.push_back({names[i], summaries[i]});
  } catch (...) {
    if (temporary) fs::remove_all(*temporary);
    throw;
  }
  const auto result = compare(runs);
  if (temporary)
    fs::remove_all(*temporary);
  else
    write_json(folder / "compare.json", result);
  options.json ? print(options, result) : print(options, comparison_report(runs));
  return 0;
}

int groups_command(const Options& options) {
  const Scenario scenario = load(options);
  const auto* training = dynamic_cast<const workloads::Training*>(scenario.workload.get());
  if (training == nullptr)
    throw ConfigError(
        fmt::format("{}: workload.kind: only training has parallel groups\n"
                    "  use a scenario with kind: training",
                    options.scenario));
  const auto groups = workloads::groups_of(training->parallelism);
  if (options.json) {
    nlohmann::ordered_json json;
    for (const auto& [kind, lists] : groups) json[kind] = lists;
    print(options, json);
    return 0;
  }
  for (const auto& [kind, lists] : groups) {
    print(options, fmt::format("{} ({} groups of {})\n", kind, lists.size(), lists.front().size()));
    for (const auto& list : lists) print(options, fmt::format("  [{}]\n", fmt::join(list, ",")));
  }
  return 0;
}

int topology_command(const Options& options) {
  const auto known = [&] {
    for (const Preset& preset : presets())
      if (preset.kind == "fabric" && preset.name == options.scenario) return true;
    return false;
  };
  // A fabric alone is shown for a cluster that it is made for.
  const Scenario scenario =
      known() && !fs::exists(options.scenario)
          ? load_scenario_text(
                options.scenario,
                fmt::format("cluster: {{hosts: 128, host: dgx_h100}}\n"
                            "fabric: {}\n"
                            "workload: {{kind: flows, shift: {{by: 1, size: 1 B}}}}\n",
                            options.scenario),
                options.overrides, catalogs())
          : load(options);
  const Topology topology = scenario.fabric->build(scenario.cluster);
  write_graph(options.dot, topology, write_dot);
  write_graph(options.graphml, topology, write_graphml);
  const TopologyFacts facts = facts_of(topology);
  if (options.json) {
    nlohmann::ordered_json json;
    json["kind"] = topology.kind;
    json["hosts"] = scenario.cluster.hosts;
    json["gpus"] = scenario.cluster.gpus();
    json["switches"] = facts.switches;
    for (const auto& [label, count] : facts.switches_by_label)
      json["switches_by_tier"][label] = count;
    json["cables"] = facts.cables;
    for (const auto& [tier, count] : facts.cables_by_tier) json["cables_by_tier"][tier] = count;
    json["most_ports"] = facts.most_ports;
    json["diameter_hops"] = facts.diameter_hops;
    json["bisection_bps"] = facts.bisection.value;
    json["oversubscription"] = facts.oversubscription
                                   ? nlohmann::ordered_json(*facts.oversubscription)
                                   : nlohmann::ordered_json(nullptr);
    json["shortest_paths"] = facts.shortest_paths;
    print(options, json);
    return 0;
  }
  std::string text = fmt::format("{} for {} hosts, {} NICs\n", topology.kind,
                                 scenario.cluster.hosts, scenario.cluster.nics());
  const auto row = [&](const std::string& name, const std::string& value) {
    text += fmt::format("  {:<34}{}\n", name, value);
  };
  row("switches", fmt::format("{}", facts.switches));
  for (const auto& [label, count] : facts.switches_by_label)
    row("  " + label, fmt::format("{}", count));
  row("cables", fmt::format("{}", facts.cables));
  for (const auto& [tier, count] : facts.cables_by_tier) row("  " + tier, fmt::format("{}", count));
  row("most ports on a switch", fmt::format("{}", facts.most_ports));
  row("diameter", fmt::format("{} links", facts.diameter_hops));
  row("bisection", to_text(facts.bisection));
  row("oversubscription", facts.oversubscription ? fmt::format("{:.4g}:1", *facts.oversubscription)
                                                 : "not defined: the graph has no tiers");
  row("shortest paths, first to last NIC", fmt::format("{}", facts.shortest_paths));
  print(options, text);
  return 0;
}

int check_command(const Options& options) {
  for (const auto& path : options.scenarios) {
    const Experiment experiment(load_scenario(path, options.overrides, catalogs()));
    print(options, fmt::format("{}: ok\n", path));
  }
  return 0;
}

}  // namespace weft::program
