#include "sim/network_fluid.h"

#include <algorithm>

#include "sim/check.h"

namespace weft {

namespace {

/// A link is saturated when its load is within this of its capacity.
constexpr double kSaturated = 1 - 1e-9;

}  // namespace

void FluidNetwork::SlotList::resize(std::uint32_t room) {
  Slot* slots = new Slot[room];
  std::copy(begin(), end(), slots);
  if (room_ > kFew) delete[] many_;
  many_ = slots;
  room_ = room;
}

FluidNetwork::FluidNetwork(const std::vector<LinkSpec>& links)
    : links_(links.size()), accounts_(links.size()), queue_(HookOf{&flows_}) {
  check(links.size() < kNone, "too many links");
  for (std::size_t i = 0; i < links.size(); ++i)
    links_[i].capacity = bytes_per_second(links[i].capacity);
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
  for (std::uint32_t i = 0; i < flow.hops; ++i)
    if (links_[hops[i].link].capacity <= 0) {
      end(index, false);
      return index;
    }
  if (latency > 0 || flow.size <= 0)
    queue_.add(index, now_ + latency);
  else
    attach(index);
  return index;
}

void FluidNetwork::attach(std::uint32_t index) {
  Flow& flow = flows_[index];
  flow.state = State::sending;
  flow.since = now_;
  Hop* hops = path_of(flow);
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    Link& link = links_[hops[i].link];
    hops[i].place = link.flows.size();
    link.flows.push({index, i});
    link.weight += weight_of(flow, i);
    std::uint32_t& peak = accounts_[hops[i].link].peak_flows;
    peak = std::max(peak, link.weight);
  }
  fresh_.push_back(index);
}

void FluidNetwork::detach(std::uint32_t index) {
  Flow& flow = flows_[index];
  const Hop* hops = path_of(flow);
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    Link& link = links_[hops[i].link];
    const Slot moved = link.flows.take_out(hops[i].place);
    if (moved.flow != index) path_of(flows_[moved.flow])[moved.hop].place = hops[i].place;
    const std::uint32_t weight = weight_of(flow, i);
    link.weight -= weight;
    const bool idle = link.flows.size() == 0;
    set_load(link, accounts_[hops[i].link], idle ? 0 : link.load - weight * flow.rate);
    if (!idle) mark_dirty(hops[i].link);
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
  if (flow.state == State::sending) {
    const Hop* hops = path_of(flow);
    for (std::uint32_t i = 0; i < flow.hops; ++i)
      accounts_[hops[i].link].bytes += sent * weight_of(flow, i);
    detach(index);
  }
  free_flow(index);
}

void FluidNetwork::set_load(Link& link, Account& account, double load) {
  if (link.saturated) account.saturated_s += now_ - link.since;
  link.load = load;
  link.saturated = load > 0 && load >= link.capacity * kSaturated;
  link.since = now_;
}

/// Gives a flow its new rate and date of completion.
void FluidNetwork::set_rate(std::uint32_t index, double rate, double old_rate) {
  Flow& flow = flows_[index];
  if (rate == old_rate) return;
  flow.left = std::max(flow.left - old_rate * (now_ - flow.since), 0.0);
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
}

LinkUse FluidNetwork::use(LinkId id) const {
  const Link& link = links_.at(at(id));
  const Account& account = accounts_[at(id)];
  LinkUse use;
  use.bytes = account.bytes;
  for (const Slot slot : link.flows) {
    const Flow& flow = flows_[slot.flow];
    const double left = std::max(flow.left - flow.rate * (now_ - flow.since), 0.0);
    use.bytes += (flow.size - left) * weight_of(flow, slot.hop);
  }
  use.saturated_s = account.saturated_s + (link.saturated ? now_ - link.since : 0);
  use.peak_utilization = account.peak_utilization;
  use.peak_flows = account.peak_flows;
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
  return queue_.empty() ? kInfinity : std::max(queue_.first_date(), now);
}

void FluidNetwork::advance(double now, EventHandler& handler) {
  now_ = now;
  batch_.clear();
  queue_.pop_until(end_of_instant(now), [this](std::uint32_t flow) { batch_.push_back(flow); });
  if (batch_.empty() && failed_.empty()) return;
  const auto earlier = [this](std::uint32_t a, std::uint32_t b) {
    return flows_[a].sequence < flows_[b].sequence;
  };
  if (!std::is_sorted(batch_.begin(), batch_.end(), earlier))
    std::sort(batch_.begin(), batch_.end(), earlier);
  // All that leave go before any that begin, so that no link ever seems to hold both.
  ended_.clear();
  for (const std::uint32_t index : batch_) {
    const Flow& flow = flows_[index];
    if (flow.state == State::waiting && flow.size > 0) continue;
    ended_.push_back({flow.sequence, flow.token, -1});
    end(index, true);
  }
  for (const std::uint32_t index : batch_)
    if (flows_[index].state == State::waiting) attach(index);
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

/// A number never used before for a set of flows or links: what carries it is in the set.
std::uint32_t FluidNetwork::new_mark() { return ++mark_; }

void FluidNetwork::solve() {
  if (dirty_.empty() && fresh_.empty()) return;
  if (mark_ > kNone / 2) {  // no solve needs as many as are left
    for (Flow& flow : flows_) flow.mark = 0;
    for (Link& link : links_) link.mark = 0;
    mark_ = 0;
  }
  seeds_.clear();
  const std::uint32_t mark = new_mark();
  for (const std::uint32_t number : dirty_) {
    Link& link = links_[number];
    if (link.changed)
      for (const Slot slot : link.flows) seed(slot.flow, mark);
    else
      seed_held_by(number, mark);
    link.dirty = link.changed = false;
  }
  for (const std::uint32_t index : fresh_) {
    Flow& flow = flows_[index];
    if (flow.state != State::sending || flow.mark == mark || solve_alone(index)) continue;
    seed(index, mark);
    const Hop* hops = path_of(flow);
    for (std::uint32_t i = 0; i < flow.hops; ++i) seed_held_by(hops[i].link, mark);
  }
  dirty_.clear();
  fresh_.clear();
  pending_seeds_ = seeds_.size();
  for (const std::uint32_t index : seeds_)
    if (flows_[index].mark == mark) solve_component(index, mark);
}

/// The common case of private links: a flow that shares none gets the least capacity.
bool FluidNetwork::solve_alone(std::uint32_t index) {
  Flow& flow = flows_[index];
  const Hop* hops = path_of(flow);
  double rate = kInfinity;
  std::uint32_t bottleneck = kNone;
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    const Link& link = links_[hops[i].link];
    if (link.flows.size() != 1) return false;
    const double share = link.capacity / weight_of(flow, i);
    if (share < rate) {
      rate = share;
      bottleneck = hops[i].link;
    }
  }
  flow.bottleneck = bottleneck;
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    Link& link = links_[hops[i].link];
    Account& account = accounts_[hops[i].link];
    const double load = std::min(rate * weight_of(flow, i), link.capacity);
    set_load(link, account, load);
    if (load > account.peak_utilization * link.capacity)
      account.peak_utilization = load / link.capacity;
  }
  set_rate(index, rate, flow.rate);
  return true;
}

void FluidNetwork::seed(std::uint32_t flow, std::uint32_t mark) {
  if (flows_[flow].mark == mark) return;
  flows_[flow].mark = mark;
  seeds_.push_back(flow);
}

/// Seeds the flows whose bottleneck is the link, which is looked through once per mark.
void FluidNetwork::seed_held_by(std::uint32_t number, std::uint32_t mark) {
  Link& link = links_[number];
  if (link.mark == mark) return;
  link.mark = mark;
  for (const Slot slot : link.flows)
    if (flows_[slot.flow].bottleneck == number) seed(slot.flow, mark);
}

void FluidNetwork::solve_component(std::uint32_t seed, std::uint32_t seeds_mark) {
  const std::uint32_t mark = new_mark();
  members_.clear();
  touched_.clear();
  add_member(seed, mark);
  --pending_seeds_;
  std::size_t closed = 0;
  do {
    touch_links(closed, mark, seeds_mark);
    closed = members_.size();
    for (Touched& touched : touched_)
      if (touched.stale) count(touched, mark);
    fill(mark);
  } while (grow(mark));
  commit();
}

void FluidNetwork::add_member(std::uint32_t flow, std::uint32_t mark) {
  flows_[flow].mark = mark;
  members_.push_back({flow, flows_[flow].rate});
}

/// Touches the links of the members from `first_member` on, and takes in the seeds found there.
void FluidNetwork::touch_links(std::size_t first_member, std::uint32_t mark,
                               std::uint32_t seeds_mark) {
  for (std::size_t m = first_member; m < members_.size(); ++m) {
    Flow& flow = flows_[members_[m].flow];
    const Hop* hops = path_of(flow);
    for (std::uint32_t i = 0; i < flow.hops; ++i) {
      Link& link = links_[hops[i].link];
      if (link.mark == mark) {
        touched_[link.local].stale = true;
        continue;
      }
      link.mark = mark;
      link.local = static_cast<std::uint32_t>(touched_.size());
      Touched& touched = touched_.emplace_back();
      touched.link = hops[i].link;
      touched.stale = true;
      if (pending_seeds_ == 0) continue;
      for (const Slot slot : link.flows)
        if (flows_[slot.flow].mark == seeds_mark) {
          add_member(slot.flow, mark);
          --pending_seeds_;
        }
    }
  }
}

/// Sums up the flows of a touched link, inside and outside of the working set.
void FluidNetwork::count(Touched& touched, std::uint32_t mark) {
  touched.outside = 0;
  touched.inside = 0;
  touched.outside_top = 0;
  touched.held_least = kInfinity;
  touched.stale = false;
  for (const Slot slot : links_[touched.link].flows) {
    const Flow& flow = flows_[slot.flow];
    const double weight = weight_of(flow, slot.hop);
    if (flow.mark == mark) {
      touched.inside += weight;
      continue;
    }
    touched.outside += weight * flow.rate;
    touched.outside_top = std::max(touched.outside_top, flow.rate);
    if (flow.bottleneck == touched.link)
      touched.held_least = std::min(touched.held_least, flow.rate);
  }
}

/// Progressive filling of the members, with what the others leave. A rate < 0 is one to be found.
void FluidNetwork::fill(std::uint32_t mark) {
  for (const Member& member : members_) flows_[member.flow].rate = -1;
  unfrozen_ = members_.size();
  candidates_.clear();
  const auto later = [](const Candidate& a, const Candidate& b) { return a.share > b.share; };
  for (std::uint32_t i = 0; i < touched_.size(); ++i) {
    Touched& touched = touched_[i];
    touched.remaining = links_[touched.link].capacity - touched.outside;
    touched.unfrozen = touched.inside;
    touched.share = std::max(touched.remaining, 0.0) / touched.unfrozen;
    touched.level = kInfinity;
    touched.fastest = 0;
    candidates_.push_back({touched.share, i});
  }
  std::make_heap(candidates_.begin(), candidates_.end(), later);
  while (unfrozen_ > 0) {
    const Candidate least = candidates_.front();
    std::pop_heap(candidates_.begin(), candidates_.end(), later);
    candidates_.pop_back();
    const Touched& touched = touched_[least.touched];
    if (touched.unfrozen == 0) continue;
    if (touched.share > least.share) {  // flows frozen elsewhere have left it more since
      candidates_.push_back({touched.share, least.touched});
      std::push_heap(candidates_.begin(), candidates_.end(), later);
      continue;
    }
    freeze(least.touched, mark);
  }
}

/// Gives the members on a link that have no rate yet the link's share.
void FluidNetwork::freeze(std::uint32_t index, std::uint32_t mark) {
  const double rate = touched_[index].share;
  const std::uint32_t number = touched_[index].link;
  touched_[index].level = rate;
  for (const Slot slot : links_[number].flows) {
    Flow& flow = flows_[slot.flow];
    if (flow.mark != mark || flow.rate >= 0) continue;
    flow.rate = rate;
    flow.bottleneck = number;
    --unfrozen_;
    const Hop* hops = path_of(flow);
    for (std::uint32_t i = 0; i < flow.hops; ++i) {
      Touched& other = touched_[links_[hops[i].link].local];
      const double weight = weight_of(flow, i);
      other.remaining -= weight * rate;
      other.unfrozen -= weight;
      other.fastest = rate;  // levels never fall
      if (other.unfrozen > 0) other.share = std::max(rate, other.remaining / other.unfrozen);
    }
  }
}

/// Takes in the outside flows whose bottleneck does not hold any more, or who hold up others.
/// Returns whether there were any.
bool FluidNetwork::grow(std::uint32_t mark) {
  const std::size_t before = members_.size();
  for (const Touched& touched : touched_) {
    const Link& link = links_[touched.link];
    const double limit = touched.level * (1 + kTolerance);
    const bool too_fast = touched.outside_top > limit;
    const bool slack = touched.remaining > link.capacity * kTolerance;
    const double floor = slack ? kInfinity : touched.fastest * (1 - kTolerance);
    const bool too_slow = touched.held_least < floor;
    if (!too_fast && !too_slow) continue;
    for (const Slot slot : link.flows) {
      const Flow& flow = flows_[slot.flow];
      if (flow.mark == mark) continue;
      if (flow.rate > limit || (flow.bottleneck == touched.link && flow.rate < floor))
        add_member(slot.flow, mark);
    }
  }
  return members_.size() > before;
}

void FluidNetwork::commit() {
  for (const Member& member : members_)
    set_rate(member.flow, flows_[member.flow].rate, member.old_rate);
  for (const Touched& touched : touched_) {
    Link& link = links_[touched.link];
    Account& account = accounts_[touched.link];
    const double load = std::clamp(link.capacity - touched.remaining, 0.0, link.capacity);
    set_load(link, account, load);
    if (load > account.peak_utilization * link.capacity)
      account.peak_utilization = load / link.capacity;
  }
}

}  // namespace weft
