// A progress line on stderr and Ctrl-C.
#pragma once

#include <chrono>
#include <string>

#include "sim/engine.h"

namespace weft::program {

/// Shows percent, flows per second and time left where stderr is a terminal, once a run takes
/// longer than a second; ends the run when Ctrl-C was pressed.
class Progress : public Monitor {
 public:
  explicit Progress(std::string name);
  ~Progress() override;  ///< clears the line
  bool go_on(double done, std::uint64_t flows, double now) override;

 private:
  using Clock = std::chrono::steady_clock;
  std::string name_;
  Clock::time_point begin_, shown_;
  bool terminal_, line_ = false;
};

/// From here on Ctrl-C (SIGINT) and SIGTERM only ask running simulations to stop.
void catch_interrupts();

}  // namespace weft::program
