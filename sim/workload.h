// The job: one short program per role, run by workers on a grid of ranks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "sim/collective.h"
#include "sim/config.h"
#include "sim/ids.h"
#include "sim/units.h"

namespace weft {

/// What communication is for; waiting is accounted by it.
enum class Traffic : std::uint8_t { tensor, pipeline, data, context, expert, other };
inline constexpr std::size_t kTraffics = 6;
const char* to_text(Traffic);

/// A set of axes of a Grid, bit i for axis i.
using AxisMask = std::uint32_t;

/// How ranks are numbered: a mixed-radix number, first axis fastest.
///     order tp-dp-pp, sizes 2, 2, 4:  rank = tp + 2 dp + 4 pp
class Grid {
 public:
  struct Axis {
    std::string name;
    int size = 1;
  };
  Grid() = default;
  explicit Grid(std::vector<Axis> axes);

  std::uint32_t ranks() const { return ranks_; }
  const std::vector<Axis>& axes() const { return axes_; }
  int axis(const std::string& name) const;  ///< index, or -1
  int coordinate(std::uint32_t rank, int axis) const;
  /// The rank at `delta` along an axis, wrapping around.
  std::uint32_t shifted(std::uint32_t rank, int axis, int delta) const;
  /// Product of the sizes of the axes in `mask`.
  std::uint32_t size(AxisMask mask) const;
  /// The rank's group along `mask` is {base(rank) + offset : offset in offsets(mask)}.
  std::uint32_t base(std::uint32_t rank, AxisMask mask) const;
  std::vector<std::uint32_t> offsets(AxisMask mask) const;
  /// All groups along `mask`, each in rank order; groups ordered by their first rank.
  std::vector<std::vector<std::uint32_t>> groups(AxisMask mask) const;

 private:
  std::vector<Axis> axes_;
  std::vector<std::uint32_t> strides_;
  std::uint32_t ranks_ = 1;
};

/// A kind of communicator: one for each group of ranks along `axes`.
struct Communicator {
  std::string name;  ///< "tensor", "data"
  Traffic traffic = Traffic::other;
  AxisMask axes = 0;
};

/// A collective as a program names it.
struct CollectiveCall {
  Operation operation = Operation::all_reduce;
  std::uint16_t communicator = 0;  ///< index into Workload::communicators
  std::uint16_t algorithm = 0;     ///< index into Workload::algorithms
  Bytes size;
};

/// A part of a block: compute, then (where `call` >= 0) a collective among the worker's own ranks.
struct Segment {
  Seconds compute;
  std::int32_t call = -1;  ///< index into Program::calls
};

/// What must have happened before an op may start: `count` ops of a stream of the same worker are
/// done, or `count` messages have arrived at one of its inboxes, in this iteration.
struct Dependency {
  bool inbox = false;
  std::uint8_t index = 0;  ///< stream or inbox
  std::uint32_t count = 0;
};

/// One operation. Ops of one stream run in program order, one at a time.
struct Op {
  enum class Kind : std::uint8_t {
    block,      ///< `repeat` times the segments [first_segment, +segments): compute and collectives
    send,       ///< every rank of the worker sends `bytes` to the same rank of the peer worker
    collective  ///< calls[call], joined by all workers of the group; starts with the last to join
  };
  Kind kind = Kind::block;
  std::uint8_t stream = 0;
  std::uint8_t inbox = 0;  ///< send: which inbox of the peer
  std::int8_t delta = 0;   ///< send: the peer is at this distance along `axis`
  std::uint8_t axis = 0;
  std::uint16_t name = 0;         ///< index into Workload::names
  std::int32_t micro_batch = -1;  ///< for the trace; -1: none
  std::uint32_t first_dependency = 0;
  std::uint16_t dependencies = 0;
  std::uint32_t first_segment = 0;
  std::uint16_t segments = 0;
  std::uint16_t repeat = 1;
  std::int32_t call = -1;
  Bytes bytes;
};

/// A stream: a row of the trace. Its waiting time counts as `traffic`; `compute` marks the row
/// that blocks run on.
struct Stream {
  std::string name;
  Traffic traffic = Traffic::other;
  bool compute = false;
};

/// What each worker of a role does in one iteration.
struct Program {
  std::vector<Op> ops;
  std::vector<Dependency> dependencies;
  std::vector<Segment> segments;
  std::vector<CollectiveCall> calls;
};

/// Where an op stands: the `count`-th op of its stream is done when it is.
struct OpRef {
  std::uint8_t stream = 0;
  std::uint32_t count = 0;
};

/// A flow given by hand (workload kind `flows`).
struct TimedFlow {
  GpuId source{}, destination{};
  Bytes size;
  Seconds start;
};

/// Numbers about a model's compute that metrics need.
struct ComputeFacts {
  Flops model;                ///< per iteration, all GPUs: what the mathematics needs
  Flops hardware;             ///< with recomputation
  std::uint64_t tokens = 0;   ///< per iteration
  std::uint64_t samples = 0;  ///< per iteration
};

/// Bytes that must fit into a GPU, worst pipeline stage.
struct MemoryFacts {
  Bytes weights, gradients, optimizer, activations;
  int stage = 0;  ///< the fullest stage
  Bytes total() const { return weights + gradients + optimizer + activations; }
};

/// A job. INVARIANT: ops of one communicator sit on one stream; an inbox has one sender.
/// Ranks of a worker (the group along `lanes`) act in lock-step: one program counter for them.
struct Workload {
  std::string kind;
  Grid grid;
  AxisMask lanes = 0;
  int iterations = 1;
  std::vector<Stream> streams;
  std::uint8_t inboxes = 0;
  std::vector<Program> programs;
  int role_axis = -1;  ///< programs[coordinate along this axis]; -1: one program for all
  std::vector<Communicator> communicators;
  std::vector<std::shared_ptr<const CollectiveAlgorithm>> algorithms;
  std::vector<std::string> names;
  std::vector<TimedFlow> flows;  ///< beside the programs; GPUs, not ranks
  std::vector<GpuId> pinned;     ///< [ranks] where the workload names its GPUs itself, else empty
  bool pipelined = false;        ///< waiting for a peer's message is bubble
  ComputeFacts compute;
  MemoryFacts memory;
};

/// Appends ops to a program and keeps count of the streams.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::size_t streams) : counts_(streams) {}
  OpRef block(std::uint8_t stream, std::uint16_t name, std::int32_t micro_batch,
              const std::vector<Segment>& segments, int repeat,
              const std::vector<Dependency>& after);
  OpRef send(std::uint8_t stream, std::uint16_t name, std::int32_t micro_batch, int axis, int delta,
             std::uint8_t inbox, Bytes bytes, const std::vector<Dependency>& after);
  OpRef collective(std::uint8_t stream, std::uint16_t name, const CollectiveCall& call,
                   const std::vector<Dependency>& after);
  std::int32_t call(const CollectiveCall& call);  ///< index of a call for segments
  Program take() { return std::move(program_); }

  static Dependency done(OpRef ref) { return {false, ref.stream, ref.count}; }
  static Dependency arrived(std::uint8_t inbox, std::uint32_t count) {
    return {true, inbox, count};
  }

 private:
  OpRef add(Op op, const std::vector<Dependency>& after);
  Program program_;
  std::vector<std::uint32_t> counts_;
};

/// A workload as the user described it, before it is built.
class WorkloadSpec {
 public:
  virtual ~WorkloadSpec() = default;
  /// Builds it for the cluster. Throws ConfigError where it does not fit.
  virtual Workload build(const Cluster&) const = 0;
};

}  // namespace weft
