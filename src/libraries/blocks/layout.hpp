// How numbers in blocks lie in memory while they are multiplied: words of 32 bits.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hologram::libraries::blocks {

// Rows whose words lie side by side: a line of a GPU's caches, two vectors of AVX-512.
inline constexpr int64_t kTileRows = 32;

// One type. What stands in front of the codes is filled up to whole words, so that a word of codes
// is four elements that follow each other, or two times four.
struct Layout {
  std::string_view name;  // as GGUF calls it
  uint32_t elements, bytes;
  uint32_t header;  // bytes in front of the first byte that has to begin a word

  constexpr uint32_t gap() const { return (4 - header % 4) % 4; }
  constexpr uint32_t words() const { return (gap() + bytes + 3) / 4; }
  // Where a byte of the block is.
  constexpr uint32_t place(uint32_t byte) const { return byte < header ? byte : byte + gap(); }
};

inline constexpr Layout kLayouts[] = {
    {"Q4_0", 32, 18, 2},     {"Q4_1", 32, 20, 4},    {"Q5_0", 32, 22, 2},
    {"Q5_1", 32, 24, 4},     {"Q8_0", 32, 34, 2},    {"Q2_K", 256, 84, 16},
    {"Q3_K", 256, 110, 96},  {"Q4_K", 256, 144, 16}, {"Q5_K", 256, 176, 16},
    {"Q6_K", 256, 210, 192}, {"IQ4_NL", 32, 18, 2},  {"IQ4_XS", 256, 136, 8},
    {"MXFP4", 32, 17, 1},
};

// Null where there is none of that name.
constexpr const Layout* layout_of(std::string_view name) {
  for (const Layout& layout : kLayouts)
    if (layout.name == name) return &layout;
  return nullptr;
}

// Codes that are places in a table of these.
using Codes = std::array<int8_t, 16>;
inline constexpr Codes kNonLinear = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};
inline constexpr Codes kFp4 = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Of a block of 32 elements.
enum class Part : uint8_t { First, Second, Whole };

// A row's blocks are summed in so many parts, and then the parts: the order of all devices.
constexpr int64_t parts_of(int64_t blocks) {
  int64_t parts = 1;
  while (parts < 8 && parts * 2 <= blocks) parts *= 2;
  return parts;
}

}  // namespace hologram::libraries::blocks
