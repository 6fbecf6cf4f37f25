// The YAML files of the presets folders, embedded at build time.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct Preset {
  std::string kind;  ///< "fabric", "gpu", "host", "model"
  std::string name;  ///< the file's name without .yaml
  std::string yaml;
};

const std::vector<Preset>& presets();

}  // namespace weft
