#include "hologram/dtype.hpp"

#include <array>

namespace hologram {
namespace {

struct Row {
  std::string_view name;
  size_t size;
};
constexpr std::array<Row, kDTypeCount> kTypes = {{
    {"none", 0},
    {"bool", 1},
    {"i8", 1},
    {"u8", 1},
    {"i16", 2},
    {"u16", 2},
    {"i32", 4},
    {"u32", 4},
    {"i64", 8},
    {"u64", 8},
    {"f16", 2},
    {"bf16", 2},
    {"f32", 4},
    {"f64", 8},
}};

}  // namespace

size_t size_of(DType type) { return kTypes[static_cast<size_t>(type)].size; }
std::string_view name_of(DType type) { return kTypes[static_cast<size_t>(type)].name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (size_t i = 1; i < kDTypeCount; i++)
    if (kTypes[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace hologram
