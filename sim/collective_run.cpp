#include "sim/collective_run.h"

#include <algorithm>

#include "sim/check.h"
#include "sim/random.h"

namespace weft {

CollectiveRuns::CollectiveRuns(const Network& network, const Workload& workload,
                               const Placement& placement, const SimulationOptions& options,
                               Kernel& kernel, FlowBook& book, Timeline& timeline)
    : network_(network),
      workload_(workload),
      placement_(placement),
      options_(options),
      kernel_(kernel),
      book_(book),
      timeline_(timeline) {
  for (const Communicator& communicator : workload.communicators) {
    offsets_.push_back(workload.grid.offsets(communicator.axes));
    lanes_.push_back(workload.grid.offsets(workload.lanes & ~communicator.axes));
  }
  decide_closed_forms();
}

/// A communicator along a worker's own lanes is closed when all its groups sit inside NVLink
/// domains and no other traffic of the job ever has two ends in one, so that nothing else crosses
/// NVLink.
void CollectiveRuns::decide_closed_forms() {
  const Grid& grid = workload_.grid;
  auto domains_of = [&](const std::vector<std::uint32_t>& offsets, std::uint32_t rank) {
    std::vector<std::uint32_t> domains;
    for (const auto offset : offsets)
      domains.push_back(network_.cluster().domain_of(placement_.gpu(RankId{rank + offset})));
    std::sort(domains.begin(), domains.end());
    return domains;
  };
  // Whether groups along `axes` (all = every group inside one domain; any = some domain twice).
  struct Inside {
    bool all = true, any = false;
  };
  auto inside = [&](AxisMask axes) {
    Inside result;
    const auto offsets = grid.offsets(axes);
    if (offsets.size() < 2) return Inside{true, false};
    for (std::uint32_t rank = 0; rank < grid.ranks(); ++rank) {
      if (grid.base(rank, axes) != rank) continue;
      const auto domains = domains_of(offsets, rank);
      result.all &= domains.front() == domains.back();
      result.any |= std::adjacent_find(domains.begin(), domains.end()) != domains.end();
    }
    return result;
  };

  std::vector<Inside> communicators;
  for (const Communicator& c : workload_.communicators) communicators.push_back(inside(c.axes));
  AxisMask sending = 0;
  for (const Program& program : workload_.programs)
    for (const Op& op : program.ops)
      if (op.kind == Op::Kind::send) sending |= AxisMask{1} << op.axis;
  bool sends_inside = false;
  for (std::size_t axis = 0; axis < grid.axes().size(); ++axis)
    if (sending >> axis & 1) sends_inside |= inside(AxisMask{1} << axis).any;

  closed_.assign(workload_.communicators.size(), false);
  if (!options_.closed_forms || !workload_.flows.empty() || sends_inside) return;
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    const AxisMask axes = workload_.communicators[i].axes;
    bool alone = (axes & ~workload_.lanes) == 0 && communicators[i].all;
    for (std::size_t k = 0; k < closed_.size(); ++k) alone &= k == i || !communicators[k].any;
    closed_[i] = alone;
  }
}

CollectiveStats& CollectiveRuns::stats(const CollectiveCall& call, int n, const char* mode) {
  for (CollectiveStats& s : timeline_.collectives)
    if (s.operation == call.operation && s.communicator == call.communicator &&
        s.algorithm == call.algorithm && s.size == call.size && s.mode == mode)
      return s;
  return timeline_.collectives.emplace_back(CollectiveStats{.operation = call.operation,
                                                            .communicator = call.communicator,
                                                            .algorithm = call.algorithm,
                                                            .ranks = n,
                                                            .size = call.size,
                                                            .mode = mode});
}

Seconds CollectiveRuns::closed_form(const CollectiveCall& call, std::uint64_t times) {
  const auto n = static_cast<int>(offsets_[call.communicator].size());
  if (n < 2) return Seconds(0);
  if (!closed_[call.communicator]) return Seconds(-1);
  const auto& algorithm = *workload_.algorithms[call.algorithm];
  const auto [entry, fresh] = alone_.try_emplace(
      std::tuple(call.communicator, call.algorithm, call.operation, call.size.value), 0.0);
  if (fresh) {
    const PortSpec& port = network_.cluster().host.nvlink;
    entry->second =
        algorithm.time_alone(call.operation, call.size, n, port.rate, port.latency).value;
  }
  CollectiveStats& s = stats(call, n, "closed form");
  const std::uint64_t count = times * lanes_[call.communicator].size();
  s.count += count;
  s.total_s += entry->second * static_cast<double>(count);
  const std::uint64_t messages = algorithm.messages(call.operation, n) * count;
  s.flows += messages;
  timeline_.flows_stood_for += messages;
  return Seconds(entry->second);
}

bool CollectiveRuns::coupled(const CollectiveCall& call, int n) const {
  if (!kernel_.network().can_couple()) return false;
  if (options_.collectives != CollectiveMode::automatic)
    return options_.collectives == CollectiveMode::coupled;
  return workload_.algorithms[call.algorithm]->messages(call.operation, n) > kMostStepFlows;
}

std::uint64_t CollectiveRuns::flows(const CollectiveCall& call) const {
  const auto n = static_cast<int>(offsets_[call.communicator].size());
  if (n < 2 || closed_[call.communicator]) return 0;
  const auto& algorithm = *workload_.algorithms[call.algorithm];
  const std::uint64_t lanes = lanes_[call.communicator].size();
  if (!coupled(call, n)) return lanes * algorithm.messages(call.operation, n);
  return lanes * (algorithm.fixed_peer()
                      ? 1u
                      : static_cast<std::uint64_t>(algorithm.steps(call.operation, n)));
}

/// One connection per pair and communicator: all steps of all its collectives hash alike.
std::uint64_t CollectiveRuns::flow_key(const CollectiveCall& call) const {
  return mix(0x636f6c6c, call.communicator);
}

bool CollectiveRuns::start(const CollectiveCall& call, std::uint32_t rank, std::uint64_t tag) {
  const auto& offsets = offsets_[call.communicator];
  const auto n = static_cast<int>(offsets.size());
  if (n < 2) return false;
  std::uint32_t slot;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(runs_.size());
    runs_.push_back(std::make_unique<Run>());
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Run& run = *runs_[slot];
  const Communicator& communicator = workload_.communicators[call.communicator];
  const auto& lanes = lanes_[call.communicator];
  run.call = &call;
  run.algorithm = workload_.algorithms[call.algorithm].get();
  run.traffic = communicator.traffic;
  run.n = n;
  run.communicators = static_cast<std::uint32_t>(lanes.size());
  run.steps = static_cast<std::uint32_t>(run.algorithm->steps(call.operation, n));
  run.tag = tag;
  run.start = kernel_.now();
  run.coupled = coupled(call, n);
  run.gpus.clear();
  const std::uint32_t base = workload_.grid.base(rank, communicator.axes | workload_.lanes);
  for (const auto lane : lanes)
    for (const auto offset : offsets)
      run.gpus.push_back(placement_.gpu(RankId{base + lane + offset}));
  const auto total = static_cast<std::uint32_t>(run.gpus.size());
  if (run.algorithm->fixed_peer()) {
    // Fixed peers send one message a step, to the same rank, over one connection.
    run.routes.resize(total);
    for (std::uint32_t m = 0; m < total; ++m) {
      sends_.clear();
      const int index = static_cast<int>(m % static_cast<std::uint32_t>(n));
      run.algorithm->sends(call.operation, call.size, n, index, 0, sends_);
      const auto first = m - static_cast<std::uint32_t>(index);
      book_.find(run.gpus[m], run.gpus[first + static_cast<std::uint32_t>(sends_[0].peer)],
                 flow_key(call), run.routes[m]);
    }
  }
  if (run.coupled) {
    run.left = run.communicators;
    run.phase.assign(run.communicators, 0);
    for (std::uint32_t c = 0; c < run.communicators; ++c) begin_phase(slot, c);
    return true;
  }
  run.left = total;
  run.members.assign(total, Member{});
  for (std::uint32_t m = 0; m < total; ++m) begin_step(slot, m);
  return true;
}

void CollectiveRuns::begin_step(std::uint32_t slot, std::uint32_t m) {
  Run& run = *runs_[slot];
  Member& member = run.members[m];
  const auto n = static_cast<std::uint32_t>(run.n);
  const auto index = static_cast<int>(m % n);
  const auto first = m - m % n;
  const auto step = static_cast<int>(member.step);
  const Operation operation = run.call->operation;
  sends_.clear();
  run.algorithm->sends(operation, run.call->size, run.n, index, step, sends_);
  member.pending = static_cast<std::uint32_t>(sends_.size());
  member.expected =
      static_cast<std::uint32_t>(run.algorithm->receives(operation, run.n, index, step));
  if (!run.early.empty()) {
    const auto early = run.early.find(std::uint64_t{m} << 32 | member.step);
    if (early != run.early.end()) {
      member.received += early->second;
      run.early.erase(early);
    }
  }
  FlowOwner owner{FlowOwner::Kind::step, run.traffic, slot, m, 0, member.step};
  for (const Send& send : sends_) {
    owner.peer = first + static_cast<std::uint32_t>(send.peer);
    if (run.algorithm->fixed_peer()) {
      book_.start(run.gpus[m], run.gpus[owner.peer], run.routes[m], send.bytes, owner);
    } else {
      static thread_local Route route;
      book_.find(run.gpus[m], run.gpus[owner.peer], flow_key(*run.call), route);
      book_.start(run.gpus[m], run.gpus[owner.peer], route, send.bytes, owner);
    }
  }
}

void CollectiveRuns::advance(std::uint32_t slot, std::uint32_t m) {
  Run& run = *runs_[slot];
  Member& member = run.members[m];
  if (member.over || member.pending > 0 || member.received < member.expected) return;
  if (member.step + 1 == run.steps) {
    member.over = true;
    --run.left;
    return;
  }
  ++member.step;
  member.received -= member.expected;
  begin_step(slot, m);
}

/// Starts the next coupled variable of a communicator: all steps of a fixed-peer algorithm, else
/// one step.
void CollectiveRuns::begin_phase(std::uint32_t slot, std::uint32_t c) {
  Run& run = *runs_[slot];
  const auto n = static_cast<std::uint32_t>(run.n);
  const auto first = c * n;
  const CollectiveCall& call = *run.call;
  std::vector<WeightedLink> links;
  if (weight_.empty()) weight_.resize(network_.links().size());
  double latency = 0, alone = 0, most = 0;
  std::uint64_t messages = 0;
  auto add = [&](const Route& route, double bytes) {
    for (const LinkId link : route.links) {
      if (weight_[at(link)] == 0) links.push_back({link, 0});
      ++weight_[at(link)];
    }
    latency = std::max(latency, route.latency.value);
    most = std::max(most, bytes);
    alone = std::max(alone, bytes / bytes_per_second(route.rate));
    ++messages;
  };
  const bool fixed = run.algorithm->fixed_peer();
  if (fixed) {
    // Chunks differ by a byte at most; their mean keeps the total exact.
    const double each = static_cast<double>(call.size.value) / run.n;
    for (std::uint32_t i = 0; i < n; ++i) add(run.routes[first + i], each);
  } else {
    Route route;
    for (std::uint32_t i = 0; i < n; ++i) {
      sends_.clear();
      run.algorithm->sends(call.operation, call.size, run.n, static_cast<int>(i),
                           static_cast<int>(run.phase[c]), sends_);
      for (const Send& send : sends_) {
        book_.find(run.gpus[first + i], run.gpus[first + static_cast<std::uint32_t>(send.peer)],
                   flow_key(call), route);
        add(route, static_cast<double>(send.bytes.value));
      }
    }
  }
  for (WeightedLink& link : links) link.weight = std::exchange(weight_[at(link.link)], 0);
  const auto steps = fixed ? static_cast<int>(run.steps) : 1;
  book_.start_coupled(links, most * steps, Seconds(latency * steps), (alone + latency) * steps,
                      messages * static_cast<std::uint64_t>(steps), steps,
                      {FlowOwner::Kind::coupled, run.traffic, slot, c, 0, 0});
  run.phase[c] += static_cast<std::uint32_t>(steps);
}

bool CollectiveRuns::on_flow_done(const FlowOwner& flow, std::uint64_t& tag) {
  Run& run = *runs_[flow.owner];
  if (run.coupled) {
    if (run.phase[flow.member] < run.steps) {
      begin_phase(flow.owner, flow.member);
      return false;
    }
    --run.left;
  } else {
    --run.members[flow.member].pending;
    Member& peer = run.members[flow.peer];
    // A fixed peer's messages come in order, so that those of later steps only need counting.
    if (peer.step == flow.step || run.algorithm->fixed_peer())
      ++peer.received;
    else
      ++run.early[std::uint64_t{flow.peer} << 32 | flow.step];
    advance(flow.owner, flow.member);
    advance(flow.owner, flow.peer);
  }
  if (run.left > 0) return false;
  check(run.early.empty(), "a collective ended with messages that nobody expected");
  CollectiveStats& s = stats(*run.call, run.n, run.coupled ? "coupled" : "steps");
  s.count += run.communicators;
  s.total_s += (kernel_.now() - run.start) * run.communicators;
  s.flows += run.algorithm->messages(run.call->operation, run.n) * run.communicators;
  tag = run.tag;
  free_.push_back(flow.owner);
  return true;
}

}  // namespace weft
