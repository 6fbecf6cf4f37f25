// The uplink by the digits of the destination's number.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/routing.h"

namespace weft::routing {

std::unique_ptr<Router> make_d_mod_k(const Topology&);

}  // namespace weft::routing
