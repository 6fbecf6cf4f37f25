// The schedule as a Chrome trace, for Perfetto, chrome://tracing and speedscope.
#pragma once

#include <filesystem>

#include "sim/network.h"
#include "sim/placement.h"
#include "sim/scenario.h"
#include "sim/timeline.h"
#include "sim/workload.h"

namespace weft {

/// Writes trace.json of the spans and flows that the timeline recorded; nothing where the scenario
/// switches the trace off. A process per host, a row per stream of each traced worker's first rank.
/// Rules kept: slices of a row nest, never overlap and never last 0; events stand in the order of
/// their times, the longer first; times are microseconds in multiples of 1/256, so that adding
/// `ts` and `dur` in doubles is exact.
/// The file stays within TraceSpec::max_bytes: where more was recorded, later iterations are left
/// out, then whole workers, then what is inside of blocks; `otherData` says so.
/// Throws ConfigError where the file cannot be written.
void write_trace(const std::filesystem::path& path, const Scenario&, const Network&,
                 const Workload&, const Placement&, const Timeline&);

}  // namespace weft
