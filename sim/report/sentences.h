// What the reports say in words, and what they are about.
#pragma once

#include <string>

#include "sim/report/text.h"

namespace weft::report {

/// "router0.1->router1.0 (tier global)".
std::string link_place(const Json& link);

/// What the run's flows suffer on its bottleneck; empty where nothing is congested.
std::string congestion(const Json& summary);

/// Whether GPUs compute in this run.
bool trains(const Json& summary);

/// A part of the iteration that can make one fabric slower than another.
struct Part {
  std::string name, path;  ///< path: JSON pointer into summary.json
};
std::vector<Part> parts_of_an_iteration();

}  // namespace weft::report
