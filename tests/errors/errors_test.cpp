// Each .yaml file of this folder is a scenario that `weft check` refuses. Its leading comment lines
// are the whole message it must get on stderr, with exit code 2 and nothing on stdout. rewrite.py
// puts them there.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace weft {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(WEFT_SOURCE_DIR) / "tests" / "errors";

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(kFolder))
    if (file.path().extension() == ".yaml") names.push_back(file.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string expected_message(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string message;
  for (std::string line; std::getline(stream, line) && line.starts_with('#');)
    message += line.substr(std::min<std::size_t>(2, line.size())) + '\n';
  return message;
}

class RefusedScenario : public ::testing::TestWithParam<std::string> {};

TEST_P(RefusedScenario, GetsItsWholeMessageAndExitCode2) {
  const std::string file = GetParam() + ".yaml";
  const std::string command = "exec 3>&1; cd '" + kFolder.string() + "' && printed=$('" +
                              WEFT_PROGRAM + "' check '" + file +
                              "' 2>&3); code=$?; "
                              "[ -z \"$printed\" ] || echo \"on stdout: $printed\"; exit $code";
  std::FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string message;
  std::array<char, 4096> buffer;
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe))
    message.append(buffer.data(), size);
  const int status = pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_EQ(message, expected_message(kFolder / file));
}

INSTANTIATE_TEST_SUITE_P(Errors, RefusedScenario, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace weft
