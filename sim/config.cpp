#include "sim/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "sim/check.h"
#include "sim/quantity.h"
#include "sim/yaml_tree.h"

namespace weft {
namespace config {

/// A tree and what was asked of it.
struct Document : Tree {
  std::set<std::string, std::less<>> names;                  ///< every name asked for, once
  std::map<std::string, std::string, std::less<>> asked_in;  ///< name -> first section that asked
  bool describing = false;
  std::vector<KeyInfo> keys;  ///< in describe mode
};

namespace {

constexpr int kMostPresetDepth = 8;

// ---- text ------------------------------------------------------------------------------------

std::string article(const std::string& noun) {
  const bool vowel = noun.find_first_of("aeiou") == 0;
  return (vowel ? "an " : "a ") + noun;
}

/// "did you mean `x`? " or nothing.
std::string guess(std::string_view name, const std::vector<std::string>& known) {
  const std::string near = nearest(name, known);
  return near.empty() ? std::string() : fmt::format("did you mean `{}`?", near);
}
/// A text as YAML: plain where nothing could take it for a number, a null, a boolean or syntax.
std::string yaml_text(const std::string& text) {
  static const std::set<std::string, std::less<>> kReserved = {
      "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_plain = [&](char c) {
    return is_letter(c) || is_digit(c) || std::strchr("_./+-", c) != nullptr;
  };
  std::string lower = text;
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  bool plain = !text.empty() && (is_letter(text[0]) || is_digit(text[0]) || text[0] == '_') &&
               std::all_of(text.begin(), text.end(), is_plain) && !kReserved.contains(lower);
  if (plain && is_digit(text[0])) {
    const bool prefixed = lower.size() > 1 && (lower[1] == 'x' || lower[1] == 'o');
    plain = !prefixed && std::any_of(lower.begin(), lower.end(),
                                     [&](char c) { return is_letter(c) && c != 'e'; });
  }
  if (plain) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string list_text(const std::vector<std::string>& items, std::string_view separator = ", ") {
  return fmt::format("{}", fmt::join(items, separator));
}

std::string range_text(const std::string& noun, const std::string& least, const std::string& most) {
  if (most.empty()) return fmt::format("{} >= {}", noun, least);
  return fmt::format("{} from {} to {}", noun, least, most);
}

std::string integer_type(std::int64_t least, std::int64_t most) {
  if (least == INT64_MIN && most == INT64_MAX) return "integer";
  return range_text("integer", std::to_string(least),
                    most == INT64_MAX ? std::string() : std::to_string(most));
}
// ---- resolved document -----------------------------------------------------------------------

/// A mapping of nothing but scalars, as a sequence's item is written on one line.
bool is_flat(const Node& node) {
  return std::all_of(
      node.mapping->answers.begin(), node.mapping->answers.end(),
      [](const Answer& answer) { return answer.child == nullptr && answer.items.empty(); });
}

bool is_empty(const Node& node) { return node.mapping->answers.empty(); }

void write_mapping(const Node& node, std::size_t indent, std::string& out) {
  const std::string pad(indent, ' ');
  for (const Answer& answer : node.mapping->answers) {
    if (answer.child != nullptr) {
      if (!is_empty(*answer.child)) {
        out += fmt::format("{}{}:\n", pad, *answer.name);
        write_mapping(*answer.child, indent + 2, out);
      } else if (answer.child->given) {
        out += fmt::format("{}{}: {{}}\n", pad, *answer.name);
      }
    } else if (!answer.items.empty()) {
      out += fmt::format("{}{}:\n", pad, *answer.name);
      for (const Node* item : answer.items) {
        if (is_flat(*item)) {
          std::vector<std::string> parts;
          for (const Answer& part : item->mapping->answers)
            parts.push_back(fmt::format("{}: {}", *part.name, part.text));
          out += fmt::format("{}  - {{{}}}\n", pad, list_text(parts));
        } else {
          std::string text;
          write_mapping(*item, indent + 4, text);
          text[indent + 2] = '-';  // the first key stands after the dash
          out += text;
        }
      }
    } else {
      out += fmt::format("{}{}: {}\n", pad, *answer.name, answer.text);
    }
  }
}

}  // namespace

// ---- what the getters have in common ---------------------------------------------------------

/// One value being read: its node and how to speak of it.
struct Value {
  const Node* node = nullptr;
  std::string path;
  Place place;
  std::string_view example;  ///< for hints
  bool is_default = false;
};

struct Access {
  static Document& document(const Section& section) { return *section.document_; }
  static Node& node(const Section& section) { return *section.node_; }

  static Section make(const Section& parent, Node* node, std::string path) {
    Section section;
    section.document_ = parent.document_;
    section.node_ = node;
    section.path_ = std::move(path);
    return section;
  }

  /// Remembers that `name` was asked for: hints are made of these names.
  static const std::string* learn(const Section& section, std::string_view name) {
    Document& doc = document(section);
    auto interned = doc.names.find(name);
    if (interned == doc.names.end()) interned = doc.names.emplace(name).first;
    std::vector<const std::string*>& known = node(section).mapping->known;
    if (std::find(known.begin(), known.end(), &*interned) == known.end()) {
      known.push_back(&*interned);
      if (doc.asked_in.find(name) == doc.asked_in.end())
        doc.asked_in.emplace(*interned, section.path_);
    }
    return &*interned;
  }

  static bool knows(const Node& mapping, std::string_view name) {
    return std::any_of(mapping.mapping->known.begin(), mapping.mapping->known.end(),
                       [&](const std::string* known) { return *known == name; });
  }

  /// The answer recorded for `name`, a new one at the end where there is none yet.
  static Answer& answer(const Section& section, std::string_view name) {
    const std::string* interned = learn(section, name);
    std::vector<Answer>& answers = node(section).mapping->answers;
    for (Answer& answer : answers)
      if (answer.name == interned) return answer;
    return answers.emplace_back(Answer{interned, {}, nullptr, {}});
  }

  static void resolve(const Section& section, std::string_view name, std::string text) {
    answer(section, name).text = std::move(text);
  }

  static void document_key(const Section& section, KeyInfo info) {
    Document& doc = document(section);
    info.path = join(section.path_, info.path);
    for (const KeyInfo& key : doc.keys)
      if (key.path == info.path) return;
    doc.keys.push_back(std::move(info));
  }

  /// The description of a key that holds further keys.
  static KeyInfo mapping_info(std::string_view name, std::string_view type, std::string_view help) {
    KeyInfo info;
    info.path = name;
    info.type = type;
    info.help = help;
    return info;
  }

  /// The given value of `name` marked as read, or null where it is absent or null.
  static Node* given(const Section& section, std::string_view name) {
    Entry* entry = find(node(section), name);
    if (entry == nullptr) return nullptr;
    entry->read = true;
    return entry->value->kind == Node::Kind::null ? nullptr : entry->value;
  }

  [[noreturn]] static void missing(const Section& section, std::string_view name,
                                   std::string_view example) {
    const Node& mapping = node(section);
    const Entry* entry = find(mapping, name);
    std::string hint;
    if (!example.empty()) {
      hint = fmt::format("{}: {}", name, example);
      if (!mapping.given)  // the whole section is missing
        hint = fmt::format("{}: {{{}}}", section.path_.substr(section.path_.rfind('.') + 1), hint);
      hint = fmt::format("for example `{}`", hint);
    }
    if (entry != nullptr)
      fail_at(entry->key_place, join(section.path_, name), "has no value", hint);
    // A key that nobody asked for and that looks like this one is more likely a typing error.
    for (const Entry& other : mapping.mapping->entries) {
      if (other.read || knows(mapping, other.key) ||
          nearest(other.key, {std::string(name)}).empty())
        continue;
      fail_at(other.key_place, join(section.path_, other.key), "unknown key",
              fmt::format("did you mean `{}`? It is required and missing", name));
    }
    fail_at(place_of(mapping), join(section.path_, name), "required, but missing", hint);
  }

  /// The value a scalar or list getter reads: the input's, the default, or in describe mode the
  /// default or the example.
  static Value value(const Section& section, const Key& key, const std::string& type,
                     std::string_view fallback) {
    const bool asked_before = knows(node(section), key.name);
    learn(section, key.name);
    Document& doc = document(section);
    Value result;
    result.path = join(section.path_, key.name);
    result.example = !key.example.empty() ? key.example : key.initial;
    std::string_view standard = key.initial;
    if (doc.describing) {
      document_key(section, {.path = std::string(key.name),
                             .type = type,
                             .initial = std::string(key.initial),
                             .example = std::string(key.example),
                             .help = std::string(key.help),
                             .source = std::string(key.source),
                             .required = key.initial.empty() && !asked_before});
      if (standard.empty()) standard = key.example.empty() ? fallback : key.example;
    } else if (const Node* found = given(section, key.name)) {
      result.node = found;
      result.place = place_of(*found);
      return result;
    }
    if (standard.empty()) missing(section, key.name, key.example.empty() ? fallback : key.example);
    result.node = default_node(doc, place_of(node(section)), std::string(standard));
    result.place = result.node->place;
    result.is_default = true;
    return result;
  }

  /// A default's node; sequences are parsed, scalars taken as they are.
  static const Node* default_node(Document& doc, const Place& place, const std::string& text) {
    if (!text.starts_with('[')) {
      Node* scalar = doc.make(Node::Kind::scalar, place);
      scalar->text = text;
      return scalar;
    }
    Node* list = parse_value(doc, "default", text);
    check(list != nullptr, "a default is YAML");
    list->place = place;
    for (Node* item : list->items) item->place = place;
    return list;
  }

  /// "for example `key: value`", or nothing where the key has no example.
  static std::string example_hint(const Value& value) {
    if (value.example.empty()) return {};
    const std::string_view name = std::string_view(value.path).substr(value.path.rfind('.') + 1);
    return fmt::format("for example `{}: {}`", name, value.example);
  }

  [[noreturn]] static void expected(const Value& value, const std::string& what,
                                    const std::string& hint = {}) {
    fail_at(value.place, value.path,
            fmt::format("expected {}, not {}{}", what, value.is_default ? "the default " : "",
                        kind_of(*value.node)),
            hint.empty() ? example_hint(value) : hint);
  }

  static std::string units_hint(const Value& value, const Dimension& dimension) {
    const std::string_view example =
        value.example.empty() || value.example == "0 s" ? dimension.example : value.example;
    return fmt::format("write a {} with its unit, such as `{}`; units: {}", dimension.noun, example,
                       dimension.list);
  }

  /// Reads a quantity exactly, in the SI unit.
  static Decimal quantity(const Value& value, const Dimension& dimension, const std::string& what) {
    const std::string hint = units_hint(value, dimension);
    if (value.node->kind != Node::Kind::scalar) expected(value, what, hint);
    const std::string& text = value.node->text;
    std::optional<Scanned> scanned = scan_number(text);
    if (!scanned) expected(value, what, hint);
    if (scanned->octal_looking) refuse_octal(value);
    std::string_view unit = scanned->rest;
    unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
    if (unit.empty())
      fail_at(value.place, value.path, fmt::format("{} has no unit", quote(text)), hint);
    if (std::optional<Decimal> result = in_si(scanned->number, unit, dimension)) return *result;
    const std::string_view cased = differently_cased(unit, dimension);
    fail_at(value.place, value.path,
            fmt::format("{} is not a unit of {}", quote(unit),
                        dimension.noun == "rate" ? "data rate" : dimension.noun),
            (cased.empty() ? std::string() : fmt::format("did you mean `{}`? ", cased)) + hint);
  }

  [[noreturn]] static void refuse_octal(const Value& value) {
    fail_at(value.place, value.path,
            fmt::format("{} starts with a zero, which some YAML readers take for octal",
                        quote(value.node->text)),
            "write the number without the leading zero");
  }

  /// A quantity between bounds as a double, resolved.
  static double bounded(const Section& section, const Key& key, const Dimension& dimension,
                        double least, double most, const std::string& type) {
    Value found = value(section, key, type, dimension.example);
    if (found.example.empty()) found.example = dimension.example;
    const std::string what =
        article(range_text(std::string(dimension.noun), quantity_text(least, dimension),
                           quantity_text(most, dimension)));
    const double result = quantity(found, dimension, what).rounded();
    if (!(result >= least && result <= most)) expected(found, what);
    const double positive = result == 0 ? 0 : result;  // no negative zero
    resolve(section, key.name, quantity_text(positive, dimension));
    return positive;
  }

  /// An integer written in digits.
  static std::int64_t integer(const Value& value, std::int64_t least, std::int64_t most) {
    const std::string what = article(integer_type(least, most));
    if (value.node->kind != Node::Kind::scalar) expected(value, what);
    std::string_view text = value.node->text;
    if (const auto scanned = scan_number(text);
        scanned && scanned->rest.empty() && scanned->octal_looking)
      refuse_octal(value);
    if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
    std::int64_t result = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (error != std::errc() || last != text.data() + text.size() || result < least ||
        result > most)
      expected(value, what);
    return result;
  }

  static double number(const Value& value, double least, double most, const std::string& type) {
    const std::string what = article(type);
    if (value.node->kind != Node::Kind::scalar) expected(value, what);
    const auto scanned = scan_number(value.node->text);
    if (!scanned || !scanned->rest.empty()) expected(value, what);
    if (scanned->octal_looking) refuse_octal(value);
    const double result = scanned->number.rounded();
    if (!std::isfinite(result) || !(result >= least && result <= most)) expected(value, what);
    return result == 0 ? 0 : result;
  }

  static std::string text(const Value& value) {
    if (value.node->kind != Node::Kind::scalar || value.node->text.empty())
      expected(value, "a text");
    return value.node->text;
  }

  /// Reads each item of a sequence with `read(Value) -> text for the resolved document`.
  template <class Read>
  static void list(const Section& section, const Key& key, const std::string& type,
                   std::string_view fallback, Read&& read) {
    const std::string sequence_type = "sequence of " + type;
    const Value found = value(section, key, sequence_type, fallback);
    const std::string_view example = found.example.empty() ? fallback : found.example;
    if (found.node->kind != Node::Kind::sequence)
      expected(found, article(sequence_type),
               fmt::format("for example `{}: {}`", key.name, example));
    if (found.node->items.empty())
      fail_at(found.place, found.path, "an empty sequence",
              fmt::format("for example `{}: {}`", key.name, example));
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < found.node->items.size(); ++i) {
      const Node& item = *found.node->items[i];
      Value value{&item, join(found.path, std::to_string(i)), place_of(item), {}, found.is_default};
      texts.push_back(read(value));
    }
    resolve(section, key.name, fmt::format("[{}]", list_text(texts)));
  }

  // ---- presets -------------------------------------------------------------------------------

  /// `over` laid on `base`: mappings key by key, everything else replaced. Both are used up.
  static Node* overlay(Node* base, Node* over) {
    if (over->kind != Node::Kind::mapping || find(*over, "preset") != nullptr) return over;
    if (base->kind == Node::Kind::scalar) {  // a preset's name with keys of its own
      over->mapping->entries.push_back({"preset", base->place, base});
      return over;
    }
    if (base->kind != Node::Kind::mapping) return over;
    for (Entry& entry : over->mapping->entries) {
      Entry* below = find(*base, entry.key);
      if (below == nullptr) {
        base->mapping->entries.push_back(entry);
      } else {
        below->value = overlay(below->value, entry.value);
        below->key_place = entry.key_place;
      }
    }
    base->place = over->place;
    base->key_place = over->key_place;
    return base;
  }

  /// The mapping that a preset's name stands for.
  static Node* load(const Section& section, const Value& name, const Section::PresetLoader& load,
                    const std::vector<std::string>& known) {
    Document& doc = document(section);
    const std::string wanted = name.node->text;
    std::string yaml;
    if (load(wanted, yaml)) return parse_mapping(doc, "preset " + wanted, folder(name), yaml);
    std::error_code ignored;
    const std::filesystem::path file = folder(name) / wanted;
    if (!wanted.empty() && std::filesystem::exists(file, ignored) &&
        !std::filesystem::is_directory(file, ignored))
      return parse_mapping(doc, file.string(), file.parent_path(), read_whole(file.string()));
    std::string hint = guess(wanted, known);
    if (!known.empty())
      hint += fmt::format("{}presets: {}", hint.empty() ? "" : " ", list_text(known));
    fail_at(name.place, name.path, fmt::format("neither a preset nor a file: {}", quote(wanted)),
            hint);
  }

  static std::filesystem::path folder(const Value& name) {
    return name.place.source == nullptr ? std::filesystem::path() : name.place.source->folder;
  }

  /// Replaces a preset's name, or a mapping with the key `preset`, by the whole mapping.
  static Node* expand(const Section& section, const std::string& path, Node* node,
                      const Section::PresetLoader& loader, const std::vector<std::string>& known,
                      int depth) {
    Value value{node, path, place_of(*node), {}};
    if (depth > kMostPresetDepth)
      fail_at(value.place, path, "presets name one another without end");
    if (node->kind == Node::Kind::scalar) {
      Node* base = load(section, value, loader, known);
      base->place = node->place;
      base->key_place = node->key_place;
      return expand(section, path, base, loader, known, depth + 1);
    }
    if (node->kind != Node::Kind::mapping)
      expected(value, "the name of a preset, a file or a mapping");
    std::vector<Entry>& entries = node->mapping->entries;
    const auto preset = std::find_if(entries.begin(), entries.end(),
                                     [](const Entry& entry) { return entry.key == "preset"; });
    if (preset == entries.end()) return node;
    Node* name = preset->value;
    const std::string name_path = join(path, "preset");
    if (name->kind != Node::Kind::scalar)
      expected({name, name_path, place_of(*name), {}}, "the name of a preset or a file");
    entries.erase(preset);
    return overlay(expand(section, name_path, name, loader, known, depth + 1), node);
  }

  // ---- unread keys ---------------------------------------------------------------------------

  [[noreturn]] static void refuse_key(const Document& doc, const Node& mapping, const Entry& entry,
                                      const std::string& path) {
    const std::string full = join(path, entry.key);
    if (knows(mapping, entry.key))
      fail_at(entry.key_place, full, "this key has no effect with the other settings",
              "remove it, or look at what it depends on");
    std::vector<std::string> known;
    for (const std::string* name : mapping.mapping->known) known.push_back(*name);
    std::string near = guess(entry.key, known);
    const auto elsewhere = doc.asked_in.find(entry.key);
    if (elsewhere != doc.asked_in.end() && elsewhere->second != path) {
      // The same word at another place beats a word that is merely alike, unless very much so.
      const std::string word = nearest(entry.key, known);
      const bool one_letter = !word.empty() && distance(entry.key, word) <= 1;
      if (!one_letter)
        near = elsewhere->second.empty()
                   ? fmt::format("`{}` belongs at the top level", entry.key)
                   : fmt::format("`{}` belongs in `{}`", entry.key, elsewhere->second);
    }
    if (near.empty() && !known.empty()) near = "keys here: " + list_text(known);
    fail_at(entry.key_place, full, "unknown key", near);
  }

  /// What is wrong with a section may come from a mistyped key, whose place a default took: then
  /// that is the error to show.
  static void refuse_mistyped(const Section& section) {
    const Node& mapping = node(section);
    std::vector<std::string> absent;
    for (const std::string* name : mapping.mapping->known)
      if (find(mapping, *name) == nullptr) absent.push_back(*name);
    for (const Entry& entry : mapping.mapping->entries)
      if (!entry.read && !knows(mapping, entry.key) && !nearest(entry.key, absent).empty())
        refuse_key(document(section), mapping, entry, section.path_);
  }

  static void refuse_unread(const Document& doc, const Node& node, const std::string& path) {
    for (std::size_t i = 0; i < node.items.size(); ++i)
      refuse_unread(doc, *node.items[i], join(path, std::to_string(i)));
    if (node.mapping == nullptr) return;
    for (const Entry& entry : node.mapping->entries) {
      if (!entry.read) refuse_key(doc, node, entry, path);
      refuse_unread(doc, *entry.value, join(path, entry.key));
    }
  }

  /// Damerau-Levenshtein distance (adjacent letters may swap), letters without case.
  static std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
      row[0] = i;
      for (std::size_t j = 1; j <= b.size(); ++j) {
        const bool same = lower_case(a[i - 1]) == lower_case(b[j - 1]);
        row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
        if (i > 1 && j > 1 && lower_case(a[i - 1]) == lower_case(b[j - 2]) &&
            lower_case(a[i - 2]) == lower_case(b[j - 1]))
          row[j] = std::min(row[j], before[j - 2] + 1);
      }
      std::swap(before, last);
      std::swap(last, row);
    }
    return last[b.size()];
  }
};

}  // namespace config

using config::Access;
using config::Node;
using config::Value;

// ---- Section: scalars ------------------------------------------------------------------------

std::string Section::text(const Key& key) const {
  const std::string result = Access::text(Access::value(*this, key, "text", "text"));
  Access::resolve(*this, key.name, config::yaml_text(result));
  return result;
}

std::string Section::choice(const Key& key, const std::vector<std::string>& values) const {
  check(!values.empty(), "a choice has values");
  const std::string list = config::list_text(values);
  const Value found = Access::value(*this, key, "one of: " + list, values.front());
  const bool scalar = found.node->kind == Node::Kind::scalar;
  if (!scalar || std::find(values.begin(), values.end(), found.node->text) == values.end())
    Access::expected(found, "one of " + list,
                     scalar ? config::guess(found.node->text, values) : std::string());
  Access::resolve(*this, key.name, config::yaml_text(found.node->text));
  return found.node->text;
}

bool Section::boolean(const Key& key) const {
  const Value found = Access::value(*this, key, "true or false", "false");
  const bool scalar = found.node->kind == Node::Kind::scalar;
  if (!scalar || (found.node->text != "true" && found.node->text != "false"))
    Access::expected(found, "true or false");
  Access::resolve(*this, key.name, found.node->text);
  return found.node->text == "true";
}

std::int64_t Section::integer(const Key& key, std::int64_t least, std::int64_t most) const {
  const std::string fallback = std::to_string(least);
  const Value found = Access::value(*this, key, config::integer_type(least, most), fallback);
  const std::int64_t result = Access::integer(found, least, most);
  Access::resolve(*this, key.name, std::to_string(result));
  return result;
}

double Section::number(const Key& key, double least, double most) const {
  const std::string fallback = config::number_text(least);
  const std::string type = config::range_text("number", fallback, config::number_text(most));
  const double result =
      Access::number(Access::value(*this, key, type, fallback), least, most, type);
  Access::resolve(*this, key.name, config::number_text(result));
  return result;
}

Seconds Section::time(const Key& key, Seconds least) const {
  std::string type = "time";
  if (least > Seconds(0)) type += " >= " + config::quantity_text(least.value, config::kTime);
  return Seconds(
      Access::bounded(*this, key, config::kTime, least.value, config::kLongestTime, type));
}

BitsPerSecond Section::rate(const Key& key) const {
  return BitsPerSecond(Access::bounded(*this, key, config::kRate, 1, config::kFastestRate, "rate"));
}

Bytes Section::size(const Key& key, Bytes least) const {
  std::string type = "size";
  if (least > Bytes(1)) type += " >= " + config::size_text(least.value);
  Value found = Access::value(*this, key, type, config::kSize.example);
  if (found.example.empty()) found.example = config::kSize.example;
  const std::string what = config::range_text("a size", config::size_text(least.value),
                                              config::size_text(config::kLargestSize));
  const config::Decimal exact = Access::quantity(found, config::kSize, what);
  const std::optional<std::uint64_t> bytes = exact.whole();
  if (!bytes && !exact.negative && exact.rounded() < static_cast<double>(config::kLargestSize))
    config::fail_at(found.place, found.path,
                    config::quote(found.node->text) + " is not a whole number of bytes",
                    Access::example_hint(found));
  if (!bytes || *bytes < least.value || *bytes > config::kLargestSize)
    Access::expected(found, what);
  Access::resolve(*this, key.name, config::size_text(*bytes));
  return Bytes(*bytes);
}

FlopsPerSecond Section::speed(const Key& key) const {
  return FlopsPerSecond(
      Access::bounded(*this, key, config::kSpeed, 1, config::kFastestSpeed, "speed"));
}

Metres Section::length(const Key& key) const {
  return Metres(Access::bounded(*this, key, config::kLength, 0, config::kLongestCable, "length"));
}

Watts Section::power(const Key& key) const {
  return Watts(Access::bounded(*this, key, config::kPower, 0, config::kMostPower, "power"));
}

Dollars Section::money(const Key& key) const {
  return Dollars(Access::bounded(*this, key, config::kMoney, 0, config::kMostMoney, "price"));
}

std::string Section::file(const Key& key) const {
  const Value found = Access::value(*this, key, "file", "file");
  const std::string given = Access::text(found);
  if (describing()) return given;
  std::error_code error;
  const std::filesystem::path path =
      std::filesystem::absolute(Access::folder(found) / given, error).lexically_normal();
  if (error || !std::filesystem::exists(path, error))
    config::fail_at(found.place, found.path,
                    fmt::format("there is no file {}", config::quote(given)),
                    "paths start at the folder of the file that names them");
  if (!std::filesystem::is_regular_file(path, error))
    config::fail_at(found.place, found.path, fmt::format("{} is not a file", config::quote(given)));
  Access::resolve(*this, key.name, config::yaml_text(path.string()));
  return path.string();
}

// ---- Section: structure ----------------------------------------------------------------------

bool Section::has(std::string_view name) const {
  Access::learn(*this, name);
  if (describing()) return true;
  const config::Entry* entry = config::find(*node_, name);
  return entry != nullptr && entry->value->kind != Node::Kind::null;
}

bool Section::is_mapping(std::string_view name) const {
  Access::learn(*this, name);
  const config::Entry* entry = config::find(*node_, name);
  return entry != nullptr && entry->value->kind == Node::Kind::mapping;
}

bool Section::is_sequence(std::string_view name) const {
  Access::learn(*this, name);
  const config::Entry* entry = config::find(*node_, name);
  return entry != nullptr && entry->value->kind == Node::Kind::sequence;
}

Section Section::section(std::string_view name, std::string_view help) const {
  const std::string path = config::join(path_, name);
  if (describing()) Access::document_key(*this, Access::mapping_info(name, "mapping", help));
  config::Answer& answer = Access::answer(*this, name);
  Node* node = Access::given(*this, name);
  if (node == nullptr) node = answer.child;
  if (node == nullptr) {
    const config::Entry* entry = config::find(*node_, name);
    const config::Place& place = entry != nullptr ? entry->key_place : config::place_of(*node_);
    node = document_->make(Node::Kind::mapping, place, place);
    node->given = false;
  }
  if (node->kind != Node::Kind::mapping)
    Access::expected({node, path, config::place_of(*node), {}}, "a mapping (`key: value`)");
  answer.child = node;
  return Access::make(*this, node, path);
}

std::vector<Section> Section::sections(std::string_view name, std::string_view help) const {
  const std::string path = config::join(path_, name);
  if (describing()) {
    Access::document_key(*this, Access::mapping_info(name, "sequence of mappings", help));
    Node* item = document_->make(Node::Kind::mapping, {});
    Access::answer(*this, name).items = {item};
    return {Access::make(*this, item, path + "[]")};
  }
  Access::learn(*this, name);
  Node* node = Access::given(*this, name);
  if (node == nullptr) Access::missing(*this, name, "[{...}, ...]");
  const Value value{node, path, config::place_of(*node), {}};
  if (node->kind != Node::Kind::sequence)
    Access::expected(value, "a sequence of mappings", "start each item with `- `");
  if (node->items.empty())
    config::fail_at(value.place, path, "an empty sequence", "give it at least one item");
  std::vector<Section> result;
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    Node* item = node->items[i];
    const std::string item_path = config::join(path, std::to_string(i));
    if (item->kind != Node::Kind::mapping)
      Access::expected({item, item_path, config::place_of(*item), {}}, "a mapping (`key: value`)");
    result.push_back(Access::make(*this, item, item_path));
  }
  Access::answer(*this, name).items = node->items;
  return result;
}

std::vector<std::int64_t> Section::integers(const Key& key, std::int64_t least,
                                            std::int64_t most) const {
  std::vector<std::int64_t> result;
  const std::string fallback = fmt::format("[{}]", least);
  Access::list(*this, key, config::integer_type(least, most).replace(0, 7, "integers"), fallback,
               [&](const Value& value) {
                 result.push_back(Access::integer(value, least, most));
                 return std::to_string(result.back());
               });
  return result;
}

std::vector<std::string> Section::texts(const Key& key) const {
  std::vector<std::string> result;
  Access::list(*this, key, "texts", "[a, b]", [&](const Value& value) {
    result.push_back(Access::text(value));
    return config::yaml_text(result.back());
  });
  return result;
}

std::vector<double> Section::numbers(const Key& key, double least, double most) const {
  std::vector<double> result;
  const std::string low = config::number_text(least);
  const std::string high = config::number_text(most);
  Access::list(*this, key, config::range_text("numbers", low, high), "[" + low + "]",
               [&](const Value& value) {
                 result.push_back(
                     Access::number(value, least, most, config::range_text("number", low, high)));
                 return config::number_text(result.back());
               });
  return result;
}

Section Section::preset(std::string_view name, std::string_view help, const PresetLoader& load,
                        const std::vector<std::string>& known, std::string_view initial,
                        std::string_view source) const {
  const std::string path = config::join(path_, name);
  const bool asked_before = Access::knows(*node_, name);
  const std::string_view example = known.empty() ? std::string_view() : known.front();
  if (describing())
    Access::document_key(*this, {.path = std::string(name),
                                 .type = "preset, YAML file or mapping",
                                 .initial = std::string(initial),
                                 .example = std::string(example),
                                 .help = std::string(help),
                                 .source = std::string(source),
                                 .required = initial.empty() && !asked_before});
  Access::learn(*this, name);
  Node* node = Access::given(*this, name);
  for (const config::Answer& answer : node_->mapping->answers)
    if (*answer.name == name && answer.child != nullptr) node = answer.child;
  if (node == nullptr && describing()) node = document_->make(Node::Kind::mapping, {});
  if (node == nullptr) {
    if (initial.empty()) Access::missing(*this, name, example);
    node = document_->make(Node::Kind::scalar, config::place_of(*node_));
    node->text = initial;
  }
  node = Access::expand(*this, path, node, load, known, 0);
  if (config::Entry* entry = config::find(*node_, name); entry != nullptr) entry->value = node;
  Access::answer(*this, name).child = node;
  return Access::make(*this, node, path);
}

// ---- Section: errors -------------------------------------------------------------------------

void Section::fail(std::string_view name, const std::string& problem,
                   const std::string& hint) const {
  Access::refuse_mistyped(*this);
  config::Place place = config::place_of(*node_);
  if (const config::Entry* entry = config::find(*node_, name); entry != nullptr) {
    const bool at_value = entry->value->kind == Node::Kind::scalar;
    place = at_value ? entry->value->place : entry->key_place;
  }
  config::fail_at(place, config::join(path_, name), problem, hint);
}

void Section::refuse_unread() const { Access::refuse_unread(*document_, *node_, path_); }

const std::string& Section::path() const { return path_; }

bool Section::describing() const { return document_->describing; }

// ---- ConfigFile ------------------------------------------------------------------------------

ConfigFile ConfigFile::read_file(const std::string& path,
                                 const std::vector<std::string>& overrides) {
  return read_text(path, config::read_whole(path), overrides);
}

ConfigFile ConfigFile::read_text(const std::string& name, const std::string& text,
                                 const std::vector<std::string>& overrides) {
  ConfigFile file;
  file.document_ = std::make_shared<config::Document>();
  const std::filesystem::path folder = std::filesystem::path(name).parent_path();
  file.document_->root = config::parse_mapping(*file.document_, name, folder, text);
  for (const std::string& override : overrides)
    config::apply_override(*file.document_, folder, override);
  return file;
}

Section ConfigFile::root() const {
  Section section;
  section.document_ = document_;
  section.node_ = document_->root;
  return section;
}

void ConfigFile::refuse_unread() const { Access::refuse_unread(*document_, *document_->root, {}); }

std::string ConfigFile::resolved_yaml() const {
  std::string text;
  config::write_mapping(*document_->root, 0, text);
  return text.empty() ? "{}\n" : text;
}

// ---- free functions --------------------------------------------------------------------------

std::vector<KeyInfo> describe_keys(const std::function<void(const Section&)>& read) {
  Section section;
  section.document_ = std::make_shared<config::Document>();
  section.document_->describing = true;
  section.document_->root = section.document_->make(Node::Kind::mapping, {});
  section.node_ = section.document_->root;
  read(section);
  return section.document_->keys;
}

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = std::max<std::size_t>(name.size() / 3, 1) + 1;  // one more than allowed
  for (const std::string& candidate : known) {
    const std::size_t longer = std::max(name.size(), candidate.size());
    if (longer - std::min(name.size(), candidate.size()) >= least) continue;
    const std::size_t distance = Access::distance(name, candidate);
    if (distance >= least || distance >= longer) continue;
    best = candidate;
    least = distance;
  }
  return best;
}

}  // namespace weft