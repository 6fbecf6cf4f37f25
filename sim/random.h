// Portable randomness: the same numbers with every compiler and standard library.
#pragma once

#include <cstdint>

namespace weft {

/// One round of splitmix64's finaliser (Steele, Lea, Flood, OOPSLA 2014): a good 64-bit mixer.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Folds another word into a hash.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  return mix(hash ^ (word * 0xff51afd7ed558ccdULL));
}

/// Maps a hash to 0..n-1 without modulo bias worth naming (multiply-shift; n < 2^32).
constexpr std::uint32_t bounded(std::uint64_t hash, std::uint32_t n) {
  return static_cast<std::uint32_t>(((hash >> 32) * n) >> 32);
}

/// A small counter-based generator: draw k of seed s is mix(s, k), so streams never interfere.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : seed_(seed) {}
  constexpr std::uint64_t next() { return mix(seed_, counter_++); }
  /// Uniform in 0..n-1.
  constexpr std::uint32_t below(std::uint32_t n) { return bounded(next(), n); }
  /// Uniform in [0, 1).
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
};

}  // namespace weft
