// Work in a process of its own: SimGrid's kernel is one per process and lifetime.
#pragma once

#include <functional>
#include <string>

namespace weft::program {

/// A child process ended with this exit code; its message has gone to stderr.
struct ChildFailed {
  int exit_code;
};

/// Calls `work` in a forked child and returns the text (any bytes) that it returns. Throws
/// ChildFailed. No other thread may be running.
std::string in_child(const std::function<std::string()>& work);

}  // namespace weft::program
