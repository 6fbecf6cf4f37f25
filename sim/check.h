// Programmer errors: on in Release, never reachable from input.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace weft {

/// A broken promise inside the program (exit code 1). Never thrown for bad input.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

/// Throws InternalError with the place of the call unless `condition` holds.
inline void check(bool condition, const char* message,
                  std::source_location where = std::source_location::current()) {
  if (condition) [[likely]]
    return;
  throw InternalError(std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": " +
                      message);
}

}  // namespace weft
