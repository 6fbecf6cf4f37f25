// Small worlds for the network models: links, flows that start at given times, capacities that
// change, and what came of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/network_model.h"
#include "tests/support/fork.h"

namespace weft::test {

/// Links by their capacity and latency.
inline LinkSpec link_of(double bytes_per_s, double latency_s = 0) {
  return {bits_per_second(bytes_per_s), Seconds(latency_s)};
}

inline std::vector<LinkId> path_of(const std::vector<std::uint32_t>& links) {
  std::vector<LinkId> path;
  for (const std::uint32_t link : links) path.push_back(LinkId{link});
  return path;
}

struct ScriptedFlow {
  std::vector<std::uint32_t> path;
  std::uint64_t size = 0;  ///< bytes
  double start = 0;        ///< seconds
};

struct ScriptedCapacity {
  std::uint32_t link = 0;
  double bytes_per_s = 0;
  double time = 0;  ///< seconds
};

struct Script {
  std::vector<LinkSpec> links;
  std::vector<ScriptedFlow> flows;
  std::vector<ScriptedCapacity> changes;
};

/// What came of a flow. `left` is what a failed one did not send; -1 for one that was done.
struct Outcome {
  double end = -1;
  double left = -1;
  std::uint64_t place = 0;  ///< in the order of ending
};

/// Plays a script on a kernel.
class ScriptRun final : public EventHandler {
 public:
  ScriptRun(const std::string& model, const Script& script)
      : script_(script), kernel_(model, script.links, *this), outcomes_(script.flows.size()) {
    for (std::size_t i = 0; i < script.flows.size(); ++i) kernel_.at(script.flows[i].start, 2 * i);
    for (std::size_t i = 0; i < script.changes.size(); ++i)
      kernel_.at(script.changes[i].time, 2 * i + 1);
  }

  std::vector<Outcome> run() {
    kernel_.run();
    return outcomes_;
  }
  Kernel& kernel() { return kernel_; }
  LinkUse use(std::uint32_t link) { return kernel_.network().use(LinkId{link}); }

  void on_timer(std::uint64_t token) override {
    if (token % 2 == 1) {
      const ScriptedCapacity& change = script_.changes[token / 2];
      kernel_.network().set_capacity(LinkId{change.link}, bits_per_second(change.bytes_per_s));
      return;
    }
    const ScriptedFlow& flow = script_.flows[token / 2];
    Seconds latency(0);
    for (const std::uint32_t link : flow.path) latency += script_.links[link].latency;
    kernel_.network().start(path_of(flow.path), Bytes(flow.size), latency, token / 2);
  }
  void on_flow_done(std::uint64_t token) override { note(token, -1); }
  void on_flow_failed(std::uint64_t token, double left) override { note(token, left); }

 private:
  void note(std::uint64_t token, double left) {
    outcomes_[token] = {kernel_.now(), left, ended_++};
  }

  const Script& script_;
  Kernel kernel_;
  std::vector<Outcome> outcomes_;
  std::uint64_t ended_ = 0;
};

/// Plays a script in a process of its own.
inline std::vector<Outcome> play(const std::string& model, const Script& script) {
  return in_child([&] { return ScriptRun(model, script).run(); });
}

}  // namespace weft::test
