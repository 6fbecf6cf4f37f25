#include "sim/cluster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/presets.h"

namespace weft {
namespace {

constexpr std::int64_t kMostHosts = std::int64_t{1} << 20;
constexpr std::int64_t kMostGpusPerHost = 1024;

constexpr std::string_view kLatencySource = "assumed: the order of magnitude of small messages";

GpuSpec read_gpu(const Section& gpu) {
  GpuSpec spec;
  spec.name = gpu.text({.name = "name",
                        .help = "what reports call it",
                        .initial = "custom",
                        .source = "a GPU described in place has no name of its own"});
  spec.peak = gpu.speed({.name = "peak",
                         .help = "16-bit matrix peak, dense (without structured sparsity)",
                         .example = "989 TFLOPS"});
  spec.matmul_efficiency =
      gpu.number({.name = "matmul_efficiency",
                  .help = "fraction of the peak that large matrix products reach",
                  .initial = "0.8",
                  .source = "best measured: A100 0.87, H100 0.80, B200 0.78 (MAMF, "
                            "ml-engineering by S. Bekman)"},
                 0.001, 1);
  spec.memory = gpu.size({.name = "memory", .help = "of one GPU", .example = "80 GB"});
  spec.memory_rate =
      gpu.rate({.name = "memory_rate",
                .help = "of the GPU's memory, for what is bound by it: the optimizer",
                .initial = "3350 GB/s",
                .source = "an H100's (ml-engineering by S. Bekman)"});
  return spec;
}

PortSpec read_port(const Section& port, std::string_view rate_help, std::string_view latency_help,
                   std::string_view example) {
  PortSpec spec;
  spec.rate = port.rate({.name = "rate", .help = rate_help, .example = example});
  spec.latency = port.time(
      {.name = "latency", .help = latency_help, .initial = "1 us", .source = kLatencySource});
  return spec;
}

/// Local NIC of each GPU: the user's list, or neighbours sharing NICs evenly.
std::vector<int> read_nic_of_gpu(const Section& host, int gpus, int nics) {
  const bool even = gpus % nics == 0;
  if (!even && !host.has("nic_of_gpu"))
    host.fail("nics", fmt::format("{} GPUs do not share {} NICs evenly", gpus, nics),
              "say with `nic_of_gpu: [...]` which NIC each GPU uses, or change the number");
  std::vector<int> standard;
  for (int gpu = 0; gpu < gpus; ++gpu) standard.push_back(gpu * nics / gpus);
  const std::string initial = fmt::format("[{}]", fmt::join(standard, ", "));
  const std::vector<std::int64_t> given =
      host.integers({.name = "nic_of_gpu",
                     .help = "local NIC through which each GPU talks to other hosts",
                     .initial = initial,
                     .source = "neighbouring GPUs share a NIC, as on NVIDIA's DGX hosts"},
                    0, nics - 1);
  if (given.size() != static_cast<std::size_t>(gpus))
    host.fail("nic_of_gpu", fmt::format("{} NICs are named for {} GPUs", given.size(), gpus),
              "give one NIC for each GPU");
  std::vector<int> result;
  for (const std::int64_t nic : given) result.push_back(static_cast<int>(nic));
  for (int nic = 0; nic < nics; ++nic)
    if (std::find(result.begin(), result.end(), nic) == result.end())
      host.fail("nic_of_gpu", fmt::format("NIC {} is used by no GPU", nic),
                fmt::format("use it, or lower `nics` from {}", nics));
  return result;
}

HostSpec read_host(const Section& host) {
  HostSpec spec;
  spec.gpus = static_cast<int>(host.integer(
      {.name = "gpus", .help = "GPUs in one host", .example = "8"}, 1, kMostGpusPerHost));
  spec.gpu =
      read_gpu(host.preset("gpu", "the GPU model", preset_loader("gpu"), preset_names("gpu"),
                           "h100_sxm", "the GPU of most published training runs of 2023 to 2025"));

  spec.nvlink_domain = static_cast<int>(
      host.integer({.name = "nvlink_domain",
                    .help = "hosts that share one NVSwitch, numbered in a row",
                    .initial = "1",
                    .source = "each host has its own, as NVIDIA's DGX hosts; 18 in a GB200 NVL72"},
                   1, kMostHosts));
  const bool nvlink = host.has("nvlink");
  if (!nvlink && (spec.gpus > 1 || spec.nvlink_domain > 1))
    host.fail(
        "nvlink",
        spec.gpus > 1
            ? fmt::format("required, but missing: {} GPUs of a host talk through it", spec.gpus)
            : fmt::format("required, but missing: {} hosts share an NVSwitch", spec.nvlink_domain),
        "for example `nvlink: {rate: 3.6 Tbps, latency: 1 us}`");
  if (nvlink)
    spec.nvlink = read_port(host.section("nvlink", "each GPU's port into the host's NVSwitch"),
                            "per direction and GPU",
                            "GPU to GPU through the NVSwitch, once per message", "3.6 Tbps");

  const std::string one_each = std::to_string(spec.gpus);
  spec.nics = static_cast<int>(host.integer({.name = "nics",
                                             .help = "NICs in one host",
                                             .initial = one_each,
                                             .source = "one for each GPU"},
                                            1, kMostGpusPerHost));
  if (spec.nics > spec.gpus)
    host.fail("nics",
              fmt::format("{} NICs for {} GPUs: more NICs than GPUs is not modelled", spec.nics,
                          spec.gpus),
              "give one NIC the summed rate");
  spec.nic = read_port(host.section("nic", "the port of one NIC"), "per direction",
                       "once per message, on the sending side", "400 Gbps");
  spec.nic_of_gpu = read_nic_of_gpu(host, spec.gpus, spec.nics);
  return spec;
}

}  // namespace

Cluster read_cluster(const Section& section) {
  Cluster cluster;
  cluster.hosts = static_cast<int>(
      section.integer({.name = "hosts", .help = "equal servers", .example = "128"}, 1, kMostHosts));
  cluster.host = read_host(
      section.preset("host", "the server model", preset_loader("host"), preset_names("host")));
  return cluster;
}

}  // namespace weft
