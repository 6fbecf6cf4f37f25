#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <exception>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/NetZone.hpp>

#include "sim/check.h"
#include "sim/network_driver.h"
#include "sim/network_fluid.h"
#include "sim/network_model.h"
#include "sim/network_simgrid.h"

namespace weft {

namespace sg = simgrid::s4u;

namespace {

/// Keeps the process's signal dispositions: SimGrid installs its own for Ctrl-C and for stack
/// overflows of actors, of which there are none here.
class SignalKeeper {
 public:
  SignalKeeper() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &saved_[i]);
  }
  ~SignalKeeper() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &saved_[i], nullptr);
  }
  SignalKeeper(const SignalKeeper&) = delete;
  SignalKeeper& operator=(const SignalKeeper&) = delete;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGSEGV, SIGBUS};
  std::array<struct sigaction, kSignals.size()> saved_{};
};

/// An engine with SimGrid's model set to pure max-min sharing: no TCP window (gamma), no reverse
/// traffic for acknowledgements (crosstraffic), no bandwidth or latency factors (CM02), and
/// precisions that leave 1e-9 of a finish time to spare. The program's own arguments are not shown.
std::unique_ptr<sg::Engine> make_engine() {
  static bool made = false;
  check(!made && !sg::Engine::has_instance(), "a process can have one kernel only");
  made = true;
  const SignalKeeper keeper;
  std::array<std::string, 7> texts = {"weft",
                                      "--log=xbt_cfg.thres:warning",
                                      "--cfg=network/model:CM02",
                                      "--cfg=network/TCP-gamma:0",
                                      "--cfg=network/crosstraffic:0",
                                      "--cfg=surf/precision:1e-13",
                                      "--cfg=maxmin/precision:1e-13"};
  std::array<char*, 8> arguments{};  // null-terminated
  for (std::size_t i = 0; i < texts.size(); ++i) arguments[i] = texts[i].data();
  int count = static_cast<int>(texts.size());
  return std::make_unique<sg::Engine>(&count, arguments.data());
}

struct Timer {
  double time;             // seconds
  std::uint64_t sequence;  // of setting
  std::uint64_t token;

  /// For the standard heap, whose top is the last in this order.
  bool operator<(const Timer& other) const {
    return time != other.time ? time > other.time : sequence > other.sequence;
  }
};

/// Our events in SimGrid's loop: the timers and the network model, as one SimGrid "model". In each
/// round the engine asks all models for the time to their next event, moves its clock by the least
/// and tells them. Our clock runs ahead of the engine's by what a round passes beyond that.
class Events final : public simgrid::kernel::resource::Model {
 public:
  explicit Events(EventHandler& handler) : Model("weft"), handler_(handler) {}

  void set_network(DrivenNetwork* network) { network_ = network; }

  double now() const { return now_; }

  void at(double time, std::uint64_t token) {
    check(time >= now_ && time < kInfinity, "a timer is finite and not in the past");
    timers_.push_back({time, timers_set_++, token});
    std::push_heap(timers_.begin(), timers_.end());
  }

  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

  /// The first exception a handler let out, to be thrown where no SimGrid code is on the stack.
  std::exception_ptr failure() const { return failure_; }

  double next_occurring_event(double now) override {
    if (network_ == nullptr || stopped_) return -1;
    try {
      now_ = std::max(now_, now);
      const double next = next_date();
      return next < kInfinity ? std::max(next - now, 0.0) : -1;
    } catch (...) {
      keep_failure();
      return -1;
    }
  }

  void update_actions_state(double now, double delta) override {
    if (network_ == nullptr || stopped_) return;
    now_ = std::max(now_, now);
    // Where the network hears of ends after this round only, timers wait for the next, which comes
    // without the clock moving: flows are told of before timers of the same instant.
    const bool hears_late = network_->hears_late();
    if (delta > 0 && hears_late) return;
    try {
      pass_instant();
      // No other model of the engine has events then, so a round need not be one instant.
      for (int i = 1; !hears_late && !stopped_ && i < kInstantsPerRound; ++i) {
        const double next = next_date();
        if (next == kInfinity) break;
        now_ = next;
        pass_instant();
      }
    } catch (...) {
      keep_failure();
    }
    if (stopped_) network_->halt();
  }

 private:
  /// Looking after the engine's other models costs more than most of our instants.
  static constexpr int kInstantsPerRound = 256;

  /// Of the next event, in seconds: not before now_.
  double next_date() {
    const double next = network_->next_event(now_);
    return timers_.empty() ? next : std::min(next, std::max(timers_.front().time, now_));
  }

  /// Tells of everything that is due now.
  void pass_instant() {
    // All timers due now, before any handler can set another for this instant.
    due_.clear();
    const double end = end_of_instant(now_);
    while (!timers_.empty() && timers_.front().time <= end) {
      due_.push_back(timers_.front().token);
      std::pop_heap(timers_.begin(), timers_.end());
      timers_.pop_back();
    }
    network_->advance(now_, handler_);
    for (const std::uint64_t token : due_) handler_.on_timer(token);
  }

  void keep_failure() {
    if (failure_ == nullptr) failure_ = std::current_exception();
    stopped_ = true;
  }

  EventHandler& handler_;
  DrivenNetwork* network_ = nullptr;
  double now_ = 0;
  std::vector<Timer> timers_;  // a heap
  std::vector<std::uint64_t> due_;
  std::uint64_t timers_set_ = 0;
  bool stopped_ = false;
  std::exception_ptr failure_;
};

}  // namespace

struct Kernel::Impl {
  // Members go in reverse order: the network before the engine its flows live in.
  std::unique_ptr<sg::Engine> engine = make_engine();
  std::shared_ptr<Events> events;
  std::unique_ptr<DrivenNetwork> network;
};

Kernel::Kernel(const std::string& model, const std::vector<LinkSpec>& links, EventHandler& handler)
    : impl_(std::make_unique<Impl>()) {
  impl_->events = std::make_shared<Events>(handler);
  if (model == "fluid") {
    sg::create_empty_zone("fabric")->seal();  // SimGrid wants a platform; the links are the model's
    impl_->network = std::make_unique<FluidNetwork>(links);
  } else {
    check(model == "simgrid_cm02", "no such network model");
    impl_->network = std::make_unique<SimgridNetwork>(links);
  }
  impl_->events->set_network(impl_->network.get());
  impl_->engine->add_model(impl_->events);
}

Kernel::~Kernel() { impl_->events->set_network(nullptr); }

double Kernel::now() const { return impl_->events->now(); }

void Kernel::at(double time, std::uint64_t token) { impl_->events->at(time, token); }

NetworkModel& Kernel::network() { return *impl_->network; }

void Kernel::run() {
  if (!impl_->events->stopped()) impl_->engine->run();
  if (impl_->events->failure() != nullptr) std::rethrow_exception(impl_->events->failure());
}

void Kernel::stop() { impl_->events->stop(); }

const std::vector<NetworkModelInfo>& network_model_catalog() {
  static const std::vector<NetworkModelInfo> catalog = {
      {"fluid", "max-min fair sharing, re-solved incrementally; exact link accounting"},
      {"simgrid_cm02", "SimGrid's own flow model (CM02), the reference: same answers, slower"},
  };
  return catalog;
}

}  // namespace weft
