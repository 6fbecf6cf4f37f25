#include "sim/network_fluid.h"

#include <algorithm>

#include "sim/check.h"

namespace weft {

namespace {

/// A link is saturated when its load is within this of its capacity.
constexpr double kSaturated = 1 - 1e-9;

/// So few candidates are looked through faster than sorted.
constexpr std::size_t kFewCandidates = 32;

}  // namespace

void FluidNetwork::Link::resize(int room) {
  Slot* slots = new Slot[kFew << room];
  std::copy(begin(), end(), slots);
  if (room_ > 0) delete[] many_;
  many_ = slots;
  room_ = static_cast<std::uint8_t>(room);
}

FluidNetwork::FluidNetwork(const std::vector<LinkSpec>& links)
    : links_(links.size()), queue_(HookOf{&flows_}) {
  check(links.size() < kNone, "too many links");
  for (std::size_t i = 0; i < links.size(); ++i) {
    links_[i].capacity = bytes_per_second(links[i].capacity);
    down_ += links_[i].capacity <= 0;
  }
}

// ---- flows
// ---------------------------------------------------------------------------------------

std::uint32_t FluidNetwork::new_flow(double bytes, std::uint64_t token) {
  std::uint32_t index = 0;
  if (unused_.empty()) {
    check(flows_.size() < QueueHook::kFollower, "too many flows at once");
    index = static_cast<std::uint32_t>(flows_.size());
    flows_.emplace_back();
  } else {
    index = unused_.back();
    unused_.pop_back();
  }
  Flow& flow = flows_[index];
  flow.rate = 0;
  flow.left = bytes;
  flow.size = bytes;
  flow.token = token;
  flow.sequence = started_++;
  flow.bottleneck = kNone;
  return index;
}

void FluidNetwork::make_long_path(Flow& flow, std::uint32_t hops) {
  if (unused_long_paths_.empty()) {
    flow.long_path = static_cast<std::uint32_t>(long_paths_.size());
    long_paths_.emplace_back();
  } else {
    flow.long_path = unused_long_paths_.back();
    unused_long_paths_.pop_back();
  }
  long_paths_[flow.long_path].hops.resize(hops);
}

void FluidNetwork::free_flow(std::uint32_t index) {
  Flow& flow = flows_[index];
  flow.state = State::free;
  if (flow.long_path != kNone) {
    LongPath& path = long_paths_[flow.long_path];
    if (path.hops.capacity() > 64) path = LongPath();
    unused_long_paths_.push_back(flow.long_path);
    flow.long_path = kNone;
    flow.weighted = false;
  }
  unused_.push_back(index);
}

FlowHandle FluidNetwork::start(std::span<const LinkId> path, Bytes size, Seconds latency,
                               std::uint64_t token) {
  check(!path.empty(), "a flow needs a path");
  check(latency.value >= 0 && latency.value < kInfinity, "a latency is finite and not negative");
  bool simple = true;  // no link twice
  for (std::size_t i = 0; i < path.size(); ++i) {
    check(at(path[i]) < links_.size(), "no such link");
    for (std::size_t j = 0; j < i; ++j) simple = simple && path[j] != path[i];
  }
  if (!simple) {
    std::vector<WeightedLink> links;
    for (const LinkId link : path) links.push_back({link, 1});
    return start_coupled(links, static_cast<double>(size.value), latency, token);
  }
  const std::uint32_t index = new_flow(static_cast<double>(size.value), token);
  Flow& flow = flows_[index];
  flow.hops = static_cast<std::uint32_t>(path.size());
  if (flow.hops > kInlineHops) make_long_path(flow, flow.hops);
  Hop* hops = path_of(flow);
  for (std::size_t i = 0; i < path.size(); ++i) hops[i].link = static_cast<std::uint32_t>(path[i]);
  return launch(index, latency.value);
}

FlowHandle FluidNetwork::start_coupled(std::span<const WeightedLink> links, double bytes,
                                       Seconds latency, std::uint64_t token) {
  check(!links.empty(), "a flow needs a path");
  check(bytes >= 0 && bytes < kInfinity, "a size is finite and not negative");
  check(latency.value >= 0 && latency.value < kInfinity, "a latency is finite and not negative");
  const std::uint32_t index = new_flow(bytes, token);
  Flow& flow = flows_[index];
  make_long_path(flow, 0);
  flow.weighted = true;
  std::vector<WeightedLink> sorted(links.begin(), links.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const WeightedLink& a, const WeightedLink& b) { return a.link < b.link; });
  LongPath& path = long_paths_[flow.long_path];
  path.weights.clear();
  for (const WeightedLink& link : sorted) {
    check(at(link.link) < links_.size() && link.weight > 0, "no such link, or a weight of 0");
    const auto id = static_cast<std::uint32_t>(link.link);
    if (!path.hops.empty() && path.hops.back().link == id) {
      path.weights.back() += link.weight;
    } else {
      path.hops.push_back({id, 0});
      path.weights.push_back(link.weight);
    }
  }
  flow.hops = static_cast<std::uint32_t>(path.hops.size());
  return launch(index, latency.value);
}

FlowHandle FluidNetwork::launch(std::uint32_t index, double latency) {
  Flow& flow = flows_[index];
  const Hop* hops = path_of(flow);
  flow.state = State::waiting;
  const auto is_down = [this](const Hop& hop) { return links_[hop.link].capacity <= 0; };
  if (down_ > 0 && std::any_of(hops, hops + flow.hops, is_down)) {
    end(index, false);
    return index;
  }
  if (latency > 0 || flow.size <= 0)
    wait(index, latency);
  else
    attach(index);
  return index;
}

/// Puts a flow where its latency ends: behind the others of the same latency, for they end in the
/// order of starting.
void FluidNetwork::wait(std::uint32_t index, double latency) {
  const double date = now_ + latency;
  Line* empty = nullptr;
  for (Line& line : lines_) {
    if (line.latency == latency) {
      line.flows.push_back({date, flows_[index].sequence, index});
      return;
    }
    if (line.flows.empty()) empty = &line;
  }
  if (lines_.size() < kMostLines) empty = &lines_.emplace_back();
  if (empty == nullptr) {
    queue_.add(index, date);
    return;
  }
  empty->latency = latency;
  empty->flows.push_back({date, flows_[index].sequence, index});
}

/// When the first flow of a line ends its latency. Those that failed meanwhile leave it here.
double FluidNetwork::first_date(Line& line) {
  while (!line.flows.empty()) {
    const Waiting& first = line.flows.front();
    const Flow& flow = flows_[first.flow];
    if (flow.state == State::waiting && flow.sequence == first.sequence) return first.date;
    line.flows.pop_front();
  }
  return kInfinity;
}

void FluidNetwork::attach(std::uint32_t index) {
  Flow& flow = flows_[index];
  fetch_links(flow);
  flow.state = State::sending;
  flow.since = now_;
  Hop* hops = path_of(flow);
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    Link& link = links_[hops[i].link];
    hops[i].place = link.flows();
    link.push({index, i});
    link.weight += weight_of(flow, i);
    link.peak_flows = std::max(link.peak_flows, link.weight);
  }
  fresh_.push_back(index);
}

/// Takes a sending flow off its links, on which it has sent `sent` bytes.
void FluidNetwork::detach(std::uint32_t index, double sent) {
  Flow& flow = flows_[index];
  const Hop* hops = path_of(flow);
  if (flow.bottleneck != kNone) --links_[flow.bottleneck].held;
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    const std::uint32_t number = hops[i].link;
    Link& link = links_[number];
    const Slot moved = link.take_out(hops[i].place);
    if (moved.flow != index) path_of(flows_[moved.flow])[moved.hop].place = hops[i].place;
    const std::uint32_t weight = weight_of(flow, i);
    link.weight -= weight;
    link.bytes += weight * sent;
    set_load(link, link.flows() == 0 ? 0 : link.load - weight * flow.rate);
    if (link.held > 0) mark_dirty(number);  // others gain nothing
  }
}

/// Takes a live flow out of the network. Accounts for what it has sent; a failure is noted in
/// failed_.
void FluidNetwork::end(std::uint32_t index, bool done) {
  Flow& flow = flows_[index];
  double sent = flow.size;
  if (!done) {
    const double left = flow.left - flow.rate * (now_ - flow.since);
    const double unsent =
        flow.state == State::sending ? std::clamp(left, 0.0, flow.size) : flow.size;
    sent = flow.size - unsent;
    failed_.push_back({flow.sequence, flow.token, unsent});
    if (flow.hook.place != QueueHook::kOut) queue_.remove(index);
  }
  if (flow.state == State::sending) detach(index, sent);
  free_flow(index);
}

void FluidNetwork::set_load(Link& link, double load) {
  const bool saturated = load > 0 && load >= link.capacity * kSaturated;
  if (link.saturated || saturated) {
    if (link.saturated) {
      const double time = now_ - link.since;
      link.saturated_s += time;
      link.contended_s += time * (1 - 1.0 / link.sharing);
    }
    link.since = now_;
    link.sharing = std::max<std::uint32_t>(link.weight, 1);
    link.saturated = saturated;
  }
  link.load = load;
}

/// The same for rates that have been settled: they count as peaks.
void FluidNetwork::settle_load(Link& link, double load) {
  set_load(link, load);
  if (link.peaked || load <= link.peak_utilization * link.capacity) return;
  link.peak_utilization = load / link.capacity;
  link.peaked = link.peak_utilization >= 1;
}

/// Asks for the links of a flow's path to be brought near, where they are about to be used.
inline void FluidNetwork::fetch_links(const Flow& flow) const {
  if (flow.long_path != kNone) return;
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    const Link& link = links_[flow.path[i].link];
    __builtin_prefetch(&link);
    __builtin_prefetch(&link.bytes);
  }
}

/// Gives a flow its new rate and date of completion.
void FluidNetwork::set_rate(Flow& flow, std::uint32_t index, double rate) {
  if (rate == flow.rate) return;
  flow.left = std::max(flow.left - flow.rate * (now_ - flow.since), 0.0);
  flow.since = now_;
  flow.rate = rate;
  queue_.move(index, now_ + flow.left / rate);
}

void FluidNetwork::mark_dirty(std::uint32_t link) {
  if (links_[link].dirty) return;
  links_[link].dirty = true;
  dirty_.push_back(link);
}

// ---- the model's interface
// -----------------------------------------------------------------------

void FluidNetwork::set_capacity(LinkId id, BitsPerSecond capacity) {
  check(at(id) < links_.size() && capacity.value >= 0, "no such link or capacity");
  const auto number = static_cast<std::uint32_t>(id);
  Link& link = links_[number];
  const double bytes_per_s = bytes_per_second(capacity);
  if (bytes_per_s == link.capacity) return;
  if (bytes_per_s > 0) {
    down_ -= link.capacity <= 0;
    link.capacity = bytes_per_s;
    link.changed = true;
    mark_dirty(number);
    return;
  }
  for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) {
    if (flows_[flow].state == State::free) continue;
    const Hop* hops = path_of(flows_[flow]);
    const bool crosses = std::any_of(hops, hops + flows_[flow].hops,
                                     [&](const Hop& hop) { return hop.link == number; });
    if (crosses) end(flow, false);
  }
  link.capacity = 0;
  ++down_;
}

LinkUse FluidNetwork::use(LinkId id) const {
  const Link& link = links_.at(at(id));
  LinkUse use;
  use.bytes = link.bytes;
  for (const Slot slot : link) {
    const Flow& flow = flows_[slot.flow];
    const double left = std::max(flow.left - flow.rate * (now_ - flow.since), 0.0);
    use.bytes += (flow.size - left) * weight_of(flow, slot.hop);
  }
  const double pending = link.saturated ? now_ - link.since : 0;
  use.saturated_s = link.saturated_s + pending;
  use.contended_s = link.contended_s + pending * (1 - 1.0 / link.sharing);
  use.peak_utilization = link.peak_utilization;
  use.peak_flows = link.peak_flows;
  return use;
}

double FluidNetwork::rate(FlowHandle flow) const {
  check(flow < flows_.size() && flows_[flow].state != State::free, "no such flow");
  return flows_[flow].rate;
}

double FluidNetwork::next_event(double now) {
  now_ = now;
  solve();
  if (!failed_.empty()) return now;
  double date = queue_.empty() ? kInfinity : queue_.first_date();
  for (Line& line : lines_) date = std::min(date, first_date(line));
  return std::max(date, now);
}

void FluidNetwork::advance(double now, EventHandler& handler) {
  now_ = now;
  batch_.clear();
  const double end_of_now = end_of_instant(now);
  queue_.pop_until(end_of_now, [this](std::uint32_t flow) {
    batch_.push_back({flows_[flow].sequence, flow});
  });
  for (Line& line : lines_) {
    for (; first_date(line) <= end_of_now; line.flows.pop_front()) {
      batch_.push_back({line.flows.front().sequence, line.flows.front().flow});
    }
  }
  if (batch_.empty() && failed_.empty()) return;
  const auto earlier = [](const Due& a, const Due& b) { return a.sequence < b.sequence; };
  if (!std::is_sorted(batch_.begin(), batch_.end(), earlier))
    std::sort(batch_.begin(), batch_.end(), earlier);
  // All that leave go before any that begin, so that no link ever seems to hold both.
  ended_.clear();
  for (const Due& due : batch_) fetch_links(flows_[due.flow]);
  for (const Due& due : batch_) {
    const Flow& flow = flows_[due.flow];
    if (flow.state == State::waiting && flow.size > 0) continue;
    ended_.push_back({flow.sequence, flow.token, -1});
    end(due.flow, true);
  }
  for (const Due& due : batch_)
    if (flows_[due.flow].state == State::waiting) attach(due.flow);
  if (!failed_.empty()) {
    ended_.insert(ended_.end(), failed_.begin(), failed_.end());
    failed_.clear();
    std::sort(ended_.begin(), ended_.end(),
              [](const Ended& a, const Ended& b) { return a.sequence < b.sequence; });
  }
  for (const Ended& flow : ended_) {
    if (flow.left < 0)
      handler.on_flow_done(flow.token);
    else
      handler.on_flow_failed(flow.token, flow.left);
  }
}

// ---- the solver
// ----------------------------------------------------------------------------------

void FluidNetwork::solve() {
  if (dirty_.empty() && fresh_.empty()) return;
  if (mark_ > kNone / 2) {  // no solve needs as many as are left
    for (Flow& flow : flows_) flow.mark = 0;
    for (Link& link : links_) link.mark = 0;
    mark_ = 0;
  }
  seeds_.clear();
  seeds_mark_ = ++mark_;
  std::size_t groups = 0;  // of seeds that share a link
  auto count_group = [&, before = std::size_t{0}]() mutable {
    groups += seeds_.size() > before;
    before = seeds_.size();
  };
  for (const std::uint32_t number : dirty_) {
    Link& link = links_[number];
    if (link.changed)
      for (const Slot slot : link) seed(slot.flow);
    else
      seed_held_by(number);
    link.dirty = link.changed = false;
    count_group();
  }
  for (const std::uint32_t index : fresh_) {
    Flow& flow = flows_[index];
    if (flow.state != State::sending || flow.mark == seeds_mark_ || solve_alone(index)) continue;
    seed(index);
    const Hop* hops = path_of(flow);
    for (std::uint32_t i = 0; i < flow.hops; ++i) seed_held_by(hops[i].link);
    count_group();
  }
  dirty_.clear();
  fresh_.clear();
  pending_seeds_ = seeds_.size();
  if (groups == 1) {
    if (seeds_.size() == 1 && solve_single(seeds_.front())) return;
    start_component();
    for (const std::uint32_t index : seeds_) add_member(index);
    solve_component();
    return;
  }
  for (const std::uint32_t index : seeds_) {
    if (flows_[index].mark != seeds_mark_) continue;  // it is in a component
    start_component();
    add_member(index);
    solve_component();
  }
}

/// The common case of private links: a flow that shares none gets the least capacity.
bool FluidNetwork::solve_alone(std::uint32_t index) {
  Flow& flow = flows_[index];
  const Hop* hops = path_of(flow);
  double rate = kInfinity;
  std::uint32_t bottleneck = kNone;
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    const Link& link = links_[hops[i].link];
    if (link.flows() != 1) return false;
    const double share = link.capacity / weight_of(flow, i);
    if (share < rate) {
      rate = share;
      bottleneck = hops[i].link;
    }
  }
  hold(flow, bottleneck, rate);
  for (std::uint32_t i = 0; i < flow.hops; ++i)
    settle_load(links_[hops[i].link],
                std::min(rate * weight_of(flow, i), links_[hops[i].link].capacity));
  set_rate(flow, index, rate);
  return true;
}

/// The next most common case: one flow changes and no other has to. Returns false, with nothing
/// done, where that is not so.
bool FluidNetwork::solve_single(std::uint32_t index) {
  Flow& flow = flows_[index];
  const Hop* hops = path_of(flow);
  double rate = kInfinity, second = kInfinity;
  std::uint32_t tightest = 0;
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    check_load(hops[i].link);
    const Link& link = links_[hops[i].link];
    const double weight = weight_of(flow, i);
    const double share = (link.capacity - link.load) / weight + flow.rate;
    if (share < rate) {
      second = rate;
      rate = share;
      tightest = i;
    } else {
      second = std::min(second, share);
    }
  }
  const std::uint32_t bottleneck = hops[tightest].link;
  const double weight = weight_of(flow, tightest);
  double outside = 0, top = 0, held_level = kInfinity;
  for (const Slot slot : links_[bottleneck]) {
    if (slot.flow == index) continue;
    const Flow& other = flows_[slot.flow];
    outside += weight_of(other, slot.hop) * other.rate;
    top = std::max(top, other.rate);
    if (other.bottleneck == bottleneck) held_level = std::min(held_level, other.rate);
  }
  rate = std::max(links_[bottleneck].capacity - outside, 0.0) / weight;
  const double floor = rate * (1 - kTolerance);
  if (rate > second || top > rate * (1 + kTolerance) || held_level < floor) return false;
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    const Link& link = links_[hops[i].link];
    if (link.held == (flow.bottleneck == hops[i].link) || i == tightest) continue;
    const double remaining = link.capacity - link.load - weight_of(flow, i) * (rate - flow.rate);
    if (remaining > link.capacity * kTolerance || link.level < floor) return false;
  }
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    const Link& link = links_[hops[i].link];
    const double load = i == tightest ? outside + weight * rate
                                      : link.load + weight_of(flow, i) * (rate - flow.rate);
    settle_load(links_[hops[i].link], std::clamp(load, 0.0, link.capacity));
  }
  hold(flow, bottleneck, rate);
  set_rate(flow, index, rate);
  return true;
}

/// Loads are kept by differences. Every 256th or so that is looked at is added up anew, so that
/// rounding errors do not build up on links that are never a bottleneck.
void FluidNetwork::check_load(std::uint32_t number) {
  looks_ += 0x9e3779b1;  // an odd number: the top byte is 0 every 256th time, without a pattern
  if (looks_ >> 24 != 0) [[likely]]
    return;
  Link& link = links_[number];
  link.load = 0;
  for (const Slot slot : link) {
    const Flow& flow = flows_[slot.flow];
    link.load += weight_of(flow, slot.hop) * flow.rate;
  }
}

/// Notes a flow's bottleneck and its rate there.
void FluidNetwork::hold(Flow& flow, std::uint32_t bottleneck, double rate) {
  if (flow.bottleneck != bottleneck) {
    if (flow.bottleneck != kNone) --links_[flow.bottleneck].held;
    ++links_[bottleneck].held;
    flow.bottleneck = bottleneck;
  }
  links_[bottleneck].level = rate;
}

void FluidNetwork::seed(std::uint32_t flow) {
  if (flows_[flow].mark == seeds_mark_) return;
  flows_[flow].mark = seeds_mark_;
  seeds_.push_back(flow);
}

/// Seeds the flows whose bottleneck is the link, which is looked through once.
void FluidNetwork::seed_held_by(std::uint32_t number) {
  Link& link = links_[number];
  if (link.held == 0 || link.mark == seeds_mark_) return;
  link.mark = seeds_mark_;
  for (const Slot slot : link)
    if (flows_[slot.flow].bottleneck == number) seed(slot.flow);
}

void FluidNetwork::start_component() {
  ++mark_;
  members_.clear();
  touched_.clear();
  crossings_.clear();
  shared_.clear();
}

void FluidNetwork::solve_component() {
  std::uint32_t closed = 0;
  do {
    for (; closed < members_.size(); ++closed) touch_links(closed);
    fill();
  } while (grow());
  commit();
}

void FluidNetwork::add_member(std::uint32_t index) {
  Flow& flow = flows_[index];
  if (flow.mark == seeds_mark_) --pending_seeds_;
  fetch_links(flow);
  flow.mark = mark_;
  members_.push_back({.old_rate = flow.rate,
                      .rate = -1,
                      .flow = index,
                      .old_bottleneck = flow.bottleneck,
                      .bottleneck = kNone,
                      .tightest = kNone,
                      .crossing = 0,
                      .hops = flow.hops,
                      .stale = true});
}

/// Enters a member into the links of its path, and takes in the seeds found there.
void FluidNetwork::touch_links(std::uint32_t number) {
  const Member member = members_[number];
  const Flow& flow = flows_[member.flow];
  const Hop* hops = path_of(flows_[member.flow]);
  const auto first = static_cast<std::uint32_t>(crossings_.size());
  members_[number].crossing = first;
  crossings_.resize(first + member.hops);
  for (std::uint32_t i = 0; i < member.hops; ++i) {
    const std::uint32_t link_number = hops[i].link;
    Link& link = links_[link_number];
    const double weight = weight_of(flow, i);
    const std::uint32_t holds = member.old_bottleneck == link_number;
    if (link.mark == mark_) {
      Touched& touched = touched_[link.local];
      crossings_[first + i] = {weight, link.local, number, touched.crossing};
      if (!touched.shared) {
        touched.shared = true;
        shared_.push_back(link.local);
        members_[crossings_[touched.crossing].member].stale = true;
      }
      touched.crossing = first + i;
      touched.inside += weight;
      touched.outside -= weight * member.old_rate;
      touched.held -= holds;
      touched.exact = false;
      continue;
    }
    check_load(link_number);
    link.mark = mark_;
    link.local = static_cast<std::uint32_t>(touched_.size());
    crossings_[first + i] = {weight, link.local, number, kNone};
    const double outside = link.load - weight * member.old_rate;
    touched_.push_back({.capacity = link.capacity,
                        .weight = static_cast<double>(link.weight),
                        .inside = weight,
                        .outside = outside,
                        .share = std::max(link.capacity - outside, 0.0) / weight,
                        .remaining = 0,
                        .unfrozen = 0,
                        .fastest = 0,
                        .outside_top = 0,
                        .held_level = link.level,
                        .link = link_number,
                        .held = link.held - holds,
                        .crossing = first + i,
                        .shared = false,
                        .exact = false});
    if (pending_seeds_ > 0)
      for (const Slot slot : link)
        if (flows_[slot.flow].mark == seeds_mark_) add_member(slot.flow);
  }
}

/// Finds the least share of the links that a member has to itself.
void FluidNetwork::find_tightest(Member& member) {
  member.stale = false;
  member.tightest = kNone;
  double least = kInfinity;
  for (const Crossing& crossing : crossings_of(member)) {
    const Touched& touched = touched_[crossing.touched];
    if (touched.shared || touched.share >= least) continue;
    least = touched.share;
    member.tightest = crossing.touched;
  }
}

/// Adds up the rates of the flows outside on a link.
void FluidNetwork::add_up_outside(Touched& touched) {
  touched.outside = 0;
  touched.outside_top = 0;
  touched.held_level = kInfinity;
  touched.exact = true;
  if (touched.inside == touched.weight) return;
  for (const Slot slot : links_[touched.link]) {
    const Flow& flow = flows_[slot.flow];
    if (flow.mark == mark_) continue;
    touched.outside += weight_of(flow, slot.hop) * flow.rate;
    touched.outside_top = std::max(touched.outside_top, flow.rate);
    if (flow.bottleneck == touched.link)
      touched.held_level = std::min(touched.held_level, flow.rate);
  }
}

/// Progressive filling of the members with what the others leave.
void FluidNetwork::fill() {
  candidates_.clear();
  for (const std::uint32_t i : shared_) {
    Touched& touched = touched_[i];
    if (touched.inside == touched.weight) add_up_outside(touched);  // there are none
    touched.remaining = touched.capacity - touched.outside;
    touched.unfrozen = touched.inside;
    touched.share = std::max(touched.remaining, 0.0) / touched.unfrozen;
    touched.fastest = 0;
    candidates_.push_back({touched.share, i});
  }
  for (Member& member : members_) {
    member.rate = -1;
    if (member.stale) find_tightest(member);
    if (member.tightest != kNone)
      candidates_.push_back({touched_[member.tightest].share, member.tightest});
  }
  unfrozen_ = members_.size();
  const auto later = [](const Candidate& a, const Candidate& b) { return a.share > b.share; };
  const bool few = candidates_.size() <= kFewCandidates;
  if (!few) std::make_heap(candidates_.begin(), candidates_.end(), later);
  while (unfrozen_ > 0) {
    std::size_t first = 0;
    if (few) {
      double share = candidates_[0].share;
      const std::size_t count = candidates_.size();
      const Candidate* const candidates = candidates_.data();
      for (std::size_t i = 1; i < count; ++i)
        if (candidates[i].share < share) {
          share = candidates[i].share;
          first = i;
        }
    }
    Candidate least = candidates_[first];
    const bool keep = !try_to_freeze(least);
    if (few) {
      candidates_[first] = keep ? least : candidates_.back();
      if (!keep) candidates_.pop_back();
      continue;
    }
    std::pop_heap(candidates_.begin(), candidates_.end(), later);
    if (keep) {
      candidates_.back() = least;
      std::push_heap(candidates_.begin(), candidates_.end(), later);
    } else {
      candidates_.pop_back();
    }
  }
}

/// Freezes the members of the link with the least share, unless its share turns out to be larger
/// than was thought: then that is noted and false returned.
bool FluidNetwork::try_to_freeze(Candidate& least) {
  Touched& touched = touched_[least.touched];
  Member& first = members_[crossings_[touched.crossing].member];
  if (touched.shared ? touched.unfrozen == 0 : first.rate >= 0) return true;
  if (!touched.exact) {
    const double estimate = touched.outside;
    add_up_outside(touched);
    if (touched.shared) {
      touched.remaining += estimate - touched.outside;
      touched.share = std::max(touched.remaining, 0.0) / touched.unfrozen;
    } else {
      touched.share = std::max(touched.capacity - touched.outside, 0.0) / touched.inside;
    }
  }
  if (touched.share > least.share) {  // also where members were frozen elsewhere, and left more
    least.share = touched.share;
    return false;
  }
  if (!touched.shared) {
    freeze(first, least.touched, touched.share);
    return true;
  }
  const double rate = touched.share;
  for (std::uint32_t c = touched.crossing; c != kNone; c = crossings_[c].next) {
    Member& member = members_[crossings_[c].member];
    if (member.rate < 0) freeze(member, least.touched, rate);
  }
  return true;
}

void FluidNetwork::freeze(Member& member, std::uint32_t bottleneck, double rate) {
  member.rate = rate;
  member.bottleneck = bottleneck;
  --unfrozen_;
  Touched* const all = touched_.data();
  for (const Crossing& crossing : crossings_of(member)) {
    Touched& touched = all[crossing.touched];
    if (!touched.shared) continue;
    touched.remaining -= crossing.weight * rate;
    touched.unfrozen -= crossing.weight;
    touched.fastest = rate;  // the rates of freezing never fall
    if (touched.unfrozen > 0) touched.share = std::max(rate, touched.remaining / touched.unfrozen);
  }
}

/// Takes in the flows outside whose bottleneck does not hold any more, or who hold up members.
/// Returns whether there were any.
bool FluidNetwork::grow() {
  const std::size_t before = members_.size();
  for (std::size_t i = 0; i < before; ++i) {
    const Touched& touched = touched_[members_[i].bottleneck];
    const double limit = members_[i].rate * (1 + kTolerance);
    if (touched.outside_top <= limit) continue;
    for (const Slot slot : links_[touched.link])
      if (flows_[slot.flow].mark != mark_ && flows_[slot.flow].rate > limit) add_member(slot.flow);
  }
  for (const Touched& touched : touched_) {
    if (touched.held == 0) continue;
    const double fastest =
        touched.shared ? touched.fastest : members_[crossings_[touched.crossing].member].rate;
    const bool slack = remaining_of(touched) > touched.capacity * kTolerance;
    if (!slack && touched.held_level >= fastest * (1 - kTolerance)) continue;
    for (const Slot slot : links_[touched.link]) {
      const Flow& flow = flows_[slot.flow];
      if (flow.mark != mark_ && flow.bottleneck == touched.link) add_member(slot.flow);
    }
  }
  return members_.size() > before;
}

/// What all flows leave of a link's capacity once the members are frozen.
double FluidNetwork::remaining_of(const Touched& touched) const {
  if (touched.shared) return touched.remaining;
  const double rate = members_[crossings_[touched.crossing].member].rate;
  return touched.capacity - touched.outside - touched.inside * rate;
}

void FluidNetwork::commit() {
  for (const Member& member : members_) {
    Flow& flow = flows_[member.flow];
    hold(flow, touched_[member.bottleneck].link, member.rate);
    set_rate(flow, member.flow, member.rate);
  }
  for (const Touched& touched : touched_)
    settle_load(links_[touched.link],
                std::clamp(touched.capacity - remaining_of(touched), 0.0, touched.capacity));
}

}  // namespace weft
