// Over a random third group.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/routing.h"

namespace weft::routing {

std::unique_ptr<Router> make_valiant(const Topology&, std::uint64_t seed);

}  // namespace weft::routing
