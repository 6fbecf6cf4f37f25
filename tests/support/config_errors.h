// Reads configurations from memory and hands back the whole text of what is refused.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/config.h"

namespace weft::testing {

using Reader = std::function<void(const Section&)>;

/// The message with which reading `text` (called s.yaml) fails, or "no error".
inline std::string error_of(const std::string& text, const Reader& read,
                            const std::vector<std::string>& overrides = {}) {
  try {
    const ConfigFile file = ConfigFile::read_text("s.yaml", text, overrides);
    read(file.root());
    file.refuse_unread();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

/// The resolved document of `text`. Throws what reading throws.
inline std::string resolved(const std::string& text, const Reader& read,
                            const std::vector<std::string>& overrides = {}) {
  const ConfigFile file = ConfigFile::read_text("s.yaml", text, overrides);
  read(file.root());
  file.refuse_unread();
  return file.resolved_yaml();
}

}  // namespace weft::testing
