#include "sim/collective.h"

#include <algorithm>

#include "sim/check.h"

namespace weft {

const char* to_text(Operation operation) {
  switch (operation) {
    case Operation::all_reduce:
      return "all_reduce";
    case Operation::reduce_scatter:
      return "reduce_scatter";
    case Operation::all_gather:
      return "all_gather";
    case Operation::all_to_all:
      return "all_to_all";
  }
  return "";
}

double bus_factor(Operation operation, int ranks) {
  const double n = ranks;
  return (operation == Operation::all_reduce ? 2 : 1) * (n - 1) / n;
}

std::uint64_t CollectiveAlgorithm::messages(Operation operation, int n) const {
  if (n < 2) return 0;
  const auto ranks = static_cast<std::uint64_t>(n);
  if (fixed_peer()) return ranks * static_cast<std::uint64_t>(steps(operation, n));
  std::uint64_t count = 0;
  for (int step = 0; step < steps(operation, n); ++step)
    for (int rank = 0; rank < n; ++rank)
      count += static_cast<std::uint64_t>(receives(operation, n, rank, step));
  return count;
}

Seconds CollectiveAlgorithm::time_alone(Operation operation, Bytes size, int n, BitsPerSecond rate,
                                        Seconds latency) const {
  if (n < 2) return Seconds(0);
  // ready[i]: when rank i may begin the current step; done[i]: when all it sends and gets is in.
  std::vector<double> ready(static_cast<std::size_t>(n), 0.0), done(ready);
  std::vector<Send> out;
  for (int step = 0; step < steps(operation, n); ++step) {
    std::fill(done.begin(), done.end(), 0.0);
    for (int rank = 0; rank < n; ++rank) {
      out.clear();
      sends(operation, size, n, rank, step, out);
      const auto r = static_cast<std::size_t>(rank);
      done[r] = std::max(done[r], ready[r]);
      // Equal shares of the sender's port: message k of m sorted by size ends when it and all
      // smaller ones are through.
      std::sort(out.begin(), out.end(),
                [](const Send& a, const Send& b) { return a.bytes < b.bytes; });
      std::uint64_t before = 0;
      for (std::size_t k = 0; k < out.size(); ++k) {
        const Bytes through(before + out[k].bytes.value * (out.size() - k));
        before += out[k].bytes.value;
        const double end = ready[r] + latency.value + (through / rate).value;
        done[r] = std::max(done[r], end);
        auto& peer = done[static_cast<std::size_t>(out[k].peer)];
        peer = std::max(peer, end);
      }
    }
    ready = done;
  }
  return Seconds(*std::max_element(ready.begin(), ready.end()));
}

}  // namespace weft
