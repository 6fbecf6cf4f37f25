// Files that a run writes: there whole or not at all.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace weft {

/// A file that appears whole or not at all: written beside its place as NAME.tmp and renamed by
/// commit(). Errors of the file system are ConfigErrors with the path and the system's reason.
class OutputFile {
 public:
  enum class Packing : std::uint8_t { none, gzip };

  explicit OutputFile(std::filesystem::path path, Packing = Packing::none);
  ~OutputFile();  ///< without commit() nothing is left behind
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void append(std::string_view text);
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() >= kFlushAt) flush();
  }
  std::uint64_t size() const { return written_ + buffer_.size(); }  ///< bytes so far, unpacked
  void commit();

 private:
  class Gzip;
  static constexpr std::size_t kFlushAt = std::size_t{1} << 20;
  void flush(bool last = false);
  void write(const void* data, std::size_t bytes);
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_, aside_;
  std::FILE* file_ = nullptr;
  fmt::memory_buffer buffer_;
  std::uint64_t written_ = 0;
  std::unique_ptr<Gzip> gzip_;
};

/// Makes the folder with its parents and checks that files can be made in it; ConfigError if not.
/// To be called before a simulation, so that hours of work are not lost.
void prepare_folder(const std::filesystem::path& folder);

/// Writes a JSON document, indented by two, with a line end.
void write_json(const std::filesystem::path& path, const nlohmann::ordered_json&);

}  // namespace weft
