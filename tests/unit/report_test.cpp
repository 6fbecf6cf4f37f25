// Files and terminal texts of a run made up by hand, compared whole.
#include "sim/report.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "sim/config.h"
#include "tests/support/tiny_run.h"

namespace weft {
namespace {

using test::TinyRun;
using Json = nlohmann::ordered_json;

Json tiny_summary() { return to_json(TinyRun().metrics()); }

/// The tiny run on a fabric whose links of tier "global" are shared by eight flows each.
Json congested_summary() {
  Json s = tiny_summary();
  s["fabric"]["kind"] = "dragonfly";
  s["fabric"]["switches"] = 36;
  s["iteration_time_s"] = 2.0;
  s["iterations"] = {2.0, 2.0};
  s["time"]["exposed_s"]["pipeline"] = 0.55;
  s["time"]["exposed_fabric_s"] = 0.55;
  s["network"]["slowdown"] = {{"mean", 7.9}, {"p50", 8.0}, {"p99", 8.0}, {"max", 8.0}};
  s["network"]["bottleneck"] = {{"link", "router0.1->router1.0"},
                                {"tier", "global"},
                                {"mean_utilization", 0.6},
                                {"saturated_s", 3.2},
                                {"peak_flows", 8}};
  return s;
}

/// The tiny run without communication on the fabric to speak of.
Json quiet_summary() {
  Json s = tiny_summary();
  s["time"]["exposed_fabric_s"] = 0.0045;
  return s;
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(RunReport, SaysWhatMattersFirstThenShowsTables) {
  EXPECT_EQ(run_report(tiny_summary()),
            R"(tiny: 4 GPUs on single_switch (1 switch, 4 cables), routing ecmp, network model fluid

An iteration takes 1.5 s: 60.0 % compute, 23.3 % pipeline bubble, 13.3 % exposed communication
(tensor 10.0 %, pipeline 3.3 %) and 3.3 % idle.
The network matters: communication on the fabric is exposed for 3.3 % of the iteration.
Flows take 1.2 times as long as alone on average (99th percentile 3); up to 2 share
host0.nic1->switch0 (tier nic), full for 10.0 % of the run.

Time of an iteration, mean over ranks
  compute                         900 ms  60.0 %
  exposed tensor communication    150 ms  10.0 %
  exposed pipeline communication   50 ms   3.3 %
  pipeline bubble                 350 ms  23.3 %
  idle                             50 ms   3.3 %
  iteration                        1.5 s
  overlapped data communication   200 ms  13.3 %

GPUs
  MFU                                50.0 %
  HFU                                75.0 %
  tokens per second                    8000
  samples per second                      4
  model TFLOP/s per GPU                 500
  memory of the fullest GPU  100 B of 80 GB

Flows
  flows                               10 (and 32 stood for)
  bytes                               6.25 GB
  completion, mean / p50 / p99 / max  120 ms / 100 ms / 300 ms / 300 ms
  slowdown, mean / p50 / p99 / max    1.2x / 1x / 3x / 3x

Tiers of links
  tier    links  used    bytes  mean use  busiest  max/mean  full
  nic         8     2  12.5 GB     4.2 %   16.7 %         4     2
  nvlink      8     0      0 B       0 %      0 %         -     0

Busiest links
  link                 tier    bytes  mean use  peak use  time full  flows at once
  host0.nic1->switch0  nic   6.25 GB    16.7 %   100.0 %     300 ms              2
  switch0->host1.nic0  nic   6.25 GB    16.7 %    50.0 %     200 ms              1

Collectives
  collective              ranks    size  times  mean     algbw     busbw         mode
  tensor ring all_reduce      2  100 MB      8  1 ms  800 Gb/s  800 Gb/s  closed form
)");
}

TEST(RunReport, FitsAHundredColumnsWhateverTheNames) {
  Json summary = congested_summary();
  summary["scenario"] = std::string(150, 'x');
  summary["network"]["top_links"][0]["link"] = std::string(90, 'r') + "->" + std::string(90, 'q');
  summary["collectives"][0]["group"] = std::string(120, 'g');
  const std::string text = run_report(summary);
  // A word that is longer than a line cannot be broken.
  EXPECT_LE(longest_line(text.substr(text.find("An iteration"))), 100u);
}

TEST(RunReport, IsMadeFromTheFileAlone) {
  const Json summary = congested_summary();
  EXPECT_EQ(run_report(Json::parse(summary.dump())), run_report(summary));
}

TEST(Headline, SaysThatTheNetworkDoesNotMatter) {
  EXPECT_EQ(headline(quiet_summary())[1],
            "Exposed communication on the fabric is 0.3 % of the iteration: the network does not "
            "matter for this job.");
  EXPECT_EQ(headline(quiet_summary()).size(), 2u);
}

TEST(Headline, NamesTheLinkThatFlowsShare) {
  EXPECT_EQ(headline(congested_summary())[2],
            "Flows take 7.9 times as long as alone on average (99th percentile 8); up to 8 share "
            "router0.1->router1.0 (tier global), full for 80.0 % of the run.");
}

TEST(Headline, UsesTheMeanWhereTheModelKnowsNoRates) {
  Json summary = congested_summary();
  summary["network"]["bottleneck"]["saturated_s"] = nullptr;
  EXPECT_EQ(headline(summary)[2],
            "Flows take 7.9 times as long as alone on average (99th percentile 8); up to 8 share "
            "router0.1->router1.0 (tier global), 60.0 % utilised on average.");
}

TEST(Headline, TellsCongestionFromLinksThatAreSlow) {
  Json summary = tiny_summary();
  summary["network"]["slowdown"]["mean"] = 1.01;
  EXPECT_EQ(headline(summary)[2],
            "Flows hardly slow each other down (1.01 times their time alone on average): the rates "
            "and latencies of the links count, not congestion; the busiest link, "
            "host0.nic1->switch0 (tier nic), is 16.7 % utilised.");
}

TEST(Headline, SaysWhenAJobDoesNotFitIntoMemory) {
  TinyRun run;
  run.workload.memory.weights = Bytes(90'000'000'000);
  EXPECT_EQ(headline(to_json(run.metrics())).back(),
            "It does not fit: stage 1 needs 90 GB per GPU, which has 80 GB.");
}

TEST(Headline, GivesACollectivesBandwidths) {
  TinyRun run;
  for (Account& account : run.timeline.workers) account.compute = 0;
  EXPECT_EQ(
      headline(to_json(run.metrics()))[0],
      "An all_reduce of 100 MB over 2 ranks (ring) takes 1 ms: algbw 800 Gb/s, busbw 800 Gb/s.");
}

TEST(Headline, OfFlowsAloneSaysWhenTheLastHasArrived) {
  TinyRun run;
  run.timeline.workers.clear();
  run.timeline.collectives.clear();
  EXPECT_EQ(headline(to_json(run.metrics()))[0], "Everything has arrived after 1.5 s.");
}

TEST(Comparison, LeadsWithWhatDiffersAndNamesTheReason) {
  EXPECT_EQ(comparison_report({{"fat_tree", tiny_summary()}, {"dragonfly", congested_summary()}}),
            R"(tiny: 4 GPUs on fat_tree and dragonfly

fat_tree is the fastest: 1.5 s per iteration; dragonfly takes 2 s (1.333x).
What dragonfly loses is mostly exposed pipeline communication: 550 ms against 50 ms.
On dragonfly flows take 7.9 times as long as alone on average (99th percentile 8); up to 8 share
router0.1->router1.0 (tier global), full for 80.0 % of the run.

  what differs                    fat_tree  dragonfly
  iteration time                     1.5 s        2 s
    of the fastest                      1x     1.333x
  exposed pipeline communication     50 ms     550 ms
  flow slowdown, mean                 1.2x       7.9x
  flow slowdown, p99                    3x         8x
  flow slowdown, max                    3x         8x
  switches                               1         36

The same on all (within 0.1 %)
  compute                           900 ms
  exposed tensor communication      150 ms
  pipeline bubble                   350 ms
  idle                               50 ms
  overlapped data communication     200 ms
  MFU                               50.0 %
  tokens per second                   8000
  samples per second                     4
  model TFLOP/s per GPU                500
  flow completion, p50              100 ms
  flow completion, p99              300 ms
  flow completion, max              300 ms
  busbw tensor all_reduce 100 MB  800 Gb/s
  busiest link, mean use            16.7 %
  links used                             2
  flows                                 10
  bytes sent                       6.25 GB
  cables                                 4
  diameter, hops                         2
  bisection                       200 Gb/s
  oversubscription                       1
  GPU memory needed                  100 B

Busiest link of each
  fat_tree   host0.nic1->switch0 (tier nic)      16.7 % used  full 300 ms  2 flows at once
  dragonfly  router0.1->router1.0 (tier global)  60.0 % used   full 3.2 s  8 flows at once
)");
}

std::vector<std::string> sentences(const std::vector<NamedSummary>& runs) {
  return compare(runs)["sentences"].get<std::vector<std::string>>();
}

TEST(Comparison, SaysWhenTheNetworkDoesNotMatter) {
  Json other = quiet_summary();
  other["iteration_time_s"] = 1.503;
  EXPECT_EQ(sentences({{"a", quiet_summary()}, {"b", other}}),
            std::vector<std::string>{
                "The network does not matter for this job: an iteration takes 1.5 s on each, "
                "within 0.2 %, and at most 0.3 % of it is exposed communication on the fabric."});
  const Json json = compare({{"a", quiet_summary()}, {"b", other}});
  EXPECT_EQ(json["network_matters"], false);
  EXPECT_EQ(json["fabrics_differ"], false);
}

TEST(Comparison, DoesNotCallTheNetworkUnimportantWhereAllFabricsSufferAlike) {
  EXPECT_EQ(
      sentences({{"a", tiny_summary()}, {"b", tiny_summary()}}),
      (std::vector<std::string>{
          "The choice between these fabrics does not matter for this job: it takes 1.5 s on each.",
          "Communication on the fabric is exposed for up to 3.3 % of the iteration, though."}));
}

TEST(Comparison, NamesLongerPathsWhereNothingIsCongested) {
  Json slow = congested_summary();
  slow["network"]["slowdown"]["mean"] = 1.0;
  slow["network"]["fct_s"]["mean"] = 0.5;
  EXPECT_EQ(sentences({{"a", tiny_summary()}, {"b", slow}}).back(),
            "That is not congestion: on b flows take 1 times their time alone; its paths are "
            "longer or its links slower (a flow takes 500 ms on average, 120 ms on a).");
}

TEST(Comparison, FitsAHundredColumnsWithManyFabrics) {
  std::vector<NamedSummary> runs;
  for (int i = 0; i < 9; ++i)
    runs.push_back({"a_rather_long_fabric_name_" + std::to_string(i),
                    i % 2 == 0 ? tiny_summary() : congested_summary()});
  const std::string text = comparison_report(runs);
  EXPECT_LE(longest_line(text), 100u);
  EXPECT_NE(text.find("\n\n  what differs", text.find("what differs")), std::string::npos);
}

TEST(Comparison, JsonHasTheWinnerAndTheRatios) {
  const Json json = compare({{"dragonfly", congested_summary()}, {"fat_tree", tiny_summary()}});
  EXPECT_EQ(json["winner"], "fat_tree");
  EXPECT_EQ(json["slowest"], "dragonfly");
  EXPECT_EQ(json["network_matters"], true);
  EXPECT_EQ(json["largest_difference"].dump(),
            R"({"part":"exposed pipeline communication","winner_s":0.05,"slowest_s":0.55})");
  EXPECT_EQ(json["fabrics"][0]["name"], "dragonfly");
  EXPECT_EQ(json["fabrics"][0]["ratio_to_winner"], 2.0 / 1.5);
  EXPECT_EQ(json["fabrics"][1]["ratio_to_winner"], 1.0);
  EXPECT_EQ(json["fabrics"][1]["mfu"], 0.5);
}

TEST(Comparison, OfOneRunIsThatRun) {
  EXPECT_EQ(sentences({{"a", tiny_summary()}}), headline(tiny_summary()));
}

TEST(Comparison, WorksWhereARunHasNoTimeSplit) {
  TinyRun run;
  run.timeline.workers.clear();
  run.timeline.collectives.clear();
  Json slow = to_json(run.metrics());
  slow["iteration_time_s"] = 3.0;
  EXPECT_EQ(sentences({{"a", to_json(run.metrics())}, {"b", slow}})[0],
            "a is the fastest: 1.5 s; b takes 3 s (2x).");
}

// ---- files -------------------------------------------------------------------------------------

/// A folder of this test's own, gone when it ends.
class Files : public testing::Test {
 protected:
  Files() {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("weft_files_") +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
  }
  ~Files() override { std::filesystem::remove_all(folder_); }

  void write(const TinyRun& run) const {
    write_files(folder_, run.scenario, run.network, run.workload, run.placement, run.timeline,
                run.metrics(), gather_run_facts(2, 1));
  }
  std::string text(const std::string& name) const {
    std::stringstream stream;
    stream << std::ifstream(folder_ / name).rdbuf();
    return stream.str();
  }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      found.insert(entry.path().filename().string());
    return found;
  }
  static std::string error_of(const std::function<void()>& act) {
    try {
      act();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path folder_;
};

TEST_F(Files, OfARunAreThesePlusFlowsOnRequest) {
  TinyRun run;
  write(run);
  EXPECT_EQ(names(), (std::set<std::string>{"collectives.csv", "links.csv", "ranks.csv",
                                            "resolved.yaml", "run.json", "summary.json"}));
  EXPECT_EQ(text("resolved.yaml"), "name: tiny\n");
  run.scenario.flows_csv = true;
  write(run);
  EXPECT_EQ(names().count("flows.csv"), 1u);
}

TEST_F(Files, SummaryIsByteIdenticalBetweenRuns) {
  write(TinyRun());
  const std::string first = text("summary.json");
  write(TinyRun());
  EXPECT_EQ(text("summary.json"), first);
  EXPECT_EQ(first, tiny_summary().dump(2) + "\n");
}

TEST_F(Files, LinksHoldOnlyThoseThatWereUsed) {
  write(TinyRun());
  EXPECT_EQ(text("links.csv"),
            "link,tier,capacity_bps,latency_s,bytes,mean_utilization,peak_utilization,saturated_s,"
            "peak_flows\n"
            "host0.nic1->switch0,nic,100000000000,1e-06,6250000000,0.16666666666666666,1,0.3,2\n"
            "switch0->host1.nic0,nic,100000000000,0,6250000000,0.16666666666666666,0.5,0.2,1\n");
}

TEST_F(Files, UnknownValuesAreEmptyFields) {
  TinyRun run;
  for (LinkUse& use : run.timeline.links) use.rates_known = false;
  write(run);
  EXPECT_NE(text("links.csv").find("0.16666666666666666,,,2\n"), std::string::npos);
}

TEST_F(Files, RanksHaveTheirPlaceAndTheirShares) {
  write(TinyRun());
  EXPECT_EQ(text("ranks.csv"),
            "rank,gpu,host,worker,tp,pp,compute_s,bubble_s,idle_s,exposed_tensor_s,"
            "exposed_pipeline_s,exposed_data_s,exposed_context_s,exposed_expert_s,exposed_other_s,"
            "overlapped_tensor_s,overlapped_pipeline_s,overlapped_data_s,overlapped_context_s,"
            "overlapped_expert_s,overlapped_other_s\n"
            "0,0,0,0,0,0,0.75,0.45,0.05,0.15,0.1,0,0,0,0,0,0,0.4,0,0,0\n"
            "1,1,0,0,1,0,0.75,0.45,0.05,0.15,0.1,0,0,0,0,0,0,0.4,0,0,0\n"
            "2,2,1,1,0,1,1.05,0.25,0.05,0.15,0,0,0,0,0,0,0,0,0,0,0\n"
            "3,3,1,1,1,1,1.05,0.25,0.05,0.15,0,0,0,0,0,0,0,0,0,0,0\n");
}

TEST_F(Files, CollectivesAreThoseOfTheSummary) {
  write(TinyRun());
  EXPECT_EQ(text("collectives.csv"),
            "operation,group,algorithm,ranks,size_bytes,count,mean_s,algbw_bps,busbw_bps,total_s,"
            "mode,flows,within_hosts\n"
            "all_reduce,tensor,ring,2,100000000,8,0.001,800000000000,800000000000,0.008,"
            "closed form,32,true\n");
}

TEST_F(Files, FlowsHaveTheirTimeAndTheirTimeAlone) {
  TinyRun run;
  run.scenario.flows_csv = true;
  run.timeline.flow_records = {{GpuId{0}, GpuId{2}, Traffic::pipeline, 1000, 0.25, 0.75, 0.125}};
  write(run);
  EXPECT_EQ(text("flows.csv"),
            "source_gpu,destination_gpu,traffic,bytes,start_s,end_s,fct_s,alone_s,slowdown\n"
            "0,2,pipeline,1000,0.25,0.75,0.5,0.125,4\n");
}

TEST_F(Files, WhatDiffersBetweenRunsIsInRunJson) {
  write(TinyRun());
  const Json json = Json::parse(text("run.json"));
  EXPECT_EQ(json["wall_s"], 2.0);
  EXPECT_EQ(json["flows_per_s"], 5.0);
  EXPECT_EQ(json["threads"], 1);
  EXPECT_GT(json["peak_rss_bytes"], 1'000'000);
  EXPECT_FALSE(json["host"].get<std::string>().empty());
  EXPECT_EQ(json["date"].get<std::string>().size(), 20u);
}

TEST_F(Files, AFolderThatCannotBeMadeIsBadInput) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ / "file") << "x";
  const auto inside = folder_ / "file" / "results";
  EXPECT_EQ(
      error_of([&] { prepare_folder(inside); }),
      inside.string() + ": cannot be written: Not a directory\n  choose another folder with -o");
  const auto file = folder_ / "file";
  EXPECT_EQ(
      error_of([&] { prepare_folder(file); }),
      file.string() + ": cannot be written: Not a directory\n  choose another folder with -o");
}

TEST_F(Files, PreparingAFolderLeavesNothingBehind) {
  prepare_folder(folder_ / "a" / "b");
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "a" / "b"));
}

TEST_F(Files, AFileAppearsWholeOrNotAtAll) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ / "a.txt") << "old";
  {
    OutputFile file(folder_ / "a.txt");
    file.append("new, but");
    EXPECT_EQ(file.size(), 8u);
  }
  EXPECT_EQ(text("a.txt"), "old");
  OutputFile file(folder_ / "a.txt");
  file.print("{} {}", "new", 1);
  file.commit();
  EXPECT_EQ(text("a.txt"), "new 1");
  EXPECT_EQ(names(), std::set<std::string>{"a.txt"});
}

TEST_F(Files, ADiskThatIsFullIsBadInput) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
  std::filesystem::create_directories(folder_);
  std::filesystem::create_symlink("/dev/full", folder_ / "a.txt.tmp");
  EXPECT_EQ(error_of([&] {
              OutputFile file(folder_ / "a.txt");
              file.append(std::string(100'000, 'x'));
              file.commit();
            }),
            (folder_ / "a.txt").string() +
                ": cannot be written: No space left on device\n  choose another folder with -o");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace weft
