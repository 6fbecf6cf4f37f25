// The network inside the kernel: who is sending over which links, and when does it end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/ids.h"
#include "sim/network.h"
#include "sim/units.h"

namespace weft {

/// How often a coupled flow crosses a link.
struct WeightedLink {
  LinkId link;
  std::uint32_t weight;
};

/// What happened on a link so far. All but `bytes` and `peak_flows` need the rates at every
/// instant: `rates_known` is false where the model does not have them.
struct LinkUse {
  double bytes = 0;             ///< carried by finished flows and, where rates are known, by others
  double saturated_s = 0;       ///< time with the load at the capacity (1e-9 relative)
  double peak_utilization = 0;  ///< highest load over capacity at any instant
  std::uint32_t peak_flows = 0;
  bool rates_known = true;
  double contended_s = 0;  ///< saturated time x (1 - 1/k) with k flows at once: what sharing cost
};

/// Hears of what ended. Called by the kernel at the instant it happens: first the flows in the
/// order of starting, then the timers in the order of setting. It may start flows and set timers;
/// what is due at the same instant again is told after the others. It should not throw: what it
/// throws stops the run and comes out of Kernel::run().
class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void on_timer(std::uint64_t token) = 0;
  virtual void on_flow_done(std::uint64_t token) = 0;
  /// A flow's link went down with `left` bytes unsent.
  virtual void on_flow_failed(std::uint64_t token, double left) = 0;
};

using FlowHandle = std::uint32_t;

/// Max-min fair sharing of links between flows, whatever the implementation. A flow waits for its
/// path's latency, then transfers; it shares every link on its path.
class NetworkModel {
 public:
  virtual ~NetworkModel() = default;
  /// Starts a flow now; `token` comes back in EventHandler. A size of 0 ends after the latency. On
  /// a link that is down it fails at once. `path` is not empty; a link that it crosses k times
  /// gives it one share for k.
  virtual FlowHandle start(std::span<const LinkId> path, Bytes size, Seconds latency,
                           std::uint64_t token) = 0;
  /// Starts many equal flows that progress together, at the rate of the slowest: one variable that
  /// crosses each link `weight` times. `bytes` is what each of them sends.
  virtual FlowHandle start_coupled(std::span<const WeightedLink> links, double bytes,
                                   Seconds latency, std::uint64_t token) = 0;
  virtual bool can_couple() const = 0;
  /// Changes a link's capacity now. 0 takes it down and fails the flows on it.
  virtual void set_capacity(LinkId, BitsPerSecond) = 0;
  /// Use of the link up to now.
  virtual LinkUse use(LinkId) const = 0;
  virtual std::uint64_t flows_started() const = 0;
};

/// SimGrid's kernel: one clock, our timers, one network model. One per process and lifetime:
/// a second one is an InternalError. Signal handlers stay as they were.
class Kernel {
 public:
  /// `model` is "fluid" or "simgrid_cm02".
  Kernel(const std::string& model, const std::vector<LinkSpec>& links, EventHandler&);
  ~Kernel();

  double now() const;
  /// on_timer(token) at `time` (>= now), after everything that was due before.
  void at(double time, std::uint64_t token);
  NetworkModel& network();
  /// Runs until nothing is left to happen, or stop(). May be called again after more was started.
  void run();
  /// Makes run() return after the current instant, for good: flows under way are given up.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The models there are, with a line of help.
struct NetworkModelInfo {
  std::string name, help;
};
const std::vector<NetworkModelInfo>& network_model_catalog();

}  // namespace weft
