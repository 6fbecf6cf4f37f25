// `weft list` and `weft describe`: the catalogues, and every key as the loader itself reads it.

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/cluster.h"
#include "sim/network_model.h"
#include "sim/presets.h"
#include "sim/routing.h"
#include "sim/scenario.h"
#include "tools/weft/commands.h"
#include "topologies/catalog.h"
#include "workloads/catalog.h"
#include "workloads/collectives/catalog.h"
#include "workloads/training/schedule.h"

namespace weft::program {
namespace {

struct Entry {
  std::string name, help;
  std::function<std::string()> details;  ///< what describe adds
};

struct Catalog {
  std::string kind;  ///< plural, as `weft list` takes it
  std::vector<Entry> entries;
};

/// Words wrapped to lines of at most 98 columns, each after `indent` spaces.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out, line;
  const auto flush = [&] {
    if (!line.empty()) out += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!line.empty() && indent + line.size() + 1 + word.size() > 98) flush();
    line += (line.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  flush();
  return out;
}

std::string keys_text(const std::vector<KeyInfo>& keys) {
  std::string text;
  for (const KeyInfo& key : keys) {
    std::string value = key.required ? "; required" : "; optional";
    if (!key.initial.empty())
      value = "; default " + key.initial;
    else if (!key.example.empty())
      value += ", such as " + key.example;
    text += wrapped(fmt::format("{}: {}{}", key.path, key.type, value), 2);
    text += wrapped(key.help, 6);
    if (!key.source.empty() && !key.required) text += wrapped("(" + key.source + ")", 6);
  }
  return text;
}

/// What defaults that depend on the cluster are shown for: 128 hosts with 8 GPUs and NICs.
Cluster example_cluster() {
  Cluster cluster;
  cluster.hosts = 128;
  cluster.host.gpus = cluster.host.nics = 8;
  return cluster;
}

Catalog preset_catalog(const std::string& plural, const std::string& kind) {
  Catalog catalog{plural, {}};
  for (const Preset& preset : presets()) {
    if (preset.kind != kind) continue;
    // The first comment line of a preset says what it is.
    std::string help = preset.yaml.substr(0, preset.yaml.find('\n'));
    help = help.starts_with("# ") ? help.substr(2) : "";
    catalog.entries.push_back({preset.name, help, [text = preset.yaml] { return text; }});
  }
  return catalog;
}

std::vector<Catalog> catalogues() {
  std::vector<Catalog> all;
  Catalog fabrics{"fabrics", {}};
  for (const auto& entry : fabric_catalog())
    fabrics.entries.push_back({entry.name, entry.help, [&entry] {
                                 return entry.picture + "\nKeys of `fabric` (kind: " + entry.name +
                                        "):\n" + keys_text(describe_keys([&](const Section& s) {
                                          entry.read(s, example_cluster());
                                        }));
                               }});
  all.push_back(std::move(fabrics));

  Catalog routings{"routings", {}};
  for (const auto& entry : routing_catalog())
    routings.entries.push_back({entry.name, entry.help, [] { return std::string(); }});
  all.push_back(std::move(routings));

  Catalog workloads_{"workloads", {}};
  for (const auto& entry : workloads::workload_catalog())
    workloads_.entries.push_back({entry.name, entry.help, [&entry] {
                                    return "Keys of `workload` (kind: " + entry.name + "):\n" +
                                           keys_text(describe_keys([&](const Section& s) {
                                             entry.read(s, example_cluster());
                                           }));
                                  }});
  all.push_back(std::move(workloads_));

  Catalog collectives{"collectives", {}};
  for (const auto& entry : workloads::algorithm_catalog())
    collectives.entries.push_back({entry.name, entry.help, [&entry] {
                                     std::string text = "Operations:";
                                     for (const Operation operation :
                                          {Operation::all_reduce, Operation::reduce_scatter,
                                           Operation::all_gather, Operation::all_to_all})
                                       if (entry.make()->supports(operation))
                                         text += fmt::format(" {}", to_text(operation));
                                     return text + "\n";
                                   }});
  all.push_back(std::move(collectives));

  Catalog schedules{"schedules", {}};
  for (const auto& entry : workloads::schedule_catalog())
    schedules.entries.push_back(
        {entry.name, entry.help, [&entry] {
           return fmt::format(
               "With F forward and B backward time, p stages, m micro-batches, v virtual stages,\n"
               "and a network that costs nothing:\n"
               "  bubble of each stage:       {}\n"
               "  micro-batches held at most: {}\n",
               entry.bubble, entry.activations);
         }});
  all.push_back(std::move(schedules));

  Catalog networks{"networks", {}};
  for (const auto& entry : network_model_catalog())
    networks.entries.push_back({entry.name, entry.help, [] { return std::string(); }});
  all.push_back(std::move(networks));

  all.push_back(preset_catalog("models", "model"));
  all.push_back(preset_catalog("gpus", "gpu"));
  all.push_back(preset_catalog("hosts", "host"));
  Catalog fabric_presets = preset_catalog("fabric-presets", "fabric");
  for (Entry& entry : fabric_presets.entries) entry.help = "preset: " + entry.help;
  all.push_back(std::move(fabric_presets));
  return all;
}

}  // namespace

int list_command(const Options& options) {
  std::vector<std::string> kinds;
  for (const Catalog& catalog : catalogues()) {
    kinds.push_back(catalog.kind);
    if (catalog.kind != options.name) continue;
    for (const Entry& entry : catalog.entries) {
      const std::string text = wrapped(entry.help, 18);
      if (!options.quiet)
        fmt::print("{:<17} {}", entry.name, text.size() > 18 ? text.substr(18) : "\n");
    }
    return 0;
  }
  const std::string near = nearest(options.name, kinds);
  throw ConfigError(fmt::format("list: `{}` is not a kind\n  {}", options.name,
                                near.empty() ? fmt::format("possible: {}", fmt::join(kinds, ", "))
                                             : fmt::format("did you mean `{}`?", near)));
}

int describe_command(const Options& options) {
  if (options.name == "scenario") {
    if (!options.quiet)
      fmt::print(
          "Keys of a scenario. `fabric` and `workload` take what their kinds ask for:\n"
          "weft describe fat_tree, weft describe training, ...\n\n{}",
          keys_text(describe_scenario()));
    return 0;
  }
  bool found = false;
  std::vector<std::string> names{"scenario"};
  for (const Catalog& catalog : catalogues()) {
    for (const Entry& entry : catalog.entries) {
      names.push_back(entry.name);
      if (entry.name != options.name) continue;
      if (!options.quiet)
        fmt::print("{}{} ({})\n{}{}", found ? "\n" : "", entry.name, catalog.kind,
                   wrapped(entry.help, 0), entry.details());
      found = true;
    }
  }
  if (found) return 0;
  const std::string near = nearest(options.name, names);
  throw ConfigError(fmt::format(
      "describe: nothing is named `{}`\n  {}", options.name,
      near.empty() ? "weft list KIND prints the names" : fmt::format("did you mean `{}`?", near)));
}

}  // namespace weft::program
