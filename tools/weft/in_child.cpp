#include "tools/weft/in_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>

#include "tools/weft/exit_code.h"

namespace weft::program {

std::string in_child(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("cannot make a pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start another process");
  if (child == 0) {
    close(ends[0]);
    const int code = guarded([&] {
      const std::string result = work();
      for (std::size_t done = 0; done < result.size();) {
        const ssize_t written = write(ends[1], result.data() + done, result.size() - done);
        if (written <= 0) return kOurFault;
        done += static_cast<std::size_t>(written);
      }
      return 0;
    });
    std::fflush(nullptr);
    _exit(code);
  }
  close(ends[1]);
  std::string result;
  char buffer[1 << 16];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (got > 0)
      result.append(buffer, static_cast<std::size_t>(got));
    else if (errno != EINTR)  // Ctrl-C reaches the child too, which then ends
      break;
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  if (!WIFEXITED(status)) throw ChildFailed{kOurFault};
  if (WEXITSTATUS(status) != 0) throw ChildFailed{WEXITSTATUS(status)};
  return result;
}

}  // namespace weft::program
