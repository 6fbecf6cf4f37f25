// Equal-cost paths by a hash.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/routing.h"

namespace weft::routing {

std::unique_ptr<Router> make_ecmp(const Topology&, std::uint64_t seed);

}  // namespace weft::routing
