#include "workloads/training/parallelism.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/algorithm/string.hpp>

namespace weft::workloads {
namespace {

const std::vector<std::string> kAxes = {"tp", "cp", "ep", "dp", "pp"};

std::vector<std::string> read_order(const Section& section, int tensor, int pipeline, int data) {
  const auto text = section.text({.name = "order",
                                  .help = "which degree varies fastest over the ranks",
                                  .initial = "tp-cp-ep-dp-pp",
                                  .source = "Megatron-LM's default order"});
  std::vector<std::string> order;
  boost::split(order, text, boost::is_any_of("-"));
  for (auto name = order.begin(); name != order.end(); ++name) {
    if (std::find(kAxes.begin(), kAxes.end(), *name) == kAxes.end())
      section.fail("order", fmt::format("`{}` is not a kind of parallelism", *name),
                   "possible: tp, cp, ep, dp, pp, joined by -");
    if (std::find(order.begin(), name, *name) != name)
      section.fail("order", fmt::format("`{}` stands twice", *name),
                   "name each kind of parallelism once");
  }
  for (const auto& [name, degree] :
       {std::pair("tp", tensor), std::pair("dp", data), std::pair("pp", pipeline)})
    if (degree > 1 && std::find(order.begin(), order.end(), name) == order.end())
      section.fail("order", fmt::format("`{}` is missing, and its degree is {}", name, degree),
                   "put it where its ranks shall stand: what comes first are neighbours");
  return order;
}

/// "possible: 1, 2, 4": the first degrees of tensor parallelism over which the heads can be spread.
std::string possible_degrees(const ModelSpec& model) {
  std::vector<int> degrees;
  for (int t = 1; t <= 1024 && t <= model.heads; ++t)
    if (model.heads % t == 0 && (model.kv_heads % t == 0 || t % model.kv_heads == 0))
      degrees.push_back(t);
  return fmt::format("possible: {}", fmt::join(degrees, ", "));
}

/// How to make the product of the degrees, which is not the number of GPUs, right.
std::string product_hint(const Parallelism& p, std::int64_t product, const Cluster& cluster) {
  constexpr std::int64_t kMostHosts = std::int64_t{1} << 20;
  const std::int64_t others = std::int64_t{p.tensor} * p.pipeline;
  if (cluster.gpus() % others == 0)
    return fmt::format("`data: {}` would use them all", cluster.gpus() / others);
  if (product % cluster.host.gpus == 0 && product / cluster.host.gpus <= kMostHosts)
    return fmt::format("`cluster.hosts: {}` would be as many, at {} GPUs each",
                       product / cluster.host.gpus, cluster.host.gpus);
  return "the degrees must multiply to the GPUs of the cluster";
}

}  // namespace

Grid Parallelism::grid() const {
  std::vector<Grid::Axis> axes;
  for (const auto& name : order) {
    if (name == "tp") axes.push_back({name, tensor});
    if (name == "dp") axes.push_back({name, data});
    if (name == "pp") axes.push_back({name, pipeline});
  }
  // An order may leave out what is not split.
  for (const char* name : {"tp", "dp", "pp"})
    if (std::none_of(axes.begin(), axes.end(), [&](const auto& a) { return a.name == name; }))
      axes.push_back({name, 1});
  return Grid(axes);
}

Parallelism read_parallelism(const Section& workload, const Cluster& cluster,
                             const ModelSpec& model) {
  const Section section = workload.section("parallelism", "how the job is split over the GPUs");
  constexpr int kMost = 1 << 20;
  const auto degree = [&](std::string_view name, std::string_view help) {
    return static_cast<int>(section.integer(
        {.name = name, .help = help, .initial = "1", .source = "not split"}, 1, kMost));
  };
  Parallelism p;
  p.tensor = degree("tensor", "GPUs that share each layer's matrices");
  p.pipeline = degree("pipeline", "stages, each with its part of the layers");
  p.data = degree("data", "replicas, each with its part of the batch");
  const int context = degree("context", "GPUs that share a sequence; only 1 is modelled");
  const int expert =
      degree("expert", "GPUs that share the experts; only dense models are modelled");
  p.sequence = section.boolean({.name = "sequence",
                                .help = "sequence parallelism: norms are split along the sequence",
                                .initial = "false",
                                .source = "Megatron-LM's default"});
  p.order = read_order(section, p.tensor, p.pipeline, p.data);
  if (section.describing()) return p;
  section.refuse_unread();

  if (context > 1)
    section.fail("context", "context parallelism is not modelled",
                 "use 1, and tensor or pipeline parallelism for long sequences");
  if (expert > 1)
    section.fail("expert", "expert parallelism needs a model with experts, and this one has none",
                 "use 1");
  if (model.heads % p.tensor != 0)
    section.fail(
        "tensor",
        fmt::format("{} heads are not a multiple of tensor parallelism {}", model.heads, p.tensor),
        possible_degrees(model));
  if (model.kv_heads % p.tensor != 0 && p.tensor % model.kv_heads != 0)
    section.fail("tensor",
                 fmt::format("{} key-value heads can neither be split nor repeated over tensor "
                             "parallelism {}",
                             model.kv_heads, p.tensor),
                 possible_degrees(model));
  if (p.sequence && p.tensor == 1)
    section.fail("sequence", "sequence parallelism needs tensor parallelism of at least 2",
                 "leave it out, or set tensor");
  const std::int64_t product = std::int64_t{p.tensor} * p.pipeline * p.data;
  if (product != cluster.gpus())
    section.fail("",
                 fmt::format("tensor {} x pipeline {} x data {} = {} GPUs, but the cluster has {}",
                             p.tensor, p.pipeline, p.data, product, cluster.gpus()),
                 product_hint(p, product, cluster));
  return p;
}

NamedGroups groups_of(const Parallelism& p) {
  const Grid grid = p.grid();
  const auto bit = [&](const char* axis) { return AxisMask{1} << grid.axis(axis); };
  return {{"TP", grid.groups(bit("tp"))},
          {"PP", grid.groups(bit("pp"))},
          {"DP", grid.groups(bit("dp"))},
          {"model-parallel", grid.groups(bit("tp") | bit("pp"))}};
}

}  // namespace weft::workloads
