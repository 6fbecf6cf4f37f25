#include "sim/engine.h"

#include <fmt/core.h>

#include <algorithm>

#include "sim/check.h"
#include "sim/collective_run.h"
#include "sim/flow_book.h"
#include "sim/network_model.h"
#include "sim/random.h"

namespace weft {
namespace {

/// Runs the programs of all workers. One event at a time comes in (a timer, a flow's end); what it
/// completes lets further ops start, until nothing more can at this instant.
class Engine : public EventHandler {
 public:
  Engine(const Network& network, const Workload& workload, const Placement& placement,
         const SimulationOptions& options)
      : network_(network),
        workload_(workload),
        placement_(placement),
        options_(options),
        kernel_(options.network, network.links(), *this),
        book_(network, kernel_, options.record_flows, timeline_),
        collectives_(network, workload, placement, options, kernel_, book_, timeline_),
        streams_(workload.streams.size()),
        rows_(streams_ + workload.inboxes),
        lanes_(workload.grid.offsets(workload.lanes)) {
    make_workers();
  }

  Timeline run() {
    if (options_.record_ops) timeline_.executed.flow_end.resize(workload_.flows.size());
    for (std::size_t i = 0; i < workload_.flows.size(); ++i)
      kernel_.at(workload_.flows[i].start.value, kTimedFlow | i);
    if (!workers_.empty()) begin_iteration();
    kernel_.run();
    if (interrupted_) throw Interrupted{share_done(), kernel_.now()};
    if (workers_.empty()) timeline_.iteration_end.push_back(kernel_.now());
    check(timeline_.iteration_end.size() ==
              (workers_.empty() ? 1 : static_cast<std::size_t>(workload_.iterations)),
          stuck().c_str());
    timeline_.end = kernel_.now();
    for (std::size_t i = 0; i < network_.links().size(); ++i)
      timeline_.links.push_back(kernel_.network().use(LinkId{static_cast<std::uint32_t>(i)}));
    for (const Worker& worker : workers_) timeline_.first_rank.push_back(worker.first_rank);
    timeline_.lanes = lanes_;
    return std::move(timeline_);
  }

  void on_timer(std::uint64_t token) override {
    poll();
    if (token & kTimedFlow) {
      const TimedFlow& flow = workload_.flows[token & ~kTimedFlow];
      book_.find(flow.source, flow.destination, token, route_);
      book_.start(flow.source, flow.destination, route_, flow.size,
                  {FlowOwner::Kind::timed, Traffic::other,
                   static_cast<std::uint32_t>(token & ~kTimedFlow), 0, 0, 0});
      return;
    }
    block_part_done(static_cast<std::uint32_t>(token >> 8), token & 0xff);
    drain();
  }

  void on_flow_done(std::uint64_t token) override {
    const FlowOwner flow = book_.finish(token);
    ++flows_done_;
    poll();
    switch (flow.kind) {
      case FlowOwner::Kind::timed:
        if (options_.record_ops) timeline_.executed.flow_end[flow.owner] = kernel_.now();
        return;
      case FlowOwner::Kind::message:
        message_lane_done(flow);
        break;
      case FlowOwner::Kind::step:
      case FlowOwner::Kind::coupled:
        std::uint64_t tag = 0;
        if (collectives_.on_flow_done(flow, tag)) collective_done(tag);
        break;
    }
    drain();
  }

  void on_flow_failed(std::uint64_t, double) override {
    check(false, "a flow failed although no link can");
  }

 private:
  static constexpr std::uint64_t kTimedFlow = std::uint64_t{1} << 63;
  /// Tag of a collective inside a block: the worker; of one that workers join: its Join slot.
  static constexpr std::uint64_t kInner = std::uint64_t{1} << 62;

  /// How far a stream is.
  struct StreamState {
    std::uint32_t done = 0;  ///< ops completed in this iteration
    bool busy = false;
    double start = 0;  ///< of the running op
  };
  /// How long something ran: a collective or send of a stream, messages towards an inbox.
  struct Activity {
    double total = 0;
    double since = -1;  ///< negative: not running
    double upto(double now) const { return total + (since >= 0 ? now - since : 0); }
    void begin(double now) {
      if (since < 0) since = now;
    }
    void end(double now) {
      total = upto(now);
      since = -1;
    }
  };
  struct Worker {
    std::uint32_t first_rank = 0;
    std::uint32_t program = 0;
    std::uint32_t streams_left = 0;  ///< streams with ops to do in this iteration
    bool computing = false;
    bool traced = false;
    double idle_since = 0;  ///< when the compute stream had nothing to run
    // The running block.
    std::uint32_t part = 0;  ///< segments begun, over all repeats
    bool in_call = false;    ///< the part's collective runs
    double part_start = 0;
    double computed_before = 0;  ///< its account's compute when the block began
  };
  /// The paths of a stream's messages: those to one peer share a connection per lane.
  struct Connection {
    std::uint32_t peer = UINT32_MAX;
    std::uint8_t inbox = 0;
    std::vector<Route> routes;  ///< [lanes]
  };
  /// A collective that not all workers have joined, or that runs.
  struct Join {
    std::uint32_t joined = 0;
    std::uint32_t base = 0;  ///< first rank of its workers
    std::uint16_t communicator = 0;
    double start = 0;
  };
  /// The ops of each stream of a program, in order.
  struct ProgramIndex {
    std::vector<std::vector<std::uint32_t>> ops;  ///< [stream]
    std::uint32_t streams_used = 0;
  };

  void make_workers() {
    const Grid& grid = workload_.grid;
    for (const Program& program : workload_.programs) {
      ProgramIndex& index = programs_.emplace_back();
      index.ops.resize(streams_);
      for (std::uint32_t i = 0; i < program.ops.size(); ++i)
        index.ops[program.ops[i].stream].push_back(i);
      for (const auto& ops : index.ops) index.streams_used += ops.empty() ? 0u : 1u;
    }
    if (workload_.programs.empty()) return;
    for (std::uint32_t rank = 0; rank < grid.ranks(); ++rank) {
      if (grid.base(rank, workload_.lanes) != rank) continue;
      Worker& worker = workers_.emplace_back();
      worker.first_rank = rank;
      worker.program = workload_.role_axis < 0
                           ? 0
                           : static_cast<std::uint32_t>(grid.coordinate(rank, workload_.role_axis));
    }
    for (const auto traced : options_.traced_workers)
      if (traced < workers_.size()) workers_[traced].traced = true;
    worker_of_rank_.resize(grid.ranks());
    for (std::uint32_t w = 0; w < workers_.size(); ++w) worker_of_rank_[workers_[w].first_rank] = w;
    for (const Communicator& c : workload_.communicators) {
      outer_.push_back(grid.size(c.axes & ~workload_.lanes));
      outer_offsets_.push_back(grid.offsets(c.axes & ~workload_.lanes));
    }
    open_.resize(workload_.communicators.size());
    stream_.resize(workers_.size() * streams_);
    arrived_.resize(workers_.size() * workload_.inboxes);
    activity_.resize(workers_.size() * rows_);
    snapshot_.resize(workers_.size() * rows_);
    lanes_out_.resize(workers_.size() * streams_);
    connections_.resize(workers_.size() * streams_);
    charged_.resize(workers_.size());
    if (options_.record_ops) prepare_records();
    timeline_.workers.resize(workers_.size());
    count_work();
  }

  StreamState& stream(std::uint32_t w, std::size_t s) { return stream_[w * streams_ + s]; }
  Activity& activity(std::uint32_t w, std::size_t row) { return activity_[w * rows_ + row]; }
  const Program& program(std::uint32_t w) const { return workload_.programs[workers_[w].program]; }
  const ProgramIndex& index(std::uint32_t w) const { return programs_[workers_[w].program]; }
  Traffic traffic_of(std::size_t row) const {
    return row < streams_ ? workload_.streams[row].traffic : Traffic::pipeline;
  }

  // ---- progress -----------------------------------------------------------------------------

  /// Ops and messages of the whole job, for share_done().
  void count_work() {
    work_ = static_cast<double>(workload_.flows.size());
    std::vector<double> of_program;
    for (const Program& p : workload_.programs) {
      double work = 0;
      const auto messages = [&](std::int32_t call) {
        const auto& c = p.calls[static_cast<std::size_t>(call)];
        return static_cast<double>(collectives_.flows(c)) / outer_[c.communicator];
      };
      for (const Op& op : p.ops) {
        ++work;
        if (op.kind == Op::Kind::send) work += static_cast<double>(lanes_.size());
        if (op.kind == Op::Kind::collective) work += messages(op.call);
        if (op.kind == Op::Kind::block)
          for (std::uint32_t i = 0; i < op.segments; ++i) {
            const auto call = p.segments[op.first_segment + i].call;
            if (call >= 0) work += op.repeat * messages(call);
          }
      }
      of_program.push_back(work);
    }
    for (const Worker& worker : workers_)
      work_ += of_program[worker.program] * workload_.iterations;
  }

  double share_done() const {
    const double done = static_cast<double>(flows_done_ + ops_done_);
    return work_ > 0 ? std::min(1.0, done / work_) : 1;
  }

  void poll() {
    constexpr std::uint64_t kEvery = 1 << 10;
    if (++events_ % kEvery != 0 || options_.monitor == nullptr || interrupted_) return;
    if (options_.monitor->go_on(share_done(), timeline_.flows, kernel_.now())) return;
    interrupted_ = true;
    kernel_.stop();
  }

  /// Whether the row is a stream of messages to other workers.
  bool is_sending(std::size_t row) const {
    return row < streams_ && workload_.streams[row].traffic == Traffic::pipeline;
  }

  // ---- iterations ---------------------------------------------------------------------------

  void begin_iteration() {
    const double now = kernel_.now();
    workers_left_ = static_cast<std::uint32_t>(workers_.size());
    std::fill(arrived_.begin(), arrived_.end(), 0);
    if (options_.record_ops)
      timeline_.executed.records.resize(timeline_.executed.records.size() +
                                        timeline_.executed.per_iteration);
    for (std::uint32_t w = 0; w < workers_.size(); ++w) {
      workers_[w].streams_left = index(w).streams_used;
      for (std::size_t s = 0; s < streams_; ++s) stream(w, s).done = 0;
      begin_wait(w, now);
    }
    for (std::uint32_t w = 0; w < workers_.size(); ++w) {
      if (workers_[w].streams_left == 0)
        worker_finished(w);
      else
        examine(w, kNoCause);
    }
    drain();
  }

  void worker_finished(std::uint32_t) {
    if (--workers_left_ == 0) iteration_over_ = true;
  }

  void end_iteration() {
    iteration_over_ = false;
    const double now = kernel_.now();
    for (std::uint32_t w = 0; w < workers_.size(); ++w) {
      Account& account = timeline_.workers[w];
      (workload_.pipelined ? account.bubble : account.idle) += now - workers_[w].idle_since;
      // Communication that no wait was charged for ran behind compute.
      std::array<double, kTraffics> ran{}, charged{};
      for (std::size_t row = 0; row < rows_; ++row) {
        Activity& a = activity(w, row);
        const auto t = static_cast<std::size_t>(traffic_of(row));
        if (!is_sending(row)) ran[t] += a.total;
        a = {};
      }
      charged = std::exchange(charged_[w], {});
      for (std::size_t t = 0; t < kTraffics; ++t)
        account.overlapped[t] += std::max(0.0, ran[t] - charged[t]);
    }
    timeline_.iteration_end.push_back(now);
    if (timeline_.iteration_end.size() < static_cast<std::size_t>(workload_.iterations))
      begin_iteration();
  }

  // ---- starting ops -------------------------------------------------------------------------

  static constexpr std::size_t kNoCause = SIZE_MAX;

  /// Queues the worker: `cause` (a row: stream or inbox) has just moved.
  void examine(std::uint32_t w, std::size_t cause) { queue_.push_back({w, cause}); }

  void drain() {
    if (draining_) return;
    draining_ = true;
    do {
      while (!queue_.empty()) {
        // In order of happening; the queue is emptied in one sweep and may grow meanwhile.
        for (std::size_t i = 0; i < queue_.size(); ++i)
          start_what_can(queue_[i].first, queue_[i].second);
        queue_.clear();
      }
      if (iteration_over_) end_iteration();
    } while (!queue_.empty() || iteration_over_);
    draining_ = false;
  }

  void start_what_can(std::uint32_t w, std::size_t cause) {
    const Program& p = program(w);
    for (std::size_t s = 0; s < streams_; ++s) {
      StreamState& state = stream(w, s);
      const auto& ops = index(w).ops[s];
      if (state.busy || state.done >= ops.size()) continue;
      const Op& op = p.ops[ops[state.done]];
      if (ready(w, p, op)) start(w, s, op, cause);
    }
  }

  bool ready(std::uint32_t w, const Program& p, const Op& op) {
    for (std::uint32_t d = 0; d < op.dependencies; ++d) {
      const Dependency& dependency = p.dependencies[op.first_dependency + d];
      const std::uint32_t have = dependency.inbox
                                     ? arrived_[w * workload_.inboxes + dependency.index]
                                     : stream(w, dependency.index).done;
      if (have < dependency.count) return false;
    }
    return true;
  }

  void start(std::uint32_t w, std::size_t s, const Op& op, std::size_t cause) {
    StreamState& state = stream(w, s);
    state.busy = true;
    state.start = kernel_.now();
    switch (op.kind) {
      case Op::Kind::block:
        end_wait(w, cause);
        workers_[w].computing = true;
        workers_[w].part = 0;
        workers_[w].computed_before = timeline_.workers[w].compute;
        begin_block(w, op);
        break;
      case Op::Kind::send:
        start_send(w, s, op);
        break;
      case Op::Kind::collective:
        join(w, s, op);
        break;
    }
  }

  void complete(std::uint32_t w, std::size_t s) {
    StreamState& state = stream(w, s);
    state.busy = false;
    if (options_.record_ops) record(w, index(w).ops[s][state.done]);
    ++state.done;
    ++ops_done_;
    Worker& worker = workers_[w];
    if (state.done == index(w).ops[s].size() && --worker.streams_left == 0) {
      if (!worker.computing) end_wait(w, s);
      begin_wait(w, kernel_.now());
      worker_finished(w);
      return;
    }
    examine(w, s);
  }

  void prepare_records() {
    ExecutedOps& executed = timeline_.executed;
    for (const Worker& worker : workers_) {
      executed.first.push_back(executed.per_iteration);
      executed.per_iteration += workload_.programs[worker.program].ops.size();
    }
    executed.records.reserve(executed.per_iteration *
                             static_cast<std::size_t>(workload_.iterations));
  }

  /// The op is over now.
  void record(std::uint32_t w, std::uint32_t op) {
    const bool computes = program(w).ops[op].kind == Op::Kind::block;
    timeline_.executed.at(timeline_.iteration_end.size(), w, op) = {
        kernel_.now(), computes ? timeline_.workers[w].compute - workers_[w].computed_before : 0};
  }

  // ---- waiting ------------------------------------------------------------------------------

  void begin_wait(std::uint32_t w, double now) {
    workers_[w].idle_since = now;
    for (std::size_t row = 0; row < rows_; ++row)
      snapshot_[w * rows_ + row] = activity(w, row).upto(now);
  }

  /// Charges the time since the compute stream fell idle to what it waited for: as long as the
  /// cause was running, exposed communication of its kind; before that, waiting for a pipeline
  /// neighbour is bubble, for others to join a collective is idle. A message is charged where it
  /// arrives: its sender has nothing left to do, which is bubble too.
  void end_wait(std::uint32_t w, std::size_t cause) {
    const double now = kernel_.now();
    const double waited = now - workers_[w].idle_since;
    if (waited <= 0) return;
    Account& account = timeline_.workers[w];
    if (cause == kNoCause || is_sending(cause)) {
      (workload_.pipelined ? account.bubble : account.idle) += waited;
      return;
    }
    const double ran =
        std::min(waited, activity(w, cause).upto(now) - snapshot_[w * rows_ + cause]);
    const auto t = static_cast<std::size_t>(traffic_of(cause));
    account.exposed[t] += ran;
    charged_[w][t] += ran;
    (cause >= streams_ && workload_.pipelined ? account.bubble : account.idle) += waited - ran;
  }

  // ---- blocks -------------------------------------------------------------------------------

  /// A block whose collectives are all closed is one timer; else its parts run one by one.
  void begin_block(std::uint32_t w, const Op& op) {
    const Program& p = program(w);
    bool closed = true;
    for (std::uint32_t i = 0; i < op.segments; ++i) {
      const Segment& segment = p.segments[op.first_segment + i];
      if (segment.call >= 0)
        closed &=
            size_of(p.calls[static_cast<std::size_t>(segment.call)]) < 2 ||
            collectives_.is_closed(p.calls[static_cast<std::size_t>(segment.call)].communicator);
    }
    const double now = kernel_.now();
    if (!closed) {
      begin_part(w, op);
      return;
    }
    double end = now;
    Account& account = timeline_.workers[w];
    for (std::uint32_t i = 0; i < op.segments; ++i) {
      const Segment& segment = p.segments[op.first_segment + i];
      account.compute += segment.compute.value * op.repeat;
      end += segment.compute.value * op.repeat;
      if (segment.call < 0) continue;
      const auto& call = p.calls[static_cast<std::size_t>(segment.call)];
      const double each = collectives_.closed_form(call, op.repeat).value;
      account
          .exposed[static_cast<std::size_t>(workload_.communicators[call.communicator].traffic)] +=
          each * op.repeat;
      end += each * op.repeat;
    }
    if (workers_[w].traced) trace_closed_block(w, op, now);
    workers_[w].part = op.segments * op.repeat;
    kernel_.at(end, std::uint64_t{w} << 8 | op.stream);
  }

  std::uint32_t size_of(const CollectiveCall& call) const {
    return workload_.grid.size(workload_.communicators[call.communicator].axes);
  }

  const Segment& segment(std::uint32_t w, const Op& op) const {
    return program(w).segments[op.first_segment + workers_[w].part % op.segments];
  }

  void begin_part(std::uint32_t w, const Op& op) {
    Worker& worker = workers_[w];
    worker.part_start = kernel_.now();
    worker.in_call = false;
    kernel_.at(worker.part_start + segment(w, op).compute.value, std::uint64_t{w} << 8 | op.stream);
  }

  const Op& running(std::uint32_t w, std::size_t s) const {
    return program(w).ops[index(w).ops[s][stream_[w * streams_ + s].done]];
  }

  /// A timer (the part's compute is over, or a closed block is) or the part's collective ended.
  void block_part_done(std::uint32_t w, std::size_t s) {
    Worker& worker = workers_[w];
    const Op& op = running(w, s);
    const double now = kernel_.now();
    const std::uint32_t parts = std::uint32_t{op.segments} * op.repeat;
    if (worker.part < parts) {
      Account& account = timeline_.workers[w];
      const Segment& part = segment(w, op);
      if (!worker.in_call) {
        account.compute += now - worker.part_start;
        trace(w, Span::Kind::compute, s, worker.part, worker.part_start, now);
        if (part.call >= 0) {
          const auto& call = program(w).calls[static_cast<std::size_t>(part.call)];
          worker.in_call = true;
          worker.part_start = now;
          if (collectives_.start(call, worker.first_rank, kInner | std::uint64_t{w} << 8 | s))
            return;
        }
      } else {
        const auto& call = program(w).calls[static_cast<std::size_t>(part.call)];
        account.exposed[static_cast<std::size_t>(
            workload_.communicators[call.communicator].traffic)] += now - worker.part_start;
        trace(w, Span::Kind::call, s, worker.part, worker.part_start, now);
      }
      ++worker.part;
      if (worker.part < parts) {
        begin_part(w, op);
        return;
      }
    }
    trace(w, Span::Kind::block, s, 0, stream(w, s).start, now);
    worker.computing = false;
    begin_wait(w, now);
    complete(w, s);
  }

  // ---- messages -----------------------------------------------------------------------------

  std::uint32_t peer_of(std::uint32_t w, const Op& op) const {
    return worker_of_rank_[workload_.grid.shifted(workers_[w].first_rank, op.axis, op.delta)];
  }

  void start_send(std::uint32_t w, std::size_t s, const Op& op) {
    const std::uint32_t peer = peer_of(w, op);
    const double now = kernel_.now();
    activity(w, s).begin(now);
    activity(peer, streams_ + op.inbox).begin(now);
    lanes_out_[w * streams_ + s] = static_cast<std::uint32_t>(lanes_.size());
    Connection& connection = connections_[w * streams_ + s];
    const bool known = connection.peer == peer && connection.inbox == op.inbox;
    if (!known) connection = {peer, op.inbox, std::vector<Route>(lanes_.size())};
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const GpuId from = placement_.gpu(RankId{workers_[w].first_rank + lanes_[i]});
      const GpuId to = placement_.gpu(RankId{workers_[peer].first_rank + lanes_[i]});
      Route& route = connection.routes[i];
      if (!known) book_.find(from, to, mix(0x73656e64, op.inbox), route);
      book_.start(from, to, route, op.bytes,
                  {FlowOwner::Kind::message, Traffic::pipeline, w, static_cast<std::uint32_t>(s),
                   peer, op.inbox});
    }
  }

  void message_lane_done(const FlowOwner& flow) {
    const std::uint32_t w = flow.owner;
    const std::size_t s = flow.member;
    if (--lanes_out_[w * streams_ + s] > 0) return;
    const double now = kernel_.now();
    activity(w, s).end(now);
    activity(flow.peer, streams_ + flow.step).end(now);
    ++arrived_[flow.peer * workload_.inboxes + flow.step];
    trace(w, Span::Kind::send, s, 0, stream(w, s).start, now);
    examine(flow.peer, streams_ + flow.step);
    complete(w, s);
  }

  // ---- collectives that workers join --------------------------------------------------------

  void join(std::uint32_t w, std::size_t s, const Op& op) {
    const auto& call = program(w).calls[static_cast<std::size_t>(op.call)];
    const auto c = call.communicator;
    if (size_of(call) < 2) {
      complete(w, s);
      return;
    }
    const std::uint32_t base =
        workload_.grid.base(workers_[w].first_rank, workload_.communicators[c].axes);
    auto [entry, fresh] = open_[c].try_emplace(base, 0);
    if (fresh) {
      if (free_joins_.empty()) {
        entry->second = static_cast<std::uint32_t>(joins_.size());
        joins_.emplace_back();
      } else {
        entry->second = free_joins_.back();
        free_joins_.pop_back();
      }
      joins_[entry->second] = {0, base, c, 0};
    }
    const std::uint32_t slot = entry->second;
    if (++joins_[slot].joined < outer_[c]) return;
    const double now = kernel_.now();
    joins_[slot].start = now;
    for (const auto offset : outer_offsets_[c])
      activity(worker_of_rank_[base + offset], s).begin(now);
    collectives_.start(call, base, std::uint64_t{slot} << 8 | s);
  }

  void collective_done(std::uint64_t tag) {
    const std::size_t s = tag & 0xff;
    if (tag & kInner) {
      block_part_done(static_cast<std::uint32_t>((tag & ~kInner) >> 8), s);
      return;
    }
    const auto slot = static_cast<std::uint32_t>(tag >> 8);
    const Join join = joins_[slot];
    open_[join.communicator].erase(join.base);
    free_joins_.push_back(slot);
    const double now = kernel_.now();
    for (const auto offset : outer_offsets_[join.communicator]) {
      const std::uint32_t w = worker_of_rank_[join.base + offset];
      activity(w, s).end(now);
      trace(w, Span::Kind::collective, s, 0, join.start, now);
      complete(w, s);
    }
  }

  // ---- trace --------------------------------------------------------------------------------

  bool room_for_span() {
    if (timeline_.spans.size() < options_.max_spans) return true;
    ++timeline_.spans_left_out;
    return false;
  }

  void trace(std::uint32_t w, Span::Kind kind, std::size_t s, std::uint32_t part, double start,
             double end) {
    if (!workers_[w].traced || !room_for_span()) return;
    const StreamState& state = stream(w, s);
    timeline_.spans.push_back(
        {.kind = kind,
         .worker = w,
         .op = index(w).ops[s][state.done],
         .part = part,
         .iteration = static_cast<std::uint32_t>(timeline_.iteration_end.size()),
         .start = start,
         .end = end,
         .joined = state.start});
  }

  void trace_closed_block(std::uint32_t w, const Op& op, double now) {
    const Program& p = program(w);
    for (std::uint32_t part = 0; part < std::uint32_t{op.segments} * op.repeat; ++part) {
      const Segment& segment = p.segments[op.first_segment + part % op.segments];
      trace(w, Span::Kind::compute, op.stream, part, now, now + segment.compute.value);
      now += segment.compute.value;
      if (segment.call < 0) continue;
      const auto& call = p.calls[static_cast<std::size_t>(segment.call)];
      const double each = collectives_.closed_form(call, 0).value;
      trace(w, Span::Kind::call, op.stream, part, now, now + each);
      now += each;
    }
  }

  /// Which op waits for what, when nothing happens any more: a fault of a workload generator.
  std::string stuck() {
    for (std::uint32_t w = 0; w < workers_.size(); ++w)
      for (std::size_t s = 0; s < streams_; ++s)
        if (stream(w, s).done < index(w).ops[s].size())
          return fmt::format("deadlock: worker {} waits at op {} of stream {}", w,
                             stream(w, s).done, workload_.streams[s].name);
    return "the simulation ended early";
  }

  const Network& network_;
  const Workload& workload_;
  const Placement& placement_;
  const SimulationOptions& options_;
  Timeline timeline_;
  Kernel kernel_;
  FlowBook book_;
  CollectiveRuns collectives_;
  const std::size_t streams_, rows_;  ///< rows: streams, then inboxes
  const std::vector<std::uint32_t> lanes_;

  std::vector<ProgramIndex> programs_;
  std::vector<Worker> workers_;
  std::vector<std::uint32_t> worker_of_rank_;  ///< of first ranks
  std::vector<std::uint32_t> outer_;           ///< [communicator] workers of a group
  std::vector<std::vector<std::uint32_t>> outer_offsets_;
  std::vector<StreamState> stream_;       ///< [worker * streams]
  std::vector<std::uint32_t> arrived_;    ///< [worker * inboxes]
  std::vector<std::uint32_t> lanes_out_;  ///< [worker * streams] flows of the running send
  std::vector<Connection> connections_;   ///< [worker * streams]
  std::vector<Activity> activity_;        ///< [worker * rows]
  std::vector<double> snapshot_;          ///< [worker * rows] activity when the wait began
  std::vector<std::array<double, kTraffics>> charged_;        ///< [worker] exposed, this iteration
  std::vector<std::map<std::uint32_t, std::uint32_t>> open_;  ///< [communicator] base -> join
  std::vector<Join> joins_;
  std::vector<std::uint32_t> free_joins_;
  std::vector<std::pair<std::uint32_t, std::size_t>> queue_;
  Route route_;
  double work_ = 0;  ///< ops and messages in all
  std::uint64_t ops_done_ = 0, flows_done_ = 0, events_ = 0;
  bool interrupted_ = false;
  std::uint32_t workers_left_ = 0;
  bool iteration_over_ = false;
  bool draining_ = false;
};

}  // namespace

Timeline simulate(const Network& network, const Workload& workload, const Placement& placement,
                  const SimulationOptions& options) {
  return Engine(network, workload, placement, options).run();
}

}  // namespace weft
