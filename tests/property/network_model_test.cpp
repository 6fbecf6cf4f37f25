// What must hold on any network: the two models agree, rates are max-min fair, links are never
// overfull, and neither names nor units matter. Worlds are drawn from seeds, which failures name.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "sim/network_fluid.h"
#include "sim/random.h"
#include "tests/support/network_script.h"

namespace weft {
namespace {

using test::Outcome;
using test::path_of;
using test::play;
using test::Script;

/// Distinct links in random order.
std::vector<std::uint32_t> random_path(Random& random, std::uint32_t links, std::uint32_t longest) {
  std::vector<std::uint32_t> all(links);
  std::iota(all.begin(), all.end(), 0u);
  const std::uint32_t hops = 1 + random.below(std::min(longest, links));
  for (std::uint32_t i = 0; i < hops; ++i) std::swap(all[i], all[i + random.below(links - i)]);
  all.resize(hops);
  return all;
}

struct Shape {
  std::uint32_t links;
  std::uint32_t flows;
  std::uint32_t changes;
  bool round;  ///< few distinct capacities, sizes and times, so that much coincides
};

Script random_script(std::uint64_t seed, const Shape& shape) {
  Random random(seed);
  Script script;
  const auto draw = [&](double low, double high) {
    const double x = random.uniform();
    return shape.round ? low + (high - low) * static_cast<double>(static_cast<int>(4 * x)) / 4
                       : low + (high - low) * x;
  };
  for (std::uint32_t i = 0; i < shape.links; ++i)
    script.links.push_back(test::link_of(draw(1e9, 9e9), draw(0, 4e-6)));
  for (std::uint32_t i = 0; i < shape.flows; ++i)
    script.flows.push_back({random_path(random, shape.links, 8),
                            static_cast<std::uint64_t>(draw(0, 4e6)), draw(0, 1e-3)});
  for (std::uint32_t i = 0; i < shape.changes; ++i)
    script.changes.push_back(
        {random.below(shape.links), random.below(5) == 0 ? 0 : draw(1e9, 9e9), draw(0, 2e-3)});
  return script;
}

const std::vector<Shape> kShapes = {{1, 6, 0, true},    {3, 12, 0, true},   {3, 12, 6, true},
                                    {8, 30, 0, false},  {8, 30, 10, false}, {30, 60, 0, false},
                                    {30, 60, 20, true}, {60, 40, 10, false}};

TEST(NetworkModels, AgreeOnEveryFinishTimeOfRandomNetworks) {
  for (std::size_t s = 0; s < kShapes.size(); ++s)
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      SCOPED_TRACE("shape " + std::to_string(s) + ", seed " + std::to_string(seed));
      const Script script = random_script(mix(seed, s), kShapes[s]);
      const auto ours = play("fluid", script);
      const auto reference = play("simgrid_cm02", script);
      for (std::size_t i = 0; i < ours.size(); ++i) {
        ASSERT_NEAR(ours[i].end, reference[i].end, 1e-9 * reference[i].end) << "flow " << i;
        // Done, or failed in the very instant of its end: nothing left either way.
        ASSERT_NEAR(std::max(ours[i].left, 0.0), std::max(reference[i].left, 0.0),
                    1e-9 * static_cast<double>(script.flows[i].size))
            << "flow " << i;
      }
    }
}

TEST(NetworkModels, AgreeOnAShiftedRingInLockStep) {
  // Eight senders over two shared uplinks, all equal: every end coincides with others.
  Script script;
  for (int i = 0; i < 18; ++i) script.links.push_back(test::link_of(50e9, 1e-6));
  for (std::uint32_t step = 0; step < 20; ++step)
    for (std::uint32_t i = 0; i < 8; ++i)
      script.flows.push_back({{i, 16 + i / 4, 8 + (i + 4) % 8}, 1'000'000, 1e-4 * step});
  const auto ours = play("fluid", script);
  const auto reference = play("simgrid_cm02", script);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    ASSERT_NEAR(ours[i].end, reference[i].end, 1e-9 * reference[i].end) << "flow " << i;
    ASSERT_EQ(ours[i].place, reference[i].place) << "flow " << i;
  }
}

TEST(FluidModel, DoesNotCareHowLinksAreNumbered) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Script script = random_script(seed, kShapes[4]);
    Script renamed = script;
    const auto links = static_cast<std::uint32_t>(script.links.size());
    const auto rename = [&](std::uint32_t link) { return (5 * link + 3) % links; };
    for (std::uint32_t i = 0; i < links; ++i) renamed.links[rename(i)] = script.links[i];
    for (auto& flow : renamed.flows)
      for (std::uint32_t& link : flow.path) link = rename(link);
    for (auto& change : renamed.changes) change.link = rename(change.link);
    const auto before = play("fluid", script);
    const auto after = play("fluid", renamed);
    for (std::size_t i = 0; i < before.size(); ++i)
      ASSERT_NEAR(before[i].end, after[i].end, 1e-12 * before[i].end);
  }
}

TEST(FluidModel, IsKTimesFasterWhereAllRatesAreKTimesHigherAndThereIsNoLatency) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Script script = random_script(seed, kShapes[5]);
    for (LinkSpec& link : script.links) link.latency = Seconds(0);
    Script faster = script;
    const double k = 7;
    for (LinkSpec& link : faster.links) link.capacity = k * link.capacity;
    for (auto& flow : faster.flows) flow.start /= k;
    const auto slow = play("fluid", script);
    const auto fast = play("fluid", faster);
    for (std::size_t i = 0; i < slow.size(); ++i)
      ASSERT_NEAR(fast[i].end * k, slow[i].end, 1e-12 * slow[i].end);
  }
}

// ---- the model by itself, without a kernel
// -------------------------------------------------------

/// A flow of the oracle: weights by link, and the rate that it has to get.
struct OracleFlow {
  std::map<std::uint32_t, double> weights;
  double rate = -1;
};

/// Progressive filling, the slow way: raise all rates together; when a link is full, its flows
/// stop.
void fill_slowly(const std::vector<double>& capacities, std::map<FlowHandle, OracleFlow>& flows) {
  for (auto& [handle, flow] : flows) flow.rate = -1;
  for (;;) {
    double level = kInfinity;
    for (std::uint32_t link = 0; link < capacities.size(); ++link) {
      double left = capacities[link], weight = 0;
      for (const auto& [handle, flow] : flows)
        if (const auto at_link = flow.weights.find(link); at_link != flow.weights.end()) {
          if (flow.rate >= 0)
            left -= at_link->second * flow.rate;
          else
            weight += at_link->second;
        }
      if (weight > 0) level = std::min(level, std::max(left, 0.0) / weight);
    }
    if (level == kInfinity) return;
    std::vector<double> load(capacities.size(), 0);
    for (const auto& [handle, flow] : flows)
      for (const auto& [link, weight] : flow.weights)
        load[link] += weight * (flow.rate >= 0 ? flow.rate : level);
    for (auto& [handle, flow] : flows)
      if (flow.rate < 0 && std::any_of(flow.weights.begin(), flow.weights.end(), [&](auto& entry) {
            return load[entry.first] >= capacities[entry.first] * (1 - 1e-12);
          }))
        flow.rate = level;
  }
}

/// Drives FluidNetwork through random starts, ends and capacity changes.
class FluidWorld final : public EventHandler {
 public:
  FluidWorld(std::uint64_t seed, std::uint32_t links, bool round)
      : random_(seed), round_(round), network_(draw_links(links)) {}

  FluidNetwork& network() { return network_; }
  const std::vector<double>& capacities() const { return capacities_; }
  std::map<FlowHandle, OracleFlow>& flows() { return flows_; }

  void start() {
    OracleFlow flow;
    const bool coupled = random_.below(6) == 0;
    const auto path = random_path(random_, static_cast<std::uint32_t>(capacities_.size()), 9);
    std::vector<WeightedLink> links;
    for (const std::uint32_t link : path) {
      links.push_back({LinkId{link}, coupled ? 1 + random_.below(5) : 1});
      flow.weights[link] = links.back().weight;
    }
    const double size = round_ ? 1000 : 1 + random_.below(5000);
    const std::uint64_t token = next_token_++;
    const FlowHandle handle =
        coupled ? network_.start_coupled(links, size, Seconds(0), token)
                : network_.start(path_of(path), Bytes(static_cast<std::uint64_t>(size)), Seconds(0),
                                 token);
    if (std::any_of(path.begin(), path.end(), [&](auto link) { return capacities_[link] <= 0; }))
      return;
    handles_[token] = handle;
    for (const auto& [link, weight] : flow.weights) bytes_[link] += weight * size;
    flows_[handle] = flow;
  }
  void change() {
    const std::uint32_t link = random_.below(static_cast<std::uint32_t>(capacities_.size()));
    capacities_[link] = may_fail_ && random_.below(3) == 0 ? 0 : draw_capacity();
    network_.set_capacity(LinkId{link}, bits_per_second(capacities_[link]));
    if (capacities_[link] > 0) return;
    std::erase_if(flows_, [&](const auto& entry) { return entry.second.weights.contains(link); });
  }
  /// One random thing, or several at once.
  void step() {
    const std::uint32_t kind = random_.below(10);
    if (kind < 5)
      for (std::uint32_t i = random_.below(round_ ? 6 : 2); i < 6; ++i) start();
    else if (kind < 6)
      change();
    else
      advance();
  }
  void advance() {
    const double next = network_.next_event(now_);
    if (next == kInfinity) return;
    now_ = next;
    network_.advance(now_, *this);
  }
  void drain() {
    while (network_.next_event(now_) < kInfinity) advance();
  }
  double now() const { return now_; }
  double bytes(std::uint32_t link) { return bytes_[link]; }
  void never_fail() { may_fail_ = false; }

  void on_timer(std::uint64_t) override {}
  void on_flow_done(std::uint64_t token) override { flows_.erase(handles_.at(token)); }
  void on_flow_failed(std::uint64_t, double) override {}

 private:
  double draw_capacity() {
    return round_ ? 100 * (1 + random_.below(3)) : 100 + random_.below(900);
  }
  std::vector<LinkSpec> draw_links(std::uint32_t links) {
    std::vector<LinkSpec> specs;
    for (std::uint32_t i = 0; i < links; ++i) {
      capacities_.push_back(draw_capacity());
      specs.push_back(test::link_of(capacities_.back()));
    }
    return specs;
  }

  Random random_;
  bool round_;
  bool may_fail_ = true;
  std::vector<double> capacities_;
  FluidNetwork network_;
  std::map<FlowHandle, OracleFlow> flows_;
  std::map<std::uint64_t, FlowHandle> handles_;
  std::map<std::uint32_t, double> bytes_;
  std::uint64_t next_token_ = 0;
  double now_ = 0;
};

TEST(FluidModel, GivesTheMaxMinFairRatesAfterAnySequenceOfEvents) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    FluidWorld world(seed, 2 + static_cast<std::uint32_t>(seed % 30), seed % 2 == 0);
    for (int step = 0; step < 80; ++step) {
      world.step();
      world.network().next_event(world.now());
      fill_slowly(world.capacities(), world.flows());
      std::vector<double> load(world.capacities().size(), 0);
      for (const auto& [handle, flow] : world.flows()) {
        const double rate = world.network().rate(handle);
        ASSERT_NEAR(rate, flow.rate, 1e-9 * flow.rate) << "seed " << seed << ", step " << step;
        for (const auto& [link, weight] : flow.weights) load[link] += weight * rate;
      }
      for (std::size_t link = 0; link < load.size(); ++link)
        ASSERT_LE(load[link], world.capacities()[link] * (1 + 1e-12))
            << "seed " << seed << ", step " << step << ", link " << link;
    }
  }
}

TEST(FluidModel, HasAnAccountOfEveryByteAndNoUtilizationAboveOne) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FluidWorld world(seed, 12, seed % 2 == 0);
    world.never_fail();
    for (int step = 0; step < 200; ++step) world.step();
    world.drain();
    EXPECT_EQ(world.network().live_flows(), 0u);
    for (std::uint32_t link = 0; link < 12; ++link) {
      const LinkUse use = world.network().use(LinkId{link});
      EXPECT_EQ(use.bytes, world.bytes(link));
      EXPECT_LE(use.peak_utilization, 1);
      EXPECT_GE(use.peak_utilization, 0);
      EXPECT_LE(use.saturated_s, world.now());
    }
  }
}

TEST(FluidModel, CountsBytesInFlightAsTheyGo) {
  // Two flows at 50 bytes/s each: after the first is done at 2 s, the other has sent as much.
  FluidNetwork network({test::link_of(100)});
  struct Nobody final : EventHandler {
    void on_timer(std::uint64_t) override {}
    void on_flow_done(std::uint64_t) override {}
    void on_flow_failed(std::uint64_t, double) override {}
  } nobody;
  network.start(path_of({0}), Bytes(100), Seconds(0), 0);
  network.start(path_of({0}), Bytes(300), Seconds(0), 1);
  EXPECT_EQ(network.next_event(0), 2);
  network.advance(1, nobody);
  EXPECT_DOUBLE_EQ(network.use(LinkId{0}).bytes, 100);
  network.advance(2, nobody);
  EXPECT_DOUBLE_EQ(network.use(LinkId{0}).bytes, 200);
  EXPECT_DOUBLE_EQ(network.use(LinkId{0}).saturated_s, 2);
  EXPECT_EQ(network.next_event(2), 4);
}

}  // namespace
}  // namespace weft
