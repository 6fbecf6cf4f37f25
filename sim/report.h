// Results for people and scripts: the files of a run, the texts on the terminal, comparisons.
// Columns, fields and formulas are documented in docs/outputs.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/metrics.h"
#include "sim/network.h"
#include "sim/output_file.h"
#include "sim/placement.h"
#include "sim/scenario.h"
#include "sim/timeline.h"
#include "sim/workload.h"

namespace weft {

/// What differs between two runs of the same scenario.
struct RunFacts {
  double wall_s = 0;                 ///< of the simulation
  std::uint64_t peak_rss_bytes = 0;  ///< most memory of this process
  std::string host, date;            ///< date in UTC, ISO 8601
  int threads = 1;                   ///< that simulate
};

/// Asks the system. `wall_s` and `threads` are the caller's.
RunFacts gather_run_facts(double wall_s, int threads);

/// Writes resolved.yaml, links.csv, ranks.csv, collectives.csv, flows.csv (where the scenario asks
/// for it), run.json and, last, summary.json: where it is, the others are.
void write_files(const std::filesystem::path& folder, const Scenario&, const Network&,
                 const Workload&, const Placement&, const Timeline&, const Metrics&,
                 const RunFacts&);

/// Below this share of an iteration, exposed communication or a difference between fabrics counts
/// as nothing.
inline constexpr double kMatters = 0.01;

/// The sentences that matter about a run, most important first, from its summary.json.
std::vector<std::string> headline(const nlohmann::ordered_json& summary);

/// The terminal's report of a run: the headline, then tables; at most 100 columns.
std::string run_report(const nlohmann::ordered_json& summary);

/// One of several runs of the same job.
struct NamedSummary {
  std::string name;                ///< of the fabric
  nlohmann::ordered_json summary;  ///< its summary.json
};

/// compare.json. Precondition: at least one run.
nlohmann::ordered_json compare(const std::vector<NamedSummary>&);

/// The terminal's comparison: sentences, then one table that begins with what differs.
std::string comparison_report(const std::vector<NamedSummary>&);

}  // namespace weft
