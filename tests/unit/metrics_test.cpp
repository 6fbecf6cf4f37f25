// Metrics of a run made up by hand, each against the number worked out on paper; and each law of
// runs, broken on purpose.
#include "sim/metrics.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/tiny_run.h"

namespace weft {
namespace {

using test::TinyRun;
using Json = nlohmann::ordered_json;

TEST(Metrics, IterationTimeIsTheMeanOverIterations) {
  const Metrics m = TinyRun().metrics();
  EXPECT_EQ(m.iterations, (std::vector<double>{1, 2}));
  EXPECT_DOUBLE_EQ(m.iteration_time_s, 1.5);
}

TEST(Metrics, TimeIsSplitByMeansOverRanksAndIterations) {
  const Metrics m = TinyRun().metrics();
  ASSERT_TRUE(m.time);
  EXPECT_DOUBLE_EQ(m.time->compute_s, (1.5 + 2.1) / 4);
  EXPECT_DOUBLE_EQ(m.time->bubble_s, (0.9 + 0.5) / 4);
  EXPECT_DOUBLE_EQ(m.time->idle_s, 0.05);
  EXPECT_DOUBLE_EQ(m.time->exposed_s[0], 0.15);
  EXPECT_DOUBLE_EQ(m.time->exposed_s[1], 0.05);
  EXPECT_DOUBLE_EQ(m.time->overlapped_s[2], 0.2);
}

TEST(Metrics, OnlyTrafficThatLeavesHostsIsExposedOnTheFabric) {
  EXPECT_DOUBLE_EQ(TinyRun().metrics().time->exposed_fabric_s, 0.05);  // pipeline, not tensor
  TinyRun scattered;
  scattered.placement.gpus = {GpuId{0}, GpuId{2}, GpuId{1}, GpuId{3}};
  EXPECT_DOUBLE_EQ(scattered.metrics().time->exposed_fabric_s, 0.15);  // tensor, not pipeline
}

TEST(Metrics, MfuIsModelFlopsOverWhatTheGpusCouldHaveDone) {
  const Metrics m = TinyRun().metrics();
  EXPECT_DOUBLE_EQ(*m.mfu, 3e15 / (4 * 1e15 * 1.5));
  EXPECT_DOUBLE_EQ(*m.hfu, 4.5e15 / (4 * 1e15 * 1.5));
  EXPECT_DOUBLE_EQ(*m.compute_busy, 0.9 / 1.5);
  EXPECT_DOUBLE_EQ(*m.model_tflops_per_gpu, 500);
  EXPECT_DOUBLE_EQ(*m.tokens_per_s, 8000);
  EXPECT_DOUBLE_EQ(*m.samples_per_s, 4);
}

TEST(Metrics, LinksAreUsedByTheirBytesOverCapacityAndTime) {
  const Metrics m = TinyRun().metrics();
  EXPECT_EQ(m.links, 16u);
  EXPECT_EQ(m.links_used, 2u);
  EXPECT_DOUBLE_EQ(m.max_utilization, 6.25e9 / (12.5e9 * 3));
  ASSERT_EQ(m.top_links.size(), 2u);
  EXPECT_EQ(m.top_links[0].link, "host0.nic1->switch0");
  EXPECT_DOUBLE_EQ(*m.top_links[0].saturated_s, 0.3);
  EXPECT_EQ(m.top_links[1].link, "switch0->host1.nic0");
}

TEST(Metrics, TopLinksPutWhereFlowsMissMostFirstThenTheLongestFullThenTheBusiest) {
  TinyRun run;
  run.timeline.links[3] = {9e9, 0, 0.9, 1, true};
  run.timeline.links[4] = {1e9, 0.4, 1, 1, true};
  run.timeline.links[6] = {2e9, 0, 0.9, 1, true};
  std::vector<double> bytes;
  for (const auto& link : run.metrics().top_links) bytes.push_back(link.bytes);
  EXPECT_EQ(bytes, (std::vector<double>{6.25e9, 1e9, 6.25e9, 9e9, 2e9}));
}

TEST(Metrics, TheBottleneckIsWhereSharingAFullLinkCostsMost) {
  TinyRun run;
  // Full longer, but by one flow alone, save for an instant.
  run.timeline.links[4] = {6.25e9, 0.9, 1, 2, true, 1e-6};
  const Metrics m = run.metrics();
  EXPECT_EQ(m.top_links[0].link, "host0.nic1->switch0");
  EXPECT_EQ(m.bottleneck->link, "host0.nic1->switch0");
  run.timeline.links[2].contended_s = run.timeline.links[4].contended_s = 0;
  EXPECT_FALSE(run.metrics().bottleneck);
}

TEST(Metrics, TiersCountAllTheirLinksAndSayHowUnevenTheyAre) {
  const Metrics m = TinyRun().metrics();
  ASSERT_EQ(m.tiers.size(), 2u);
  const TierMetrics& nic = m.tiers[0];
  EXPECT_EQ(nic.tier, "nic");
  EXPECT_EQ(nic.links, 8u);
  EXPECT_EQ(nic.links_used, 2u);
  EXPECT_EQ(nic.links_saturated, 2u);
  EXPECT_DOUBLE_EQ(nic.bytes, 12.5e9);
  EXPECT_DOUBLE_EQ(nic.mean_utilization, 12.5e9 / (8 * 12.5e9 * 3));
  EXPECT_DOUBLE_EQ(*nic.load_balance, 4);  // a quarter of the links carry everything
  EXPECT_EQ(nic.busiest_link, "host0.nic1->switch0");
  EXPECT_EQ(m.tiers[1].tier, "nvlink");
  EXPECT_FALSE(m.tiers[1].load_balance);
}

TEST(Metrics, CollectivesHaveTheBandwidthsOfNcclTests) {
  const Metrics m = TinyRun().metrics();
  ASSERT_EQ(m.collectives.size(), 1u);
  const CollectiveMetrics& c = m.collectives[0];
  EXPECT_EQ(c.group, "tensor");
  EXPECT_TRUE(c.within_hosts);
  EXPECT_DOUBLE_EQ(c.mean_s, 1e-3);
  EXPECT_DOUBLE_EQ(*c.algbw_bps, 800e9);
  EXPECT_DOUBLE_EQ(*c.busbw_bps, 800e9);
}

TEST(Metrics, SummaryHasEveryPromisedField) {
  const Json json = to_json(TinyRun().metrics());
  for (const char* path : {"/schema",
                           "/scenario",
                           "/seed",
                           "/iteration_time_s",
                           "/iterations",
                           "/time/compute_s",
                           "/time/bubble_s",
                           "/time/idle_s",
                           "/time/exposed_s/tensor",
                           "/time/exposed_s/pipeline",
                           "/time/exposed_s/data",
                           "/time/exposed_s/context",
                           "/time/exposed_s/expert",
                           "/time/exposed_s/other",
                           "/time/overlapped_s/other",
                           "/utilization/mfu",
                           "/utilization/hfu",
                           "/utilization/compute_busy",
                           "/throughput/tokens_per_s",
                           "/throughput/samples_per_s",
                           "/throughput/model_tflops_per_gpu",
                           "/fabric/kind",
                           "/fabric/hosts",
                           "/fabric/gpus",
                           "/fabric/switches",
                           "/fabric/cables",
                           "/fabric/diameter_hops",
                           "/fabric/bisection_bps",
                           "/fabric/oversubscription",
                           "/network/flows",
                           "/network/bytes",
                           "/network/fct_s/p50",
                           "/network/fct_s/p99",
                           "/network/fct_s/max",
                           "/network/slowdown/mean",
                           "/network/slowdown/p99",
                           "/network/slowdown/max",
                           "/network/links_used",
                           "/network/max_utilization",
                           "/network/top_links/0/link",
                           "/network/top_links/0/tier",
                           "/network/top_links/0/bytes",
                           "/network/top_links/0/mean_utilization",
                           "/network/top_links/0/peak_utilization",
                           "/network/top_links/0/saturated_s",
                           "/network/top_links/0/peak_flows",
                           "/collectives/0/operation",
                           "/collectives/0/group",
                           "/collectives/0/algorithm",
                           "/collectives/0/ranks",
                           "/collectives/0/size_bytes",
                           "/collectives/0/count",
                           "/collectives/0/mean_s",
                           "/collectives/0/algbw_bps",
                           "/collectives/0/busbw_bps",
                           "/memory/per_gpu_max_bytes",
                           "/memory/capacity_bytes",
                           "/memory/fits"}) {
    ASSERT_TRUE(json.contains(Json::json_pointer(path))) << path;
    EXPECT_FALSE(json.at(Json::json_pointer(path)).is_null()) << path;
  }
  EXPECT_EQ(json["network"]["bytes"].dump(), "6250000000");
  EXPECT_EQ(json["network"]["fct_s"]["p50"], 0.1);
  EXPECT_EQ(json["network"]["fct_s"]["p99"], 0.3);
  EXPECT_EQ(json["network"]["slowdown"]["mean"], 1.2);
  EXPECT_EQ(json["memory"]["per_gpu_max_bytes"], 100);
  EXPECT_EQ(json["memory"]["fits"], true);
}

TEST(Metrics, SummaryComesBackFromItsTextUnchanged) {
  const std::string text = to_json(TinyRun().metrics()).dump(2);
  EXPECT_EQ(Json::parse(text).dump(2), text);
}

TEST(Metrics, WhatAModelOfTheNetworkDoesNotKnowIsNull) {
  TinyRun run;
  for (LinkUse& use : run.timeline.links) use.rates_known = false;
  const Json json = to_json(run.metrics());
  EXPECT_TRUE(json["network"]["top_links"][0]["saturated_s"].is_null());
  EXPECT_TRUE(json["network"]["top_links"][0]["peak_utilization"].is_null());
  EXPECT_TRUE(json["network"]["tiers"][0]["peak_utilization"].is_null());
  EXPECT_EQ(json["network"]["bottleneck"]["link"], "host0.nic1->switch0");
}

TEST(Metrics, AWorkloadOfFlowsHasNoModelAndNoRanks) {
  TinyRun run;
  run.workload = {};
  run.workload.kind = "flows";
  run.timeline.workers.clear();
  run.timeline.first_rank.clear();
  run.timeline.lanes.clear();
  run.timeline.collectives.clear();
  run.timeline.iteration_end = {3};
  const Json json = to_json(run.metrics());
  EXPECT_EQ(json["iteration_time_s"], 3.0);
  for (const char* path :
       {"/time/compute_s", "/time/exposed_s/data", "/utilization/mfu", "/utilization/compute_busy",
        "/throughput/tokens_per_s", "/memory/per_gpu_max_bytes", "/memory/fits"})
    EXPECT_TRUE(json.at(Json::json_pointer(path)).is_null()) << path;
  EXPECT_TRUE(
      broken_invariants(run.network, run.workload, run.placement, run.timeline, run.metrics())
          .empty());
}

TEST(Metrics, AnEmptyTimelineHasNoNumberThatIsNotOne) {
  TinyRun run;
  run.timeline = {};
  run.timeline.links.resize(16);
  run.timeline.iteration_end = {0, 0};
  const Metrics m = run.metrics();
  EXPECT_TRUE(broken_invariants(run.network, run.workload, run.placement, run.timeline, m).empty());
  EXPECT_TRUE(to_json(m)["network"]["fct_s"]["p50"].is_null());
}

// ---- laws --------------------------------------------------------------------------------------

std::vector<std::string> broken(const TinyRun& run) {
  return broken_invariants(run.network, run.workload, run.placement, run.timeline, run.metrics());
}

void expect_one(const std::vector<std::string>& texts, const std::string& text) {
  EXPECT_EQ(texts, std::vector<std::string>{text});
}

TEST(Laws, ASoundRunBreaksNone) { EXPECT_EQ(broken(TinyRun()), std::vector<std::string>{}); }

TEST(Laws, BytesOnLinksAreFlowBytesTimesHops) {
  TinyRun run;
  run.timeline.link_bytes += 100;
  expect_one(broken(run), "links carried 12500000000 bytes, but flow bytes x hops are 12500000100");
}

TEST(Laws, NoLinkIsAboveItsCapacity) {
  TinyRun run;
  run.timeline.links[2].peak_utilization = 1.001;
  expect_one(broken(run), "link host0.nic1->switch0 was loaded to 1.001 of its capacity");
  run.timeline.links[2].peak_utilization = 1 + 1e-12;
  EXPECT_TRUE(broken(run).empty());
  EXPECT_EQ(run.metrics().top_links[0].peak_utilization, 1.0);
}

TEST(Laws, NoLinkCarriesMoreThanItsCapacityTimesTheTime) {
  TinyRun run;
  run.timeline.links[2].bytes += 37.5e9;
  run.timeline.link_bytes += 37.5e9;
  expect_one(
      broken(run),
      "link host0.nic1->switch0 carried 43750000000 bytes, at most 37500000000 fit into 3 s");
}

TEST(Laws, TheSharesOfAWorkersTimeAddUpToItsIterations) {
  TinyRun run;
  run.timeline.workers[1].idle += 1e-6;
  EXPECT_EQ(broken(run).size(), 1u);
  EXPECT_EQ(broken(run)[0].substr(0, 27), "worker 1: compute 2.1 + exp");
  run.timeline.workers[1].idle -= 1e-6;
  run.timeline.workers[0].idle = -0.1;
  run.timeline.workers[0].bubble = 1.1;
  expect_one(broken(run), "worker 0 has a negative share of time");
}

TEST(Laws, ARingIsNoFasterThanItsSlowestPort) {
  TinyRun run;
  run.timeline.collectives[0].total_s = 7.9e-3;
  EXPECT_EQ(broken(run).size(), 1u);
  // Across hosts it is the NIC that counts: 8 times slower.
  run.timeline.collectives[0].communicator = 1;
  run.timeline.collectives[0].ranks = 4;
  run.timeline.collectives[0].total_s = 8 * 1.5 * 0.1e9 / 12.5e9;
  EXPECT_TRUE(broken(run).empty());
  run.timeline.collectives[0].total_s *= 0.99;
  EXPECT_EQ(broken(run).size(), 1u);
}

TEST(Laws, ADirectExchangeMayUseNvlinkBesideTheNic) {
  TinyRun run;
  CollectiveStats& stats = run.timeline.collectives[0];
  stats.communicator = 1;
  stats.ranks = 4;
  stats.algorithm = 1;
  // Two of three peers are on the other host.
  stats.total_s = 8 * 1.5 * 0.1e9 * 2 / 3 / 12.5e9;
  EXPECT_TRUE(broken(run).empty());
  stats.total_s *= 0.99;
  EXPECT_EQ(broken(run).size(), 1u);
}

TEST(Laws, UtilisationIsWithinZeroAndOne) {
  TinyRun run;
  run.workload.compute.hardware = Flops(7e15);
  EXPECT_EQ(broken(run).size(), 1u);
  EXPECT_EQ(broken(run)[0].substr(0, 7), "hfu is ");
}

TEST(Laws, NothingIsNanOrInfinite) {
  TinyRun run;
  run.facts.bisection = BitsPerSecond(std::numeric_limits<double>::quiet_NaN());
  run.facts.oversubscription = kInfinity;
  EXPECT_EQ(broken(run), (std::vector<std::string>{"/fabric/bisection_bps is not finite",
                                                   "/fabric/oversubscription is not finite"}));
}

}  // namespace
}  // namespace weft
