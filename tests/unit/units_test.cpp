#include "sim/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "sim/config.h"
#include "sim/quantity.h"
#include "tests/support/config_errors.h"

namespace weft {
namespace {

using namespace literals;
using testing::error_of;

double time_of(const std::string& text) {
  return ConfigFile::read_text("s.yaml", "x: " + text, {})
      .root()
      .time({.name = "x", .help = ""})
      .value;
}
double rate_of(const std::string& text) {
  return ConfigFile::read_text("s.yaml", "x: " + text, {})
      .root()
      .rate({.name = "x", .help = ""})
      .value;
}
std::uint64_t size_of(const std::string& text) {
  return ConfigFile::read_text("s.yaml", "x: " + text, {})
      .root()
      .size({.name = "x", .help = ""})
      .value;
}
double speed_of(const std::string& text) {
  return ConfigFile::read_text("s.yaml", "x: " + text, {})
      .root()
      .speed({.name = "x", .help = ""})
      .value;
}

TEST(Quantities, AreTheDoublesNearestToTheDecimalTheUserWrote) {
  EXPECT_EQ(time_of("600 ns"), 6e-7);
  EXPECT_EQ(time_of("0.3 ms"), 0.0003);
  EXPECT_EQ(time_of("1.1 us"), 1.1e-6);
  EXPECT_EQ(time_of("1.5 h"), 5400.0);
  EXPECT_EQ(time_of("0.1 min"), 6.0);
  EXPECT_EQ(time_of("0 s"), 0.0);
  EXPECT_FALSE(std::signbit(time_of("-0 s")));
  EXPECT_EQ(rate_of("400 Gbps"), 4e11);
  EXPECT_EQ(rate_of("0.1 Tbps"), 1e11);
  EXPECT_EQ(speed_of("989 TFLOPS"), 9.89e14);
  EXPECT_EQ(speed_of("2.25 PFLOP/s"), 2.25e15);
}

TEST(Quantities, TakeTheUnitWithOrWithoutSpace) {
  EXPECT_EQ(time_of("600ns"), time_of("600   ns"));
  EXPECT_EQ(rate_of("1e2Gbps"), 1e11);
  EXPECT_EQ(size_of("\"64MiB\""), 64u << 20);
}

TEST(Quantities, CountRatesInBitsUnlessBytesAreNamed) {
  EXPECT_EQ(rate_of("450 GB/s"), 3.6e12);
  EXPECT_EQ(rate_of("50 GB/s"), rate_of("400 Gbps"));
  EXPECT_EQ(rate_of("400 Gb/s"), rate_of("400 Gbps"));
  EXPECT_EQ(rate_of("1 KiB/s"), 8192.0);
}

TEST(Quantities, KeepSizesExact) {
  EXPECT_EQ(size_of("1 GB"), 1'000'000'000u);
  EXPECT_EQ(size_of("1 GiB"), 1u << 30);
  EXPECT_EQ(size_of("1.5 KiB"), 1536u);
  EXPECT_EQ(size_of("0.001 KB"), 1u);
  EXPECT_EQ(size_of("1152921504606846975 B"), (std::uint64_t{1} << 60) - 1);
  EXPECT_EQ(size_of("123456789.123456789 GB"), 123'456'789'123'456'789u);
}

TEST(Quantities, RefuseSizesThatAreNotWholeOrDoNotFit) {
  const auto read = [](const Section& root) { root.size({.name = "x", .help = ""}); };
  EXPECT_EQ(error_of("x: 0.3 B", read),
            "s.yaml:1:4: x: `0.3 B` is not a whole number of bytes\n"
            "  x: 0.3 B\n"
            "     ^\n"
            "  for example `x: 64 MiB`");
  for (const char* text :
       {"0 B", "-1 B", "2 EB", "20000000000 GB", "1e400 B", "1152921504606846977 B"})
    EXPECT_NE(error_of(std::string("x: ") + text, read), "no error") << text;
}

TEST(Quantities, ComeBackUnchangedFromTheTextOfTheResolvedDocument) {
  double value = 1.0;
  for (int i = 0; i < 2000; ++i) {
    value = std::fmod(value * 1.618033988749895 + 1e-9, 1.0);
    const double time = std::ldexp(value, (i % 80) - 60);
    const std::string time_text = config::quantity_text(time, config::kTime);
    EXPECT_EQ(time_of(time_text), time) << time_text;
    const double rate = 1 + std::ldexp(value, i % 58);
    const std::string rate_text = config::quantity_text(rate, config::kRate);
    EXPECT_EQ(rate_of(rate_text), rate) << rate_text;
    const std::uint64_t size = 1 + static_cast<std::uint64_t>(std::ldexp(value, i % 58));
    EXPECT_EQ(size_of(config::size_text(size)), size);
  }
}

TEST(Quantities, AreWrittenInTheUnitThatReadsBest) {
  const auto time = [](double value) { return config::quantity_text(value, config::kTime); };
  const auto rate = [](double value) { return config::quantity_text(value, config::kRate); };
  EXPECT_EQ(time(6e-7), "600 ns");
  EXPECT_EQ(time(1.5e-6), "1.5 us");
  EXPECT_EQ(time(0), "0 s");
  EXPECT_EQ(time(5400), "5400 s");
  EXPECT_EQ(time(1e-12), "0.001 ns");
  EXPECT_EQ(rate(4e11), "400 Gbps");
  EXPECT_EQ(rate(3.6e12), "3.6 Tbps");
  EXPECT_EQ(rate(1), "1 bps");
  EXPECT_EQ(config::quantity_text(9.89e14, config::kSpeed), "989 TFLOPS");
  EXPECT_EQ(config::quantity_text(5000, config::kSpeed), "5000 FLOPS");
  EXPECT_EQ(config::size_text(std::uint64_t{128} << 20), "128 MiB");
  EXPECT_EQ(config::size_text(1'000'000'000), "1 GB");
  EXPECT_EQ(config::size_text(1000), "1 KB");
  EXPECT_EQ(config::size_text(1537), "1537 B");
}

TEST(TextForPeople, HasThreeDigitsAndAFittingPrefix) {
  EXPECT_EQ(to_text(Seconds(0.00123456)), "1.23 ms");
  EXPECT_EQ(to_text(600_ns), "600 ns");
  EXPECT_EQ(to_text(Seconds(9.999e-7)), "1 us");
  EXPECT_EQ(to_text(Seconds(1e-11)), "0.01 ns");
  EXPECT_EQ(to_text(Seconds(0)), "0 s");
  EXPECT_EQ(to_text(Seconds(-0.5)), "-500 ms");
  EXPECT_EQ(to_text(Seconds(90)), "90 s");
  EXPECT_EQ(to_text(Seconds(1800)), "30 min");
  EXPECT_EQ(to_text(Seconds(7200)), "2 h");
  EXPECT_EQ(to_text(Seconds(34 * 86400.0)), "34 d");
  EXPECT_EQ(to_text(400_Gbps), "400 Gb/s");
  EXPECT_EQ(to_text(BitsPerSecond(3.6e12)), "3.6 Tb/s");
  EXPECT_EQ(to_text(Bytes(1'500'000'000)), "1.5 GB");
  EXPECT_EQ(to_text(999_B), "999 B");
  EXPECT_EQ(to_text(Bytes(999'999)), "1 MB");
  EXPECT_EQ(to_text(0_B), "0 B");
}

TEST(Bytes, PartsOfAWholeSumToIt) {
  Bytes sum;
  for (std::uint64_t part = 0; part < 7; ++part) sum += part_of(100_B, 7, part);
  EXPECT_EQ(sum, 100_B);
  EXPECT_EQ(part_of(100_B, 7, 0), 15_B);
  EXPECT_EQ(part_of(100_B, 7, 6), 14_B);
}

TEST(Units, AGigabyteTakesEightHundredthsOfASecondAtAHundredGigabits) {
  EXPECT_DOUBLE_EQ((1_GB / 100_Gbps).value, 0.08);
}

}  // namespace
}  // namespace weft
