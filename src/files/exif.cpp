#include "files/exif.hpp"

#include <cstdint>
#include <cstring>

namespace hologram::files {
namespace {

constexpr size_t kTiff = 6;  // after "Exif\0\0"; offsets count from here
constexpr uint32_t kOrientationTag = 0x0112;
constexpr uint32_t kShortType = 3;

}  // namespace

int exif_orientation(std::span<const unsigned char> app1) {
  if (app1.size() < kTiff + 8 || std::memcmp(app1.data(), "Exif\0", kTiff) != 0) return 1;
  const std::span<const unsigned char> tiff = app1.subspan(kTiff);
  const bool little = tiff[0] == 'I';
  // Zero beyond the end, which is no valid value anywhere below.
  const auto read = [&](size_t at, size_t bytes) {
    uint32_t value = 0;
    if (at > tiff.size() || bytes > tiff.size() - at) return value;
    for (size_t i = 0; i < bytes; i++)
      value |= static_cast<uint32_t>(tiff[at + i]) << 8 * (little ? i : bytes - 1 - i);
    return value;
  };
  if (read(2, 2) != 42) return 1;
  const size_t directory = read(4, 4);
  const uint32_t entries = read(directory, 2);
  for (uint32_t i = 0; i < entries; i++) {
    const size_t entry = directory + 2 + size_t{i} * 12;
    if (read(entry, 2) != kOrientationTag || read(entry + 2, 2) != kShortType) continue;
    const uint32_t value = read(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace hologram::files
