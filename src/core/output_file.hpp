// A file that appears all at once or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hologram::core {

// Writes to a temporary file beside `path`; commit() renames it, the destructor removes what was
// not committed. Every failure is an IoError that names `path` and the reason.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }  // bytes written so far

  void write(const void* data, size_t bytes);
  // Replaces bytes that were written before.
  void patch(uint64_t offset, const void* data, size_t bytes);

  void close();   // all data is with the system now
  void commit();  // close() and rename

 private:
  void flush();
  void send(const std::byte* data, size_t bytes);

  std::string path_;
  std::string temporary_;  // empty once it is gone
  int file_ = -1;
  uint64_t size_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace hologram::core
