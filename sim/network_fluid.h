// The default network model: max-min fair fluid flows, re-solved only where something changed.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "sim/event_queue.h"
#include "sim/network_driver.h"

namespace weft {

/// Max-min fair sharing of directed links between flows on fixed paths.
///
/// **What it computes.** A flow waits for its latency, then sends at a rate that the flows present
/// determine. An allocation is max-min fair if and only if every flow has a *bottleneck*: a link on
/// its path that is saturated and on which no flow is faster (Bertsekas and Gallager, Data
/// Networks, 2nd edition, 1992, section 6.5.2). A coupled flow of weight w on a link takes w times
/// its rate there, and counts as w flows in the link's fair share. A plain flow has weight 1, or k
/// where its path crosses a link k times.
///
/// **INVARIANT.** After solve(), every sending flow's `bottleneck` names such a link, to a relative
/// tolerance of 1e-11 (kTolerance), and no link carries more than its capacity. A link's `level` is
/// the rate of the `held` flows that have it as their bottleneck, the fastest it carries.
///
/// **How.** From scratch, progressive filling finds the allocation (same source): take the link
/// with the least fair share, freeze its flows at that share, subtract them elsewhere, repeat. Here
/// only a *working set* of flows is filled, all others keep their rates as if they were part of the
/// links' capacities:
///  1. Seeds: the flows that started; those whose bottleneck is a link that a flow left or joined;
///     all flows of a link whose capacity changed. A flow that is alone on each of its links gets
///     the least capacity at once.
///  2. Seeds that share no link with other seeds, directly or through further seeds, are separate
///     components, each solved by itself.
///  3. The component is filled progressively. What the flows outside take of a link follows from
///  its
///     load and is added up anew where the link turns out to be a bottleneck, so that rounding
///     errors do not build up. Links with one flow of the set only bound that flow's rate.
///  4. Every link it touches is checked in O(1): a flow outside that is faster than the level at
///     which an inside flow was frozen there, or whose bottleneck this link was and no longer is
///     (unsaturated, or an inside flow became faster), joins the working set, and filling repeats.
///     Without such a flow the invariant holds everywhere: untouched links did not change.
///
/// **Cost.** With k flows in the final working set, h hops each, and r rounds (the set grows in
/// each): O(r (k h + k log k)) plus one pass over the flows of each link that is or was a
/// bottleneck of the set. k is at most the number of flows; on random traffic over 1024 hosts it
/// is 3.2, with r = 1.7, in the mean. Memory: 128 bytes a live flow of up to 6 hops plus 8 a hop,
/// 104 a link; nothing for flows that have ended.
///
/// **Accounting.** Bytes of ended flows are added whole, so their sum is exact; load, saturated
/// time and peaks change in O(1) per hop whenever a rate does.
class FluidNetwork final : public DrivenNetwork {
 public:
  explicit FluidNetwork(const std::vector<LinkSpec>&);

  FlowHandle start(std::span<const LinkId> path, Bytes size, Seconds latency,
                   std::uint64_t token) override;
  FlowHandle start_coupled(std::span<const WeightedLink> links, double bytes, Seconds latency,
                           std::uint64_t token) override;
  bool can_couple() const override { return true; }
  void set_capacity(LinkId, BitsPerSecond) override;
  LinkUse use(LinkId) const override;
  std::uint64_t flows_started() const override { return started_; }

  double next_event(double now) override;
  void advance(double now, EventHandler&) override;
  bool hears_late() const override { return false; }
  void halt() override {}

  /// Bytes per second of a live flow (of each member, where coupled) since the last next_event();
  /// 0 while it waits for its latency.
  double rate(FlowHandle) const;
  std::size_t live_flows() const { return flows_.size() - unused_.size(); }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::uint32_t kInlineHops = 6;
  static constexpr double kTolerance = 1e-11;
  static constexpr std::size_t kMostLines = 8;  // each is looked at in every instant

  /// One crossing of a link: which, and where in its list of flows.
  struct Hop {
    std::uint32_t link;
    std::uint32_t place;
  };
  /// One flow on a link: which, and at which of its hops.
  struct Slot {
    std::uint32_t flow;
    std::uint32_t hop;
  };
  enum class State : std::uint8_t { free, waiting, sending };

  struct alignas(64) Flow {
    // All that the solver reads of a flow outside of its working set is in this cache line.
    double rate = 0;                   // bytes/s
    std::uint32_t mark = 0;            // set it was last put in, see mark_
    std::uint32_t bottleneck = kNone;  // a link
    std::array<Hop, kInlineHops> path;

    double left = 0;   // bytes unsent at `since`
    double since = 0;  // seconds
    double size = 0;   // bytes
    std::uint64_t token = 0;
    std::uint64_t sequence = 0;  // order of starting
    QueueHook hook;              // in queue_
    std::uint32_t hops = 0;
    std::uint32_t long_path = kNone;  // in long_paths_, where `path` is too small
    State state = State::free;
    bool weighted = false;  // some weight is not 1: see LongPath
  };
  static_assert(sizeof(Flow) == 128);

  struct LongPath {
    std::vector<Hop> hops;
    std::vector<std::uint32_t> weights;  // empty unless weighted
  };

  /// A link and the flows that send over it: two slots in place, more on the heap.
  class alignas(64) Link {
   public:
    Link() : few_{} {}
    ~Link() {
      if (room_ > 0) delete[] many_;
    }
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    double capacity = 0;       // bytes/s; 0: down
    double load = 0;           // bytes/s
    double level = 0;          // rate of the flows held here, where there are any
    std::uint32_t held = 0;    // flows whose bottleneck this is
    std::uint32_t weight = 0;  // flows, coupled ones counted as their weights
    std::uint32_t mark = 0;    // set it was last put in, see mark_
    std::uint32_t local = 0;   // index in touched_, where marked

    std::uint32_t flows() const { return size_; }
    const Slot* begin() const { return room_ > 0 ? many_ : few_; }
    const Slot* end() const { return begin() + size_; }
    void push(Slot slot) {
      if (size_ == room()) resize(room_ + 1);
      slots()[size_++] = slot;
    }
    /// Fills the gap at `place` with the last slot, which is returned.
    Slot take_out(std::uint32_t place) {
      const Slot last = slots()[--size_];
      slots()[place] = last;
      if (room_ > 2 && size_ < room() / 4) resize(room_ - 1);
      return last;
    }

   private:
    static constexpr std::uint32_t kFew = 2;
    std::uint32_t room() const { return kFew << room_; }
    Slot* slots() { return room_ > 0 ? many_ : few_; }
    void resize(int room);

    union {
      Slot few_[kFew];
      Slot* many_;
    };
    std::uint32_t size_ = 0;
    std::uint8_t room_ = 0;  // slots: kFew << room_

   public:
    bool saturated : 1 = false;
    bool peaked : 1 = false;   // its load has been at the capacity
    bool dirty : 1 = false;    // in dirty_
    bool changed : 1 = false;  // dirty, and by a new capacity

    // The account: the second cache line.
    alignas(64) double bytes = 0;  // of ended flows
    double saturated_s = 0;
    double contended_s = 0;     // saturated time x (1 - 1/k) with k flows
    double since = 0;           // of what is not yet in the two, where it is saturated
    std::uint32_t sharing = 1;  // flows since then
    double peak_utilization = 0;
    std::uint32_t peak_flows = 0;
  };
  static_assert(sizeof(Link) == 128);

  // ---- the component being solved: compact, so that filling it stays in the nearest cache
  /// A link of it.
  struct Touched {
    double capacity;     // bytes/s
    double weight;       // of all flows
    double inside;       // weight of the members
    double outside;      // bytes/s of the flows outside
    double share;        // for each member not frozen, of what the others leave
    double remaining;    // capacity that the others leave, where shared
    double unfrozen;     // weight of the members not frozen, where shared
    double fastest;      // highest rate of a member, where shared
    double outside_top;  // highest rate of a flow outside, where exact
    double held_level;   // lowest rate of those outside whose bottleneck this is
    std::uint32_t link;
    std::uint32_t held;      // flows outside whose bottleneck this is
    std::uint32_t crossing;  // first of the members' crossings
    bool shared;             // by several members
    bool exact;              // `outside` was added up from the flows
  };
  struct Member {
    double old_rate;
    double rate;  // < 0: not frozen
    std::uint32_t flow;
    std::uint32_t old_bottleneck;
    std::uint32_t bottleneck;  // index in touched_ once frozen
    std::uint32_t tightest;    // of the links that it does not share, or kNone
    std::uint32_t crossing;    // its first one
    std::uint32_t hops;
    bool stale;  // `tightest` is to be found
  };
  /// A member on a touched link.
  struct Crossing {
    double weight;
    std::uint32_t touched;
    std::uint32_t member;
    std::uint32_t next;  // crossing of the same link
  };
  struct Candidate {
    double share;
    std::uint32_t touched;
  };
  struct Due {
    std::uint64_t sequence;
    std::uint32_t flow;
  };
  struct Ended {
    std::uint64_t sequence;
    std::uint64_t token;
    double left;  // bytes; < 0 where it was done
  };
  struct Waiting {
    double date;  // of the end of its latency
    std::uint64_t sequence;
    std::uint32_t flow;
  };
  /// Flows that wait for the same latency, first come first.
  struct Line {
    double latency = 0;
    std::deque<Waiting> flows;
  };
  struct HookOf {
    std::vector<Flow>* flows;
    QueueHook& operator()(std::uint32_t flow) const { return (*flows)[flow].hook; }
  };

  Hop* path_of(Flow& flow) {
    return flow.long_path == kNone ? flow.path.data() : long_paths_[flow.long_path].hops.data();
  }
  std::uint32_t weight_of(const Flow& flow, std::uint32_t hop) const {
    return flow.weighted ? long_paths_[flow.long_path].weights[hop] : 1;
  }

  std::span<const Crossing> crossings_of(const Member& member) const {
    return {crossings_.data() + member.crossing, member.hops};
  }

  std::uint32_t new_flow(double bytes, std::uint64_t token);
  void make_long_path(Flow&, std::uint32_t hops);
  void free_flow(std::uint32_t);
  FlowHandle launch(std::uint32_t flow, double latency);
  void wait(std::uint32_t flow, double latency);
  double first_date(Line&);
  void attach(std::uint32_t flow);
  void detach(std::uint32_t flow, double sent);
  void end(std::uint32_t flow, bool done);
  void set_load(Link&, double load);
  void settle_load(Link&, double load);
  void fetch_links(const Flow&) const;
  void hold(Flow&, std::uint32_t bottleneck, double rate);
  void set_rate(Flow&, std::uint32_t flow, double rate);
  void mark_dirty(std::uint32_t link);

  void solve();
  bool solve_alone(std::uint32_t flow);
  bool solve_single(std::uint32_t flow);
  void check_load(std::uint32_t link);
  void seed(std::uint32_t flow);
  void seed_held_by(std::uint32_t link);
  void start_component();
  void solve_component();
  void add_member(std::uint32_t flow);
  void touch_links(std::uint32_t member);
  void find_tightest(Member&);
  void fill();
  void add_up_outside(Touched&);
  bool try_to_freeze(Candidate&);
  void freeze(Member&, std::uint32_t bottleneck, double rate);
  double remaining_of(const Touched&) const;
  bool grow();
  void commit();

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> unused_;  // indices into flows_
  std::vector<LongPath> long_paths_;
  std::vector<std::uint32_t> unused_long_paths_;
  EventQueue<HookOf> queue_;  // ends of transfers, and of latencies for which there is no line
  std::vector<Line> lines_;
  double now_ = 0;
  std::size_t down_ = 0;  // links without capacity
  std::uint64_t started_ = 0;
  /// Each set of flows or links, seeds or component, has a number never used before; what carries
  /// it is in the set. This is that of the latest.
  std::uint32_t mark_ = 0;
  std::uint32_t looks_ = 0;  // at loads, see check_load()

  std::vector<std::uint32_t> fresh_;  // flows that began to send since the last solve()
  std::vector<std::uint32_t> dirty_;  // links that flows left and that hold others, or changed ones
  std::vector<Ended> failed_;         // not yet told

  // Scratch space, kept to save allocations.
  std::vector<std::uint32_t> seeds_;
  std::uint32_t seeds_mark_ = 0;
  std::size_t pending_seeds_ = 0;  // not yet in a component
  std::vector<Member> members_;
  std::vector<Touched> touched_;
  std::vector<Crossing> crossings_;
  std::vector<std::uint32_t> shared_;  // in touched_
  std::vector<Candidate> candidates_;
  std::size_t unfrozen_ = 0;
  std::vector<Due> batch_;
  std::vector<Ended> ended_;
};

}  // namespace weft
