#include "libraries/packed/skinny.hpp"

#include <algorithm>

#include "core/messages.hpp"
#include "libraries/matrix_view.hpp"

namespace hologram::libraries::packed {
namespace {

// Of a result that is not small, and of a sum that is not long, others take less.
constexpr int64_t kMostRows = 32, kLeastTerms = 512;
constexpr int64_t kBytesWorthAThread = 1 << 17;
// Blocks whose part of b a near cache keeps while all rows go through it.
constexpr int64_t kBlocks = 8;

template <class T>
class Skinny : public HostPlan {
 public:
  Skinny(const hal::GemmDesc& desc, const SkinnyKernel<T>& kernel, const std::string& name)
      : kernel_(kernel),
        desc_(desc),
        name_(name),
        blocks_((desc.k + kTermsOfBlock - 1) / kTermsOfBlock),
        wide_((desc.n + kernel.lanes - 1) / kernel.lanes * kernel.lanes),
        of_block_(desc.m * wide_) {}

  const std::string& name() const override { return name_; }
  uint64_t workspace() const override {
    return static_cast<uint64_t>(desc_.batch * blocks_ * of_block_) * sizeof(T);
  }

  void run(std::span<const hal::Binding> operands, hal::Binding workspace,
           core::Threads& threads) const override {
    const hal::GemmDesc& g = desc_;
    if (workspace.size < this->workspace())
      throw core::error(core::Text::InternalError, "a product lacks its workspace");
    const std::array<MatrixView, 3> matrices = matrix_views(g);
    const auto data = [&](size_t i) {
      return reinterpret_cast<T*>(data_of(matrices[i], operands[i]));
    };
    const T *const a = data(0), *const b = data(1);
    T* const d = data(2);
    T* const sums = reinterpret_cast<T*>(workspace.buffer->host() + workspace.offset);
    const int64_t a_row = g.transpose_a ? 1 : g.lda, a_term = g.transpose_a ? g.lda : 1;
    const int64_t groups = (blocks_ + kBlocks - 1) / kBlocks;
    const int64_t bytes = kBlocks * kTermsOfBlock * (g.m + g.n) * static_cast<int64_t>(sizeof(T));
    threads.run(static_cast<uint64_t>(g.batch * groups),
                static_cast<uint64_t>(std::max<int64_t>(1, kBytesWorthAThread / bytes)),
                [&](uint64_t begin, uint64_t end) {
                  for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); i++) {
                    const int64_t z = i / groups, block = i % groups * kBlocks;
                    const int64_t term = block * kTermsOfBlock;
                    kernel_.run(a + z * g.stride_a + term * a_term, a_row, a_term,
                                b + z * g.stride_b + term * g.ldb, g.ldb,
                                std::min(kBlocks * kTermsOfBlock, g.k - term), g.m, g.n,
                                sums + (z * blocks_ + block) * of_block_);
                  }
                });
    for (int64_t z = 0; z < g.batch; z++)
      add_blocks(sums + z * blocks_ * of_block_, d + z * g.stride_d);
  }

 private:
  // The blocks, from the first to the last.
  void add_blocks(T* sums, T* d) const {
    for (int64_t i = 0; i < of_block_; i++) sums[i] += T{0};
    for (int64_t block = 1; block < blocks_; block++)
      for (int64_t i = 0; i < of_block_; i++) sums[i] += sums[block * of_block_ + i];
    for (int64_t row = 0; row < desc_.m; row++)
      std::copy_n(sums + row * wide_, desc_.n, d + row * desc_.ldd);
  }

  const SkinnyKernel<T>& kernel_;
  const hal::GemmDesc desc_;
  const std::string name_;
  const int64_t blocks_, wide_, of_block_;  // elements of a row and of all of a block's sums
};

template <class T>
std::shared_ptr<HostPlan> thin_of(const hal::GemmDesc& desc, const std::string& name) {
  const SkinnyKernel<T>* const kernel = skinny_kernel(T{});
  if (kernel == nullptr || desc.n > 2 * kernel->lanes) return nullptr;
  return std::make_shared<Skinny<T>>(desc, *kernel, name);
}

}  // namespace

std::shared_ptr<HostPlan> skinny_plan(const hal::GemmDesc& desc, const std::string& name) {
  const bool skinny =
      !desc.transpose_b && desc.m > 0 && desc.n > 0 && desc.m <= kMostRows && desc.k >= kLeastTerms;
  if (!skinny) return nullptr;
  return desc.a == DType::F32 ? thin_of<float>(desc, name) : thin_of<double>(desc, name);
}

}  // namespace hologram::libraries::packed
