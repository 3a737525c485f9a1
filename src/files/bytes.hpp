// Little-endian numbers in the headers of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace hologram::files {

// From any alignment; the host is little-endian (see layout.hpp).
template <class T>
T load_number(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

class ByteWriter {
 public:
  ByteWriter& u16(uint16_t value) { return raw(&value, sizeof value); }
  ByteWriter& u32(uint32_t value) { return raw(&value, sizeof value); }
  ByteWriter& u64(uint64_t value) { return raw(&value, sizeof value); }
  ByteWriter& text(std::string_view value) { return raw(value.data(), value.size()); }
  const char* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }

 private:
  ByteWriter& raw(const void* data, size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
    return *this;
  }
  std::string bytes_;
};

}  // namespace hologram::files
