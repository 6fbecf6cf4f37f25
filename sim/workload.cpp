#include "sim/workload.h"

#include <algorithm>

#include "sim/check.h"

namespace weft {

const char* to_text(Traffic traffic) {
  switch (traffic) {
    case Traffic::tensor:
      return "tensor";
    case Traffic::pipeline:
      return "pipeline";
    case Traffic::data:
      return "data";
    case Traffic::context:
      return "context";
    case Traffic::expert:
      return "expert";
    case Traffic::other:
      return "other";
  }
  return "";
}

Grid::Grid(std::vector<Axis> axes) : axes_(std::move(axes)) {
  for (const Axis& axis : axes_) {
    check(axis.size >= 1, "an axis of no size");
    strides_.push_back(ranks_);
    ranks_ *= static_cast<std::uint32_t>(axis.size);
  }
}

int Grid::axis(const std::string& name) const {
  for (std::size_t i = 0; i < axes_.size(); ++i)
    if (axes_[i].name == name) return static_cast<int>(i);
  return -1;
}

int Grid::coordinate(std::uint32_t rank, int axis) const {
  const auto i = static_cast<std::size_t>(axis);
  return static_cast<int>(rank / strides_[i] % static_cast<std::uint32_t>(axes_[i].size));
}

std::uint32_t Grid::shifted(std::uint32_t rank, int axis, int delta) const {
  const auto i = static_cast<std::size_t>(axis);
  const int size = axes_[i].size;
  const int from = coordinate(rank, axis);
  const int to = ((from + delta) % size + size) % size;
  return rank - static_cast<std::uint32_t>(from) * strides_[i] +
         static_cast<std::uint32_t>(to) * strides_[i];
}

std::uint32_t Grid::size(AxisMask mask) const {
  std::uint32_t product = 1;
  for (std::size_t i = 0; i < axes_.size(); ++i)
    if (mask >> i & 1) product *= static_cast<std::uint32_t>(axes_[i].size);
  return product;
}

std::uint32_t Grid::base(std::uint32_t rank, AxisMask mask) const {
  for (std::size_t i = 0; i < axes_.size(); ++i)
    if (mask >> i & 1)
      rank -= static_cast<std::uint32_t>(coordinate(rank, static_cast<int>(i))) * strides_[i];
  return rank;
}

std::vector<std::uint32_t> Grid::offsets(AxisMask mask) const {
  std::vector<std::uint32_t> offsets{0};
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (!(mask >> i & 1)) continue;
    const std::size_t inner = offsets.size();
    for (int c = 1; c < axes_[i].size; ++c)
      for (std::size_t k = 0; k < inner; ++k)
        offsets.push_back(offsets[k] + static_cast<std::uint32_t>(c) * strides_[i]);
  }
  return offsets;
}

std::vector<std::vector<std::uint32_t>> Grid::groups(AxisMask mask) const {
  const auto members = offsets(mask);
  std::vector<std::vector<std::uint32_t>> result;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if (base(rank, mask) != rank) continue;
    auto& group = result.emplace_back();
    for (const auto offset : members) group.push_back(rank + offset);
  }
  return result;
}

OpRef ProgramBuilder::add(Op op, const std::vector<Dependency>& after) {
  op.first_dependency = static_cast<std::uint32_t>(program_.dependencies.size());
  op.dependencies = static_cast<std::uint16_t>(after.size());
  program_.dependencies.insert(program_.dependencies.end(), after.begin(), after.end());
  program_.ops.push_back(op);
  return {op.stream, ++counts_.at(op.stream)};
}

OpRef ProgramBuilder::block(std::uint8_t stream, std::uint16_t name, std::int32_t micro_batch,
                            const std::vector<Segment>& segments, int repeat,
                            const std::vector<Dependency>& after) {
  check(repeat >= 1 && repeat <= UINT16_MAX && !segments.empty(), "a block does something");
  Op op;
  op.kind = Op::Kind::block;
  op.stream = stream;
  op.name = name;
  op.micro_batch = micro_batch;
  op.repeat = static_cast<std::uint16_t>(repeat);
  op.segments = static_cast<std::uint16_t>(segments.size());
  // Equal runs of segments are stored once: all micro-batches of a stage share them.
  auto& all = program_.segments;
  const auto same = std::search(all.begin(), all.end(), segments.begin(), segments.end(),
                                [](const Segment& a, const Segment& b) {
                                  return a.compute == b.compute && a.call == b.call;
                                });
  op.first_segment = static_cast<std::uint32_t>(same - all.begin());
  if (same == all.end()) all.insert(all.end(), segments.begin(), segments.end());
  return add(op, after);
}

OpRef ProgramBuilder::send(std::uint8_t stream, std::uint16_t name, std::int32_t micro_batch,
                           int axis, int delta, std::uint8_t inbox, Bytes bytes,
                           const std::vector<Dependency>& after) {
  Op op;
  op.kind = Op::Kind::send;
  op.stream = stream;
  op.name = name;
  op.micro_batch = micro_batch;
  op.axis = static_cast<std::uint8_t>(axis);
  op.delta = static_cast<std::int8_t>(delta);
  op.inbox = inbox;
  op.bytes = bytes;
  return add(op, after);
}

OpRef ProgramBuilder::collective(std::uint8_t stream, std::uint16_t name,
                                 const CollectiveCall& call, const std::vector<Dependency>& after) {
  Op op;
  op.kind = Op::Kind::collective;
  op.stream = stream;
  op.name = name;
  op.call = this->call(call);
  return add(op, after);
}

std::int32_t ProgramBuilder::call(const CollectiveCall& call) {
  auto& calls = program_.calls;
  const auto same = std::find_if(calls.begin(), calls.end(), [&](const CollectiveCall& c) {
    return c.operation == call.operation && c.communicator == call.communicator &&
           c.algorithm == call.algorithm && c.size == call.size;
  });
  if (same != calls.end()) return static_cast<std::int32_t>(same - calls.begin());
  calls.push_back(call);
  return static_cast<std::int32_t>(calls.size()) - 1;
}

}  // namespace weft
