#include "sim/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "tests/support/config_errors.h"

namespace weft {
namespace {

using testing::error_of;
using testing::resolved;

const std::string kTimeUnits = "units: ns, us, ms, s, min, h";

/// A small scenario: one section, one nested section, one list of mappings.
void read_network(const Section& root) {
  root.text({.name = "name", .help = "of the run", .example = "demo"});
  const Section network = root.section("network", "the network");
  network.choice({.name = "kind", .help = "its shape", .initial = "star"},
                 {"star", "ring", "mesh"});
  network.integer({.name = "ports", .help = "of a switch", .example = "64"}, 1, 1024);
  const Section link = network.section("link", "each cable");
  link.rate({.name = "rate", .help = "per direction", .example = "400 Gbps"});
  link.time({.name = "latency", .help = "one way", .initial = "600 ns", .source = "a data sheet"});
  if (root.has("flows"))
    for (const Section& flow : root.sections("flows", "what is sent")) {
      flow.integer({.name = "source", .help = "first", .example = "0"}, 0);
      flow.size({.name = "size", .help = "how much", .example = "1 GB"});
    }
  root.integer({.name = "seed", .help = "of all chance", .initial = "1"}, 0);
}

const std::string kNetwork =
    "name: demo\n"
    "network:\n"
    "  ports: 64\n"
    "  link: {rate: 400 Gbps}\n";

// ---- values and the resolved document ----------------------------------------------------------

TEST(ResolvedDocument, HoldsDefaultsInReadingOrder) {
  EXPECT_EQ(resolved(kNetwork, read_network),
            "name: demo\n"
            "network:\n"
            "  kind: star\n"
            "  ports: 64\n"
            "  link:\n"
            "    rate: 400 Gbps\n"
            "    latency: 600 ns\n"
            "seed: 1\n");
}

TEST(ResolvedDocument, IsTheSameForShuffledKeysAndReadsBackAsItself) {
  const std::string shuffled =
      "flows: [{size: 1 GB, source: 3}, {source: 0, size: 1536 B}]\n"
      "seed: 7\n"
      "network: {link: {latency: 0.0015 ms, rate: 50 GB/s}, ports: 64, kind: 'ring'}\n"
      "name: \"GPT 3: \\\"175B\\\" #1\"\n";
  const std::string once = resolved(shuffled, read_network);
  EXPECT_EQ(once,
            "name: \"GPT 3: \\\"175B\\\" #1\"\n"
            "network:\n"
            "  kind: ring\n"
            "  ports: 64\n"
            "  link:\n"
            "    rate: 400 Gbps\n"
            "    latency: 1.5 us\n"
            "flows:\n"
            "  - {source: 3, size: 1 GB}\n"
            "  - {source: 0, size: 1536 B}\n"
            "seed: 7\n");
  EXPECT_EQ(resolved(once, read_network), once);
}

TEST(ResolvedDocument, QuotesTextsThatYamlWouldTakeForSomethingElse) {
  const auto read = [](const Section& root) { root.texts({.name = "x", .help = ""}); };
  const std::string texts =
      resolved("x: ['true', '12', '1e5', '0x10', 1f1b, a b, 'a: b', Größe, 'a\\b']\n", read);
  EXPECT_EQ(
      texts,
      "x: [\"true\", \"12\", \"1e5\", \"0x10\", 1f1b, \"a b\", \"a: b\", \"Größe\", \"a\\\\b\"]\n");
  EXPECT_EQ(resolved(texts, read), texts);
}

TEST(ResolvedDocument, KeepsNestedListsOfMappings) {
  const auto read = [](const Section& root) {
    for (const Section& link : root.sections("links", "")) {
      link.texts({.name = "between", .help = ""});
      link.section("port", "").rate({.name = "rate", .help = ""});
      link.integers({.name = "lanes", .help = "", .initial = "[0, 1]"}, 0, 9);
      link.numbers({.name = "shares", .help = "", .initial = "[0.1]"}, 0, 1);
    }
  };
  const std::string once =
      resolved("links: [{between: [a, b], port: {rate: 1 Gbps}, shares: [1, 0.25]}]", read);
  EXPECT_EQ(once,
            "links:\n"
            "  - between: [a, b]\n"
            "    port:\n"
            "      rate: 1 Gbps\n"
            "    lanes: [0, 1]\n"
            "    shares: [1, 0.25]\n");
  EXPECT_EQ(resolved(once, read), once);
}

TEST(Values, AnchorsAliasesAndMergeKeysAreExpanded) {
  const auto read = [](const Section& root) {
    const auto ports = [](const Section& s) { return s.integer({.name = "ports", .help = ""}, 1); };
    EXPECT_EQ(ports(root.section("a", "")), 1);
    EXPECT_EQ(ports(root.section("b", "")), 1);
    EXPECT_EQ(ports(root.section("c", "")), 3);
    EXPECT_EQ(root.section("c", "").integer({.name = "radix", .help = ""}, 1), 2);
    EXPECT_EQ(ports(root.section("d", "")), 5);
    EXPECT_EQ(root.section("a", "").integer({.name = "radix", .help = ""}, 1), 2);
    EXPECT_EQ(root.section("b", "").integer({.name = "radix", .help = ""}, 1), 2);
    EXPECT_EQ(root.section("d", "").integer({.name = "radix", .help = ""}, 1), 2);
  };
  EXPECT_EQ(error_of("a: &base {ports: 1, radix: 2}\n"
                     "b: *base\n"
                     "c: {<<: *base, ports: 3}\n"
                     "d: {<<: [{ports: 5}, *base]}\n",
                     read),
            "no error");
}

TEST(Values, NullStandsForTheDefault) {
  EXPECT_EQ(resolved(kNetwork + "seed: ~\n", read_network), resolved(kNetwork, read_network));
}

// ---- what a key may hold -----------------------------------------------------------------------

std::string value_error(const std::string& value, const testing::Reader& read) {
  return error_of("x: " + value, read);
}

TEST(Refused, ANumberWithoutItsUnit) {
  const auto time = [](const Section& root) {
    root.time({.name = "x", .help = "", .initial = "1 us"});
  };
  EXPECT_EQ(value_error("600", time),
            "s.yaml:1:4: x: `600` has no unit\n"
            "  x: 600\n"
            "     ^\n"
            "  write a time with its unit, such as `1 us`; " +
                kTimeUnits);
  const auto rate = [](const Section& root) {
    root.rate({.name = "x", .help = "", .example = "400 Gbps"});
  };
  EXPECT_EQ(value_error("100 gbps", rate),
            "s.yaml:1:4: x: `gbps` is not a unit of data rate\n"
            "  x: 100 gbps\n"
            "     ^\n"
            "  did you mean `Gbps`? write a rate with its unit, such as `400 Gbps`; units: bps, "
            "Kbps, Mbps, Gbps, Tbps, or bytes: B/s, KB/s, MB/s, GB/s, TB/s");
}

TEST(Refused, QuantitiesThatAreNotFiniteOrOutOfRange) {
  const auto time = [](const Section& root) { root.time({.name = "x", .help = ""}); };
  EXPECT_EQ(value_error("-5 ns", time),
            "s.yaml:1:4: x: expected a time from 0 s to 1000000000 s, not `-5 ns`\n"
            "  x: -5 ns\n"
            "     ^\n"
            "  for example `x: 600 ns`");
  EXPECT_EQ(value_error(".inf", time),
            "s.yaml:1:4: x: expected a time from 0 s to 1000000000 s, not `.inf`\n"
            "  x: .inf\n"
            "     ^\n"
            "  write a time with its unit, such as `600 ns`; " +
                kTimeUnits);
  const auto rate = [](const Section& root) { root.rate({.name = "x", .help = ""}); };
  EXPECT_EQ(value_error("0 Gbps", rate),
            "s.yaml:1:4: x: expected a rate from 1 bps to 1000000 Tbps, not `0 Gbps`\n"
            "  x: 0 Gbps\n"
            "     ^\n"
            "  for example `x: 400 Gbps`");
  for (const char* text :
       {".nan", "nan", "inf s", "1e999 s", "1_0 s", "0x10 s", "1.2.3 s", "s", "[1 s]"})
    EXPECT_NE(value_error(text, time), "no error") << text;
}

TEST(Refused, IntegersThatAreNotPlainDigitsInRange) {
  const auto read = [](const Section& root) { root.integer({.name = "x", .help = ""}, 1, 8); };
  EXPECT_EQ(value_error("0", read),
            "s.yaml:1:4: x: expected an integer from 1 to 8, not `0`\n"
            "  x: 0\n"
            "     ^");
  EXPECT_EQ(value_error("010", read),
            "s.yaml:1:4: x: `010` starts with a zero, which some YAML readers take for octal\n"
            "  x: 010\n"
            "     ^\n"
            "  write the number without the leading zero");
  EXPECT_EQ(value_error("{a: 1}", read),
            "s.yaml:1:1: x: expected an integer from 1 to 8, not a mapping\n"
            "  x: {a: 1}\n"
            "  ^");
  for (const char* text :
       {"9", "-1", "1.0", "1e0", "1 B", "99999999999999999999", ".inf", "0x1", "''"})
    EXPECT_NE(value_error(text, read), "no error") << text;
}

TEST(Refused, EmptyTextsAndSequences) {
  const auto read = [](const Section& root) { root.texts({.name = "x", .help = ""}); };
  EXPECT_EQ(value_error("['']", read),
            "s.yaml:1:5: x.0: expected a text, not ``\n"
            "  x: ['']\n"
            "      ^");
  EXPECT_EQ(value_error("[]", read),
            "s.yaml:1:1: x: an empty sequence\n"
            "  x: []\n"
            "  ^\n"
            "  for example `x: [a, b]`");
}

TEST(Refused, NumbersThatAreNotFinite) {
  const auto read = [](const Section& root) { root.number({.name = "x", .help = ""}, 0, 1); };
  EXPECT_EQ(value_error(".nan", read),
            "s.yaml:1:4: x: expected a number from 0 to 1, not `.nan`\n"
            "  x: .nan\n"
            "     ^");
  for (const char* text : {"1.5", "-0.1", "inf", "1e400", "0.5 s"})
    EXPECT_NE(value_error(text, read), "no error") << text;
}

TEST(Refused, WordsOutsideAChoice) {
  EXPECT_EQ(error_of("name: a\nnetwork:\n  kind: strar\n", read_network),
            "s.yaml:3:9: network.kind: expected one of star, ring, mesh, not `strar`\n"
            "    kind: strar\n"
            "          ^\n"
            "  did you mean `star`?");
  const auto flag = [](const Section& root) { root.boolean({.name = "x", .help = ""}); };
  EXPECT_EQ(value_error("yes", flag),
            "s.yaml:1:4: x: expected true or false, not `yes`\n"
            "  x: yes\n"
            "     ^");
}

// ---- keys --------------------------------------------------------------------------------------

TEST(Refused, AMissingKeyWithAnExample) {
  EXPECT_EQ(error_of("name: a\nnetwork:\n  ports: 4\n", read_network),
            "s.yaml:2:1: network.link.rate: required, but missing\n"
            "  network:\n"
            "  ^\n"
            "  for example `link: {rate: 400 Gbps}`");
  EXPECT_EQ(error_of("name: a\nnetwork:\n  ports:\n", read_network),
            "s.yaml:3:3: network.ports: has no value\n"
            "    ports:\n"
            "    ^\n"
            "  for example `ports: 64`");
}

TEST(Refused, AMistypedRequiredKeyIsNamedInstead) {
  EXPECT_EQ(error_of("name: a\nnetwork:\n  port: 4\n", read_network),
            "s.yaml:3:3: network.port: unknown key\n"
            "    port: 4\n"
            "    ^\n"
            "  did you mean `ports`? It is required and missing");
}

TEST(Refused, AnUnknownKeyWithTheNearestOne) {
  EXPECT_EQ(
      error_of("name: a\nnetwork: {ports: 4, link: {rate: 1 Gbps, latncy: 1 us}}\n", read_network),
      "s.yaml:2:42: network.link.latncy: unknown key\n"
      "  network: {ports: 4, link: {rate: 1 Gbps, latncy: 1 us}}\n"
      "                                           ^\n"
      "  did you mean `latency`?");
  EXPECT_EQ(error_of(kNetwork + "colour: red\n", read_network),
            "s.yaml:5:1: colour: unknown key\n"
            "  colour: red\n"
            "  ^\n"
            "  keys here: name, network, flows, seed");
}

TEST(Refused, AMisplacedKeyWithItsSection) {
  EXPECT_EQ(error_of(kNetwork + "latency: 1 us\n", read_network),
            "s.yaml:5:1: latency: unknown key\n"
            "  latency: 1 us\n"
            "  ^\n"
            "  `latency` belongs in `network.link`");
  EXPECT_EQ(error_of("name: a\nnetwork: {ports: 4, link: {rate: 1 Gbps}, seed: 3}\n", read_network),
            "s.yaml:2:43: network.seed: unknown key\n"
            "  network: {ports: 4, link: {rate: 1 Gbps}, seed: 3}\n"
            "                                            ^\n"
            "  `seed` belongs at the top level");
}

TEST(Refused, AKeyThatWasAskedForButNotUsed) {
  const auto read = [](const Section& root) { root.has("x"); };
  EXPECT_EQ(error_of("x: 1\n", read),
            "s.yaml:1:1: x: this key has no effect with the other settings\n"
            "  x: 1\n"
            "  ^\n"
            "  remove it, or look at what it depends on");
}

TEST(Refused, ADuplicateKeyAtItsSecondPlace) {
  EXPECT_EQ(error_of("network:\n  ports: 1\n  link: 2\n  ports: 3\n", read_network),
            "s.yaml:4:3: network.ports: duplicate key\n"
            "    ports: 3\n"
            "    ^\n"
            "  first given on line 2");
  EXPECT_EQ(error_of("a: [{b: 1}, {c: 1, 'c': 2}]", read_network),
            "s.yaml:1:20: a.1.c: duplicate key\n"
            "  a: [{b: 1}, {c: 1, 'c': 2}]\n"
            "                     ^\n"
            "  first given on line 1");
}

TEST(Refused, TheCaretCountsCharactersAndKeepsTabs) {
  EXPECT_EQ(
      error_of("{ name: Größe,\tsed: 1, network: {ports: 4, link: {rate: 1 Gbps}} }", read_network),
      "s.yaml:1:16: sed: unknown key\n"
      "  { name: Größe,\tsed: 1, network: {ports: 4, link: {rate: 1 Gbps}} }\n"
      "                \t^\n"
      "  did you mean `seed`?");
}

TEST(Refused, LongLinesAreCutAroundTheCaret) {
  std::string text = "{";
  for (int i = 0; i < 100; ++i) text += "k" + std::to_string(i) + ": 1, ";
  text += "k7: 2}";
  const std::string message = error_of(text, read_network);
  EXPECT_EQ(message,
            "s.yaml:1:792: k7: duplicate key\n"
            "  ...k95: 1, k96: 1, k97: 1, k98: 1, k99: 1, k7: 2}\n"
            "                                             ^\n"
            "  first given on line 1");
}

TEST(Fail, PlacesAnErrorAtAKeyOrAtTheSection) {
  const auto at_key = [](const Section& root) {
    root.section("network", "").fail("ports", "too few ports", "use more");
  };
  EXPECT_EQ(error_of(kNetwork, at_key),
            "s.yaml:3:10: network.ports: too few ports\n"
            "    ports: 64\n"
            "           ^\n"
            "  use more");
  const auto at_section = [](const Section& root) {
    root.section("network", "").fail("", "too small");
  };
  EXPECT_EQ(error_of(kNetwork, at_section),
            "s.yaml:2:1: network: too small\n"
            "  network:\n"
            "  ^");
}

// ---- whole documents ---------------------------------------------------------------------------

TEST(Refused, WhatIsNotOneYamlMapping) {
  EXPECT_EQ(error_of("", read_network),
            "s.yaml:1:1: empty: it holds no keys\n  a mapping (`key: value`) is expected");
  EXPECT_EQ(error_of("# only a comment\n", read_network),
            "s.yaml:1:1: empty: it holds no keys\n"
            "  # only a comment\n"
            "  ^\n"
            "  a mapping (`key: value`) is expected");
  EXPECT_EQ(error_of("- 1\n- 2\n", read_network),
            "s.yaml:1:1: expected a mapping (`key: value`) at the top, not a sequence\n"
            "  - 1\n"
            "  ^");
  EXPECT_EQ(error_of("a: 1\n---\nb: 1\n", read_network),
            "s.yaml:2:1: a second YAML document starts here\n"
            "  ---\n"
            "  ^\n"
            "  one file holds one document: remove the line `---`");
  EXPECT_EQ(error_of("a: b: c\n", read_network),
            "s.yaml:1:5: not valid YAML: illegal map value\n"
            "  a: b: c\n"
            "      ^\n"
            "  quote a text that holds `: `, and indent the keys of one mapping equally");
  EXPECT_EQ(
      error_of("a: [1,\n", read_network),
      "s.yaml:1:7: not valid YAML: end of sequence flow not found\n"
      "  a: [1,\n"
      "        ^\n"
      "  look for a missing `}` or `]`, a colon without a space, or uneven indentation above");
  EXPECT_EQ(error_of("a:\n\tb: 1\n", read_network),
            "s.yaml:2:3: not valid YAML: illegal map value\n"
            "  \tb: 1\n"
            "  \t ^\n"
            "  indent with spaces, not tabs");
  EXPECT_EQ(error_of(std::string("a: 1\nb: \0", 9), read_network),
            "s.yaml:2:4: not a text file: it holds the byte 0x00\n"
            "  a YAML file is UTF-8 text");
  EXPECT_EQ(error_of("a: \xff\xfe", read_network),
            "s.yaml:1:4: not a text file: it holds the byte 0xff\n"
            "  a YAML file is UTF-8 text");
  EXPECT_EQ(error_of("a: !!int 3\n", read_network),
            "s.yaml:1:4: a: YAML tags (`!...`) are not supported\n"
            "  a: !!int 3\n"
            "     ^\n"
            "  remove the tag");
  EXPECT_EQ(error_of("? [a]\n: 1\n", read_network),
            "s.yaml:1:3: a key must be text, not a sequence or a mapping\n"
            "  ? [a]\n"
            "    ^\n"
            "  or is a `]` or `}` missing?");
  EXPECT_EQ(error_of("a: &x {b: *x}\n", read_network),
            "s.yaml:1:11: a.b: an alias inside the value it stands for\n"
            "  a: &x {b: *x}\n"
            "            ^");
}

TEST(Refused, DocumentsThatGrowWithoutBound) {
  const std::string deep = "a: " + std::string(5000, '[') + std::string(5000, ']');
  EXPECT_NE(error_of(deep, read_network).find("nested more than 64 levels deep"),
            std::string::npos);
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below;
    for (int k = 0; k < 9; ++k) bomb += ", " + below;
    bomb += "]\n";
  }
  EXPECT_NE(error_of(bomb, read_network).find("aliases expand to more than 1000000 values"),
            std::string::npos);
  std::string chain = "a0: &a0 [x]\n";
  for (int i = 1; i < 5000; ++i)
    chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
             "]\n";
  EXPECT_NE(error_of(chain, read_network).find("nested more than 64 levels deep"),
            std::string::npos);
}

TEST(Refused, FoldersAndFilesThatCannotBeOpened) {
  const auto error = [](const std::string& path) -> std::string {
    try {
      ConfigFile::read_file(path, {});
    } catch (const ConfigError& refused) {
      return refused.what();
    }
    return "no error";
  };
  EXPECT_EQ(error("."), ".: is a folder, not a file\n  name a YAML file in it");
  EXPECT_EQ(error("no/such.yaml"),
            "no/such.yaml: cannot be opened: No such file or directory\n"
            "  check the path and its permissions");
}

TEST(Documents, MayHaveCarriageReturnsAByteOrderMarkAndComments) {
  EXPECT_EQ(error_of("\xef\xbb\xbfname: a # first\r\nnetwork: {ports: 4, link: {rate: 1 Gbps}}\r\n",
                     read_network),
            "no error");
  EXPECT_EQ(
      error_of("name: a\r\nx: 1\r\nnetwork: {ports: 4, link: {rate: 1 Gbps}}\r\n", read_network),
      "s.yaml:2:1: x: unknown key\n"
      "  x: 1\n"
      "  ^\n"
      "  keys here: name, network, flows, seed");
}

// ---- overrides ---------------------------------------------------------------------------------

TEST(Overrides, ReplaceAddAndIndex) {
  EXPECT_EQ(resolved(kNetwork + "flows: [{source: 0, size: 1 B}]\n", read_network,
                     {"network.ports=8", "network.ports=16", "network.link.latency=1 ms",
                      "flows.0.source=5", "seed=9"}),
            "name: demo\n"
            "network:\n"
            "  kind: star\n"
            "  ports: 16\n"
            "  link:\n"
            "    rate: 400 Gbps\n"
            "    latency: 1 ms\n"
            "flows:\n"
            "  - {source: 5, size: 1 B}\n"
            "seed: 9\n");
}

TEST(Overrides, MakeTheParentsTheyNeed) {
  EXPECT_EQ(error_of("name: a\n", read_network, {"network.link={rate: 1 Gbps}", "network.ports=4"}),
            "no error");
}

TEST(Overrides, ArePlacedInTheirOwnText) {
  EXPECT_EQ(
      error_of(kNetwork, read_network, {"network.ports=0"}),
      "--set network.ports=0:1:15: network.ports: expected an integer from 1 to 1024, not `0`\n"
      "  network.ports=0\n"
      "                ^\n"
      "  for example `ports: 64`");
  EXPECT_EQ(error_of(kNetwork, read_network, {"network.link.latncy=1 us"}),
            "--set network.link.latncy=1 us:1:14: network.link.latncy: unknown key\n"
            "  network.link.latncy=1 us\n"
            "               ^\n"
            "  did you mean `latency`?");
  EXPECT_EQ(error_of(kNetwork, read_network, {"seed=[1, 2"}),
            "--set seed=[1, 2:1:6: a key must be text, not a sequence or a mapping\n"
            "  seed=[1, 2\n"
            "       ^\n"
            "  or is a `]` or `}` missing?");
}

TEST(Overrides, RefuseBadPaths) {
  const std::string text = kNetwork + "flows: [{source: 0, size: 1 B}]\n";
  EXPECT_EQ(error_of(text, read_network, {"seed"}),
            "--set seed: expected a key and a value\n"
            "  for example `--set workload.batch.global=512`");
  EXPECT_EQ(error_of(text, read_network, {"network..ports=1"}),
            "--set network..ports=1:1:9: an empty part of the path\n"
            "  network..ports=1\n"
            "          ^");
  EXPECT_EQ(error_of(text, read_network, {"flows.1.source=1"}),
            "--set flows.1.source=1:1:7: flows: expected an index from 0 to 0, not `1`\n"
            "  flows.1.source=1\n"
            "        ^");
}

// ---- presets -----------------------------------------------------------------------------------

bool load_demo(const std::string& name, std::string& yaml_text) {
  if (name == "base") yaml_text = "ports: 4\nlink: {rate: 1 Gbps, latency: 1 us}\n";
  if (name == "big") yaml_text = "preset: base\nports: 64\n";
  if (name == "bad") yaml_text = "ports: 4\nlink: {rate: 1}\n";
  if (name == "loop") yaml_text = "preset: loop\n";
  return name == "base" || name == "big" || name == "bad" || name == "loop";
}

void read_preset(const Section& root) {
  const Section net = root.preset("net", "a network", load_demo, {"base", "big", "bad", "loop"},
                                  "base", "the least");
  net.integer({.name = "ports", .help = ""}, 1);
  net.section("link", "").rate({.name = "rate", .help = ""});
  net.section("link", "").time({.name = "latency", .help = ""});
}

std::string net(int ports, const std::string& rate) {
  return "net:\n  ports: " + std::to_string(ports) + "\n  link:\n    rate: " + rate +
         "\n    latency: 1 us\n";
}

TEST(Presets, AreExpandedInPlaceAndOverriddenKeyByKey) {
  EXPECT_EQ(resolved("net: base", read_preset), net(4, "1 Gbps"));
  EXPECT_EQ(resolved("{}", read_preset), net(4, "1 Gbps"));
  EXPECT_EQ(resolved("net: big", read_preset), net(64, "1 Gbps"));
  EXPECT_EQ(resolved("net: {preset: base, link: {rate: 2 Gbps}}", read_preset), net(4, "2 Gbps"));
  EXPECT_EQ(resolved("net: {ports: 1, link: {rate: 3 Gbps, latency: 1 us}}", read_preset),
            net(1, "3 Gbps"));
  EXPECT_EQ(resolved("net: big", read_preset, {"net.link.rate=5 Gbps"}), net(64, "5 Gbps"));
}

TEST(Presets, AreFilesWhereNoPresetHasTheName) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "weft_config_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "own.yaml") << "preset: big\nlink: {rate: 7 Gbps}\n";
  std::ofstream(folder / "scenario.yaml") << "net: own.yaml\n";
  const ConfigFile file = ConfigFile::read_file((folder / "scenario.yaml").string(), {});
  read_preset(file.root());
  file.refuse_unread();
  EXPECT_EQ(file.resolved_yaml(), net(64, "7 Gbps"));
  std::filesystem::remove_all(folder);
}

TEST(Presets, PlaceTheirErrorsInTheirOwnText) {
  EXPECT_EQ(error_of("net: bad", read_preset),
            "preset bad:2:14: net.link.rate: `1` has no unit\n"
            "  link: {rate: 1}\n"
            "               ^\n"
            "  write a rate with its unit, such as `400 Gbps`; units: bps, Kbps, Mbps, Gbps, Tbps, "
            "or bytes: B/s, KB/s, MB/s, GB/s, TB/s");
  EXPECT_EQ(error_of("net: bsae", read_preset),
            "s.yaml:1:6: net: neither a preset nor a file: `bsae`\n"
            "  net: bsae\n"
            "       ^\n"
            "  did you mean `base`? presets: base, big, bad, loop");
  EXPECT_NE(error_of("net: loop", read_preset).find("presets name one another without end"),
            std::string::npos);
  EXPECT_EQ(error_of("net: [base]", read_preset),
            "s.yaml:1:1: net: expected the name of a preset, a file or a mapping, not a sequence\n"
            "  net: [base]\n"
            "  ^");
}

// ---- describe ----------------------------------------------------------------------------------

TEST(DescribeKeys, ListsWhatTheLoaderReadsWithDefaultsAndExamples) {
  std::string text;
  for (const KeyInfo& key : describe_keys(read_network))
    text += key.path + " | " + key.type + " | " + key.initial + " | " + key.example +
            (key.required ? " | required\n" : " |\n");
  EXPECT_EQ(text,
            "name | text |  | demo | required\n"
            "network | mapping |  |  |\n"
            "network.kind | one of: star, ring, mesh | star |  |\n"
            "network.ports | integer from 1 to 1024 |  | 64 | required\n"
            "network.link | mapping |  |  |\n"
            "network.link.rate | rate |  | 400 Gbps | required\n"
            "network.link.latency | time | 600 ns |  |\n"
            "flows | sequence of mappings |  |  |\n"
            "flows[].source | integer >= 0 |  | 0 | required\n"
            "flows[].size | size |  | 1 GB | required\n"
            "seed | integer >= 0 | 1 |  |\n");
}

TEST(DescribeKeys, ReadsTheWholeCluster) {
  const auto keys = describe_keys([](const Section& root) { read_cluster(root); });
  ASSERT_FALSE(keys.empty());
  EXPECT_EQ(keys.front().path, "hosts");
  EXPECT_EQ(keys.back().path, "host.nic_of_gpu");
}

TEST(Nearest, AllowsAThirdOfTheLettersToDiffer) {
  EXPECT_EQ(nearest("radx", {"link", "radix"}), "radix");
  EXPECT_EQ(nearest("tensro", {"tensor"}), "tensor");
  EXPECT_EQ(nearest("HOSTS", {"host", "hosts"}), "hosts");
  EXPECT_EQ(nearest("colour", {"radix", "link"}), "");
  EXPECT_EQ(nearest("x", {"ab"}), "");
  EXPECT_EQ(nearest("", {"a"}), "");
}

// ---- cluster -----------------------------------------------------------------------------------

void read_cluster_key(const Section& root) { read_cluster(root.section("cluster", "the servers")); }

Cluster cluster_of(const std::string& text) {
  const ConfigFile file = ConfigFile::read_text("s.yaml", text, {});
  const Cluster cluster = read_cluster(file.root().section("cluster", ""));
  file.refuse_unread();
  return cluster;
}

TEST(ClusterSection, ReadsADgxH100) {
  const Cluster cluster = cluster_of("cluster: {hosts: 128, host: dgx_h100}");
  EXPECT_EQ(cluster.gpus(), 1024);
  EXPECT_EQ(cluster.nics(), 1024);
  EXPECT_EQ(cluster.host.gpu.name, "h100_sxm");
  EXPECT_EQ(cluster.host.gpu.peak.value, 989e12);
  EXPECT_EQ(cluster.host.gpu.memory.value, 80'000'000'000u);
  EXPECT_EQ(cluster.host.nvlink.rate.value, 3.6e12);
  EXPECT_EQ(cluster.host.nic.rate.value, 4e11);
  EXPECT_EQ(cluster.host.nic.latency.value, 1e-6);
  EXPECT_EQ(cluster.nic_of(GpuId{13}), NicId{13});
}

TEST(ClusterSection, ReadsHostsDescribedInPlace) {
  const Cluster cluster = cluster_of(
      "cluster: {hosts: 2, host: {gpus: 1, nics: 1, nic: {rate: 100 Gbps, latency: 0 s}}}");
  EXPECT_EQ(cluster.gpus(), 2);
  EXPECT_EQ(cluster.host.nic.latency.value, 0);
  const Cluster shared =
      cluster_of("cluster: {hosts: 2, host: {preset: dgx_a100, nics: 4, gpu: {memory: 40 GB}}}");
  EXPECT_EQ(shared.host.nic_of_gpu, (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(shared.host.gpu.memory.value, 40'000'000'000u);
  EXPECT_EQ(shared.host.gpu.peak.value, 312e12);
}

TEST(ClusterSection, EveryHostPresetReadsAndResolvesToItself) {
  for (const char* host : {"dgx_a100", "dgx_h100", "dgx_h800", "dgx_h200", "dgx_b200"}) {
    const std::string once =
        resolved(std::string("cluster: {hosts: 2, host: ") + host + "}", read_cluster_key);
    EXPECT_EQ(resolved(once, read_cluster_key), once);
  }
}

TEST(ClusterSection, RefusesHostsThatAreNotModelled) {
  EXPECT_EQ(
      error_of("cluster: {hosts: 2, host: {gpus: 2, nics: 1, nic: {rate: 1 Gbps}}}",
               read_cluster_key),
      "s.yaml:1:21: cluster.host.nvlink: required, but missing: 2 GPUs of a host talk through it\n"
      "  cluster: {hosts: 2, host: {gpus: 2, nics: 1, nic: {rate: 1 Gbps}}}\n"
      "                      ^\n"
      "  for example `nvlink: {rate: 3.6 Tbps, latency: 1 us}`");
  EXPECT_EQ(
      error_of("cluster: {hosts: 2, host: {preset: dgx_h100, nics: 16}}", read_cluster_key),
      "s.yaml:1:52: cluster.host.nics: 16 NICs for 8 GPUs: more NICs than GPUs is not modelled\n"
      "  cluster: {hosts: 2, host: {preset: dgx_h100, nics: 16}}\n"
      "                                                     ^\n"
      "  give one NIC the summed rate");
  EXPECT_EQ(error_of("cluster: {hosts: 2, host: {preset: dgx_h100, nics: 3}}", read_cluster_key),
            "s.yaml:1:52: cluster.host.nics: 8 GPUs do not share 3 NICs evenly\n"
            "  cluster: {hosts: 2, host: {preset: dgx_h100, nics: 3}}\n"
            "                                                     ^\n"
            "  say with `nic_of_gpu: [...]` which NIC each GPU uses, or change the number");
}

// ---- random damage -----------------------------------------------------------------------------

TEST(DamagedFiles, AreReadOrRefusedButNeverCrash) {
  const std::string valid =
      "name: demo # a comment\n"
      "network: &n\n"
      "  kind: ring\n"
      "  ports: 64\n"
      "  link: {rate: 400 Gbps, latency: \"600 ns\"}\n"
      "flows: [{source: 0, size: 1 GB}, {<<: {source: 1}, size: 2 KiB}]\n"
      "cluster: {hosts: 2, host: {preset: dgx_h100, gpu: {memory: 96 GB}}}\n"
      "seed: 3\n";
  const auto read = [](const Section& root) {
    read_network(root);
    read_cluster_key(root);
  };
  ASSERT_EQ(error_of(valid, read), "no error");
  const std::string alphabet = "{}[]:,-&*!|>'\"%@`#?<\n\t \\.~0a9=\xc3\xa4\x01";
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string text = valid;
    for (auto changes = 1 + random() % 6; changes > 0 && !text.empty(); --changes) {
      const auto at = static_cast<std::size_t>(random() % text.size());
      const char letter = random() % 4 == 0 ? static_cast<char>(random() % 256)
                                            : alphabet[random() % alphabet.size()];
      switch (random() % 4) {
        case 0:
          text[at] = letter;
          break;
        case 1:
          text.insert(at, 1, letter);
          break;
        case 2:
          text.erase(at, random() % 8);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
      }
    }
    std::string message = error_of(text, read);
    if (message == "no error") {
      const std::string once = resolved(text, read);
      ASSERT_EQ(resolved(once, read), once) << text;
    }
    const std::string override = text.substr(0, random() % 40);
    message = error_of(valid, read, {"network.link=" + override, override});
  }
}

}  // namespace
}  // namespace weft
