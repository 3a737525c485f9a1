#include "libraries/blocks/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/processor.hpp"
#include "libraries/blocks/layout.hpp"

namespace hologram::libraries::blocks {
namespace {

using hal::BlocksDesc;
using hal::BytesDesc;

constexpr int64_t kElementsWorthAThread = 1 << 14;
constexpr double kProductsWorthAThread = 1 << 18;
// AMD's processors know by themselves what comes next; Intel's read a third more if they are told.
constexpr int64_t kWordsAhead = 1024;

uint64_t grain_of(double wanted, double each) {
  return static_cast<uint64_t>(std::max(1.0, wanted / std::max(1.0, each)));
}

class Rounding : public HostPlan {
 public:
  Rounding(const BytesDesc& desc, const Kernels& kernels)
      : kernels_(kernels), desc_(desc), name_(fmt::format("hologram bytes, {}", kernels.name)) {}
  const std::string& name() const override { return name_; }

  void run(std::span<const hal::Binding> operands, hal::Binding /*workspace*/,
           core::Threads& threads) const override {
    const auto* const x = data_at<const float>(operands[0]);
    auto* const d = data_at<uint32_t>(operands[1]);
    // Rows lie one behind the other, and so do their blocks.
    threads.run(static_cast<uint64_t>(desc_.rows * desc_.length / BytesDesc::kBlock),
                kElementsWorthAThread / BytesDesc::kBlock, [&](uint64_t begin, uint64_t end) {
                  kernels_.round(x + begin * BytesDesc::kBlock, static_cast<int64_t>(end - begin),
                                 d + begin * BytesDesc::kWords);
                });
  }

 private:
  const Kernels& kernels_;
  const BytesDesc desc_;
  const std::string name_;
};

class Product : public HostPlan {
 public:
  Product(const BlocksDesc& desc, const Kernels& kernels)
      : desc_(desc),
        kernels_(kernels),
        layout_(*layout_of(desc.type)),
        type_(*kernels.of(desc.type)),
        name_(fmt::format("hologram {} by bytes, {}", desc.type, kernels.name)),
        blocks_(desc.columns / layout_.elements),
        tiles_((desc.rows + kTileRows - 1) / kTileRows),
        of_tile_(blocks_ * layout_.words() * kTileRows),
        of_x_(desc.columns / BytesDesc::kBlock * BytesDesc::kWords) {}
  const std::string& name() const override { return name_; }

  void run(std::span<const hal::Binding> operands, hal::Binding /*workspace*/,
           core::Threads& threads) const override {
    const auto* const x = data_at<const uint32_t>(operands[0]);
    const auto* const words = data_at<const uint32_t>(operands[1]);
    const auto* const which = desc_.chosen ? data_at<const int32_t>(operands[2]) : nullptr;
    auto* const d = data_at<float>(operands.back());
    // A task is a tile with all rows of x, or with the one that has chosen its matrix.
    const int64_t rounds = desc_.chosen ? desc_.m : 1, columns = desc_.chosen ? 1 : desc_.m;
    const double products =
        static_cast<double>(kTileRows * desc_.columns) * static_cast<double>(columns);
    threads.run(static_cast<uint64_t>(rounds * tiles_), grain_of(kProductsWorthAThread, products),
                [&](uint64_t begin, uint64_t end) {
                  for (uint64_t i = begin; i < end; i++) {
                    const auto round = static_cast<int64_t>(i) / tiles_;
                    const int64_t tile = static_cast<int64_t>(i) % tiles_;
                    const int64_t matrix = which == nullptr ? 0 : which[round];
                    float* const to = d + round * desc_.rows + tile * kTileRows;
                    if (matrix < 0 || matrix >= desc_.count) clear(tile, to);
                    else
                      multiply(words + (matrix * tiles_ + tile) * of_tile_, tile, x + round * of_x_,
                               columns, to);
                  }
                });
  }

 private:
  size_t row_bytes(int64_t tile) const {
    return static_cast<size_t>(std::min(kTileRows, desc_.rows - tile * kTileRows)) * sizeof(float);
  }
  void clear(int64_t tile, float* d) const { std::memset(d, 0, row_bytes(tile)); }

  void multiply(const uint32_t* words, int64_t tile, const uint32_t* x, int64_t columns,
                float* d) const {
    const bool whole = (tile + 1) * kTileRows <= desc_.rows;
    Tile t{};
    t.words = words;
    t.blocks = blocks_;
    t.parts = parts_of(blocks_);
    t.ahead = core::is_amd() ? 0 : kWordsAhead;
    alignas(64) float kept[8 * kTileRows];
    for (int64_t c = 0; c < columns;) {
      const int64_t some = c + kernels_.columns <= columns ? kernels_.columns : 1;
      for (int64_t i = 0; i < some; i++) t.x[i] = x + (c + i) * of_x_;
      float* const to = d + c * desc_.rows;
      t.y = whole ? to : kept;
      t.step = whole ? desc_.rows : kTileRows;
      (some == 1 ? type_.one : type_.many)(t);
      for (int64_t i = 0; !whole && i < some; i++)
        std::memcpy(to + i * desc_.rows, kept + i * kTileRows, row_bytes(tile));
      c += some;
    }
  }

  const BlocksDesc desc_;
  const Kernels& kernels_;
  const Layout& layout_;
  const TypeKernels& type_;
  const std::string name_;
  const int64_t blocks_, tiles_, of_tile_, of_x_;  // of a row; words of a tile, of a row of x
};

}  // namespace

std::optional<hal::Refusal> refuses(const BlocksDesc& desc) {
  const Layout* const layout = layout_of(desc.type);
  if (layout == nullptr) return hal::Refusal{fmt::format("no blocks of {}", desc.type)};
  if (desc.columns % layout->elements != 0)
    return hal::Refusal{fmt::format("rows of {} are no whole blocks", desc.columns)};
  return {};
}

std::shared_ptr<HostPlan> plan(const BytesDesc& desc, const Kernels& kernels) {
  return std::make_shared<Rounding>(desc, kernels);
}
std::shared_ptr<HostPlan> plan(const BytesDesc& desc) { return plan(desc, *kernels().front()); }
std::shared_ptr<HostPlan> plan(const BlocksDesc& desc, const Kernels& kernels) {
  return std::make_shared<Product>(desc, kernels);
}
std::shared_ptr<HostPlan> plan(const BlocksDesc& desc) { return plan(desc, *kernels().front()); }

}  // namespace hologram::libraries::blocks
