// Reading YAML strictly: every value has a unit and a place, nothing is unread, nothing defaulted
// silently. The only file that includes yaml-cpp is yaml_tree.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/units.h"

namespace weft {

/// Bad input (exit code 2). `what()` is the whole message:
///   file:line:column: path: problem
///     <source line>
///     ^
///   hint (nearest key, possible values, ...)
struct ConfigError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace config {
struct Node;      // one YAML value with its place
struct Document;  // files read, overrides, what was asked of them, what is resolved
struct Access;    // what the getters have in common
}  // namespace config

/// One documented key, as `weft describe` shows it.
struct KeyInfo {
  std::string path;       ///< relative to the described section: "link.rate"
  std::string type;       ///< "rate", "time", "size", "integer >= 1", "one of: a, b", ...
  std::string initial;    ///< the default as text, or empty when there is none
  std::string example;    ///< for a required key
  std::string help;       ///< what it means
  std::string source;     ///< where the default comes from
  bool required = false;  ///< without it the mapping is refused
};

/// What every getter is told of its key. `initial` empty means required; `example` then documents
/// it (and is the value in describe mode).
struct Key {
  std::string_view name;
  std::string_view help;
  std::string_view initial = {};  ///< default, written as in YAML ("600 ns"); parsed like input
  std::string_view source = {};   ///< why that default
  std::string_view example = {};  ///< for required keys
};

/// A YAML mapping being read. Cheap to copy. Each getter marks its key as read, checks type, unit
/// and range, throws ConfigError with the place, and writes the value to the resolved document.
class Section {
 public:
  // ---- scalars; bounds are inclusive. Quantities have upper bounds that keep sums of them finite:
  // times 1e9 s, rates 1e18 bps, sizes 1 EiB, speeds 1e21 FLOPS, lengths 1e6 m, power 1e9 W, money
  // 1e12 USD; rates and speeds are >= 1.
  std::string text(const Key&) const;
  std::string choice(const Key&, const std::vector<std::string>& values) const;
  bool boolean(const Key&) const;
  std::int64_t integer(const Key&, std::int64_t least, std::int64_t most = INT64_MAX) const;
  double number(const Key&, double least, double most) const;  ///< dimensionless, finite
  Seconds time(const Key&, Seconds least = Seconds(0)) const;  ///< "600 ns", "1.5 us", "0 s"
  BitsPerSecond rate(const Key&) const;                        ///< "400 Gbps", "50 GB/s", > 0
  Bytes size(const Key&, Bytes least = Bytes(1)) const;        ///< "64 MiB", "1 GB", "100 B"
  FlopsPerSecond speed(const Key&) const;                      ///< "989 TFLOPS", > 0
  Metres length(const Key&) const;                             ///< "3 m"
  Watts power(const Key&) const;                               ///< "10 W"
  Dollars money(const Key&) const;                             ///< "100 USD"
  /// The path of a file that is there, relative to the file that names it. The resolved document
  /// holds the absolute path.
  std::string file(const Key&) const;

  // ---- structure ---------------------------------------------------------------------------
  /// Present and not null; does not mark it as read. Always true in describe mode, so that keys
  /// read only where present are described too.
  bool has(std::string_view name) const;
  bool is_mapping(std::string_view name) const;
  bool is_sequence(std::string_view name) const;
  /// A nested mapping. A missing one reads as empty (so that its keys' defaults apply).
  Section section(std::string_view name, std::string_view help) const;
  /// A sequence of mappings; never empty.
  std::vector<Section> sections(std::string_view name, std::string_view help) const;
  /// A sequence of integers, of texts or of numbers; never empty. A default is a YAML sequence.
  std::vector<std::int64_t> integers(const Key&, std::int64_t least, std::int64_t most) const;
  std::vector<std::string> texts(const Key&) const;
  std::vector<double> numbers(const Key&, double least, double most) const;
  /// A name or a mapping: where the value is text, `load` turns it into the text of a YAML document
  /// (a preset, say) and that document's mapping is read in its place; where it is a mapping with
  /// the key `preset`, that preset is the base and the mapping's own keys override it, nested
  /// mappings key by key. resolved.yaml holds the expanded mapping. `load` returns false when it
  /// knows no such name; the text is then taken as a path of a YAML file, relative to the file that
  /// names it; if there is none, the error lists `known`.
  using PresetLoader = std::function<bool(const std::string& name, std::string& yaml_text)>;
  Section preset(std::string_view name, std::string_view help, const PresetLoader& load,
                 const std::vector<std::string>& known, std::string_view initial = {},
                 std::string_view source = {}) const;

  // ---- errors at a place -------------------------------------------------------------------
  /// An error at key `name` of this section (at the section itself where it is absent or empty).
  /// Where the section holds a key that looks like a mistyped one, that is the error instead.
  [[noreturn]] void fail(std::string_view name, const std::string& problem,
                         const std::string& hint = {}) const;
  /// Throws for the first key here, or below, that nobody has asked for yet. To be called when all
  /// of the section has been read and keys are about to be checked against each other.
  void refuse_unread() const;
  /// "fabric.link": dotted path of this section.
  const std::string& path() const;
  /// True in describe mode (`describe_keys`): cross-key checks that examples cannot meet may be
  /// skipped.
  bool describing() const;

 private:
  friend class ConfigFile;
  friend struct config::Access;
  friend std::vector<KeyInfo> describe_keys(const std::function<void(const Section&)>&);
  std::shared_ptr<config::Document> document_;
  config::Node* node_ = nullptr;
  std::string path_;
};

/// A parsed scenario file with its overrides.
class ConfigFile {
 public:
  /// Reads a file. Errors (cannot be opened, a folder, empty, binary, not YAML, duplicate keys, not
  /// a mapping) are ConfigErrors. `overrides` are `a.b=c` texts: c is YAML, a.b a dotted path whose
  /// parents are made where missing; a number indexes a sequence (`fabric.links.0.cables=2`); a
  /// parent that names a preset (`cluster.host: dgx_h100`) becomes that preset with the key
  /// changed.
  static ConfigFile read_file(const std::string& path, const std::vector<std::string>& overrides);
  /// The same from memory; `name` stands for the file in messages.
  static ConfigFile read_text(const std::string& name, const std::string& text,
                              const std::vector<std::string>& overrides);

  Section root() const;
  /// To be called when everything has been read: throws for the first key nobody asked for, with
  /// the nearest known key of that mapping, or the section that has a key of that name.
  void refuse_unread() const;
  /// Every value used, defaults included, in the order of reading: keys shuffled in the input give
  /// the same text. Reading it back gives the same values exactly.
  std::string resolved_yaml() const;

 private:
  std::shared_ptr<config::Document> document_;
};

/// Runs `read` on an empty mapping in which required keys have their examples and returns all keys
/// it asked for, in order: the documentation is what the loader really reads.
std::vector<KeyInfo> describe_keys(const std::function<void(const Section&)>& read);

/// The nearest of `known` to `name` (Damerau-Levenshtein, at most a third of the letters, but one
/// always), or an empty text.
std::string nearest(std::string_view name, const std::vector<std::string>& known);

}  // namespace weft
