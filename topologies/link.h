// What all fabrics read alike: cables, and errors at the place of a key.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "sim/cluster.h"
#include "sim/config.h"

namespace weft {

/// Where a fabric's values came from, if from YAML: so that what shows only when the fabric is
/// built is still an error at its key.
struct Place {
  std::optional<Section> section = {};

  [[noreturn]] void fail(std::string_view key, const std::string& problem,
                         const std::string& hint = {}) const {
    if (section) section->fail(key, problem, hint);
    throw ConfigError(std::string(key) + ": " + problem + (hint.empty() ? "" : "\n" + hint));
  }
  /// Refuses a fabric that no computer could hold. Link ids have 32 bits; a cable takes some 200
  /// bytes.
  void refuse_huge(std::string_view key, double cables) const {
    constexpr double kMost = 1e8;
    if (cables <= kMost) return;
    fail(key, "the fabric would have more than 100 million cables");
  }
};

/// A value written so that YAML reads back exactly it: "400 Gbps", "600 ns".
inline std::string yaml_text(BitsPerSecond rate) {
  const double giga = std::round(rate.value / 1e9);
  return giga * 1e9 == rate.value ? fmt::format("{:.0f} Gbps", giga)
                                  : fmt::format("{} bps", rate.value);
}
inline std::string yaml_text(Seconds time) {
  const double nano = std::round(time.value * 1e9);
  return nano / 1e9 == time.value ? fmt::format("{:.0f} ns", nano)
                                  : fmt::format("{} s", time.value);
}

/// Reads `link: {rate, latency}`, the cables of every tier that names no other.
inline PortSpec read_link(const Section& fabric) {
  const Section link = fabric.section("link", "every cable, where its tier names no other");
  return {
      .rate = link.rate({.name = "rate", .help = "data rate per direction", .example = "400 Gbps"}),
      .latency = link.time({.name = "latency",
                            .help = "one way, the switch at its end included",
                            .initial = "600 ns",
                            .source = "assumption: some 500 ns through an Ethernet switch and 20 m "
                                      "of fibre at 5 ns/m"}),
  };
}

/// Reads the optional section `name` of the same shape; what it leaves out is as in `link`.
inline PortSpec read_link(const Section& fabric, std::string_view name, std::string_view help,
                          const PortSpec& link) {
  const Section own = fabric.section(name, help);
  const std::string rate = yaml_text(link.rate);
  const std::string latency = yaml_text(link.latency);
  return {
      .rate = own.rate({.name = "rate",
                        .help = "data rate per direction",
                        .initial = rate,
                        .source = "as `link`"}),
      .latency = own.time({.name = "latency",
                           .help = "one way, the switch at its end included",
                           .initial = latency,
                           .source = "as `link`"}),
  };
}

}  // namespace weft
