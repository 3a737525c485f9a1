// The bytes of a file, mapped into memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hologram::core {

class MappedFile {
 public:
  // IoError if there is no such file or it cannot be read. Pipes are read to their end instead.
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  // The pages are private to the process and may be written; the file stays as it is.
  bool writable() const { return writable_; }
  // Not read as a whole, but page by page as it is looked at.
  bool mapped() const { return mapped_; }

  // Lets the pages that some of the bytes lie in leave memory; they come back from the file when
  // they are looked at. What was written to them is lost. Nothing if the file is not mapped.
  void forget(std::span<const std::byte> bytes) const;

 private:
  MappedFile() = default;
  void map(const std::string& path, int file, size_t size);
  void read_all(const std::string& path, int file);

  std::span<const std::byte> bytes_;
  std::vector<std::byte> copy_;  // of a file that cannot be mapped
  bool mapped_ = false;
  bool writable_ = false;
};

}  // namespace hologram::core
