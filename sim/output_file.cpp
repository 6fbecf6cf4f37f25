#include "sim/output_file.h"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "sim/check.h"
#include "sim/config.h"

namespace weft {
namespace {

[[noreturn]] void fail_to_write(const std::filesystem::path& path, const std::string& reason) {
  throw ConfigError(fmt::format("{}: cannot be written: {}\n  choose another folder with -o",
                                path.string(), reason));
}

}  // namespace

/// Packs a stream of bytes (zlib, in the format of gzip; no name and no date, so that the same
/// bytes come out each time).
class OutputFile::Gzip {
 public:
  Gzip() {
    constexpr int kLevel = 4;  // on traces half as slow as the default, and hardly larger
    constexpr int kGzip = 16 + MAX_WBITS;
    constexpr int kMemory = 8;  // zlib's default
    check(deflateInit2(&stream_, kLevel, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) == Z_OK,
          "zlib cannot start");
  }
  ~Gzip() { deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  /// Takes bytes in; what comes out goes to `sink(data, bytes)`.
  template <class Sink>
  void pack(std::string_view bytes, bool last, const Sink& sink) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = out_.data();
      stream_.avail_out = static_cast<uInt>(out_.size());
      check(deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH) != Z_STREAM_ERROR, "zlib is confused");
      sink(out_.data(), out_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

 private:
  z_stream stream_{};
  std::array<Bytef, std::size_t{1} << 16> out_{};
};

OutputFile::OutputFile(std::filesystem::path path, Packing packing)
    : path_(std::move(path)), aside_(path_) {
  aside_ += ".tmp";
  file_ = std::fopen(aside_.c_str(), "wb");
  if (!file_) fail(errno);
  if (packing == Packing::gzip) gzip_ = std::make_unique<Gzip>();
}

OutputFile::~OutputFile() {
  if (!file_) return;
  std::fclose(file_);
  std::error_code ignored;
  std::filesystem::remove(aside_, ignored);
}

void OutputFile::append(std::string_view text_part) {
  buffer_.append(text_part.data(), text_part.data() + text_part.size());
  if (buffer_.size() >= kFlushAt) flush();
}

void OutputFile::write(const void* data, std::size_t bytes) {
  if (bytes > 0 && std::fwrite(data, 1, bytes, file_) != bytes) fail(errno);
}

void OutputFile::flush(bool last) {
  const auto sink = [this](const void* data, std::size_t bytes) { write(data, bytes); };
  if (gzip_)
    gzip_->pack({buffer_.data(), buffer_.size()}, last, sink);
  else
    sink(buffer_.data(), buffer_.size());
  written_ += buffer_.size();
  buffer_.clear();
}

void OutputFile::commit() {
  check(file_ != nullptr, "an output file is committed once");
  flush(true);
  if (std::fflush(file_) != 0) fail(errno);
  const int closed = std::fclose(std::exchange(file_, nullptr));
  std::error_code error;
  if (closed == 0) std::filesystem::rename(aside_, path_, error);
  if (closed == 0 && !error) return;
  const int reason = closed != 0 ? errno : error.value();
  std::filesystem::remove(aside_, error);
  fail(reason);
}

void OutputFile::fail(int error) const { fail_to_write(path_, std::strerror(error)); }

void prepare_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail_to_write(folder, error.message());
  if (!std::filesystem::is_directory(folder, error)) fail_to_write(folder, std::strerror(ENOTDIR));
  const OutputFile probe(folder / "summary.json");
}

void write_json(const std::filesystem::path& path, const nlohmann::ordered_json& json) {
  OutputFile file(path);
  // Names come from the user: what is no UTF-8 in them is replaced rather than refused.
  file.append(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  file.append("\n");
  file.commit();
}

}  // namespace weft
