#include "core/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

#include "core/messages.hpp"

namespace hologram::core {
namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;

[[noreturn]] void fail(const std::string& path, int code) {
  throw error(Text::FileNotWritable, path, std::generic_category().message(code));
}

std::string temporary_name(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  return folder + ".hologram-" + std::to_string(getpid()) + "-" + std::to_string(counter++) +
         ".tmp";
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  // A rename would put a file in the place of a device; over a folder it would fail only at the
  // end.
  struct stat status;
  if (lstat(path_.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) fail(path_, EISDIR);
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
      throw error(Text::FileNotWritable, path_, "it is a device or a pipe");
  }
  buffer_.reserve(kBufferBytes);
  do {
    temporary_ = temporary_name(path_);
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file_ < 0 && (errno == EEXIST || errno == EINTR));
  if (file_ < 0) fail(path_, errno);
}

OutputFile::~OutputFile() {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::write(const void* data, size_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  size_ += bytes;
  if (buffer_.size() + bytes > kBufferBytes) flush();
  if (bytes >= kBufferBytes) {
    send(from, bytes);
  } else {
    buffer_.insert(buffer_.end(), from, from + bytes);
  }
}

void OutputFile::patch(uint64_t offset, const void* data, size_t bytes) {
  flush();
  const auto* from = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const ssize_t sent = pwrite(file_, from, bytes, static_cast<off_t>(offset));
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) fail(path_, errno);
    from += sent;
    offset += static_cast<uint64_t>(sent);
    bytes -= static_cast<size_t>(sent);
  }
}

void OutputFile::flush() {
  send(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void OutputFile::send(const std::byte* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = ::write(file_, data, bytes);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) fail(path_, errno);
    data += sent;
    bytes -= static_cast<size_t>(sent);
  }
}

void OutputFile::close() {
  if (file_ < 0) return;
  flush();
  const int file = file_;
  file_ = -1;
  // Some file systems report a full disk only here.
  if (::close(file) != 0 && errno != EINTR) fail(path_, errno);
}

void OutputFile::commit() {
  close();
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, errno);
  temporary_.clear();
}

}  // namespace hologram::core
