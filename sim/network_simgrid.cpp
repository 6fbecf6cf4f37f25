#include "sim/network_simgrid.h"

#include <algorithm>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u/Activity.hpp>
#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <simgrid/s4u/NetZone.hpp>
#include <string>
#include <unordered_set>

#include "sim/check.h"
#include "sim/event_queue.h"

namespace weft {

namespace sg = simgrid::s4u;
namespace routing = simgrid::kernel::routing;

namespace {

/// A zone without routes of its own: the path of each flow is armed before the flow starts.
/// SimGrid's model asks once per flow and caches nothing.
class ArmedZone final : public routing::NetZoneImpl {
 public:
  explicit ArmedZone(const std::string& name) : NetZoneImpl(name) {}

  void get_local_route(const routing::NetPoint*, const routing::NetPoint*, routing::Route* into,
                       double* delay) override {
    into->link_list_.insert(into->link_list_.end(), path.begin(), path.end());
    // SimGrid weighs flows by the latency it is told here, so all are told the same (> 0, or a flow
    // would have no weight). A latency factor of 0 then takes it away.
    if (delay != nullptr) *delay += 1.0;
  }

  /// The path of the next flow.
  std::vector<simgrid::kernel::resource::StandardLinkImpl*> path;
};

}  // namespace

struct SimgridNetwork::Impl {
  enum class State : std::uint8_t { free, waiting, sending, done, failed };

  struct Flow {
    sg::CommPtr comm;
    std::vector<LinkId> path;
    double size = 0;  // bytes
    double left = 0;  // bytes unsent, once failed
    std::uint64_t token = 0;
    std::uint64_t sequence = 0;
    QueueHook hook;  // in waiting
    State state = State::free;
  };

  struct HookOf {
    std::vector<Flow>* flows;
    QueueHook& operator()(FlowHandle flow) const { return (*flows)[flow].hook; }
  };

  struct Link {
    sg::Link* link = nullptr;
    bool up = true;
    double bytes = 0;
    std::uint32_t flows = 0;
    std::uint32_t peak = 0;
  };

  // Zone, hosts and links belong to the engine.
  ArmedZone* zone = new ArmedZone("fabric");
  sg::Host* source = nullptr;
  sg::Host* destination = nullptr;
  std::vector<Link> links;
  std::vector<Flow> flows;
  std::vector<FlowHandle> unused;              // indices into flows
  EventQueue<HookOf> waiting{HookOf{&flows}};  // until their latency is over
  double now = 0;
  std::vector<FlowHandle> ended;  // not yet told
  std::vector<FlowHandle> telling;
  std::vector<FlowHandle> batch;  // whose latency is over
  std::uint64_t started = 0;
  bool halted = false;

  /// Hands a flow whose latency is over to SimGrid.
  void send(FlowHandle handle) {
    Flow& flow = flows[handle];
    if (flow.size <= 0) {
      end(handle, State::done);
      return;
    }
    flow.state = State::sending;
    zone->path.clear();
    for (const LinkId id : flow.path) {
      Link& link = links[at(id)];
      link.peak = std::max(link.peak, ++link.flows);
      zone->path.push_back(link.link->get_impl());
    }
    flow.comm = sg::Comm::sendto_init(source, destination);
    flow.comm->set_payload_size(static_cast<std::uint64_t>(flow.size));
    flow.comm->set_data(reinterpret_cast<void*>(static_cast<std::uintptr_t>(handle)));
    flow.comm->start();
  }

  /// Notes the end of a flow. SimGrid calls it when a communication finishes, fails or is
  /// cancelled.
  void end(FlowHandle handle, State state) {
    Flow& flow = flows[handle];
    if ((flow.state != State::sending && flow.state != State::waiting) || halted) return;
    if (flow.hook.place != QueueHook::kOut) waiting.remove(handle);
    flow.state = state;
    ended.push_back(handle);
  }
};

SimgridNetwork::SimgridNetwork(const std::vector<LinkSpec>& links)
    : impl_(std::make_shared<Impl>()) {
  sg::NetZone& zone = *impl_->zone->get_iface();
  impl_->source = zone.create_host("source", 1.0)->seal();
  impl_->destination = zone.create_host("destination", 1.0)->seal();
  impl_->links.resize(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    Impl::Link& link = impl_->links[i];
    const double capacity = bytes_per_second(links[i].capacity);
    link.up = capacity > 0;
    link.link = zone.create_link("l" + std::to_string(i), link.up ? capacity : 1.0)->seal();
    if (!link.up) link.link->turn_off();
  }
  zone.seal();
  zone.get_network_model()->set_lat_factor_cb(
      [](double, const sg::Host*, const sg::Host*, const std::vector<sg::Link*>&,
         const std::unordered_set<sg::NetZone*>&) { return 0.0; });
  sg::Activity::on_completion_cb([watched =
                                      std::weak_ptr<Impl>(impl_)](const sg::Activity& activity) {
    const std::shared_ptr<Impl> impl = watched.lock();
    if (impl == nullptr) return;
    const auto number =
        reinterpret_cast<std::uintptr_t>(static_cast<const sg::Comm&>(activity).get_data<void>());
    impl->end(static_cast<FlowHandle>(number), activity.get_state() == sg::Activity::State::FINISHED
                                                   ? Impl::State::done
                                                   : Impl::State::failed);
  });
}

SimgridNetwork::~SimgridNetwork() = default;

FlowHandle SimgridNetwork::start(std::span<const LinkId> path, Bytes size, Seconds latency,
                                 std::uint64_t token) {
  check(!path.empty(), "a flow needs a path");
  check(latency.value >= 0 && latency.value < kInfinity, "a latency is finite and not negative");
  Impl& impl = *impl_;
  FlowHandle handle = 0;
  if (impl.unused.empty()) {
    handle = static_cast<FlowHandle>(impl.flows.size());
    impl.flows.emplace_back();
  } else {
    handle = impl.unused.back();
    impl.unused.pop_back();
  }
  Impl::Flow& flow = impl.flows[handle];
  flow.path.assign(path.begin(), path.end());
  flow.size = static_cast<double>(size.value);
  flow.left = flow.size;
  flow.token = token;
  flow.sequence = impl.started++;
  flow.state = Impl::State::waiting;
  bool up = true;
  for (const LinkId id : path) {
    check(at(id) < impl.links.size(), "no such link");
    up = up && impl.links[at(id)].up;
  }
  if (!up)
    impl.end(handle, Impl::State::failed);
  else if (latency.value > 0)
    impl.waiting.add(handle, impl.now + latency.value);
  else
    impl.send(handle);
  return handle;
}

FlowHandle SimgridNetwork::start_coupled(std::span<const WeightedLink>, double, Seconds,
                                         std::uint64_t) {
  check(false, "simgrid_cm02 cannot couple flows");
  return 0;
}

void SimgridNetwork::set_capacity(LinkId id, BitsPerSecond capacity) {
  check(at(id) < impl_->links.size() && capacity.value >= 0, "no such link or capacity");
  Impl::Link& link = impl_->links[at(id)];
  if (capacity.value > 0) {
    link.link->set_bandwidth(bytes_per_second(capacity));
    if (!link.up) link.link->turn_on();
    link.up = true;
    return;
  }
  if (!link.up) return;
  link.up = false;
  // SimGrid forgets what was left of a failed flow, so it is asked before.
  for (FlowHandle handle = 0; handle < impl_->flows.size(); ++handle) {
    Impl::Flow& flow = impl_->flows[handle];
    if (std::find(flow.path.begin(), flow.path.end(), id) == flow.path.end()) continue;
    if (flow.state == Impl::State::waiting) impl_->end(handle, Impl::State::failed);
    if (flow.state == Impl::State::sending)
      flow.left = std::clamp(flow.comm->get_remaining(), 0.0, flow.size);
  }
  link.link->turn_off();
}

LinkUse SimgridNetwork::use(LinkId id) const {
  const Impl::Link& link = impl_->links.at(at(id));
  LinkUse use;
  use.bytes = link.bytes;
  use.peak_flows = link.peak;
  use.rates_known = false;
  return use;
}

std::uint64_t SimgridNetwork::flows_started() const { return impl_->started; }

double SimgridNetwork::next_event(double now) {
  impl_->now = now;
  if (!impl_->ended.empty()) return now;
  return impl_->waiting.empty() ? kInfinity : std::max(impl_->waiting.first_date(), now);
}

void SimgridNetwork::advance(double now, EventHandler& handler) {
  Impl& impl = *impl_;
  impl.now = now;
  impl.batch.clear();
  impl.waiting.pop_until(end_of_instant(now),
                         [&impl](FlowHandle flow) { impl.batch.push_back(flow); });
  for (const FlowHandle flow : impl.batch)
    if (impl.flows[flow].size <= 0) impl.send(flow);  // and it is done
  impl.telling.swap(impl.ended);
  impl.ended.clear();
  std::sort(impl.telling.begin(), impl.telling.end(), [&](FlowHandle a, FlowHandle b) {
    return impl.flows[a].sequence < impl.flows[b].sequence;
  });
  for (const FlowHandle handle : impl.telling) {
    Impl::Flow& flow = impl.flows[handle];
    const bool done = flow.state == Impl::State::done;
    const double sent = done ? flow.size : flow.size - flow.left;
    for (const LinkId id : flow.path) impl.links[at(id)].bytes += sent;
    if (flow.comm == nullptr) continue;  // it never sent
    for (const LinkId id : flow.path) --impl.links[at(id)].flows;
    flow.comm.reset();
  }
  // Those that begin come after those that end, so that no link ever seems to hold both.
  for (const FlowHandle handle : impl.batch)
    if (impl.flows[handle].state == Impl::State::waiting) impl.send(handle);
  for (const FlowHandle handle : impl.telling) {
    const bool done = impl.flows[handle].state == Impl::State::done;
    const std::uint64_t token = impl.flows[handle].token;
    const double left = impl.flows[handle].left;
    impl.flows[handle].state = Impl::State::free;
    impl.unused.push_back(handle);
    if (done)
      handler.on_flow_done(token);
    else
      handler.on_flow_failed(token, left);
  }
}

void SimgridNetwork::halt() {
  if (impl_->halted) return;
  impl_->halted = true;
  for (Impl::Flow& flow : impl_->flows)
    if (flow.state == Impl::State::sending && flow.comm != nullptr) flow.comm->cancel();
}

}  // namespace weft
