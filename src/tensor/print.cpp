// Tensors and shapes as text for people.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <ostream>

#include "core/half.hpp"
#include "hologram/movement.hpp"
#include "hologram/tensor.hpp"

namespace hologram {

namespace {

constexpr int64_t kMost = 1000, kEdge = 3;

// The fewest digits that give the same 16-bit float again.
template <class ToHalf>
std::string shortest(float value, const ToHalf& to_half) {
  for (int digits = 1; digits < 6; digits++) {
    std::string text = fmt::format("{:.{}g}", value, digits);
    if (to_half(std::stof(text)) == to_half(value)) return text;
  }
  return fmt::format("{}", value);
}

template <class T>
std::string number(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return fmt::format("{}", value);
}

std::string element(DType dtype, const std::byte* at) {
  uint16_t half = 0;
  switch (dtype) {
    case DType::Bool: return *at != std::byte(0) ? "true" : "false";
    case DType::I8: return fmt::format("{}", static_cast<int8_t>(*at));
    case DType::U8: return fmt::format("{}", static_cast<uint8_t>(*at));
    case DType::I16: return number<int16_t>(at);
    case DType::U16: return number<uint16_t>(at);
    case DType::I32: return number<int32_t>(at);
    case DType::U32: return number<uint32_t>(at);
    case DType::I64: return number<int64_t>(at);
    case DType::U64: return number<uint64_t>(at);
    case DType::F32: return number<float>(at);
    case DType::F64: return number<double>(at);
    case DType::F16:
      std::memcpy(&half, at, sizeof half);
      return shortest(core::f16_to_f32(half), core::f32_to_f16);
    case DType::BF16:
      std::memcpy(&half, at, sizeof half);
      return shortest(core::bf16_to_f32(half), core::f32_to_bf16);
    case DType::None: break;
  }
  return "";
}

class Text {
 public:
  Text(const Shape& whole, const Array& shown) : whole_(whole), shown_(shown.shape()) {
    for (size_t i = 0; i < shown.size(); i++) {
      words_.push_back(element(shown.dtype(), shown.data() + i * size_of(shown.dtype())));
      width_ = std::max(width_, words_.back().size());
    }
    if (whole_.size() < 2) width_ = 0;
  }
  std::string all() {
    axis(0);
    return std::move(text_);
  }

 private:
  void axis(size_t k) {
    if (k == whole_.size()) {
      text_ += fmt::format("{:>{}}", words_[next_++], width_);
      return;
    }
    text_ += '[';
    for (int64_t i = 0; i < shown_[k]; i++) {
      if (i != 0) between(k);
      if (i == kEdge && shown_[k] != whole_[k]) {
        text_ += "...";
        between(k);
      }
      axis(k + 1);
    }
    text_ += ']';
  }
  // Rows stand below each other, blocks of rows an empty line apart.
  void between(size_t k) {
    if (k + 1 == whole_.size()) {
      text_ += ", ";
      return;
    }
    text_ += ',';
    text_.append(whole_.size() - k - 1, '\n');
    text_.append(k + 1, ' ');
  }

  const Shape& whole_;
  const Shape shown_;
  std::vector<std::string> words_;
  size_t width_ = 0, next_ = 0;
  std::string text_;
};

}  // namespace

std::string to_string(const Tensor& tensor) {
  Tensor shown = tensor;
  if (tensor.size() > kMost)
    for (int k = 0; k < tensor.rank(); k++)
      if (tensor.size(k) > 2 * kEdge)
        shown = ops::concat({shown.slice(k, {0, kEdge}), shown.slice(k, {-kEdge, {}})}, k);
  const std::string values = Text(tensor.shape(), shown.array()).all();
  const bool in_lines = tensor.rank() > 1;
  return fmt::format("{}{}{}{}", name_of(tensor.dtype()), to_string(tensor.shape()),
                     in_lines ? '\n' : ' ', values);
}

std::ostream& operator<<(std::ostream& to, const Tensor& tensor) { return to << to_string(tensor); }
std::ostream& operator<<(std::ostream& to, const Shape& shape) { return to << to_string(shape); }

}  // namespace hologram
