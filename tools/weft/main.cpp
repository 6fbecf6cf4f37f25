// The command line.

#include <fmt/ranges.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "sim/config.h"
#include "sim/engine.h"
#include "tools/weft/commands.h"
#include "tools/weft/exit_code.h"
#include "tools/weft/in_child.h"
#include "tools/weft/progress.h"

namespace weft::program {

int guarded(const std::function<int()>& body) {
  try {
    return body();
  } catch (const ConfigError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kBadInput;
  } catch (const ChildFailed& child) {
    return child.exit_code;
  } catch (const Interrupted& interrupted) {
    std::fprintf(stderr, "interrupted at %.0f %%, %.3g s simulated: no results were written\n",
                 100 * interrupted.done, interrupted.now);
    return kInterrupted;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "out of memory\n");
    return kOurFault;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "internal error: %s\n", error.what());
    return kOurFault;
  }
}

namespace {

/// Refuses a first word that is no command, which the parser does not name.
void refuse_unknown_command(const CLI::App& app, int argc, char** argv) {
  const auto word = std::find_if(argv + 1, argv + argc, [](const char* a) { return *a != '-'; });
  if (word == argv + argc) return;
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  if (std::find(names.begin(), names.end(), *word) != names.end()) return;
  const std::string near = nearest(*word, names);
  throw ConfigError(fmt::format("`{}` is not a command\n  {}", *word,
                                near.empty() ? fmt::format("commands: {}", fmt::join(names, ", "))
                                             : fmt::format("did you mean `{}`?", near)));
}

}  // namespace
}  // namespace weft::program

int main(int argc, char** argv) {
  using namespace weft::program;
  spdlog::set_default_logger(spdlog::stderr_color_mt("weft"));
  spdlog::set_pattern("[%H:%M:%S] %v");
  spdlog::set_level(spdlog::level::warn);

  CLI::App app("Simulates the traffic of distributed LLM training on datacenter networks.", "weft");
  app.set_version_flag("--version", "weft " WEFT_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  Options options;
  int (*command)(const Options&) = nullptr;
  int verbose = 0;
  app.add_flag("-v", verbose, "say what happens on stderr (twice: in detail)");
  app.add_flag("-q", options.quiet, "print errors only, no report");

  const auto add = [&](const char* name, const char* help, int (*run)(const Options&)) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->callback([&command, run] { command = run; });
    return sub;
  };
  const auto scenario = [&](CLI::App* sub) {
    sub->add_option("scenario", options.scenario, "YAML file")->required();
    sub->add_option("--set", options.overrides, "override a key: workload.batch.global=512")
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->take_all();
  };
  const auto output = [&](CLI::App* sub) {
    sub->add_option("-o,--output", options.output, "folder for the files of the run")
        ->type_name("DIR");
  };
  const auto json = [&](CLI::App* sub) {
    sub->add_flag("--json", options.json, "print JSON instead of a table");
  };

  CLI::App* sub = add("run", "simulate a scenario", run_command);
  scenario(sub), output(sub), json(sub);
  sub = add("compare", "the same job on several fabrics, side by side", compare_command);
  scenario(sub), output(sub), json(sub);
  sub->add_option("--fabric", options.fabrics,
                  "a preset's name or a YAML file; give it twice or more")
      ->type_name("NAME")
      ->required()
      ->expected(1)
      ->take_all();
  sub = add("groups", "the ranks of each parallel group", groups_command);
  scenario(sub), json(sub);
  sub = add("topology", "what the fabric is made of", topology_command);
  scenario(sub), json(sub);
  sub->add_option("--dot", options.dot, "write the graph for GraphViz")->type_name("FILE");
  sub->add_option("--graphml", options.graphml, "write the graph as GraphML")->type_name("FILE");
  sub = add("check", "check scenarios without simulating", check_command);
  sub->add_option("scenarios", options.scenarios, "YAML files")->required();
  sub->add_option("--set", options.overrides, "override a key")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  sub = add("verify", "simulate by other means and compare", verify_command);
  scenario(sub), json(sub);
  sub = add("list", "what there is of a kind", list_command);
  sub->add_option("kind", options.name,
                  "fabrics, routings, collectives, schedules, models, gpus, hosts, workloads, "
                  "networks")
      ->required();
  sub = add("describe", "one catalogue entry with its parameters", describe_command);
  sub->add_option("name", options.name, "its name, or `scenario`")->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return guarded([&] {
      if (error.get_exit_code() != 0) refuse_unknown_command(app, argc, argv);
      return app.exit(error) == 0 ? 0 : kBadInput;
    });
  }
  if (verbose > 0) spdlog::set_level(verbose > 1 ? spdlog::level::debug : spdlog::level::info);
  catch_interrupts();
  return guarded([&] { return command(options); });
}
