#include "libraries/images.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/half.hpp"
#include "core/messages.hpp"

namespace hologram::libraries {
namespace {

constexpr int64_t kElementsWorthAThread = 16384;
constexpr int64_t kBlock = 16;  // elements of f32 in a line of the cache

float value_of(float x, DType) { return x; }
float value_of(uint16_t x, DType type) {
  return type == DType::F16 ? core::f16_to_f32(x) : core::bf16_to_f32(x);
}

// Rows of `across`, `down` of them, whatever lies beside what in `from`.
template <class T>
void widen_block(const T* from, DType type, int64_t down, int64_t down_stride, int64_t across,
                 int64_t across_stride, float* to) {
  if (across_stride == 1) {
    for (int64_t i = 0; i < down; i++) {
      const T* x = from + i * down_stride;
      float* y = to + i * across;
      if (type == DType::F32) std::memcpy(y, x, static_cast<size_t>(across) * sizeof(float));
      else
        for (int64_t j = 0; j < across; j++) y[j] = value_of(x[j], type);
    }
    return;
  }
  for (int64_t i = 0; i < down; i += kBlock)
    for (int64_t j = 0; j < across; j++) {
      const T* x = from + j * across_stride;
      for (int64_t k = i; k < std::min(i + kBlock, down); k++)
        to[k * across + j] = value_of(x[k * down_stride], type);
    }
}

}  // namespace

Images images_of(const hal::ConvDesc& desc) {
  return {"x",
          desc.x,
          {desc.batch, desc.rows.input, desc.columns.input, desc.channels * desc.groups},
          desc.x_strides};
}
Images weights_of(const hal::ConvDesc& desc) {
  return {"w",
          desc.w,
          {desc.rows.kernel, desc.columns.kernel, desc.channels, desc.outputs * desc.groups},
          desc.w_strides};
}
Images results_of(const hal::ConvDesc& desc) {
  const std::array<int64_t, 4> lengths = {desc.batch, desc.rows.output, desc.columns.output,
                                          desc.outputs * desc.groups};
  if (!desc.planes) return {"d", desc.d, lengths, dense_strides(lengths)};
  const auto& [images, rows, columns, outputs] = lengths;
  return {"d", desc.d, lengths, {outputs * rows * columns, columns, 1, rows * columns}};
}

int64_t zeros_behind(const hal::ConvAxis& axis) {
  return std::max<int64_t>(0, (axis.output - 1) * axis.stride - axis.before +
                                  (axis.kernel - 1) * axis.dilation + 1 - axis.input);
}

ConvNumbers numbers_of(const hal::ConvDesc& desc) {
  ConvNumbers numbers{};
  size_t at = 0;
  for (const DType type : {desc.x, desc.w, desc.d, desc.accumulate})
    numbers.at(at++) = static_cast<int64_t>(type);
  for (const int64_t n : {desc.batch, desc.groups, desc.channels, desc.outputs})
    numbers.at(at++) = n;
  for (const hal::ConvAxis* a : {&desc.rows, &desc.columns})
    for (const int64_t n : {a->input, a->kernel, a->output, a->stride, a->dilation, a->before})
      numbers.at(at++) = n;
  for (const int64_t n : desc.x_strides) numbers.at(at++) = n;
  for (const int64_t n : desc.w_strides) numbers.at(at++) = n;
  numbers.at(at++) = desc.planes ? 1 : 0;
  return numbers;
}

std::array<int64_t, 4> dense_strides(const std::array<int64_t, 4>& lengths) {
  const auto& [a, b, c, d] = lengths;
  return {b * c * d, c * d, d, 1};
}

int64_t count_of(const std::array<int64_t, 4>& lengths) {
  const auto& [a, b, c, d] = lengths;
  return a * b * c * d;
}

bool is_dense_each(const Images& images) {
  const std::array<int64_t, 4> dense = dense_strides(images.lengths);
  for (size_t k = 1; k < 4; k++)
    if (images.lengths[k] > 1 && images.strides[k] != dense[k]) return false;
  return true;
}

std::byte* data_of(const Images& images, const hal::Binding& binding) {
  __int128 elements = 1;
  for (size_t k = 0; k < 4; k++)
    elements += static_cast<__int128>(images.lengths[k] - 1) * images.strides[k];
  if (elements * static_cast<int64_t>(size_of(images.type)) > static_cast<__int128>(binding.size))
    throw core::error(core::Text::InternalError,
                      fmt::format("{} is beyond its memory", images.name));
  return binding.buffer->host() + binding.offset;
}

void widen(const Images& images, const std::byte* from, float* to, core::Threads& threads) {
  const int64_t outer = images.lengths[0], rows = images.lengths[1], down = images.lengths[2],
                across = images.lengths[3];
  const auto& s = images.strides;
  const int64_t block = std::max<int64_t>(1, down * across);
  const auto grain = static_cast<uint64_t>(kElementsWorthAThread / block + 1);
  threads.run(static_cast<uint64_t>(outer * rows), grain, [&](uint64_t begin, uint64_t end) {
    for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); i++) {
      const int64_t at = i / rows * s[0] + i % rows * s[1];
      const std::byte* x = from + at * static_cast<int64_t>(size_of(images.type));
      float* y = to + i * block;
      if (images.type == DType::F32)
        widen_block(reinterpret_cast<const float*>(x), images.type, down, s[2], across, s[3], y);
      else
        widen_block(reinterpret_cast<const uint16_t*>(x), images.type, down, s[2], across, s[3], y);
    }
  });
}

void narrow(const float* from, DType type, std::byte* to, int64_t count, core::Threads& threads) {
  auto* const y = reinterpret_cast<uint16_t*>(to);
  threads.run(
      static_cast<uint64_t>(count), kElementsWorthAThread, [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; i++)
          y[i] = type == DType::F16 ? core::f32_to_f16(from[i]) : core::f32_to_bf16(from[i]);
      });
}

}  // namespace hologram::libraries
