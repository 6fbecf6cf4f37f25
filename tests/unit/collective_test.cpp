// Collectives against their closed forms, simulated on a star: hosts on one switch.
//
//     host0 --- [switch] --- host1 ...      a message: latency a, then size / rate B
#include "sim/collective.h"

#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "tests/support/world.h"
#include "workloads/collective.h"
#include "workloads/collectives/direct.h"
#include "workloads/collectives/ring.h"

namespace weft {
namespace {

using namespace literals;
using test::star;
using test::World;
using workloads::Collective;
using workloads::Direct;
using workloads::Ring;

constexpr double kExact = 1e-9;

void expect_close(double value, double expected, double relative = kExact) {
  EXPECT_NEAR(value, expected, expected * relative);
}

Collective collective(Operation operation, std::shared_ptr<const CollectiveAlgorithm> algorithm,
                      Bytes size, int ranks) {
  Collective spec;
  spec.operation = operation;
  spec.algorithm = std::move(algorithm);
  spec.size = size;
  spec.group_size = ranks;
  return spec;
}

double time_of(const World& world, const Collective& spec, const SimulationOptions& options = {}) {
  return world.run(spec, options).iteration_end.back();
}

// 2 x 7/8 x 100 MB at 50 GB/s is 3.5 ms, in 14 steps of one latency each.
TEST(RingAllReduce, Of100MegabytesOverEightGpusTakes3500Microseconds) {
  const auto world = star(8, 400_Gbps, 2_us);
  expect_close(
      time_of(world, collective(Operation::all_reduce, std::make_shared<Ring>(), 100_MB, 8)),
      3.5e-3 + 14 * 2e-6);
}

TEST(DirectAllReduce, MovesAsManyBytesAsTheRingInTwoLatencies) {
  const auto world = star(8, 400_Gbps, 2_us);
  expect_close(
      time_of(world, collective(Operation::all_reduce, std::make_shared<Direct>(), 100_MB, 8)),
      3.5e-3 + 2 * 2e-6);
}

TEST(RingAllReduce, Of256MebibytesOverSixteenGpusTakes20Point133Milliseconds) {
  const auto world = star(16, 200_Gbps, 1_us);
  const double time =
      time_of(world, collective(Operation::all_reduce, std::make_shared<Ring>(), 256_MiB, 16));
  expect_close(time, 30.0 / 16 * 268435456 / 25e9 + 30e-6);
  EXPECT_NEAR(time - 30e-6, 20.133e-3, 0.5e-6);
}

TEST(RingAllReduce, OfTwiceTheBytesTakesTwiceTheTime) {
  const auto world = star(16, 200_Gbps, 1_us);
  const double time =
      time_of(world, collective(Operation::all_reduce, std::make_shared<Ring>(), 512_MiB, 16));
  EXPECT_NEAR(time - 30e-6, 40.265e-3, 0.5e-6);
}

TEST(AllToAll, TakesNMinusOneOverNOfTheBuffer) {
  const auto world = star(12, 200_Gbps, 3_us);
  expect_close(
      time_of(world, collective(Operation::all_to_all, std::make_shared<Direct>(), 120_MB, 12)),
      11.0 / 12 * 120e6 / 25e9 + 3e-6);
}

// Sizes above 2^32 and 2^33 bytes: 64 bits from end to end.
TEST(RingReduceScatter, OfThirteenBillionBytesOverTwoRanks) {
  const auto world = star(2, 100_Gbps, Seconds(0));
  expect_close(time_of(world, collective(Operation::reduce_scatter, std::make_shared<Ring>(),
                                         Bytes(12'935'233'536), 2)),
               12'935'233'536.0 / 2 / 12.5e9);
}

TEST(RingAllReduce, OfSixteenGigabytes) {
  const auto world = star(4, 400_Gbps, 1_us);
  expect_close(
      time_of(world, collective(Operation::all_reduce, std::make_shared<Ring>(), 16_GB, 4)),
      1.5 * 16e9 / 50e9 + 6e-6);
}

// TP 16 on hosts of eight GPUs: two hops of the ring cross NICs of 50 GB/s, which bound it although
// NVLink would take nine times as much.
TEST(RingAllReduce, AcrossHostsIsBoundByTheNicAndNotByNvlink) {
  const World world(test::plain_cluster(2, 8, 400_Gbps, 3600_Gbps),
                    SingleSwitch{{400_Gbps, Seconds(0)}});
  expect_close(
      time_of(world, collective(Operation::all_reduce, std::make_shared<Ring>(), 160_MB, 16)),
      30 * 10e6 / 50e9);
}

// Each combination runs in a process of its own, as SimGrid wants.
using Case = std::tuple<std::string, Operation, int, bool>;
class EveryCollective : public testing::TestWithParam<Case> {};

TEST_P(EveryCollective, OnAStarEqualsItsTimeAloneAndMovesItsBytes) {
  const auto& [name, operation, n, coupled] = GetParam();
  std::shared_ptr<const CollectiveAlgorithm> algorithm;
  if (name == "ring")
    algorithm = std::make_shared<Ring>();
  else
    algorithm = std::make_shared<Direct>();
  // A ring takes any size; parts that differ by a byte share the ports of direct algorithms in ways
  // that have no simple closed form.
  const auto ranks = static_cast<std::uint64_t>(n);
  const Bytes size(ranks * 1'000'003 + (name == "ring" ? 1 : 0));
  const auto world = star(n, 400_Gbps, 2_us);
  SimulationOptions options;
  options.collectives = coupled ? CollectiveMode::coupled : CollectiveMode::steps;
  const Timeline timeline = world.run(collective(operation, algorithm, size, n), options);
  const double alone = algorithm->time_alone(operation, size, n, 400_Gbps, 2_us).value;
  // Coupled chunks are the mean of chunks that differ by a byte.
  expect_close(timeline.iteration_end.back(), alone, coupled ? 1e-5 : kExact);
  const double steps = operation == Operation::all_reduce ? 2 : 1;
  const double bytes = steps * (n - 1) * static_cast<double>(size.value);
  expect_close(timeline.flow_bytes, bytes, coupled ? 1e-6 : kExact);
  EXPECT_EQ(timeline.flows + timeline.flows_stood_for, algorithm->messages(operation, n));
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const bool coupled : {false, true})
    for (const int n : {2, 3, 5, 8, 16, 17}) {
      for (const auto operation :
           {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather})
        all.emplace_back("ring", operation, n, coupled);
      for (const auto operation : {Operation::all_reduce, Operation::reduce_scatter,
                                   Operation::all_gather, Operation::all_to_all})
        all.emplace_back("direct", operation, n, coupled);
    }
  return all;
}

std::string case_name(const testing::TestParamInfo<Case>& test) {
  const auto& [name, operation, n, coupled] = test.param;
  return name + "_" + to_text(operation) + "_" + std::to_string(n) + (coupled ? "_coupled" : "");
}

INSTANTIATE_TEST_SUITE_P(, EveryCollective, testing::ValuesIn(cases()), case_name);

TEST(Algorithms, SendAndReceiveTheSameMessages) {
  const Ring ring;
  const Direct direct;
  for (const CollectiveAlgorithm* algorithm : {static_cast<const CollectiveAlgorithm*>(&ring),
                                               static_cast<const CollectiveAlgorithm*>(&direct)})
    for (const auto operation : {Operation::all_reduce, Operation::reduce_scatter,
                                 Operation::all_gather, Operation::all_to_all}) {
      if (!algorithm->supports(operation)) continue;
      for (int n = 2; n < 12; ++n)
        for (int step = 0; step < algorithm->steps(operation, n); ++step) {
          std::vector<int> received(static_cast<std::size_t>(n), 0);
          for (int rank = 0; rank < n; ++rank) {
            std::vector<Send> out;
            algorithm->sends(operation, Bytes(1000), n, rank, step, out);
            for (const Send& send : out) ++received[static_cast<std::size_t>(send.peer)];
          }
          for (int rank = 0; rank < n; ++rank)
            EXPECT_EQ(received[static_cast<std::size_t>(rank)],
                      algorithm->receives(operation, n, rank, step));
        }
    }
}

TEST(RingAllReduce, MovesTwoNMinusOneOverNOfTheBufferPerRank) {
  const Ring ring;
  for (int n = 2; n < 20; ++n) {
    const Bytes size(1000);
    std::uint64_t all = 0;
    for (int rank = 0; rank < n; ++rank)
      for (int step = 0; step < ring.steps(Operation::all_reduce, n); ++step) {
        std::vector<Send> out;
        ring.sends(Operation::all_reduce, size, n, rank, step, out);
        all += out.at(0).bytes.value;
      }
    EXPECT_EQ(all, 2u * static_cast<unsigned>(n - 1) * 1000u);
  }
}

}  // namespace
}  // namespace weft
