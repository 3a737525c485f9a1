// hologram's own convolution of images: one Atlas program for every device, type and layout, for
// when no library takes it.
#pragma once

#include <cstdint>
#include <vector>

#include "hologram/executor.hpp"
#include "hologram/hal/operations.hpp"
#include "hologram/program.hpp"

namespace hologram::libraries {

// How the channels of an output follow from its number.
enum class ConvGroups : uint8_t {
  One,      // all channels
  Single,   // the one channel of that number
  Several,  // those of its group
};

// What the program depends on. Sizes, strides and starts are arguments.
struct ConvKey {
  DType x = DType::None, w = DType::None, d = DType::None;
  DType accumulate = DType::None;  // a compute type
  ConvGroups groups = ConvGroups::One;
  bool along_columns = false;  // lanes lie along a row of the image instead of along the outputs
  bool padded = false;         // columns outside of the image are looked at
  bool wide = false;           // indices are i64
  bool planes = false;         // results lie as image, output, row, column
  uint8_t times = 4;           // how many columns (outputs, if lanes lie along columns) a lane has
  uint8_t lanes = 0;           // of a workgroup, in units of 32
  friend bool operator==(const ConvKey&, const ConvKey&) = default;
};

// How to launch: the bindings are x, w, d, and x and w start at these elements. The grid is empty
// where d is.
struct ConvLaunch {
  ConvKey key;
  Grid grid = {0, 0, 0};
  std::vector<uint64_t> scalars;
};

// Chosen by types, sizes and strides alone, so that it is the same on every device.
ConvLaunch convolution_launch(const hal::ConvDesc& desc, int64_t x_start, int64_t w_start);

// Sums go over rows, then columns of the kernel, for each by blocks of channels (kTermsOfBlock),
// with fma; integers wrap. What lies outside of the image adds nothing where it is a row, and zeros
// where it is a column. An empty sum is 0.
program::Program convolution_program(const ConvKey& key);

}  // namespace hologram::libraries
