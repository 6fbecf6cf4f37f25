#include "sim/presets.h"

namespace weft {

std::vector<std::string> preset_names(std::string_view kind) {
  std::vector<std::string> names;
  for (const Preset& preset : presets())
    if (preset.kind == kind) names.push_back(preset.name);
  return names;
}

Section::PresetLoader preset_loader(std::string_view kind) {
  return [kind = std::string(kind)](const std::string& name, std::string& yaml_text) {
    for (const Preset& preset : presets()) {
      if (preset.kind != kind || preset.name != name) continue;
      yaml_text = preset.yaml;
      return true;
    }
    return false;
  };
}

}  // namespace weft
