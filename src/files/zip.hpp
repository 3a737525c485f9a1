// As much of the ZIP format as .npz files need: stored and deflated entries, zip64, no encryption.
#pragma once

#include <zlib.h>

#include "files/formats.hpp"

namespace hologram::files {

struct ZipEntry {
  std::string name;
  uint16_t method = 0;  // 0 stored, 8 deflated
  bool encrypted = false;
  uint32_t crc = 0;
  uint64_t packed = 0;  // bytes in the file
  uint64_t size = 0;    // bytes when unpacked
  uint64_t header = 0;  // offset of the local header
};

// The directory at the end of the file.
std::vector<ZipEntry> read_zip_directory(const Source& source);

// Unpacks one entry from its beginning.
class ZipReader {
 public:
  ZipReader(const Source& source, const ZipEntry& entry);
  ~ZipReader();
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;

  uint64_t left() const { return left_; }
  void read(void* to, uint64_t bytes);
  // After the last byte: the checksum must be right.
  void finish();

 private:
  void read_some(unsigned char* to, unsigned bytes);

  const Source& source_;
  const ZipEntry& entry_;
  std::span<const std::byte> packed_;
  uint64_t left_;
  uLong crc_;
  z_stream stream_ = {};
};

// Writes stored entries one after the other.
class ZipWriter {
 public:
  explicit ZipWriter(core::OutputFile& file) : file_(file) {}
  // An entry of exactly `size` bytes, which write() delivers.
  void begin(const std::string& name, uint64_t size);
  void write(const void* data, size_t bytes);
  void end();
  void finish();  // the directory

 private:
  core::OutputFile& file_;
  std::vector<ZipEntry> entries_;
};

}  // namespace hologram::files
