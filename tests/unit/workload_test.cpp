#include "sim/workload.h"

#include <gtest/gtest.h>

#include "workloads/training/parallelism.h"

namespace weft {
namespace {

using Groups = std::vector<std::vector<std::uint32_t>>;

// Two hosts of eight GPUs, TP 2, PP 4, DP 2, ranks numbered tensor first, then data, then pipeline.
TEST(Groups, AreNestedAsInTheSixteenGpuExample) {
  const workloads::Parallelism split{
      .tensor = 2, .pipeline = 4, .data = 2, .order = {"tp", "dp", "pp"}};
  const auto groups = workloads::groups_of(split);
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0].first, "TP");
  EXPECT_EQ(groups[0].second,
            (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}}));
  EXPECT_EQ(groups[1].first, "PP");
  EXPECT_EQ(groups[1].second,
            (Groups{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}}));
  EXPECT_EQ(groups[2].first, "DP");
  EXPECT_EQ(groups[2].second,
            (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}}));
  EXPECT_EQ(groups[3].first, "model-parallel");
  EXPECT_EQ(groups[3].second, (Groups{{0, 1, 4, 5, 8, 9, 12, 13}, {2, 3, 6, 7, 10, 11, 14, 15}}));
}

TEST(Grid, EachRankIsInExactlyOneGroupOfEachKind) {
  const Grid grid({{"a", 3}, {"b", 4}, {"c", 5}});
  for (AxisMask mask = 0; mask < 8; ++mask) {
    std::vector<int> seen(grid.ranks(), 0);
    for (const auto& group : grid.groups(mask)) {
      EXPECT_EQ(group.size(), grid.size(mask));
      for (const auto rank : group) ++seen[rank];
    }
    EXPECT_EQ(seen, std::vector<int>(grid.ranks(), 1)) << "mask " << mask;
  }
}

TEST(Grid, ShiftingAllTheWayRoundComesBack) {
  const Grid grid({{"a", 3}, {"b", 4}});
  EXPECT_EQ(grid.shifted(5, 1, 1), 8u);
  EXPECT_EQ(grid.shifted(11, 1, 1), 2u);
  EXPECT_EQ(grid.shifted(2, 1, -1), 11u);
  for (std::uint32_t rank = 0; rank < grid.ranks(); ++rank)
    EXPECT_EQ(grid.shifted(rank, 1, 4), rank);
}

}  // namespace
}  // namespace weft
