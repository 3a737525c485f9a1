// Images and weights as they lie in memory, for libraries that want them dense and of f32.
#pragma once

#include <array>
#include <cstdint>

#include "core/parallel.hpp"
#include "hologram/hal/buffer.hpp"
#include "hologram/hal/operations.hpp"

namespace hologram::libraries {

// Four axes, the last of which are neighbours where it is dense. Strides are in elements, 0 or
// more.
struct Images {
  const char* name;
  DType type;
  std::array<int64_t, 4> lengths, strides;
};

std::array<int64_t, 4> dense_strides(const std::array<int64_t, 4>& lengths);
int64_t count_of(const std::array<int64_t, 4>& lengths);

// Whether each of them is dense; they may be anything apart.
bool is_dense_each(const Images& images);

// The three of a convolution.
Images images_of(const hal::ConvDesc& desc);
Images weights_of(const hal::ConvDesc& desc);
Images results_of(const hal::ConvDesc& desc);

// Zeros behind an axis: as many as its results reach.
int64_t zeros_behind(const hal::ConvAxis& axis);

// What tells one convolution from another, but for how its operands are aligned.
using ConvNumbers = std::array<int64_t, 29>;
ConvNumbers numbers_of(const hal::ConvDesc& desc);

// Where they are in the host's memory; InternalError if that is too small for them.
std::byte* data_of(const Images& images, const hal::Binding& binding);

// A dense copy; of f32, f16 or bf16.
void widen(const Images& images, const std::byte* from, float* to, core::Threads& threads);
// The same elements, rounded to f16 or bf16.
void narrow(const float* from, DType type, std::byte* to, int64_t count, core::Threads& threads);

}  // namespace hologram::libraries
