// Where a random test takes its decisions from: a seed, or the bytes of a fuzzer.
#pragma once

#include <cstdint>
#include <span>

namespace hologram::oracle {

class Choices {
 public:
  explicit Choices(uint64_t seed) : state_(seed) {}
  // The bytes in order, and zeros after them; 0 is the plainest choice everywhere.
  explicit Choices(std::span<const uint8_t> bytes) : bytes_(bytes), from_bytes_(true) {}

  // 0 … count - 1; count is at least 1.
  uint32_t below(uint32_t count) {
    if (count <= 1) return 0;
    if (!from_bytes_) return static_cast<uint32_t>((next() >> 32) * count >> 32);
    uint32_t value = byte();
    if (count > 256) value = value << 8 | byte();
    if (count > 65536) value = value << 8 | byte();
    return value % count;
  }

  bool percent(uint32_t chance) { return below(100) >= 100 - chance; }

  uint64_t bits() {
    if (!from_bytes_) return next();
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value = value << 8 | byte();
    return value;
  }

  template <class T, size_t N>
  const T& of(const T (&list)[N]) {
    return list[below(N)];
  }

 private:
  uint8_t byte() { return at_ < bytes_.size() ? bytes_[at_++] : 0; }

  uint64_t next() {  // SplitMix64
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  uint64_t state_ = 0;
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool from_bytes_ = false;
};

}  // namespace hologram::oracle
