// What each command of the program does; main.cpp only parses.
#pragma once

#include <string>
#include <vector>

namespace weft::program {

/// Options that several commands share.
struct Options {
  std::string scenario;
  std::vector<std::string> scenarios;  ///< check
  std::vector<std::string> overrides;  ///< --set a.b=c
  std::vector<std::string> fabrics;    ///< compare
  std::string output;
  std::string dot, graphml;  ///< topology: files to write
  std::string name;          ///< list, describe
  bool json = false;
  bool quiet = false;
};

int run_command(const Options&);
int compare_command(const Options&);
int groups_command(const Options&);
int topology_command(const Options&);
int check_command(const Options&);
int verify_command(const Options&);
int list_command(const Options&);
int describe_command(const Options&);

}  // namespace weft::program
