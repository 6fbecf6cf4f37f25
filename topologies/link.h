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

inline std::string yaml_text(Metres length) { return fmt::format("{} m", length.value); }

// Assumptions about where things stand. Passive copper reaches the rack and the next one.
inline constexpr Metres kRackLength{3};   ///< within a rack or to the next
inline constexpr Metres kRowLength{20};   ///< along a row of racks
inline constexpr Metres kHallLength{50};  ///< across a hall

/// `length` of a cable.
inline Metres read_length(const Section& link, Metres standard) {
  const std::string initial = yaml_text(standard);
  return link.length(
      {.name = "length",
       .help = "of one cable, for copper or optics in `weft topology`; not part of the latency",
       .initial = initial,
       .source = "assumption: 3 m to a neighbouring rack, 20 m along a row, 50 m across a hall"});
}

/// Reads `link: {rate, latency, length}`, the cables of every tier that names no other. `length`
/// is what the NICs' cables have where it is left out.
inline PortSpec read_link(const Section& fabric, Metres length = kRackLength) {
  const Section link = fabric.section("link", "every cable, where its tier names no other");
  return {
      .rate = link.rate({.name = "rate", .help = "data rate per direction", .example = "400 Gbps"}),
      .latency = link.time({.name = "latency",
                            .help = "one way, the switch at its end included",
                            .initial = "600 ns",
                            .source = "assumption: some 500 ns through an Ethernet switch and 20 m "
                                      "of fibre at 5 ns/m"}),
      .length = read_length(link, length),
  };
}

/// Reads the optional section `name` of the same shape; rate and latency that it leaves out are
/// those of `link`.
inline PortSpec read_link(const Section& fabric, std::string_view name, std::string_view help,
                          const PortSpec& link, Metres length = kRowLength) {
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
      .length = read_length(own, length),
  };
}

/// Whether a number of NICs fits, and what to say where it does not: "40 endpoints (NICs) do not
/// fit: <what> hold 32".
inline std::string do_not_fit(std::uint64_t endpoints, const std::string& what,
                              std::uint64_t holds) {
  return fmt::format("{} endpoint{} (NICs) do not fit: {} hold {}", endpoints,
                     endpoints == 1 ? "" : "s", what, holds);
}

}  // namespace weft
