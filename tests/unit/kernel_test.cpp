// The kernel's clock and timers, and what both network models must agree on, on worlds small enough
// for the answer to be worked out by hand.
#include <gtest/gtest.h>

#include <csignal>
#include <stdexcept>

#include "sim/check.h"
#include "sim/network_model.h"
#include "tests/support/network_script.h"

namespace weft {
namespace {

using test::in_child;
using test::link_of;
using test::Outcome;
using test::path_of;
using test::play;
using test::Script;
using test::ScriptRun;

constexpr double kExact = 1e-9;      // relative
constexpr double k100Gbps = 12.5e9;  // bytes/s
constexpr double kLatency = 1e-6;    // seconds

void expect_near(double value, double expected) { EXPECT_NEAR(value, expected, kExact * expected); }

class BothModels : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Kernel, BothModels, testing::Values("fluid", "simgrid_cm02"));

TEST_P(BothModels, SendOneGigabyteOver100GbpsIn80MillisecondsAndOneLatency) {
  const auto flows = play(GetParam(), {{link_of(k100Gbps, kLatency)}, {{{0}, 1'000'000'000}}, {}});
  expect_near(flows[0].end, 0.080001);
}

TEST_P(BothModels, SendBothWaysOfACableWithoutSharing) {
  const auto flows = play(GetParam(), {{link_of(k100Gbps, kLatency), link_of(k100Gbps, kLatency)},
                                       {{{0}, 1'000'000'000}, {{1}, 1'000'000'000}},
                                       {}});
  expect_near(flows[0].end, 0.080001);
  expect_near(flows[1].end, 0.080001);
}

/// Starts the next of `chunks` chunks when one is done.
class Chunks final : public EventHandler {
 public:
  Chunks(const std::string& model, int chunks)
      : kernel_(model, {link_of(k100Gbps, kLatency)}, *this), left_(chunks) {}
  double run() {
    kernel_.at(0, 0);
    kernel_.run();
    return kernel_.now();
  }
  void on_timer(std::uint64_t) override { next(); }
  void on_flow_done(std::uint64_t) override { next(); }
  void on_flow_failed(std::uint64_t, double) override {}

 private:
  void next() {
    if (left_-- == 0) return;
    kernel_.network().start(path_of({0}), Bytes(1'000'000), Seconds(kLatency), 0);
  }
  Kernel kernel_;
  int left_;
};

TEST_P(BothModels, ChargeTheLatencyOfEachChunkOfASequence) {
  const int chunks = 100;
  const auto end = in_child([&] { return std::vector{Chunks(GetParam(), chunks).run()}; });
  expect_near(end[0], chunks * (1e6 / k100Gbps + kLatency));
}

TEST_P(BothModels, HalveALinkBetweenTwoFlowsAndSpeedUpTheOneThatIsLeft) {
  // 1000 bytes each at half the rate until the small one ends; then the large one has it all.
  const auto flows = play(GetParam(), {{link_of(1000)}, {{{0}, 1000}, {{0}, 3000}}, {}});
  expect_near(flows[0].end, 2);
  expect_near(flows[1].end, 4);
}

TEST_P(BothModels, GiveWhatAFlowCannotUseToTheOthers) {
  // a crosses both links and is held to 100 by the second: b gets 900 of the first.
  const auto flows =
      play(GetParam(), {{link_of(1000), link_of(100)}, {{{0, 1}, 1000}, {{0}, 9000}}, {}});
  expect_near(flows[0].end, 10);
  expect_near(flows[1].end, 10);
}

TEST_P(BothModels, IgnoreLatencyWhenTheyShare) {
  // One flow over 2 us, one over 2 ms more: both get half once both send.
  const auto flows = play(GetParam(), {{link_of(1e6, 0), link_of(1e9, 0.002), link_of(1e9, 2e-6)},
                                       {{{0, 1}, 10'000}, {{0, 2}, 10'000}},
                                       {}});
  // The second sends alone from 2e-6 to 0.002: 1998 bytes. The rest, 8002, at half the rate; the
  // first has 1998 left then and goes at full rate.
  expect_near(flows[1].end, 0.002 + 8002 / 0.5e6);
  expect_near(flows[0].end, 0.002 + 8002 / 0.5e6 + 1998 / 1e6);
}

TEST_P(BothModels, EndAnEmptyFlowAfterItsLatency) {
  const auto flows =
      play(GetParam(),
           {{link_of(1000, 0.25), link_of(1000, 0)}, {{{0}, 0}, {{1}, 0}, {{1}, 1000, 1}}, {}});
  expect_near(flows[0].end, 0.25);
  EXPECT_EQ(flows[1].end, 0);
  expect_near(flows[2].end, 2);
}

TEST_P(BothModels, KeepTheBytesOfAVeryLargeFlow) {
  const auto flows = play(GetParam(), {{link_of(50e9, kLatency)}, {{{0}, 16'000'000'000}}, {}});
  expect_near(flows[0].end, 0.32 + kLatency);
}

TEST_P(BothModels, TakeTwoSharesForAFlowThatCrossesALinkTwice) {
  // Rates x and y with 2x + y = 900 and x = y: 300 each.
  const auto flows = play(GetParam(), {{link_of(900)}, {{{0, 0}, 300}, {{0}, 300}}, {}});
  expect_near(flows[0].end, 1);
  expect_near(flows[1].end, 1);
}

TEST_P(BothModels, FollowACapacityThatChangesInFlight) {
  // 500 bytes in the first half second, then 250 bytes/s for two seconds: all 1000 by 2.5 s.
  const auto flows = play(GetParam(), {{link_of(1000)}, {{{0}, 1000}}, {{0, 250, 0.5}}});
  expect_near(flows[0].end, 2.5);
}

TEST_P(BothModels, FailTheFlowsOfALinkThatGoesDownWithTheBytesLeft) {
  const Script script{{link_of(1000), link_of(1000)},
                      {{{0, 1}, 1000}, {{0}, 1000}, {{1}, 500, 2}, {{0}, 700, 3}},
                      {{1, 0, 0.5}, {1, 500, 2.5}}};
  const auto flows = play(GetParam(), script);
  expect_near(flows[0].end, 0.5);  // half a second at half of the link
  expect_near(flows[0].left, 750);
  expect_near(flows[1].end, 1.25);  // the other has it all from then on
  EXPECT_EQ(flows[1].left, -1);
  expect_near(flows[2].end, 2);  // started on a link that is down
  expect_near(flows[2].left, 500);
  expect_near(flows[3].end, 3.7);
}

TEST_P(BothModels, FailAFlowThatIsStillInItsLatencyPhase) {
  const auto flows =
      play(GetParam(), {{link_of(1000, 1), link_of(1000, 1)}, {{{0, 1}, 1000}}, {{1, 0, 0.5}}});
  expect_near(flows[0].end, 0.5);
  expect_near(flows[0].left, 1000);
}

TEST_P(BothModels, UseALinkAgainOnceItIsBackUp) {
  const auto flows = play(GetParam(), {{link_of(1000)},
                                       {{{0}, 1000}, {{0}, 1000, 2}, {{0}, 1000, 2}},
                                       {{0, 0, 0.25}, {0, 4000, 1}}});
  expect_near(flows[0].left, 750);
  expect_near(flows[1].end, 2.5);
  expect_near(flows[2].end, 2.5);
}

TEST_P(BothModels, StartWithALinkThatIsDown) {
  const auto flows = play(GetParam(), {{link_of(0)}, {{{0}, 10}, {{0}, 1000, 2}}, {{0, 500, 1}}});
  EXPECT_EQ(flows[0].end, 0);
  EXPECT_EQ(flows[0].left, 10);
  expect_near(flows[1].end, 4);
}

TEST_P(BothModels, TellOfEqualEndsInTheOrderOfStarting) {
  // Flows of three different sizes at three different rates, all done after one second.
  Script script{{link_of(100), link_of(200), link_of(300)}, {}, {}};
  for (std::uint32_t i = 0; i < 30; ++i)
    script.flows.push_back({{(7 * i) % 3}, 10 * (1 + (7 * i) % 3)});
  const auto flows = play(GetParam(), script);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    expect_near(flows[i].end, 1);
    EXPECT_EQ(flows[i].place, i);
  }
}

TEST_P(BothModels, CountTheBytesOfDoneAndOfFailedFlows) {
  const auto bytes = in_child([&] {
    const Script script{
        {link_of(1000), link_of(1000)}, {{{0, 1}, 1001}, {{0}, 1}, {{1}, 999, 10}}, {{1, 0, 10.5}}};
    ScriptRun run(GetParam(), script);
    run.run();
    return std::vector{run.use(0).bytes, run.use(1).bytes,
                       static_cast<double>(run.use(0).peak_flows),
                       static_cast<double>(run.kernel().network().flows_started())};
  });
  EXPECT_EQ(bytes[0], 1002);
  expect_near(bytes[1], 1001 + 500);
  EXPECT_EQ(bytes[2], 2);
  EXPECT_EQ(bytes[3], 3);
}

TEST(FluidModel, KnowsSaturatedTimeAndPeakUtilization) {
  // Link 0 is full for 2 s; link 1 (twice the capacity) is half full then, and full for one
  // more second, with the flow that it has to itself.
  const auto use = in_child([&] {
    const Script script{{link_of(1000), link_of(2000)}, {{{0, 1}, 2000}, {{1}, 2000, 2}}, {}};
    ScriptRun run("fluid", script);
    run.run();
    return std::vector{run.use(0), run.use(1)};
  });
  EXPECT_TRUE(use[0].rates_known);
  expect_near(use[0].saturated_s, 2);
  expect_near(use[0].peak_utilization, 1);
  expect_near(use[1].saturated_s, 1);
  expect_near(use[1].peak_utilization, 1);
  EXPECT_EQ(use[1].peak_flows, 1);
}

/// A coupled flow of weight 3 on a link of 1000 and of weight 1 on one of 1000, beside one plain
/// flow on the first.
class CoupledBesidePlain final : public EventHandler {
 public:
  CoupledBesidePlain() : kernel_("fluid", {link_of(1000), link_of(1000)}, *this) {}
  std::vector<double> run() {
    kernel_.at(0, 0);
    kernel_.run();
    const LinkUse first = kernel_.network().use(LinkId{0});
    const LinkUse second = kernel_.network().use(LinkId{1});
    return {ends_[0],
            ends_[1],
            static_cast<double>(first.peak_flows),
            first.bytes,
            second.bytes,
            first.saturated_s,
            second.peak_utilization};
  }
  void on_timer(std::uint64_t) override {
    // The link of weight 3 is given in two parts.
    const std::vector<WeightedLink> links = {{LinkId{0}, 1}, {LinkId{1}, 1}, {LinkId{0}, 2}};
    kernel_.network().start_coupled(links, 500, Seconds(0), 0);
    kernel_.network().start(path_of({0}), Bytes(750), Seconds(0), 1);
  }
  void on_flow_done(std::uint64_t token) override { ends_[token] = kernel_.now(); }
  void on_flow_failed(std::uint64_t, double) override {}

 private:
  Kernel kernel_;
  double ends_[2] = {-1, -1};
};

TEST(FluidModel, LetsACoupledFlowTakeAShareForEachOfItsMembers) {
  // Four shares of 250: 500 bytes for each member take 2 s. The plain flow has sent 500 by then and
  // sends its last 250 at full rate.
  const auto got = in_child([] { return CoupledBesidePlain().run(); });
  expect_near(got[0], 2);
  expect_near(got[1], 2.25);
  EXPECT_EQ(got[2], 4);
  EXPECT_EQ(got[3], 3 * 500 + 750);
  EXPECT_EQ(got[4], 500);
  expect_near(got[5], 2.25);
  expect_near(got[6], 0.25);
}

/// Notes when timers ring.
class Ringer final : public EventHandler {
 public:
  explicit Ringer(const std::string& model) : kernel_(model, {link_of(1000)}, *this) {}
  Kernel& kernel() { return kernel_; }
  const std::vector<double>& rung() const { return rung_; }
  void on_timer(std::uint64_t token) override {
    rung_.push_back(static_cast<double>(token));
    rung_.push_back(kernel_.now());
    if (token == 7) kernel_.at(kernel_.now(), 100);  // now, but after all that was due
    if (token == 66) throw std::runtime_error("sixty-six");
    if (token == 99) kernel_.stop();
  }
  void on_flow_done(std::uint64_t token) override {
    rung_.push_back(-static_cast<double>(token));
    rung_.push_back(kernel_.now());
  }
  void on_flow_failed(std::uint64_t, double) override {}

 private:
  Kernel kernel_;
  std::vector<double> rung_;
};

TEST_P(BothModels, RingTimersByTimeAndThenInTheOrderOfSetting) {
  const auto rung = in_child([&] {
    Ringer ringer(GetParam());
    ringer.kernel().at(2, 1);
    ringer.kernel().at(1, 7);
    ringer.kernel().at(1, 3);
    ringer.kernel().at(0, 4);
    ringer.kernel().at(1, 5);
    ringer.kernel().run();
    ringer.kernel().at(3, 6);  // a second run goes on from there
    ringer.kernel().run();
    return ringer.rung();
  });
  EXPECT_EQ(rung, (std::vector<double>{4, 0, 7, 1, 3, 1, 5, 1, 100, 1, 1, 2, 6, 3}));
}

TEST_P(BothModels, TellOfFlowsBeforeTimersOfTheSameInstant) {
  const auto rung = in_child([&] {
    Ringer ringer(GetParam());
    ringer.kernel().at(1, 1);
    ringer.kernel().network().start(path_of({0}), Bytes(1000), Seconds(0), 5);
    ringer.kernel().run();
    return ringer.rung();
  });
  EXPECT_EQ(rung, (std::vector<double>{-5, 1, 1, 1}));
}

TEST_P(BothModels, StopAfterTheInstantAndLeaveFlowsUnfinished) {
  const auto rung = in_child([&] {
    Ringer ringer(GetParam());
    ringer.kernel().at(1, 99);
    ringer.kernel().at(1, 2);
    ringer.kernel().at(2, 3);
    ringer.kernel().network().start(path_of({0}), Bytes(5000), Seconds(0), 5);
    ringer.kernel().run();
    std::vector<double> all = ringer.rung();
    all.push_back(ringer.kernel().now());
    return all;
  });
  EXPECT_EQ(rung, (std::vector<double>{99, 1, 2, 1, 1}));
}

TEST_P(BothModels, ThrowFromRunWhatAHandlerThrows) {
  const auto run = [&] {
    return in_child([&] {
      Ringer ringer(GetParam());
      ringer.kernel().at(1, 66);
      ringer.kernel().at(2, 3);
      ringer.kernel().network().start(path_of({0}), Bytes(5000), Seconds(0), 5);
      ringer.kernel().run();
      return ringer.rung();
    });
  };
  try {
    run();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "sixty-six");
  }
}

TEST(Kernel, IsOneForEachProcess) {
  const auto result = in_child([] {
    { Ringer first("fluid"); }
    try {
      Ringer second("fluid");
    } catch (const InternalError&) {
      return std::vector{1};
    }
    return std::vector{0};
  });
  EXPECT_EQ(result[0], 1);
}

TEST(Kernel, LeavesCtrlCToTheProgram) {
  const auto kept = in_child([] {
    std::signal(SIGINT, SIG_IGN);
    Ringer ringer("fluid");
    return std::vector{std::signal(SIGINT, SIG_DFL) == SIG_IGN ? 1 : 0};
  });
  EXPECT_EQ(kept[0], 1);
}

TEST(Kernel, ListsItsModels) {
  ASSERT_EQ(network_model_catalog().size(), 2u);
  EXPECT_EQ(network_model_catalog()[0].name, "fluid");
  EXPECT_EQ(network_model_catalog()[1].name, "simgrid_cm02");
}

}  // namespace
}  // namespace weft
