// The YAML files of the presets folders, embedded at build time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/config.h"

namespace weft {

struct Preset {
  std::string kind;  ///< "fabric", "gpu", "host", "model"
  std::string name;  ///< the file's name without .yaml
  std::string yaml;
};

/// All of them, by kind and name. Generated from the folders by cmake/embed_presets.cmake.
const std::vector<Preset>& presets();

/// The names of one kind, and what finds them for Section::preset.
std::vector<std::string> preset_names(std::string_view kind);
Section::PresetLoader preset_loader(std::string_view kind);

}  // namespace weft
