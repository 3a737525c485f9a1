#include "libraries/packed/depthwise.hpp"

#include <algorithm>

#include "libraries/images.hpp"

namespace hologram::libraries::packed {
namespace {

using hal::ConvDesc;

constexpr double kFlopsWorthAThread = 2e5;

class Depthwise : public HostPlan {
 public:
  explicit Depthwise(const ConvDesc& desc) : row_(depthwise_kernel()->row), desc_(desc) {}

  const std::string& name() const override {
    static const std::string name = "hologram f32 depthwise convolution";
    return name;
  }

  void run(std::span<const hal::Binding> operands, hal::Binding /*workspace*/,
           core::Threads& threads) const override {
    const ConvDesc& c = desc_;
    const Images results = results_of(c);
    const auto* const x = reinterpret_cast<const float*>(data_of(images_of(c), operands[0]));
    const auto* const w = reinterpret_cast<const float*>(data_of(weights_of(c), operands[1]));
    auto* const d = reinterpret_cast<float*>(data_of(results, operands[2]));
    const hal::ConvAxis& a = c.rows;
    const double work = 2.0 * static_cast<double>(results.strides[1] * a.kernel * c.columns.kernel);
    const auto grain = static_cast<uint64_t>(std::max(1.0, kFlopsWorthAThread / work));
    const auto rows = [&](uint64_t begin, uint64_t end) {
      for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); i++) {
        const int64_t image = i / a.output, top = i % a.output * a.stride - a.before;
        // Those of the kernel that are inside.
        const int64_t first = top < 0 ? (-top + a.dilation - 1) / a.dilation : 0;
        const int64_t last = top < a.input ? (a.input - 1 - top) / a.dilation : -1;
        const int64_t count = std::max<int64_t>(0, std::min(last + 1, a.kernel) - first);
        const int64_t from = count > 0 ? (top + first * a.dilation) * c.x_strides[1] : 0;
        row_(c, x + image * c.x_strides[0] + from, w + first * c.w_strides[0], count,
             d + i * results.strides[1]);
      }
    };
    threads.run(static_cast<uint64_t>(c.batch * a.output), grain, rows);
  }

 private:
  decltype(DepthwiseKernel::row) row_;
  const ConvDesc desc_;
};

}  // namespace

bool takes(const ConvDesc& desc) {
  const DepthwiseKernel* const kernel = depthwise_kernel();
  if (kernel == nullptr || desc.channels != 1 || desc.outputs != 1 || desc.groups < kernel->least)
    return false;
  for (const DType type : {desc.x, desc.w, desc.d, desc.accumulate})
    if (type != DType::F32) return false;
  const auto backwards = [](int64_t stride) { return stride < 0; };
  if (desc.x_strides[3] != 1 || desc.w_strides[3] != 1 ||
      std::any_of(desc.x_strides.begin(), desc.x_strides.end(), backwards) ||
      std::any_of(desc.w_strides.begin(), desc.w_strides.end(), backwards))
    return false;
  for (const Images& images : {images_of(desc), weights_of(desc), results_of(desc)})
    if (count_of(images.lengths) == 0) return false;
  return true;
}

std::shared_ptr<HostPlan> plan(const ConvDesc& desc) { return std::make_shared<Depthwise>(desc); }

}  // namespace hologram::libraries::packed
