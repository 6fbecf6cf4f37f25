// YAML text as a tree of values that know their places. What YAML allows and a scenario does not
// (duplicate keys, several documents, tags, binary files) is refused here. yaml_tree.cpp is the
// only file that includes yaml-cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft::config {

/// One text that values come from: a file, a preset, an override.
struct Source {
  std::string name;
  std::filesystem::path folder;  ///< where the paths it names start
  std::vector<std::string> lines;
};

/// A place in a source; line and column count from 1, the column in bytes. No source: no place.
struct Place {
  const Source* source = nullptr;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

struct Mapping;

/// One value. Aliases are expanded to copies, so that each use is read and reported on its own.
struct Node {
  enum class Kind : std::uint8_t { null, scalar, sequence, mapping };
  Kind kind = Kind::null;
  bool complete = true;  ///< false while its content is still being parsed
  bool given = true;     ///< false for a section that no input holds
  int height = 0;        ///< levels of collections in it
  Place place;
  Place key_place;  ///< of the key that holds it, where one does
  std::string text;
  std::vector<Node*> items;
  std::unique_ptr<Mapping> mapping;
};

/// One `key: value` of the input.
struct Entry {
  std::string key;
  Place key_place;
  Node* value = nullptr;
  bool read = false;
};

/// What a getter returned, as it goes to the resolved document: text, a mapping or its items.
struct Answer {
  const std::string* name = nullptr;
  std::string text;
  Node* child = nullptr;
  std::vector<Node*> items;
};

struct Mapping {
  std::vector<Entry> entries;             ///< in the input's order
  std::vector<const std::string*> known;  ///< names asked for
  std::vector<Answer> answers;            ///< in the order of reading
};

/// Owns the sources and values of one configuration.
struct Tree {
  std::deque<Source> sources;
  std::deque<Node> nodes;
  Node* root = nullptr;
  std::size_t alias_copies = 0;

  Node* make(Node::Kind kind, Place place, Place key_place = {});
};

/// The entry of a mapping, or null.
Entry* find(const Node& mapping, std::string_view key);

// ---- parsing; all of it throws ConfigError ----------------------------------------------------

/// The whole of a file: at most 64 MiB, not a folder.
std::string read_whole(const std::string& path);
/// Parses a text whose top must be a mapping. `name` stands for it in messages.
Node* parse_mapping(Tree& tree, const std::string& name, const std::filesystem::path& folder,
                    std::string_view text);
/// Parses any one value; null where the text is empty.
Node* parse_value(Tree& tree, const std::string& name, const std::string& text);
/// Applies `a.b=c` to the tree; see ConfigFile::read_file.
void apply_override(Tree& tree, const std::filesystem::path& folder, const std::string& text);

// ---- messages ---------------------------------------------------------------------------------

/// Throws the ConfigError `place: path: problem`, the source line, a caret, the hint.
[[noreturn]] void fail_at(const Place& place, const std::string& path, const std::string& problem,
                          const std::string& hint = {});
/// Where an error about a value is shown: scalars themselves, of collections the key.
const Place& place_of(const Node& node);
/// "`text`", "a sequence", "a mapping", "nothing".
std::string kind_of(const Node& node);
/// `value` between backquotes, cut where it is long.
std::string quote(std::string_view value);
/// "a.b", either of which may be empty.
std::string join(const std::string& path, std::string_view name);

}  // namespace weft::config
