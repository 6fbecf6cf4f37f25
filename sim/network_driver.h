// What the kernel's event loop asks of a network model.
#pragma once

#include "sim/network_model.h"

namespace weft {

/// A network model as the kernel drives it: "when is your next event?", then "it is that time".
/// Times are the kernel's, in seconds.
class DrivenNetwork : public NetworkModel {
 public:
  /// Brings the model up to date with what was started or changed since the last call and returns
  /// the time of its next event: >= `now`, or kInfinity when nothing is under way.
  virtual double next_event(double now) = 0;
  /// Ends everything due at `now` and tells the handler, in the order of starting. Called whenever
  /// the clock has moved, also where nothing is due here.
  virtual void advance(double now, EventHandler&) = 0;
  /// Whether ends at an instant become known only after advance() has been called for it.
  virtual bool hears_late() const = 0;
  /// Gives up all flows without a word to the handler: the run is being stopped.
  virtual void halt() = 0;
};

/// Two dates closer than this relative distance are one instant. The kernel's clock moves by
/// differences, so that a date is met to within an ulp or two.
inline constexpr double kSameInstant = 4 * 0x1.0p-52;

/// The last date that still belongs to the instant `now`.
constexpr double end_of_instant(double now) { return now + now * kSameInstant; }

}  // namespace weft
