#include "sim/flow_book.h"

#include <algorithm>

namespace weft {

FlowBook::FlowBook(const Network& network, Kernel& kernel, bool record, Timeline& timeline)
    : network_(network), kernel_(kernel), record_(record), timeline_(timeline) {}

void FlowBook::find(GpuId source, GpuId destination, std::uint64_t flow_key, Route& route) const {
  route.latency = network_.path(source, destination, flow_key, route.links);
  route.rate = BitsPerSecond(kInfinity);
  for (const LinkId link : route.links)
    route.rate = std::min(route.rate, network_.links()[at(link)].capacity);
}

std::uint64_t FlowBook::put(const Live& live) {
  if (free_.empty()) {
    live_.push_back(live);
    return live_.size() - 1;
  }
  const auto slot = free_.back();
  free_.pop_back();
  live_[slot] = live;
  return slot;
}

void FlowBook::start(GpuId source, GpuId destination, std::span<const LinkId> links,
                     Seconds latency, BitsPerSecond rate, Bytes size, const FlowOwner& owner) {
  const auto token = put({.owner = owner,
                          .source = source,
                          .destination = destination,
                          .bytes = size.value,
                          .start = kernel_.now(),
                          .alone = latency.value + (size / rate).value});
  ++timeline_.flows;
  const auto bytes = static_cast<double>(size.value);
  timeline_.flow_bytes += bytes;
  timeline_.link_bytes += bytes * static_cast<double>(links.size());
  kernel_.network().start(links, size, latency, token);
}

void FlowBook::start_coupled(std::span<const WeightedLink> links, double bytes_each,
                             Seconds latency, double alone, std::uint64_t messages, int steps,
                             const FlowOwner& owner) {
  const auto token = put({.owner = owner,
                          .messages = messages,
                          .steps = steps,
                          .start = kernel_.now(),
                          .alone = alone});
  timeline_.flows_stood_for += messages;
  timeline_.flow_bytes += bytes_each * static_cast<double>(messages) / steps;
  for (const WeightedLink& link : links) timeline_.link_bytes += bytes_each * link.weight;
  kernel_.network().start_coupled(links, bytes_each, latency, token);
}

FlowOwner FlowBook::finish(std::uint64_t token) {
  const Live live = live_[token];
  free_.push_back(static_cast<std::uint32_t>(token));
  const double now = kernel_.now();
  const double took = now - live.start;
  timeline_.fct.add(took / live.steps, live.messages);
  // Two sums of the same terms may differ by rounding; nothing is faster than alone.
  timeline_.slowdown.add(live.alone > 0 ? std::max(1.0, took / live.alone) : 1.0, live.messages);
  if (record_ && live.owner.kind != FlowOwner::Kind::coupled)
    timeline_.flow_records.push_back({live.source, live.destination, live.owner.traffic, live.bytes,
                                      live.start, now, live.alone});
  return live.owner;
}

}  // namespace weft
