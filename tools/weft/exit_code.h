// Exit codes: 0 done, 2 bad input or usage, 1 our fault, 130 interrupted (as shells have it).
#pragma once

#include <functional>

namespace weft::program {

inline constexpr int kBadInput = 2;
inline constexpr int kOurFault = 1;
inline constexpr int kInterrupted = 130;

/// Runs `body` and turns what it throws into a message on stderr and an exit code.
int guarded(const std::function<int()>& body);

}  // namespace weft::program
