// Walks from NIC to NIC by shortest paths; what picks among equal ones is a parameter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/check.h"
#include "sim/routing/next_links.h"

namespace weft::routing {

/// Walks shortest paths; a Policy picks among equal ones.
///
/// A Policy has `pick(where, count)` for the cables of a NIC (`where` tells places apart) and
/// `pick(s, choices)` for those at switch s, of which there is at least one; each returns an index.
class ShortestPaths {
 public:
  explicit ShortestPaths(const Topology& topology)
      : graph_(topology), next_(graph_), candidates_(graph_.most_hooks()) {}
  ShortestPaths(const ShortestPaths&) = delete;
  ShortestPaths& operator=(const ShortestPaths&) = delete;

  const SwitchGraph& graph() const { return graph_; }

  /// The whole way from NIC to NIC.
  template <class Policy>
  void route(NicId source, NicId destination, Policy&& policy, std::vector<LinkId>& path) {
    if (wire(source, destination, policy, path)) return;
    const std::uint32_t target = this->target(destination);
    const std::uint32_t first = leave(source, target, policy, path);
    const std::uint32_t last = walk(first, target, policy, path, [](std::uint32_t) {});
    arrive(destination, last, policy, path);
  }

  /// The target where paths to the NIC end.
  std::uint32_t target(NicId destination) const {
    const std::uint32_t to = graph_.front(destination).to;
    return to != kNone ? to : graph_.nic(destination).target;
  }

  /// Over a direct cable between the two NICs, if there is one.
  template <class Policy>
  bool wire(NicId source, NicId destination, Policy&& policy, std::vector<LinkId>& path) {
    if (graph_.front(source).to != kNone) return false;
    const auto& from = graph_.nic(source);
    if (!from.wired) return false;
    std::uint32_t count = 0;
    for (const auto& hook : graph_.hooks(from)) {
      count += hook.other_nic == at(destination) ? 1u : 0u;
    }
    if (count == 0) return false;
    std::uint32_t chosen = policy.pick(kNone, count);
    if (from.has_port) path.push_back(from.port_out);
    for (const auto& hook : graph_.hooks(from)) {
      if (hook.other_nic == at(destination) && chosen-- == 0) path.push_back(hook.out);
    }
    const auto& to = graph_.nic(destination);
    if (to.has_port) path.push_back(to.port_in);
    return true;
  }

  /// From the NIC to the switch of its own that is nearest to the target.
  template <class Policy>
  std::uint32_t leave(NicId source, std::uint32_t target, Policy&& policy,
                      std::vector<LinkId>& path) {
    if (const auto& front = graph_.front(source); front.to != kNone) {
      path.push_back(front.out);
      return front.to;
    }
    const auto& from = graph_.nic(source);
    const auto hooks = graph_.hooks(from);
    std::uint32_t nearest = kNone;
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < hooks.size(); ++i) {
      if (hooks[i].to == kNone) continue;
      const std::uint32_t distance = next_.distance(hooks[i].to, target);
      if (distance < nearest) nearest = distance, count = 0;
      if (distance == nearest) candidates_[count++] = i;
    }
    check(count > 0, "every NIC reaches every other over switches");
    const auto& hook = hooks[candidates_[policy.pick(kNone, count)]];
    path.push_back(from.port_out);
    path.push_back(hook.out);
    return hook.to;
  }

  /// From a switch to one of the target's, which is returned. `visit` hears of each switch entered.
  template <class Policy, class Visit>
  std::uint32_t walk(std::uint32_t s, std::uint32_t target, Policy&& policy,
                     std::vector<LinkId>& path, Visit&& visit) {
    while (s != target) {
      const std::span<const Choice> choices = next_.at(s, target);
      if (choices.empty()) return s;  // a target of several switches
      const Choice& choice = choices[policy.pick(s, choices)];
      path.push_back(choice.link);
      s = choice.to;
      visit(s);
    }
    return s;
  }

  /// From the last switch to the NIC.
  template <class Policy>
  void arrive(NicId destination, std::uint32_t last, Policy&& policy, std::vector<LinkId>& path) {
    if (const auto& front = graph_.front(destination); front.to != kNone) {
      path.push_back(front.in);
      return;
    }
    const auto& to = graph_.nic(destination);
    const auto hooks = graph_.hooks(to);
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < hooks.size(); ++i) {
      if (hooks[i].to == last) candidates_[count++] = i;
    }
    check(count > 0, "a path ends at a switch of its destination");
    path.push_back(hooks[candidates_[policy.pick(last, count)]].in);
    path.push_back(to.port_in);
  }

 private:
  SwitchGraph graph_;
  NextLinks next_;
  std::vector<std::uint32_t> candidates_;  // scratch: hooks of a NIC
};

}  // namespace weft::routing
