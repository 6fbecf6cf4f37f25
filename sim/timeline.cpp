#include "sim/timeline.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace weft {
namespace {

constexpr std::size_t kMostExact = 65'536;

// A bucket is a double's exponent and the first 10 bits of its mantissa: 1/1024 wide, relatively.
// Numbers outside 2^-64 .. 2^64 fall into the first and the last.
constexpr int kShift = 52 - 10;
constexpr std::int64_t kFirstBucket = static_cast<std::int64_t>(1023 - 64) << 10;
constexpr std::int64_t kBuckets = static_cast<std::int64_t>(128) << 10;

double upper_edge(std::size_t bucket) {
  return std::bit_cast<double>(
      static_cast<std::uint64_t>(kFirstBucket + static_cast<std::int64_t>(bucket) + 1) << kShift);
}

}  // namespace

void Distribution::count_in_bucket(double value, std::uint64_t times) {
  const auto number =
      static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(value) >> kShift) - kFirstBucket;
  buckets_[static_cast<std::size_t>(std::clamp(number, std::int64_t{0}, kBuckets - 1))] += times;
}

void Distribution::add(double value, std::uint64_t times) {
  if (times == 0) return;
  count_ += times;
  sum_ += value * static_cast<double>(times);
  max_ = std::max(max_, value);
  if (!buckets_.empty()) return count_in_bucket(value, times);
  if (!exact_.empty() && exact_.back().value == value) {
    exact_.back().times += times;
    return;
  }
  exact_.push_back({value, times});
  if (exact_.size() < kMostExact) return;
  buckets_.resize(static_cast<std::size_t>(kBuckets));
  for (const Counted& c : exact_) count_in_bucket(c.value, c.times);
  exact_ = {};
}

double Distribution::quantile(double fraction) const {
  const auto wanted =
      static_cast<std::uint64_t>(std::max(1.0, std::ceil(fraction * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  auto sorted = exact_;
  std::sort(sorted.begin(), sorted.end(),
            [](const Counted& a, const Counted& b) { return a.value < b.value; });
  for (const Counted& c : sorted)
    if ((seen += c.times) >= wanted) return c.value;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket)
    if ((seen += buckets_[bucket]) >= wanted) return std::min(upper_edge(bucket), max_);
  return max_;
}

}  // namespace weft
