// Flows per second of both network models, on a two-level fat tree of 50 GB/s links, 1 us each.
// Each case runs in a process of its own, since SimGrid's kernel is one per process.
//
//   ring         a ring's steps in lock-step, equal chunks, neighbours on different leaves
//   allreduce    the same, all 2 (n - 1) steps of a ring all-reduce
//   staggered    the same ring, chunks of different sizes
//   oversubscribed  staggered, with a quarter of the spines
//   random       each host sends to one random host after the other, over a random spine
//   private      rings of 8 GPUs inside their hosts: no shared links, sizes differ by host
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "sim/network_model.h"
#include "sim/random.h"
#include "tests/support/fork.h"

namespace weft {
namespace {

constexpr double kBytesPerSecond = 50e9;
constexpr Seconds kLinkLatency(1e-6);

/// Links: host up, host down, then for each leaf and spine the link up and the link down.
struct FatTree {
  std::uint32_t hosts_per_leaf, leaves, spines;

  std::uint32_t hosts() const { return hosts_per_leaf * leaves; }
  std::vector<LinkSpec> links() const {
    return std::vector<LinkSpec>(2 * hosts() + 2 * leaves * spines,
                                 {bits_per_second(kBytesPerSecond), kLinkLatency});
  }
  std::uint32_t path(std::uint32_t from, std::uint32_t to, std::uint32_t spine,
                     LinkId* path) const {
    std::uint32_t hops = 0;
    const std::uint32_t leaf_links = 2 * hosts();
    const std::uint32_t source = from / hosts_per_leaf, destination = to / hosts_per_leaf;
    path[hops++] = LinkId{2 * from};
    if (source != destination) {
      path[hops++] = LinkId{leaf_links + 2 * (source * spines + spine)};
      path[hops++] = LinkId{leaf_links + 2 * (destination * spines + spine) + 1};
    }
    path[hops++] = LinkId{2 * to + 1};
    return hops;
  }
};

/// What a case measured, sent from the child to the parent.
struct Measured {
  double seconds;
  double flows;
  double simulated_s;
  double peak_rss_bytes;  ///< above the idle program's
};

/// Processor time, so that a busy machine does not blur the figures: there is one thread only.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double peak_rss() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

/// Traffic of ranks that each send one flow after the other.
class Traffic : public EventHandler {
 public:
  Traffic(const std::string& model, const std::vector<LinkSpec>& links, std::uint32_t ranks)
      : kernel_(model, links, *this), ranks_(ranks) {}

  Measured measure(double idle_rss) {
    const double begin = cpu_seconds();
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) send(rank);
    kernel_.run();
    return {cpu_seconds() - begin, static_cast<double>(kernel_.network().flows_started()),
            kernel_.now(), peak_rss() - idle_rss};
  }
  void on_timer(std::uint64_t) override {}
  void on_flow_failed(std::uint64_t, double) override {}

 protected:
  virtual void send(std::uint32_t rank) = 0;
  void start(std::span<const LinkId> path, std::uint64_t size, std::uint32_t rank) {
    kernel_.network().start(path, Bytes(size), static_cast<double>(path.size()) * kLinkLatency,
                            rank);
  }
  std::uint32_t ranks() const { return ranks_; }

 private:
  Kernel kernel_;
  std::uint32_t ranks_;
};

/// A rank may begin its next step when it has sent and received the last one.
class Ring : public Traffic {
 public:
  Ring(const std::string& model, const std::vector<LinkSpec>& links, std::uint32_t ranks,
       std::uint32_t ring, std::uint32_t steps)
      : Traffic(model, links, ranks), ring_(ring), steps_(steps), progress_(ranks) {}

  void on_flow_done(std::uint64_t token) override {
    const auto rank = static_cast<std::uint32_t>(token);
    const std::uint32_t right = next(rank);
    ++progress_[rank].sent;
    ++progress_[right].received;
    go_on(rank);
    go_on(right);
  }

 protected:
  std::uint32_t next(std::uint32_t rank) const {
    return rank % ring_ + 1 == ring_ ? rank + 1 - ring_ : rank + 1;
  }
  /// The step that the rank begins.
  std::uint32_t begin_step(std::uint32_t rank) { return progress_[rank].started++; }

 private:
  struct Progress {
    std::uint32_t started = 0, sent = 0, received = 0;
  };
  void go_on(std::uint32_t rank) {
    const Progress& progress = progress_[rank];
    if (progress.started < steps_ && progress.sent == progress.started &&
        progress.received >= progress.started)
      send(rank);
  }
  std::uint32_t ring_, steps_;
  std::vector<Progress> progress_;
};

std::uint64_t size_of(std::uint32_t rank, std::uint32_t step, bool equal) {
  return equal ? 1'000'000 : 500'000 + mix(rank, step) % 1'000'000;
}

class FatTreeRing final : public Ring {
 public:
  FatTreeRing(const std::string& model, const FatTree& tree, std::uint32_t steps, bool equal)
      : Ring(model, tree.links(), tree.hosts(), tree.hosts(), steps), tree_(tree), equal_(equal) {}

 protected:
  void send(std::uint32_t rank) override {
    LinkId path[4];
    const std::uint32_t to = host(next(rank));
    const std::uint32_t hops = tree_.path(host(rank), to, to % tree_.spines, path);
    start({path, hops}, size_of(rank, begin_step(rank), equal_), rank);
  }

 private:
  /// Deals the ranks out over the leaves like cards.
  std::uint32_t host(std::uint32_t rank) const {
    return rank % tree_.leaves * tree_.hosts_per_leaf + rank / tree_.leaves;
  }
  FatTree tree_;
  bool equal_;
};

class RandomTraffic final : public Traffic {
 public:
  RandomTraffic(const std::string& model, const FatTree& tree, std::uint32_t steps)
      : Traffic(model, tree.links(), tree.hosts()), tree_(tree), steps_(steps), step_(ranks()) {}

  void on_flow_done(std::uint64_t token) override {
    if (step_[token] < steps_) send(static_cast<std::uint32_t>(token));
  }

 protected:
  void send(std::uint32_t rank) override {
    const std::uint32_t step = step_[rank]++;
    const std::uint64_t draw = mix(mix(rank), step);
    const std::uint32_t to = (rank + 1 + bounded(draw, ranks() - 1)) % ranks();
    LinkId path[4];
    const std::uint32_t hops = tree_.path(rank, to, bounded(mix(draw), tree_.spines), path);
    start({path, hops}, size_of(rank, step, false), rank);
  }

 private:
  FatTree tree_;
  std::uint32_t steps_;
  std::vector<std::uint32_t> step_;
};

/// A link out of and a link into each GPU.
class PrivateRings final : public Ring {
 public:
  PrivateRings(const std::string& model, std::uint32_t gpus, std::uint32_t steps)
      : Ring(model,
             std::vector<LinkSpec>(2 * gpus, {bits_per_second(kBytesPerSecond), kLinkLatency}),
             gpus, 8, steps) {}

 protected:
  void send(std::uint32_t rank) override {
    const LinkId path[2] = {LinkId{2 * rank}, LinkId{2 * next(rank) + 1}};
    start(path, size_of(rank / 8, begin_step(rank), false), rank);
  }
};

enum class Pattern { ring, allreduce, staggered, oversubscribed, random, in_host };

Measured measure(const std::string& model, Pattern pattern, std::uint32_t hosts,
                 std::uint32_t flows) {
  const auto measured = test::in_child([&] {
    const double idle = peak_rss();
    std::uint32_t side = 1;
    while (side * side < hosts) side *= 2;
    const bool few_spines = pattern == Pattern::oversubscribed;
    const FatTree tree{side, hosts / side, few_spines ? side / 4 : side};
    const std::uint32_t steps =
        pattern == Pattern::allreduce ? 2 * (hosts - 1) : std::max(flows / hosts, 1u);
    switch (pattern) {
      case Pattern::random:
        return std::vector{RandomTraffic(model, tree, steps).measure(idle)};
      case Pattern::in_host:
        return std::vector{PrivateRings(model, hosts, steps).measure(idle)};
      case Pattern::ring:
      case Pattern::allreduce:
        return std::vector{FatTreeRing(model, tree, steps, true).measure(idle)};
      case Pattern::staggered:
      case Pattern::oversubscribed:
        break;
    }
    return std::vector{FatTreeRing(model, tree, steps, false).measure(idle)};
  });
  return measured.at(0);
}

void add(const std::string& name, const std::string& model, Pattern pattern, std::uint32_t hosts,
         std::uint32_t flows) {
  benchmark::RegisterBenchmark((model + "/" + name + "/" + std::to_string(hosts)).c_str(),
                               [=](benchmark::State& state) {
                                 Measured last{};
                                 double total = 0;
                                 for (auto _ : state) {
                                   last = measure(model, pattern, hosts, flows);
                                   state.SetIterationTime(last.seconds);
                                   total += last.flows;
                                 }
                                 state.counters["flows/s"] =
                                     benchmark::Counter(total, benchmark::Counter::kIsRate);
                                 state.counters["flows"] = last.flows;
                                 state.counters["MiB"] = last.peak_rss_bytes / 1048576;
                                 state.counters["simulated_s"] = last.simulated_s;
                               })
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  using weft::Pattern;
  struct Row {
    const char* name;
    Pattern pattern;
    std::uint32_t reference_flows[4];  // that the reference ends in seconds; 0: none
  };
  const Row rows[] = {
      {"ring", Pattern::ring, {100'000, 50'000, 50'000, 40'960}},
      {"allreduce", Pattern::allreduce, {1, 1, 0, 0}},
      {"staggered", Pattern::staggered, {50'000, 50'000, 30'000, 20'480}},
      {"oversubscribed", Pattern::oversubscribed, {50'000, 50'000, 30'000, 8'192}},
      {"random", Pattern::random, {50'000, 20'000, 3'072, 0}},
      {"private", Pattern::in_host, {100'000, 100'000, 100'000, 100'000}},
  };
  const std::uint32_t sizes[] = {64, 256, 1024, 4096};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < 4; ++i) {
      weft::add(row.name, "fluid", row.pattern, sizes[i], 400'000);
      if (row.reference_flows[i] > 0)
        weft::add(row.name, "simgrid_cm02", row.pattern, sizes[i], row.reference_flows[i]);
    }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
