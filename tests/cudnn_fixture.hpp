// A test of cuDNN on the emulated driver, with the library emulated as well.
#pragma once

#include "algorithms/weight_order.hpp"
#include "cuda_library_fixture.hpp"
#include "fake_cudnn.hpp"
#include "product_cases.hpp"

namespace hologram {

namespace cudnn_cases {

using hal::ConvAxis;
using hal::ConvDesc;

struct Types {
  DType x, d;
};
inline constexpr Types kTypes[] = {{DType::F32, DType::F32}, {DType::F64, DType::F64},
                                   {DType::F16, DType::F16}, {DType::BF16, DType::BF16},
                                   {DType::F16, DType::F32}, {DType::BF16, DType::F32}};

inline ConvAxis axis(int64_t input, int64_t kernel, int64_t stride = 1, int64_t dilation = 1,
                     int64_t before = 0, int64_t behind = 0) {
  return {.input = input,
          .kernel = kernel,
          .output = (input + before + behind - (kernel - 1) * dilation - 1) / stride + 1,
          .stride = stride,
          .dilation = dilation,
          .before = before};
}

// Images dense, weights by output.
inline ConvDesc describe(const Types& types, int64_t batch, int64_t groups, int64_t channels,
                         int64_t outputs, const ConvAxis& rows, const ConvAxis& columns) {
  ConvDesc d;
  d.x = d.w = types.x;
  d.d = types.d;
  d.accumulate = types.x == DType::F64 ? DType::F64 : DType::F32;
  d.batch = batch;
  d.groups = groups;
  d.channels = channels;
  d.outputs = outputs;
  d.rows = rows;
  d.columns = columns;
  const int64_t all = channels * groups;
  d.x_strides = {rows.input * columns.input * all, columns.input * all, all, 1};
  d.w_strides = graph::strides_by_output(d);
  return d;
}
inline ConvDesc describe(const Types& types = kTypes[0]) {
  return describe(types, 2, 1, 3, 4, axis(7, 3, 1, 1, 1, 1), axis(6, 3, 2, 1, 1, 0));
}

struct Operands {
  std::array<std::vector<std::byte>, 3> memory;
  Operands(const ConvDesc& d, uint32_t seed) {
    const size_t counts[] = {
        static_cast<size_t>(d.batch * d.rows.input * d.columns.input * d.channels * d.groups),
        static_cast<size_t>(d.rows.kernel * d.columns.kernel * d.channels * d.outputs * d.groups),
        static_cast<size_t>(d.batch * d.rows.output * d.columns.output * d.outputs * d.groups)};
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> some(-1, 1);
    for (size_t i = 0; i < 3; i++) {
      const DType type = i == 2 ? d.d : d.x;
      memory[i].resize(counts[i] * size_of(type));
      for (size_t k = 0; k < counts[i]; k++)
        products::put(type, memory[i].data() + k * size_of(type), some(random));
    }
  }
  double at(const ConvDesc& d, size_t i, int64_t k) const {
    const DType type = i == 2 ? d.d : d.x;
    return static_cast<double>(
        products::element(type, memory[i].data() + static_cast<size_t>(k) * size_of(type)));
  }
};

// The largest error, as a part of what the type holds near 1.
inline double rounding_of(const ConvDesc& d, const Operands& o) {
  double most = 0;
  int64_t at = 0;
  for (int64_t n = 0; n < d.batch; n++)
    for (int64_t row = 0; row < d.rows.output; row++)
      for (int64_t column = 0; column < d.columns.output; column++)
        for (int64_t k = 0; k < d.outputs * d.groups; k++, at++) {
          double sum = 0;
          for (int64_t i = 0; i < d.rows.kernel; i++)
            for (int64_t j = 0; j < d.columns.kernel; j++) {
              const int64_t y = row * d.rows.stride + i * d.rows.dilation - d.rows.before,
                            x = column * d.columns.stride + j * d.columns.dilation -
                                d.columns.before;
              if (y < 0 || y >= d.rows.input || x < 0 || x >= d.columns.input) continue;
              for (int64_t c = 0; c < d.channels; c++)
                sum += o.at(d, 0,
                            n * d.x_strides[0] + y * d.x_strides[1] + x * d.x_strides[2] +
                                k / d.outputs * d.channels + c) *
                       o.at(d, 1, i * d.w_strides[0] + j * d.w_strides[1] + c + k * d.w_strides[3]);
            }
          most = std::max(most, std::fabs(sum - o.at(d, 2, at)) / std::max(1.0, std::fabs(sum)));
        }
  return most / products::epsilon(d.d);
}

}  // namespace cudnn_cases

class CudnnTest : public CudaLibraryTest<FakeCudnn> {
 public:
  CudnnTest() : CudaLibraryTest("HOLOGRAM_CUDNN_LIBRARY", FAKE_CUDNN, "fake_cudnn") {}
};

}  // namespace hologram
