#include "sim/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "sim/config.h"

namespace weft::config {
namespace {

// Bounds on what one document may ask for. Far beyond any scenario, small beside memory and stack.
constexpr std::size_t kMostFileBytes = std::size_t{64} << 20;
constexpr std::size_t kMostAliasCopies = 1'000'000;
constexpr int kMostDepth = 64;
constexpr std::size_t kMostPathSegments = 32;

constexpr std::size_t kWidestQuote = 60;  ///< characters of an input value shown in a message
constexpr std::size_t kWidestLine = 120;  ///< characters of a source line shown in a message

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::size_t characters(std::string_view text) {
  return text.size() -
         static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_continuation));
}

/// The byte at which character `index` starts, or the size.
std::size_t byte_of_character(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  while (at < text.size() && (is_continuation(text[at]) || index-- > 0)) ++at;
  return at;
}

/// Length of the well-formed UTF-8 sequence at `at`, or 0.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned lead = byte(at);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                             : lead >= 0xe0 && lead <= 0xef ? 3
                             : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                            : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(at + 1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
      (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f))
    return 0;  // overlong, a surrogate, or beyond U+10FFFF
  return length;
}

/// UTF-8 without control characters other than tabs.
bool is_printable(std::string_view line) {
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t length = utf8_length(line, at);
    if (length == 0 || (is_control(line[at]) && line[at] != '\t')) return false;
    at += length;
  }
  return true;
}

/// The source line of `place` and a caret under its column, each indented by two; empty where there
/// is no such line.
std::string excerpt(const Place& place) {
  if (place.line == 0 || place.line > place.source->lines.size()) return {};
  std::string_view line = place.source->lines[place.line - 1];
  if (line.empty() || !is_printable(line)) return {};
  std::string_view before = line.substr(0, place.column - 1);
  std::string lead, tail;
  if (const std::size_t skip = characters(before); skip > kWidestLine / 2) {
    const std::size_t cut =
        characters(line) > kWidestLine ? byte_of_character(line, skip - kWidestLine / 3) : 0;
    if (cut > 0) {
      lead = "...";
      line = line.substr(cut);
      before = before.substr(cut);
    }
  }
  if (characters(line) > kWidestLine) {
    line = line.substr(0, byte_of_character(line, kWidestLine));
    tail = "...";
  }
  std::string pad(lead.size(), ' ');
  for (const char c : before)
    if (!is_continuation(c)) pad += c == '\t' ? '\t' : ' ';
  return fmt::format("\n  {}{}{}\n  {}^", lead, line, tail, pad);
}

}  // namespace

// ---- messages --------------------------------------------------------------------------------

void fail_at(const Place& place, const std::string& path, const std::string& problem,
             const std::string& hint) {
  std::string message;
  if (place.source != nullptr) {
    message = place.source->name;
    std::size_t column = place.column;
    if (place.line >= 1 && place.line <= place.source->lines.size())
      column = 1 + characters(
                       std::string_view(place.source->lines[place.line - 1]).substr(0, column - 1));
    if (place.line >= 1) message += fmt::format(":{}:{}", place.line, column);
    message += ": ";
  }
  if (!path.empty()) message += path + ": ";
  message += problem;
  if (place.source != nullptr) message += excerpt(place);
  if (!hint.empty()) message += "\n  " + hint;
  throw ConfigError(message);
}

const Place& place_of(const Node& node) {
  const bool at_key = node.kind != Node::Kind::scalar && node.key_place.source != nullptr;
  return at_key ? node.key_place : node.place;
}

std::string kind_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::scalar:
      return quote(node.text);
    case Node::Kind::sequence:
      return "a sequence";
    case Node::Kind::mapping:
      return "a mapping";
  }
  return {};
}

std::string quote(std::string_view value) {
  if (characters(value) <= kWidestQuote) return fmt::format("`{}`", value);
  return fmt::format("`{}...`", value.substr(0, byte_of_character(value, kWidestQuote)));
}

std::string join(const std::string& path, std::string_view name) {
  if (path.empty()) return std::string(name);
  return name.empty() ? path : fmt::format("{}.{}", path, name);
}

// ---- parsing ---------------------------------------------------------------------------------

Node* Tree::make(Node::Kind kind, Place place, Place key_place) {
  Node& node = nodes.emplace_back();
  node.kind = kind;
  node.place = place;
  node.key_place = key_place;
  if (kind == Node::Kind::mapping) node.mapping = std::make_unique<Mapping>();
  return &node;
}

Entry* find(const Node& node, std::string_view name) {
  for (Entry& entry : node.mapping->entries)
    if (entry.key == name) return &entry;
  return nullptr;
}

namespace {

/// Builds nodes from yaml-cpp's events; what YAML allows and we do not is refused here, at its
/// place.
class TreeBuilder : public YAML::EventHandler {
 public:
  /// `column_offset` shifts the first line: the text is the tail of a line of `source`.
  TreeBuilder(Tree& tree, const Source& source, std::uint32_t column_offset)
      : tree_(tree), source_(source), column_offset_(column_offset) {}

  /// Null where the text held no tree.
  Node* root() const { return root_; }

  Place place(const YAML::Mark& mark) const {
    if (mark.is_null()) return {&source_, 0, 0};
    Place at{&source_, static_cast<std::uint32_t>(mark.line) + 1,
             static_cast<std::uint32_t>(mark.column) + 1};
    if (at.line == 1) at.column += column_offset_;
    if (source_.lines.empty()) return {&source_, 1, 1};
    const auto lines = static_cast<std::uint32_t>(source_.lines.size());
    const bool behind = at.line > lines;  // the end of the text is shown behind its last line
    at.line = std::min(at.line, lines);
    const auto end = static_cast<std::uint32_t>(source_.lines[at.line - 1].size()) + 1;
    at.column = behind ? end : std::min(at.column, end);
    return at;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1)
      fail_at(place(mark), {}, "a second YAML document starts here",
              "one file holds one document: remove the line `---`");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(tree_.make(Node::Kind::null, place(mark)), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const Place at = place(mark);
    refuse_tag(at, tag);
    if (std::any_of(value.begin(), value.end(), is_control))
      fail_at(at, path(), "a text with a line break or another control character",
              "write texts on one line");
    if (expects_key()) {
      Frame& frame = stack_.back();
      frame.key = value;
      frame.key_place = at;
      frame.has_key = true;
      frame.merge = value == "<<" && tag != "!";
      return;
    }
    Node* node = tree_.make(Node::Kind::scalar, at);
    node->text = value;
    add(node, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Place at = place(mark);
    const Node* target = anchor < anchors_.size() ? anchors_[anchor] : nullptr;
    if (target == nullptr || !target->complete)
      fail_at(at, path(), "an alias inside the value it stands for");
    if (static_cast<int>(stack_.size()) + target->height > kMostDepth) refuse_depth(at);
    add(copy(*target, at), 0);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::mapping, mark, tag, anchor);
  }
  void OnMapEnd() override {
    refuse_duplicates();
    merge();
    close();
  }

 private:
  struct Frame {
    Node* node = nullptr;
    std::string name;  ///< in the collection that holds it
    std::string key;   ///< last read
    Place key_place;
    bool has_key = false;
    bool merge = false;
    Node* merged = nullptr;  ///< the value of `<<`
    Place merge_place;
  };

  bool expects_key() const {
    return !stack_.empty() && stack_.back().node->kind == Node::Kind::mapping &&
           !stack_.back().has_key;
  }

  /// Of the value being read, or of the collection whose key is being read.
  std::string path() const {
    std::string result;
    for (const Frame& frame : stack_) result = join(result, frame.name);
    if (!stack_.empty()) result = join(result, next_name());
    return shortened(result);
  }

  /// What the value being read is called in the collection that holds it.
  std::string next_name() const {
    if (stack_.empty()) return {};
    const Frame& frame = stack_.back();
    if (frame.node->kind == Node::Kind::sequence) return std::to_string(frame.node->items.size());
    return frame.has_key ? frame.key : std::string();
  }

  /// Paths of hostile documents are cut.
  static std::string shortened(const std::string& text) {
    if (characters(text) <= kWidestLine) return text;
    return text.substr(0, byte_of_character(text, kWidestLine)) + "...";
  }

  void refuse_tag(const Place& at, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!")
      fail_at(at, path(), "YAML tags (`!...`) are not supported", "remove the tag");
  }

  [[noreturn]] static void refuse_depth(const Place& at) {
    fail_at(at, {}, fmt::format("nested more than {} levels deep", kMostDepth));
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    const Place at = place(mark);
    if (expects_key())
      fail_at(at, path(), "a key must be text, not a sequence or a mapping",
              "or is a `]` or `}` missing?");
    refuse_tag(at, tag);
    if (stack_.size() >= kMostDepth) refuse_depth(at);
    Node* node = tree_.make(kind, at);
    node->complete = false;
    Frame frame;
    frame.node = node;
    frame.name = next_name();
    add(node, anchor);
    stack_.push_back(std::move(frame));
  }

  void close() {
    Node* node = stack_.back().node;
    stack_.pop_back();
    node->complete = true;
    node->height = 1;
    for (const Node* item : node->items) node->height = std::max(node->height, item->height + 1);
    if (node->mapping != nullptr)
      for (const Entry& entry : node->mapping->entries)
        node->height = std::max(node->height, entry.value->height + 1);
  }

  void add(Node* node, YAML::anchor_t anchor) {
    if (expects_key())
      fail_at(node->place, path(),
              node->kind == Node::Kind::null ? "a key is missing before `:`"
                                             : "an alias cannot be a key");
    if (anchor != 0) {
      if (anchor >= anchors_.size()) anchors_.resize(anchor + 1);
      anchors_[anchor] = node;
    }
    if (stack_.empty()) {
      root_ = node;
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node->kind == Node::Kind::sequence) {
      frame.node->items.push_back(node);
      return;
    }
    node->key_place = frame.key_place;
    if (frame.merge) {
      if (frame.merged != nullptr) refuse_duplicate(frame.key, frame.key_place, frame.merge_place);
      frame.merged = node;
      frame.merge_place = frame.key_place;
    } else {
      frame.node->mapping->entries.push_back({std::move(frame.key), frame.key_place, node});
    }
    frame.has_key = false;
    frame.key.clear();
  }

  /// A deep copy for an alias: each use is read, overridden and reported on its own.
  Node* copy(const Node& original, const Place& at) {
    if (++tree_.alias_copies > kMostAliasCopies)
      fail_at(at, path(), fmt::format("aliases expand to more than {} values", kMostAliasCopies));
    Node* node = tree_.make(original.kind, original.place, original.key_place);
    node->text = original.text;
    node->height = original.height;
    for (const Node* item : original.items) node->items.push_back(copy(*item, at));
    if (original.mapping != nullptr)
      for (const Entry& entry : original.mapping->entries)
        node->mapping->entries.push_back({entry.key, entry.key_place, copy(*entry.value, at)});
    return node;
  }

  [[noreturn]] void refuse_duplicate(const std::string& key, const Place& second,
                                     const Place& first) {
    stack_.back().has_key = false;
    fail_at(second, join(path(), shortened(key)), "duplicate key",
            fmt::format("first given on line {}", first.line));
  }

  void refuse_duplicates() {
    const std::vector<Entry>& entries = stack_.back().node->mapping->entries;
    std::vector<std::size_t> order(entries.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::tie(entries[a].key, a) < std::tie(entries[b].key, b);
    });
    std::optional<std::pair<std::size_t, std::size_t>> earliest;  // second, first
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (entries[order[i]].key != entries[order[i - 1]].key) continue;
      const std::pair found{order[i], order[i - 1]};
      if (!earliest || found < *earliest) earliest = found;
    }
    if (earliest)
      refuse_duplicate(entries[earliest->first].key, entries[earliest->first].key_place,
                       entries[earliest->second].key_place);
  }

  /// Expands `<<`: explicit keys win, of several mappings the first.
  void merge() {
    const Frame& frame = stack_.back();
    if (frame.merged == nullptr) return;
    std::vector<Node*> bases = {frame.merged};
    if (frame.merged->kind == Node::Kind::sequence) bases = frame.merged->items;
    std::vector<Entry>& entries = frame.node->mapping->entries;
    std::set<std::string> taken;
    for (const Entry& entry : entries) taken.insert(entry.key);
    for (Node* base : bases) {
      if (base->kind != Node::Kind::mapping)
        fail_at(
            frame.merge_place, path(),
            fmt::format("`<<` takes a mapping or a sequence of mappings, not {}", kind_of(*base)));
      for (Entry& entry : base->mapping->entries)
        if (taken.insert(entry.key).second) entries.push_back(entry);
    }
  }

  Tree& tree_;
  const Source& source_;
  std::uint32_t column_offset_;
  int documents_ = 0;
  Node* root_ = nullptr;
  std::vector<Frame> stack_;
  std::vector<Node*> anchors_;  ///< [anchor_t]
};

/// What helps where yaml-cpp's own words do not.
std::string yaml_hint(std::string_view problem, const Place& place) {
  std::string_view line;
  if (place.line >= 1 && place.line <= place.source->lines.size())
    line = place.source->lines[place.line - 1];
  const std::string_view indent = line.substr(0, line.find_first_not_of(" \t"));
  if (indent.find('\t') != std::string_view::npos) return "indent with spaces, not tabs";
  if (problem.find("map value") != std::string_view::npos)
    return "quote a text that holds `: `, and indent the keys of one mapping equally";
  if (problem.find("end of map") != std::string_view::npos ||
      problem.find("end of sequence") != std::string_view::npos)
    return "look for a missing `}` or `]`, a colon without a space, or uneven indentation above";
  if (problem.find("unknown token") != std::string_view::npos)
    return "quote a text that starts with a special character such as @, ` or %";
  return {};
}

/// Registers a text as a source; its lines come without their ends.
Source& add_source(Tree& tree, std::string name, std::filesystem::path folder,
                   std::string_view text) {
  Source& source = tree.sources.emplace_back();
  source.name = std::move(name);
  source.folder = std::move(folder);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    source.lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return source;
}

/// Refuses what is not plain UTF-8 text.
void refuse_binary(const Source& source, std::string_view text) {
  std::uint32_t line = 1;
  std::size_t line_start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::size_t length = utf8_length(text, at);
    const bool allowed =
        c == '\n' || c == '\t' || (c == '\r' && at + 1 < text.size() && text[at + 1] == '\n');
    if (length == 0 || (is_control(c) && !allowed))
      fail_at({&source, line, static_cast<std::uint32_t>(at - line_start) + 1}, {},
              fmt::format("not a text file: it holds the byte 0x{:02x}",
                          static_cast<unsigned>(static_cast<unsigned char>(c))),
              "a YAML file is UTF-8 text");
    at += length;
    if (c != '\n') continue;
    ++line;
    line_start = at;
  }
}

/// Parses the one document of `text`; null where there is none.
Node* parse(Tree& tree, const Source& source, const std::string& text,
            std::uint32_t column_offset = 0) {
  TreeBuilder builder(tree, source, column_offset);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const Place place = builder.place(error.mark);
    fail_at(place, {}, "not valid YAML: " + error.msg, yaml_hint(error.msg, place));
  }
  return builder.root();
}

}  // namespace

Node* parse_mapping(Tree& tree, const std::string& name, const std::filesystem::path& folder,
                    std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // byte order mark
  const Source& source = add_source(tree, name, folder, text);
  refuse_binary(source, text);
  Node* root = parse(tree, source, std::string(text));
  if (root == nullptr || root->kind == Node::Kind::null)
    fail_at({&source, 1, 1}, {}, "empty: it holds no keys", "a mapping (`key: value`) is expected");
  if (root->kind != Node::Kind::mapping)
    fail_at(root->place, {},
            fmt::format("expected a mapping (`key: value`) at the top, not {}", kind_of(*root)));
  return root;
}

Node* parse_value(Tree& tree, const std::string& name, const std::string& text) {
  return parse(tree, add_source(tree, name, {}, text), text);
}

std::string read_whole(const std::string& path) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw ConfigError(fmt::format("{}: {}\n  {}", path, why, hint));
  };
  const std::string check_path = "check the path and its permissions";
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    refuse("is a folder, not a file", "name a YAML file in it");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(fmt::format("cannot be opened: {}", std::strerror(errno)), check_path);
  std::string text;
  std::vector<char> buffer(std::size_t{1} << 16);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), file.gcount() > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMostFileBytes)
      refuse(fmt::format("larger than {} MiB", kMostFileBytes >> 20), "is it a YAML file?");
  }
  if (file.bad()) refuse(fmt::format("cannot be read: {}", std::strerror(errno)), check_path);
  return text;
}
// ---- overrides -------------------------------------------------------------------------------

void apply_override(Tree& tree, const std::filesystem::path& folder, const std::string& text) {
  std::string name = "--set " + text;
  std::replace_if(name.begin(), name.end(), is_control, '?');
  const Source& source = add_source(tree, std::move(name), folder, text);
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    fail_at({&source, 0, 0}, {}, "expected a key and a value",
            "for example `--set workload.batch.global=512`");
  refuse_binary(source, text);
  const std::string_view path = std::string_view(text).substr(0, equals);
  Node* value =
      parse(tree, source, text.substr(equals + 1), static_cast<std::uint32_t>(equals) + 1);
  const auto place_at = [&](std::size_t byte) {
    return Place{&source, 1, static_cast<std::uint32_t>(byte) + 1};
  };
  if (value == nullptr) value = tree.make(Node::Kind::null, place_at(equals));

  Node* at = tree.root;
  std::size_t begin = 0;
  for (std::size_t depth = 0;; ++depth) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string segment(path.substr(begin, end - begin));
    const std::string so_far(path.substr(0, begin == 0 ? 0 : begin - 1));
    const Place here = place_at(begin);
    if (segment.empty()) fail_at(here, {}, "an empty part of the path");
    if (depth >= kMostPathSegments) fail_at(here, {}, "the path has too many parts");
    if (at->kind == Node::Kind::null || at->kind == Node::Kind::scalar) {
      // A name where a mapping is needed is a preset whose keys are overridden.
      std::vector<Entry> entries;
      if (at->kind == Node::Kind::scalar) {
        Node* preset = tree.make(Node::Kind::scalar, at->place, at->key_place);
        preset->text = std::move(at->text);
        entries.push_back({"preset", preset->place, preset});
      }
      at->text.clear();
      at->kind = Node::Kind::mapping;
      at->mapping = std::make_unique<Mapping>();
      at->mapping->entries = std::move(entries);
    }
    Node** slot = nullptr;
    if (at->kind == Node::Kind::sequence) {
      std::size_t index = 0;
      const auto [last, error] =
          std::from_chars(segment.data(), segment.data() + segment.size(), index);
      if (error != std::errc() || last != segment.data() + segment.size() ||
          index >= at->items.size())
        fail_at(here, so_far,
                at->items.empty() ? std::string("an empty sequence has no items")
                                  : fmt::format("expected an index from 0 to {}, not {}",
                                                at->items.size() - 1, quote(segment)));
      slot = &at->items[index];
    } else {
      Entry* entry = find(*at, segment);
      if (entry == nullptr)
        entry = &at->mapping->entries.emplace_back(
            Entry{segment, here, tree.make(Node::Kind::null, here, here)});
      if (end == path.size()) entry->key_place = value->key_place = here;
      slot = &entry->value;
    }
    if (end == path.size()) {
      *slot = value;
      return;
    }
    at = *slot;
    begin = end + 1;
  }
}
}  // namespace weft::config
