#include "sim/routing/next_links.h"

#include "sim/check.h"
#include "sim/random.h"

namespace weft::routing {

NextLinks::NextLinks(const SwitchGraph& graph)
    : graph_(graph),
      rows_(graph.goals()),
      latest_(graph.switches(), 0),
      scratch_(graph.switches()),
      buckets_(graph.heaviest() + 1) {
  pool_.assign(kFirstPlace, {0, LinkId{}});
}

void NextLinks::compute(std::uint32_t goal, Row& row) {
  std::fill(scratch_.begin(), scratch_.end(), kFar);
  std::size_t waiting = 0;
  for (const std::uint32_t s : graph_.ends(goal)) {
    scratch_[s] = 0;
    buckets_[0].push_back(s);
    ++waiting;
  }
  std::uint32_t furthest = 0;
  for (std::uint32_t d = 0; waiting > 0; ++d) {
    std::vector<std::uint32_t>& bucket = buckets_[d % buckets_.size()];
    waiting -= bucket.size();  // weights are at least 1: nothing joins while it is emptied
    for (const std::uint32_t s : bucket) {
      if (scratch_[s] != d) continue;
      furthest = d;
      for (const Arc& arc : graph_.arcs(s)) {
        if (d + arc.weight >= scratch_[arc.to]) continue;
        scratch_[arc.to] = d + arc.weight;
        buckets_[(d + arc.weight) % buckets_.size()].push_back(arc.to);
        ++waiting;
      }
    }
    bucket.clear();
  }
  row.places.assign(scratch_.size(), kUnknown);
  if (furthest >= UINT8_MAX) {
    row.wide = scratch_;
    return;
  }
  row.narrow.resize(scratch_.size());
  std::transform(scratch_.begin(), scratch_.end(), row.narrow.begin(), [](std::uint32_t d) {
    return static_cast<std::uint8_t>(std::min<std::uint32_t>(d, UINT8_MAX));
  });
}

std::uint32_t NextLinks::find_place(std::uint32_t s, std::uint32_t goal, const Row& row) {
  const std::uint32_t there = distance(s, goal, row);
  if (there == 0) return kEmpty;
  const bool shared = graph_.shared(goal);
  bool direct = false;
  scan(s, there, row, [&](const Arc&, bool ends) {
    direct |= shared && ends;
    return !shared || !ends;
  });
  if (direct) return found_.empty() ? kDirect : kMixed;
  check(!found_.empty(), "every NIC reaches every other over switches");
  if (holds_found(latest_[s])) return latest_[s];
  std::uint64_t hash = 0;
  for (const Choice& choice : found_) hash = mix(hash, weft::at(choice.link));
  for (;; hash = mix(hash)) {  // another entry for another set with the same hash
    const auto next = static_cast<std::uint32_t>(pool_.size());
    const auto [known, fresh] = places_.emplace(hash, next);
    if (fresh) {
      check(pool_.size() + found_.size() < UINT32_MAX, "places have 32 bits");
      pool_.push_back({static_cast<std::uint32_t>(found_.size()), LinkId{}});
      pool_.insert(pool_.end(), found_.begin(), found_.end());
    }
    if (fresh || holds_found(known->second)) return latest_[s] = known->second;
  }
}

}  // namespace weft::routing
