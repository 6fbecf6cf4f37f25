// The reference network model: SimGrid's own flow model (CM02) on the fabric's links.
#pragma once

#include <memory>

#include "sim/network_driver.h"

namespace weft {

/// A flow waits for its latency here and is then a SimGrid communication without latency, between
/// two hosts that stand for all, on its own path. (SimGrid's own latency phase is not used: in 3.32
/// its solver, when a flow's latency ends, looks only at the first link of its path for what has to
/// be solved again. Where another event of the same instant has that link in hand already, the
/// flow's other links are left out, keep their old shares and carry more than they can.)
///
/// Ends are gathered and delivered together, in the order of starting, before the clock moves on.
/// `LinkUse` has the bytes of ended flows and the peak number of flows; rates are not known here.
class SimgridNetwork final : public DrivenNetwork {
 public:
  /// Makes the platform: a SimGrid link for each spec. Precondition: SimGrid's engine exists and
  /// has no platform yet; it must outlive this.
  explicit SimgridNetwork(const std::vector<LinkSpec>& links);
  ~SimgridNetwork() override;

  FlowHandle start(std::span<const LinkId> path, Bytes size, Seconds latency,
                   std::uint64_t token) override;
  FlowHandle start_coupled(std::span<const WeightedLink>, double, Seconds, std::uint64_t) override;
  bool can_couple() const override { return false; }
  void set_capacity(LinkId, BitsPerSecond) override;
  LinkUse use(LinkId) const override;
  std::uint64_t flows_started() const override;

  double next_event(double now) override;
  void advance(double now, EventHandler&) override;
  bool hears_late() const override { return true; }
  void halt() override;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // also watched, weakly, by SimGrid's callback
};

}  // namespace weft
