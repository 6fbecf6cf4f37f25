// The servers: GPUs, the NVSwitch between them, NICs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/config.h"
#include "sim/ids.h"
#include "sim/units.h"

namespace weft {

/// What a GPU can do. Peaks are dense (no structured sparsity).
struct GpuSpec {
  std::string name;
  FlopsPerSecond peak;           ///< 16-bit matrix peak
  double matmul_efficiency = 1;  ///< fraction of peak that large matrix products reach
  Bytes memory;
  BitsPerSecond memory_rate;  ///< of the GPU's memory (HBM), for what is bound by it
};

/// A full-duplex port or cable: `rate` per direction, `latency` one way.
struct PortSpec {
  BitsPerSecond rate;
  Seconds latency;
  Metres length = {};  ///< of a cable: decides between copper and optics
};

///     GPU 0   GPU 1  ...  GPU g-1        each GPU: one full-duplex port into the NVSwitch
///       |       |            |           (nvlink.rate a direction; a message costs nvlink.latency
///       |       |            |            once, from GPU to GPU)
///     [         NVSwitch         ]
///       :       :            :           GPU i sends to other hosts through NIC nic_of_gpu[i]
///     NIC 0   NIC 1  ...  NIC n-1        (nic.rate a direction; a message costs nic.latency once)
///
/// Where `nvlink_domain` is above 1, that many hosts share one NVSwitch: their GPUs reach each
/// other over NVLink and need no NIC.
struct HostSpec {
  int gpus = 1;
  int nics = 1;
  int nvlink_domain = 1;  ///< hosts on one NVSwitch; the cluster's last domain may have fewer
  GpuSpec gpu;
  PortSpec nvlink;  ///< unused where gpus == 1 and nvlink_domain == 1
  PortSpec nic;
  std::vector<int> nic_of_gpu;  ///< [gpus] local NIC index; default gpu * nics / gpus
};

/// `hosts` equal servers.
struct Cluster {
  int hosts = 1;
  HostSpec host;

  int gpus() const { return hosts * host.gpus; }
  int nics() const { return hosts * host.nics; }
  HostId host_of(GpuId gpu) const {
    return HostId{static_cast<std::uint32_t>(at(gpu) / static_cast<std::size_t>(host.gpus))};
  }
  /// Whether GPUs have NVLink ports at all.
  bool has_nvlink() const { return host.gpus > 1 || host.nvlink_domain > 1; }
  /// Number of the NVLink domain: GPUs of the same one talk over NVLink, others over the fabric.
  std::uint32_t domain_of(GpuId gpu) const {
    return static_cast<std::uint32_t>(at(host_of(gpu))) /
           static_cast<std::uint32_t>(host.nvlink_domain);
  }
  NicId nic_of(GpuId gpu) const {
    const auto local = at(gpu) % static_cast<std::size_t>(host.gpus);
    return NicId{static_cast<std::uint32_t>(at(host_of(gpu)) * static_cast<std::size_t>(host.nics) +
                                            static_cast<std::size_t>(host.nic_of_gpu[local]))};
  }
};

/// Reads the section `cluster`; hosts and GPUs come as presets, files or mappings. ConfigError
/// where several GPUs have no NVLink, there are more NICs than GPUs, or the NICs are not shared
/// out.
Cluster read_cluster(const Section&);

}  // namespace weft
