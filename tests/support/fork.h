// Runs something in a process of its own: SimGrid's kernel is one per process and lifetime.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace weft::test {

/// The child's side and the parent's side of one pipe, whole buffers at a time.
class Pipe {
 public:
  Pipe() {
    if (pipe(ends_) != 0) throw std::runtime_error("no pipe");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void close_end(int end) {
    if (ends_[end] >= 0) close(ends_[end]);
    ends_[end] = -1;
  }
  void write_all(const void* data, std::size_t size) const {
    const char* bytes = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t written = write(ends_[1], bytes, size);
      if (written <= 0) _exit(3);
      bytes += written;
      size -= static_cast<std::size_t>(written);
    }
  }
  std::string read_all() const {
    std::string text;
    char buffer[65536];
    for (ssize_t got = 0; (got = read(ends_[0], buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(got));
    return text;
  }

 private:
  int ends_[2] = {-1, -1};
};

/// Calls `work()` in a forked child and returns the vector (of trivially copyable elements) that it
/// returns. What it throws, or how it died, is thrown here as std::runtime_error.
template <class Work>
auto in_child(Work&& work) -> std::invoke_result_t<Work&> {
  using Result = std::invoke_result_t<Work&>;
  using Element = typename Result::value_type;
  static_assert(std::is_same_v<Result, std::vector<Element>> &&
                std::is_trivially_copyable_v<Element>);
  Pipe channel;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    channel.close_end(0);
    int status = 0;
    try {
      const Result result = work();
      channel.write_all(result.data(), result.size() * sizeof(Element));
    } catch (const std::exception& error) {
      channel.write_all(error.what(), std::strlen(error.what()));
      status = 1;
    }
    std::fflush(nullptr);
    _exit(status);
  }
  channel.close_end(1);
  const std::string bytes = channel.read_all();
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    throw std::runtime_error("the child died of signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) throw std::runtime_error(bytes);
  Result result(bytes.size() / sizeof(Element));
  if (!result.empty()) std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

}  // namespace weft::test
