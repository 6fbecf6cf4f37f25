// The flows that are alive: whose they are, and what the finished ones add to the statistics.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/network.h"
#include "sim/network_model.h"
#include "sim/timeline.h"

namespace weft {

/// A path with what it costs alone.
struct Route {
  std::vector<LinkId> links;
  Seconds latency;
  BitsPerSecond rate;  ///< the smallest capacity on it
};

/// Who waits for a flow. `kind` tells the owner's meaning of the numbers.
struct FlowOwner {
  enum class Kind : std::uint8_t { timed, message, step, coupled } kind{};
  Traffic traffic{};
  std::uint32_t owner = 0;   ///< worker, or slot of a collective
  std::uint32_t member = 0;  ///< sender within the owner; coupled: communicator
  std::uint32_t peer = 0;    ///< receiver within the owner
  std::uint32_t step = 0;
};

/// Starts flows and counts what they did. Records are pooled: memory is what is alive.
class FlowBook {
 public:
  FlowBook(const Network&, Kernel&, bool record, Timeline&);

  /// Finds the path of a new connection.
  void find(GpuId source, GpuId destination, std::uint64_t flow_key, Route&) const;
  /// Starts a flow on a path.
  void start(GpuId source, GpuId destination, std::span<const LinkId> links, Seconds latency,
             BitsPerSecond rate, Bytes size, const FlowOwner&);
  void start(GpuId source, GpuId destination, const Route& route, Bytes size,
             const FlowOwner& owner) {
    start(source, destination, route.links, route.latency, route.rate, size, owner);
  }
  /// Starts one variable that stands for `flows` flows of `messages` messages in all.
  void start_coupled(std::span<const WeightedLink> links, double bytes_each, Seconds latency,
                     double alone, std::uint64_t messages, int steps, const FlowOwner&);
  /// Takes the finished flow with this token out of the book.
  FlowOwner finish(std::uint64_t token);

 private:
  struct Live {
    FlowOwner owner;
    GpuId source{}, destination{};
    std::uint64_t bytes = 0;
    std::uint64_t messages = 1;  ///< coupled: how many it stands for
    int steps = 1;               ///< coupled: in how many steps, one after another
    double start = 0, alone = 0;
  };
  std::uint64_t put(const Live&);
  const Network& network_;
  Kernel& kernel_;
  bool record_;
  Timeline& timeline_;
  std::vector<Live> live_;
  std::vector<std::uint32_t> free_;
};

}  // namespace weft
