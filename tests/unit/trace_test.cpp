// The trace of a run made up by hand, held against the rules of the format.
#include "sim/trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sim/config.h"
#include "tests/support/tiny_run.h"

namespace weft {
namespace {

using test::TinyRun;
using Json = nlohmann::json;

/// A folder of this test's own, gone when it ends.
class Trace : public testing::Test {
 protected:
  Trace() {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("weft_trace_") +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  ~Trace() override { std::filesystem::remove_all(folder_); }

  std::string text(const TinyRun& run) const {
    const auto path = folder_ / "trace.json";
    write_trace(path, run.scenario, run.network, run.workload, run.placement, run.timeline);
    std::stringstream stream;
    stream << std::ifstream(path).rdbuf();
    return stream.str();
  }
  Json written(const TinyRun& run) const { return Json::parse(text(run)); }

  std::filesystem::path folder_;
};

Span span_of(Span::Kind kind, std::uint32_t worker, std::uint32_t op, double start, double end) {
  Span span;
  span.kind = kind;
  span.worker = worker;
  span.op = op;
  span.start = start;
  span.end = end;
  span.joined = start;
  return span;
}

/// Worker 0: a block of two computes and two calls, a send behind it, and a collective of which
/// worker 1 is the last to join.
TinyRun traced() {
  TinyRun run;
  auto& spans = run.timeline.spans;
  for (std::uint32_t iteration = 0; iteration < 2; ++iteration) {
    const double t = iteration;
    const auto begin = spans.size();
    for (std::uint32_t part = 0; part < 2; ++part) {
      spans.push_back(span_of(Span::Kind::compute, 0, 0, t + 0.15 * part, t + 0.1 + 0.15 * part));
      spans.back().part = part;
      spans.push_back(
          span_of(Span::Kind::call, 0, 0, t + 0.1 + 0.15 * part, t + 0.15 + 0.15 * part));
      spans.back().part = part;
    }
    spans.push_back(span_of(Span::Kind::block, 0, 0, t, t + 0.3));
    spans.push_back(span_of(Span::Kind::send, 0, 1, t + 0.3, t + 0.4));
    for (std::uint32_t worker = 0; worker < 2; ++worker) {
      spans.push_back(span_of(Span::Kind::collective, worker, 2, t + 0.6, t + 0.9));
      spans.back().joined = worker == 0 ? t + 0.3 : t + 0.6;
    }
    for (std::size_t i = begin; i < spans.size(); ++i) spans[i].iteration = iteration;
  }
  return run;
}

/// Every rule about slices, threads and async events; ends are sums of doubles, as viewers add.
void expect_sound(const Json& trace) {
  ASSERT_TRUE(trace["traceEvents"].is_array());
  ASSERT_FALSE(trace["traceEvents"].empty());
  EXPECT_EQ(trace["displayTimeUnit"], "ms");
  for (const char* key : {"version", "scenario", "seed", "sample", "left_out"})
    EXPECT_TRUE(trace["otherData"].contains(key)) << key;
  std::set<std::pair<int, int>> named;
  std::map<std::pair<int, int>, std::vector<double>> open;
  std::map<std::pair<int, int>, std::pair<double, double>> before;
  std::map<std::pair<std::string, int>, std::string> async;
  double last = 0;
  for (const Json& event : trace["traceEvents"]) {
    const std::string ph = event["ph"];
    const std::pair<int, int> thread{event["pid"], event.value("tid", 0)};
    if (ph == "M") {
      if (event["name"] == "thread_name") {
        EXPECT_TRUE(named.insert(thread).second);
      }
      continue;
    }
    const double ts = event["ts"];
    EXPECT_GE(ts, last);
    last = ts;
    EXPECT_TRUE(named.count(thread)) << event;
    if (ph == "X") {
      const double end = ts + event["dur"].get<double>();
      EXPECT_GT(end, ts) << event;
      auto& stack = open[thread];
      while (!stack.empty() && stack.back() <= ts) stack.pop_back();
      EXPECT_TRUE(stack.empty() || end <= stack.back()) << event;
      stack.push_back(end);
      if (before.count(thread) && before[thread].first == ts) {
        EXPECT_LE(end, before[thread].second) << event;
      }
      before[thread] = {ts, end};
    } else if (ph == "b") {
      EXPECT_TRUE(async.emplace(std::pair{event["cat"], event["id"]}, event["name"]).second);
    } else {
      ASSERT_EQ(ph, "e");
      const auto begin = async.find({event["cat"], event["id"]});
      ASSERT_NE(begin, async.end()) << event;
      EXPECT_EQ(begin->second, event["name"]);
      async.erase(begin);
    }
  }
  EXPECT_TRUE(async.empty());
}

std::vector<Json> slices(const Json& trace, const std::string& name) {
  std::vector<Json> found;
  for (const Json& event : trace["traceEvents"])
    if (event["ph"] == "X" && event["name"] == name) found.push_back(event);
  return found;
}

std::vector<std::string> threads(const Json& trace) {
  std::vector<std::string> names;
  for (const Json& event : trace["traceEvents"])
    if (event["name"] == "thread_name") names.push_back(event["args"]["name"]);
  return names;
}

TEST_F(Trace, ShowsBlocksWithTheirPartsSendsAndCollectives) {
  const Json trace = written(traced());
  expect_sound(trace);
  EXPECT_EQ(threads(trace),
            (std::vector<std::string>{"rank 0 (GPU 0) compute", "rank 0 (GPU 0) pipeline",
                                      "rank 0 (GPU 0) all", "rank 0 (GPU 0) tensor",
                                      "rank 2 (GPU 2) all"}));
  EXPECT_EQ(slices(trace, "forward 3").size(), 2u);
  EXPECT_EQ(slices(trace, "compute").size(), 4u);
  ASSERT_EQ(slices(trace, "all_reduce").size(), 4u);
  const Json call = slices(trace, "all_reduce")[0];
  EXPECT_EQ(call["ts"], 100000.0);
  EXPECT_EQ(call["dur"], 50000.0);
  EXPECT_EQ(call["args"].dump(),
            R"({"algorithm":"ring","busbw_bps":16000000000,"bytes":100000000,"ranks":2})");
  const Json send = slices(trace, "activations 3")[0];
  EXPECT_EQ(send["args"].dump(), R"({"bytes":1000000,"iteration":0,"to_rank":2})");
}

TEST_F(Trace, ShowsWhoWaitedForOthersBeforeACollective) {
  const Json trace = written(traced());
  const auto waits = slices(trace, "waiting for others");
  ASSERT_EQ(waits.size(), 2u);  // worker 0 in both iterations; worker 1 is the last to join
  EXPECT_EQ(waits[0]["pid"], 1);
  EXPECT_EQ(waits[0]["ts"], 300000.0);
  EXPECT_EQ(waits[0]["dur"], 300000.0);
  EXPECT_EQ(slices(trace, "gradient all-reduce").size(), 4u);
}

TEST_F(Trace, AProcessIsAHostAndTheNetworkComesLast) {
  const Json trace = written(traced());
  std::vector<std::string> names;
  for (const Json& event : trace["traceEvents"])
    if (event["name"] == "process_name") names.push_back(event["args"]["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"host 0", "host 1", "network"}));
}

TEST_F(Trace, SaysWhatItIsASampleOf) {
  const Json trace = written(traced());
  EXPECT_EQ(
      trace["otherData"].dump(),
      R"({"left_out":"nothing","sample":"2 of 4 ranks have rows: 0, 2. Ranks that act in )"
      R"(lock-step with one of them look like it.","scenario":"tiny","seed":7,"version":")" WEFT_VERSION
      R"("})");
}

TEST_F(Trace, SlicesThatOverlapGetARowBesideEachOther) {
  TinyRun run = traced();
  run.timeline.spans.push_back(span_of(Span::Kind::send, 0, 1, 0.35, 0.45));
  run.timeline.spans.push_back(span_of(Span::Kind::send, 0, 1, 0.42, 0.5));
  const Json trace = written(run);
  expect_sound(trace);
  EXPECT_EQ(threads(trace)[2], "rank 0 (GPU 0) pipeline #2");
  EXPECT_EQ(slices(trace, "activations 3").size(), 4u);
}

TEST_F(Trace, ThirdsOfSecondsNestExactly) {
  TinyRun run;
  double now = 0;
  for (std::uint32_t block = 0; block < 200; ++block) {
    const double begin = now;
    for (std::uint32_t part = 0; part < 7; ++part) {
      run.timeline.spans.push_back(span_of(Span::Kind::compute, 0, 0, now, now + 1e-5 / 3));
      now += 1e-5 / 3;
    }
    now = begin + 7e-5 / 3;  // another sum of the same
    run.timeline.spans.push_back(span_of(Span::Kind::block, 0, 0, begin, now));
  }
  const Json trace = written(run);
  expect_sound(trace);
  EXPECT_EQ(threads(trace).size(), 1u);
  EXPECT_EQ(slices(trace, "compute").size(), 1400u);
}

TEST_F(Trace, PartsThatEndByRoundingAfterTheirBlockStayInIt) {
  TinyRun run;
  run.timeline.spans = {span_of(Span::Kind::compute, 0, 0, 0, 1e-3 + 4e-9),
                        span_of(Span::Kind::block, 0, 0, 0, 1e-3)};
  const Json trace = written(run);
  expect_sound(trace);
  EXPECT_EQ(threads(trace).size(), 1u);
  EXPECT_EQ(slices(trace, "compute")[0]["dur"], 1000.0);
}

TEST_F(Trace, LeavesOutWhatTakesNoTime) {
  TinyRun run;
  run.timeline.spans = {span_of(Span::Kind::compute, 0, 0, 0.5, 0.5),
                        span_of(Span::Kind::block, 0, 0, 0.5, 0.6)};
  const Json trace = written(run);
  expect_sound(trace);
  EXPECT_TRUE(slices(trace, "compute").empty());
}

TEST_F(Trace, FlowsAreAsynchronousBecauseTheyOverlap) {
  TinyRun run;
  run.timeline.flow_records = {
      {GpuId{0}, GpuId{2}, Traffic::pipeline, 1000, 0.1, 0.3, 0.1},
      {GpuId{1}, GpuId{3}, Traffic::pipeline, 1000, 0.2, 0.4, 0.1},
      {GpuId{1}, GpuId{3}, Traffic::data, 1000, 0.3, 0.3, 0},
  };
  const Json trace = written(run);
  expect_sound(trace);
  std::vector<Json> begins;
  for (const Json& event : trace["traceEvents"])
    if (event["ph"] == "b") begins.push_back(event);
  ASSERT_EQ(begins.size(), 2u);  // the third takes no time
  EXPECT_EQ(begins[0]["name"], "GPU 0 to GPU 2");
  EXPECT_EQ(begins[0]["cat"], "pipeline");
  EXPECT_EQ(begins[0]["args"].dump(), R"({"alone_us":100000.0,"bytes":1000})");
}

/// Many iterations of two workers, some 260 kB in all.
TinyRun long_run() {
  TinyRun run = traced();
  const auto pattern = run.timeline.spans;
  for (std::uint32_t i = 2; i < 200; ++i)
    for (Span span : pattern) {
      if (span.iteration != 0) continue;
      span.iteration = i;
      for (double* time : {&span.start, &span.end, &span.joined}) *time += i;
      run.timeline.spans.push_back(span);
    }
  return run;
}

TEST_F(Trace, StaysBelowItsLimitByLeavingOutLaterIterations) {
  TinyRun run = long_run();
  for (const std::uint64_t limit : {200'000u, 100'000u, 20'000u}) {
    run.scenario.trace.max_bytes = Bytes(limit);
    const std::string file = text(run);
    EXPECT_LE(file.size(), limit);
    EXPECT_GT(file.size(), limit / 2);
    const Json trace = Json::parse(file);
    expect_sound(trace);
    EXPECT_EQ(threads(trace).size(), 5u);
    const std::string left_out = trace["otherData"]["left_out"];
    EXPECT_NE(left_out.find(" of 200 iterations, to stay within "), std::string::npos) << left_out;
  }
}

TEST_F(Trace, LeavesOutWorkersThenInnerPartsWhereOneIterationIsTooLarge) {
  TinyRun run = long_run();
  for (Span& span : run.timeline.spans) span.iteration = 0;
  const std::size_t full = text(run).size();
  run.scenario.trace.max_bytes = Bytes(full - 1);
  Json trace = written(run);
  expect_sound(trace);
  EXPECT_EQ(trace["otherData"]["left_out"].get<std::string>().substr(0, 38),
            "1 of 2 recorded ranks, to stay within ");
  EXPECT_EQ(trace["otherData"]["sample"].get<std::string>().substr(0, 28),
            "1 of 4 ranks have rows: 0. R");
  run.scenario.trace.max_bytes = Bytes(full * 2 / 3);
  trace = written(run);
  expect_sound(trace);
  EXPECT_TRUE(slices(trace, "compute").empty());
  EXPECT_FALSE(slices(trace, "forward 3").empty());
}

TEST_F(Trace, IsAnEmptyTraceWhereNothingFits) {
  TinyRun run = long_run();
  run.scenario.trace.max_bytes = Bytes(10);
  const Json trace = written(run);
  expect_sound(trace);
  EXPECT_TRUE(slices(trace, "forward 3").empty());
}

TEST_F(Trace, SaysWhatWasNotRecorded) {
  TinyRun run = traced();
  run.timeline.spans_left_out = 5;
  EXPECT_EQ(written(run)["otherData"]["left_out"], "5 slices that were not recorded");
}

TEST_F(Trace, NamesMayHoldAnyCharacter) {
  TinyRun run = traced();
  run.scenario.name = "a \"b\" \\ \n \xff";
  run.workload.names[0] = "for\"ward";
  const Json trace = written(run);
  expect_sound(trace);
  EXPECT_EQ(slices(trace, "for\"ward 3").size(), 2u);
}

TEST_F(Trace, IsTheSameEachTime) { EXPECT_EQ(text(long_run()), text(long_run())); }

TEST_F(Trace, IsNotWrittenWhenSwitchedOff) {
  TinyRun run = traced();
  run.scenario.trace.on = false;
  EXPECT_EQ(text(run), "");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "trace.json"));
}

TEST_F(Trace, CannotBeWrittenIntoAFolderThatIsNotThere) {
  const TinyRun run = traced();
  EXPECT_THROW(write_trace(folder_ / "no" / "trace.json", run.scenario, run.network, run.workload,
                           run.placement, run.timeline),
               ConfigError);
}

}  // namespace
}  // namespace weft
