#include "sim/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/metrics.h"
#include "sim/report.h"

namespace weft {
namespace {

using Ticks = std::int64_t;  // 1/256 us: doubles hold all sums of them exactly

constexpr double kTicksPerSecond = 256e6;
/// A part of a block may end by this much after it, from summing in another order.
constexpr Ticks kRounding = 2;

Ticks ticks(double seconds) { return std::llround(seconds * kTicksPerSecond); }
double microseconds(Ticks time) { return static_cast<double>(time) / 256; }

/// `text` as the inside of a JSON string.
std::string escaped(const std::string& text) {
  const std::string quoted =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

/// In the order of the file at equal times: a block stands before what is in it.
enum class Kind : std::uint8_t { flow_end, block, compute, call, send, waiting, collective, flow };

struct Event {
  Ticks start = 0, duration = 0;
  std::uint32_t index = 0;  ///< of the span or flow record
  std::uint32_t row = 0;    ///< of Layout::rows; unused for flows
  Kind kind{};
};

/// Usual bytes of an event, for planning; the writer counts.
constexpr double usual_bytes(Span::Kind kind) {
  switch (kind) {
    case Span::Kind::block:
      return 120;
    case Span::Kind::compute:
      return 85;
    case Span::Kind::call:
      return 175;
    case Span::Kind::send:
      return 140;
    case Span::Kind::collective:
      return 290;  // with the wait before it
  }
  return 0;
}
constexpr double kFlowBytes = 250;
constexpr double kHeaderBytes = 2000, kRowBytes = 220;

/// What of the recorded goes into the file.
struct Plan {
  std::vector<std::uint32_t> workers;  ///< sorted
  std::uint32_t iterations = 0;        ///< the first so many
  bool details = true;                 ///< what is inside of blocks
  std::size_t flows = 0;               ///< the first so many
};

/// A (pid, tid).
struct Row {
  std::uint32_t worker = 0;
  std::uint32_t pid = 0, tid = 0;
  std::string name;         ///< as JSON
  std::vector<Ticks> open;  ///< ends of the slices that enclose the current time
};

class Trace {
 public:
  Trace(const Scenario& scenario, const Network& network, const Workload& workload,
        const Placement& placement, const Timeline& timeline)
      : scenario_(scenario),
        network_(network),
        workload_(workload),
        placement_(placement),
        timeline_(timeline) {
    for (const std::string& name : workload.names) names_.push_back(escaped(name));
    for (const auto& algorithm : workload.algorithms)
      algorithms_.push_back(escaped(algorithm->name()));
    name_rows();
    count_spans();
  }

  void write(const std::filesystem::path& path) {
    const auto most = static_cast<double>(scenario_.trace.max_bytes.value);
    for (double scale = 1;; scale *= 1.2) {
      const Plan plan = planned(most / scale);
      const bool last = plan.workers.empty() && plan.flows == 0;
      if (write_plan(
              path, plan,
              last ? std::numeric_limits<std::uint64_t>::max() : scenario_.trace.max_bytes.value))
        return;
    }
  }

 private:
  // ---- rows ---------------------------------------------------------------------------------

  /// Streams come first. A collective inside of a block goes to the row of its communicator: a
  /// stream of that name that has no ops, or a row of its own.
  void name_rows() {
    std::vector<bool> has_ops(workload_.streams.size());
    for (const Program& program : workload_.programs)
      for (const Op& op : program.ops) has_ops[op.stream] = true;
    for (const Stream& stream : workload_.streams) row_names_.push_back(stream.name);
    for (const Communicator& communicator : workload_.communicators) {
      std::size_t row = 0;
      while (row < has_ops.size() && (has_ops[row] || row_names_[row] != communicator.name)) ++row;
      if (row == has_ops.size()) {
        row = row_names_.size();
        row_names_.push_back(communicator.name);
      }
      row_of_communicator_.push_back(row);
    }
  }

  const Program& program(const Span& span) const {
    return workload_.programs[program_of(workload_, timeline_.first_rank[span.worker])];
  }
  const Op& op(const Span& span) const { return program(span).ops[span.op]; }
  const CollectiveCall& call(const Span& span) const {
    const Program& p = program(span);
    const Op& o = p.ops[span.op];
    const std::int32_t index = span.kind == Span::Kind::collective
                                   ? o.call
                                   : p.segments[o.first_segment + span.part % o.segments].call;
    return p.calls[static_cast<std::size_t>(index)];
  }
  std::size_t row_of(const Span& span) const {
    return span.kind == Span::Kind::call ? row_of_communicator_[call(span).communicator]
                                         : op(span).stream;
  }

  // ---- choosing what fits -------------------------------------------------------------------

  struct Weight {
    double blocks = 0, details = 0;  ///< estimated bytes
  };

  void count_spans() {
    std::uint32_t workers = 0;
    for (const Span& span : timeline_.spans) {
      workers = std::max(workers, span.worker + 1);
      iterations_ = std::max(iterations_, span.iteration + 1);
    }
    std::vector<std::uint32_t> place(workers, UINT32_MAX);
    for (const Span& span : timeline_.spans) place[span.worker] = 0;
    for (std::uint32_t worker = 0; worker < workers; ++worker) {
      if (place[worker] == UINT32_MAX) continue;
      place[worker] = static_cast<std::uint32_t>(recorded_.size());
      recorded_.push_back(worker);
    }
    weights_.resize(recorded_.size() * iterations_);
    for (const Span& span : timeline_.spans) {
      Weight& weight = weights_[place[span.worker] * iterations_ + span.iteration];
      (is_detail(span) ? weight.details : weight.blocks) += usual_bytes(span.kind);
    }
  }

  static bool is_detail(const Span& span) {
    return span.kind == Span::Kind::compute || span.kind == Span::Kind::call;
  }

  /// `count` of the recorded workers, spread from the first to the last.
  std::vector<std::size_t> spread(std::size_t count) const {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < count; ++i)
      places.push_back(count == 1 ? 0 : i * (recorded_.size() - 1) / (count - 1));
    return places;
  }

  double estimate(std::size_t workers, std::uint32_t iterations, bool details) const {
    double bytes = kHeaderBytes;
    for (const std::size_t place : spread(workers)) {
      bytes += kRowBytes * static_cast<double>(row_names_.size() + 1);
      for (std::uint32_t i = 0; i < iterations; ++i) {
        const Weight& weight = weights_[place * iterations_ + i];
        bytes += weight.blocks + (details ? weight.details : 0);
      }
    }
    return bytes;
  }

  Plan planned(double most) const {
    std::size_t workers = recorded_.size();
    std::uint32_t iterations = iterations_;
    bool details = true;
    while (iterations > 1 && estimate(workers, iterations, true) > most) --iterations;
    while (workers > 1 && estimate(workers, iterations, true) > most) --workers;
    if (workers > 0 && estimate(workers, iterations, true) > most) {
      details = false;
      workers = recorded_.size();
      while (workers > 0 && estimate(workers, iterations, false) > most) --workers;
    }
    Plan plan;
    for (const std::size_t place : spread(workers)) plan.workers.push_back(recorded_[place]);
    plan.iterations = iterations;
    plan.details = details;
    const double left = most - estimate(workers, iterations, details);
    std::size_t flows = timeline_.flow_records.size();
    if (left < static_cast<double>(flows) * kFlowBytes)
      flows = left <= 0 ? 0 : static_cast<std::size_t>(left / kFlowBytes);
    plan.flows = flows;
    return plan;
  }

  // ---- laying out ---------------------------------------------------------------------------

  std::vector<Event> chosen(const Plan& plan) const {
    std::vector<Event> events;
    const auto add = [&](Kind kind, std::size_t index, std::uint32_t row, double start,
                         double end) {
      const Ticks begin = ticks(start), duration = ticks(end) - begin;
      if (duration > 0)
        events.push_back({begin, duration, static_cast<std::uint32_t>(index), row, kind});
    };
    std::vector<std::uint32_t> slot(plan.workers.empty() ? 0 : plan.workers.back() + 1, UINT32_MAX);
    for (std::uint32_t i = 0; i < plan.workers.size(); ++i) slot[plan.workers[i]] = i;
    const auto rows = static_cast<std::uint32_t>(row_names_.size());
    for (std::size_t i = 0; i < timeline_.spans.size(); ++i) {
      const Span& span = timeline_.spans[i];
      if (span.worker >= slot.size() || slot[span.worker] == UINT32_MAX) continue;
      if (span.iteration >= plan.iterations || (is_detail(span) && !plan.details)) continue;
      const std::uint32_t row = slot[span.worker] * rows + static_cast<std::uint32_t>(row_of(span));
      switch (span.kind) {
        case Span::Kind::block:
          add(Kind::block, i, row, span.start, span.end);
          break;
        case Span::Kind::compute:
          add(Kind::compute, i, row, span.start, span.end);
          break;
        case Span::Kind::call:
          add(Kind::call, i, row, span.start, span.end);
          break;
        case Span::Kind::send:
          add(Kind::send, i, row, span.start, span.end);
          break;
        case Span::Kind::collective:
          if (span.joined < span.start) add(Kind::waiting, i, row, span.joined, span.start);
          add(Kind::collective, i, row, span.start, span.end);
          break;
      }
    }
    for (std::size_t i = 0; i < plan.flows; ++i) {
      const FlowRecord& flow = timeline_.flow_records[i];
      const Ticks begin = ticks(flow.start), end = ticks(flow.end);
      if (end <= begin) continue;
      events.push_back({begin, 0, static_cast<std::uint32_t>(i), 0, Kind::flow});
      events.push_back({end, 0, static_cast<std::uint32_t>(i), 0, Kind::flow_end});
    }
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      if (a.start != b.start) return a.start < b.start;
      if (a.kind != b.kind) return a.kind < b.kind;
      if (a.duration != b.duration) return a.duration > b.duration;
      return a.row != b.row ? a.row < b.row : a.index < b.index;
    });
    return events;
  }

  /// Gives each slice a row on which it nests: its own, or a further one of the same name where
  /// another slice is in the way. Events that rounding leaves without duration are taken out.
  /// Fills `rows` and turns Event::row into an index of it.
  void lay_out(const Plan& plan, std::vector<Event>& events, std::vector<Row>& rows) const {
    std::vector<std::vector<std::uint32_t>> lanes(plan.workers.size() * row_names_.size());
    for (Event& event : events) {
      if (event.kind == Kind::flow || event.kind == Kind::flow_end) continue;
      auto& some = lanes[event.row];
      std::size_t lane = 0;
      for (; lane < some.size(); ++lane) {
        auto& open = rows[some[lane]].open;
        while (!open.empty() && open.back() <= event.start) open.pop_back();
        if (open.empty()) break;
        const Ticks over = event.start + event.duration - open.back();
        if (over <= 0) break;
        if (over <= kRounding && event.kind == Kind::compute) {
          event.duration -= over;
          break;
        }
      }
      if (lane == some.size()) {
        some.push_back(static_cast<std::uint32_t>(rows.size()));
        Row& row = rows.emplace_back();
        row.worker = plan.workers[event.row / row_names_.size()];
        row.name = escaped(row_names_[event.row % row_names_.size()]);
        if (lane > 0) row.name += fmt::format(" #{}", lane + 1);
      }
      event.row = some[lane];
      if (event.duration > 0) rows[event.row].open.push_back(event.start + event.duration);
    }
    std::erase_if(events, [](const Event& event) {
      return event.duration <= 0 && event.kind != Kind::flow && event.kind != Kind::flow_end;
    });
    // Threads are numbered as they should stand: by worker, then by row, then by lane.
    std::uint32_t tid = 0;
    for (const auto& some : lanes)
      for (const std::uint32_t row : some) {
        rows[row].pid = pid_of(rows[row].worker);
        rows[row].tid = ++tid;
      }
  }

  // ---- writing ------------------------------------------------------------------------------

  std::uint32_t first_rank(std::uint32_t worker) const { return timeline_.first_rank[worker]; }
  GpuId gpu_of(std::uint32_t worker) const { return placement_.gpu(RankId{first_rank(worker)}); }
  std::uint32_t pid_of(std::uint32_t worker) const {
    return static_cast<std::uint32_t>(at(network_.cluster().host_of(gpu_of(worker)))) + 1;
  }
  std::uint32_t network_pid() const {
    return static_cast<std::uint32_t>(network_.cluster().hosts) + 1;
  }

  /// False where the file would be larger than `most`; nothing is left of it then.
  bool write_plan(const std::filesystem::path& path, const Plan& plan, std::uint64_t most) const {
    std::vector<Event> events = chosen(plan);
    std::vector<Row> rows;
    lay_out(plan, events, rows);
    OutputFile file(path);
    file.print("{{\"displayTimeUnit\":\"ms\",\n\"otherData\":{},\n\"traceEvents\":[\n",
               other_data(plan));
    write_names(file, rows, plan.flows > 0);
    for (const Event& event : events) {
      file.append(",\n");
      write_event(file, rows, event);
      if (file.size() > most) return false;
    }
    file.append("\n]}\n");
    if (file.size() > most) return false;
    file.commit();
    return true;
  }

  std::string other_data(const Plan& plan) const {
    nlohmann::ordered_json data;
    data["version"] = WEFT_VERSION;
    data["scenario"] = scenario_.name;
    data["seed"] = scenario_.seed;
    std::vector<std::uint32_t> ranks;
    for (const std::uint32_t worker : plan.workers) ranks.push_back(first_rank(worker));
    const std::size_t all = timeline_.workers.empty() ? 0 : workload_.grid.ranks();
    data["sample"] = fmt::format(
        "{} of {} ranks have rows: {}. Ranks that act in lock-step with one of them look like it.",
        ranks.size(), all, ranks.empty() ? "none" : fmt::format("{}", fmt::join(ranks, ", ")));
    std::vector<std::string> left_out;
    const auto leave = [&](std::size_t some, std::size_t total, const char* what) {
      if (some < total) left_out.push_back(fmt::format("{} of {} {}", total - some, total, what));
    };
    leave(plan.workers.size(), recorded_.size(), "recorded ranks");
    leave(plan.iterations, iterations_, "iterations");
    if (!plan.details) left_out.push_back("what is inside of blocks");
    leave(plan.flows, timeline_.flow_records.size(), "flows");
    if (!left_out.empty())
      left_out = {fmt::format("{}, to stay within {} bytes", fmt::join(left_out, ", "),
                              scenario_.trace.max_bytes.value)};
    if (timeline_.spans_left_out > 0)
      left_out.push_back(fmt::format("{} slices that were not recorded", timeline_.spans_left_out));
    data["left_out"] = left_out.empty() ? "nothing" : fmt::format("{}", fmt::join(left_out, "; "));
    return data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  void write_names(OutputFile& file, const std::vector<Row>& rows, bool flows) const {
    bool first = true;
    const auto metadata = [&](const char* what, std::uint32_t pid, std::uint32_t tid,
                              const std::string& args) {
      file.print("{}{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{{}}}}}",
                 first ? "" : ",\n", pid, tid, what, args);
      first = false;
    };
    const auto process = [&](std::uint32_t pid, const std::string& name) {
      metadata("process_name", pid, 0, fmt::format("\"name\":\"{}\"", name));
      metadata("process_sort_index", pid, 0, fmt::format("\"sort_index\":{}", pid));
    };
    const auto thread = [&](std::uint32_t pid, std::uint32_t tid, const std::string& name) {
      metadata("thread_name", pid, tid, fmt::format("\"name\":\"{}\"", name));
      metadata("thread_sort_index", pid, tid, fmt::format("\"sort_index\":{}", tid));
    };
    std::vector<const Row*> order;
    for (const Row& row : rows) order.push_back(&row);
    std::sort(order.begin(), order.end(), [](const Row* a, const Row* b) {
      return a->pid != b->pid ? a->pid < b->pid : a->tid < b->tid;
    });
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Row& row = *order[i];
      if (i == 0 || order[i - 1]->pid != row.pid)
        process(row.pid, fmt::format("host {}", row.pid - 1));
      thread(row.pid, row.tid,
             fmt::format("rank {} (GPU {}) {}", first_rank(row.worker), at(gpu_of(row.worker)),
                         row.name));
    }
    // Also where it is empty, so that there is an event.
    process(network_pid(), "network");
    if (flows) thread(network_pid(), 1, "flows");
  }

  void write_event(OutputFile& file, const std::vector<Row>& rows, const Event& event) const {
    if (event.kind == Kind::flow || event.kind == Kind::flow_end) {
      write_flow(file, event);
      return;
    }
    const Row& row = rows[event.row];
    const Span& span = timeline_.spans[event.index];
    file.print("{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":\"", row.pid,
               row.tid, microseconds(event.start), microseconds(event.duration));
    switch (event.kind) {
      case Kind::block:
        file.print("{}\",\"args\":{{\"iteration\":{}}}}}", op_name(op(span)), span.iteration);
        break;
      case Kind::compute:
        file.append("compute\"}");
        break;
      case Kind::waiting:
        file.append("waiting for others\"}");
        break;
      case Kind::send: {
        const Op& o = op(span);
        file.print("{}\",\"args\":{{\"bytes\":{},\"to_rank\":{},\"iteration\":{}}}}}", op_name(o),
                   o.bytes.value, workload_.grid.shifted(first_rank(span.worker), o.axis, o.delta),
                   span.iteration);
        break;
      }
      case Kind::call:
        write_collective(file, to_text(call(span).operation), span);
        break;
      case Kind::collective:
        write_collective(file, op_name(op(span)), span);
        break;
      case Kind::flow:
      case Kind::flow_end:
        break;
    }
  }

  void write_collective(OutputFile& file, const std::string& name, const Span& span) const {
    const CollectiveCall& c = call(span);
    const std::uint32_t ranks = workload_.grid.size(workload_.communicators[c.communicator].axes);
    const double busbw = static_cast<double>(c.size.value) * 8 / (span.end - span.start) *
                         bus_factor(c.operation, static_cast<int>(ranks));
    file.print(
        "{}\",\"args\":{{\"bytes\":{},\"ranks\":{},\"algorithm\":\"{}\",\"busbw_bps\":{:.0f}}}}}",
        name, c.size.value, ranks, algorithms_[c.algorithm], busbw);
  }

  void write_flow(OutputFile& file, const Event& event) const {
    const FlowRecord& flow = timeline_.flow_records[event.index];
    const bool begins = event.kind == Kind::flow;
    file.print(
        "{{\"ph\":\"{}\",\"cat\":\"{}\",\"id\":{},\"pid\":{},\"tid\":1,\"ts\":{},\"name\":\"GPU {} "
        "to GPU {}\"",
        begins ? "b" : "e", to_text(flow.traffic), event.index, network_pid(),
        microseconds(event.start), at(flow.source), at(flow.destination));
    if (begins)
      file.print(",\"args\":{{\"bytes\":{},\"alone_us\":{:.3f}}}", flow.bytes, flow.alone * 1e6);
    file.append("}");
  }

  /// "forward 3".
  std::string op_name(const Op& o) const {
    return o.micro_batch < 0 ? names_[o.name] : fmt::format("{} {}", names_[o.name], o.micro_batch);
  }

  const Scenario& scenario_;
  const Network& network_;
  const Workload& workload_;
  const Placement& placement_;
  const Timeline& timeline_;
  std::vector<std::string> names_, algorithms_;   ///< as JSON
  std::vector<std::string> row_names_;            ///< of each worker
  std::vector<std::size_t> row_of_communicator_;  ///< for collectives inside of blocks
  std::vector<std::uint32_t> recorded_;           ///< workers with spans
  std::uint32_t iterations_ = 0;                  ///< with spans
  std::vector<Weight> weights_;                   ///< [recorded * iterations]
};

}  // namespace

void write_trace(const std::filesystem::path& path, const Scenario& scenario,
                 const Network& network, const Workload& workload, const Placement& placement,
                 const Timeline& timeline) {
  if (scenario.trace.on) Trace(scenario, network, workload, placement, timeline).write(path);
}

}  // namespace weft
