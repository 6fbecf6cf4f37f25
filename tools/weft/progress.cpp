#include "tools/weft/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace weft::program {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void on_interrupt(int) { interrupted = 1; }

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

Progress::Progress(std::string name)
    : name_(std::move(name)),
      begin_(Clock::now()),
      shown_(begin_),
      terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (line_) fmt::print(stderr, "\r\033[K");
}

bool Progress::go_on(double done, std::uint64_t flows, double) {
  if (interrupted != 0) return false;
  if (!terminal_) return true;
  const auto now = Clock::now();
  using Seconds = std::chrono::duration<double>;
  const double wall = Seconds(now - begin_).count();
  if (wall < 1 || Seconds(now - shown_).count() < 0.2) return true;
  shown_ = now;
  line_ = true;
  const double left = done > 0 ? wall * (1 - done) / done : 0;
  fmt::print(stderr, "\r\033[K{}: {:.0f} %, {:.3g} million flows/s, {:.0f} s left", name_,
             100 * done, static_cast<double>(flows) / wall / 1e6, left);
  std::fflush(stderr);
  return true;
}

}  // namespace weft::program
