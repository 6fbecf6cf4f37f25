// Programmer errors: on in Release, never reachable from input.
#pragma once

#include <stdexcept>
#include <string>

namespace weft {

/// A broken promise inside the program (exit code 1). Never thrown for bad input.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

/// Throws InternalError with the place of the call unless `condition` holds.
inline void check(bool condition, const char* message, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (condition) [[likely]]
    return;
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + message);
}

}  // namespace weft
