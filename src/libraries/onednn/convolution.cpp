#include "libraries/onednn/convolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <optional>

#include "core/messages.hpp"
#include "hologram/error.hpp"

namespace hologram::libraries::onednn {
namespace {

using hal::ConvAxis;
using hal::ConvDesc;

constexpr int64_t kTilesWanted = 32;
constexpr double kTileFlops = 12e6;  // a tile of more is halved while there are too few
constexpr int64_t kTilesAThread = 4;
// Where several threads share few tiles: there are less than four for each if they had less work
// than the first number, and not one for each if they had less than the second.
constexpr double kTileOfSeveral = 5e6, kLeastTile = 0.7e6;
constexpr double kFlopsWorthAThread = 2e5;
constexpr size_t kMostPlans = 256;

bool is_float32(DType type) {
  return type == DType::F32 || type == DType::F16 || type == DType::BF16;
}

std::optional<hal::Refusal> refuses(const ConvDesc& d) {
  if (!is_float32(d.x) || !is_float32(d.w) || !is_float32(d.d) || d.accumulate != DType::F32)
    return hal::Refusal{
        fmt::format("no convolution of {} and {} to {}", name_of(d.x), name_of(d.w), name_of(d.d))};
  const auto backwards = [](int64_t stride) { return stride < 0; };
  // Weights that do are packed all the same.
  if (std::any_of(d.x_strides.begin(), d.x_strides.end(), backwards))
    return hal::Refusal{"an axis goes backwards"};
  // The library counts in 32 bits.
  constexpr double kMost = 0x1p30;
  const auto size = [](const Images& images, size_t first) {
    double product = 4;
    for (size_t k = first; k < 4; k++) product *= static_cast<double>(images.lengths[k]);
    return product;
  };
  const double largest =
      std::max({size(images_of(d), 1), size(weights_of(d), 0), size(results_of(d), 1)});
  if (largest == 0 || d.batch == 0) return hal::Refusal{"there is nothing to convolve"};
  for (const ConvAxis* a : {&d.rows, &d.columns})
    if (std::max({a->stride, a->dilation, a->before}) > (1 << 20))
      return hal::Refusal{"a stride, dilation or padding is too large"};
  if (largest > kMost) return hal::Refusal{"an image is too large"};
  return {};
}

// Images whose rows follow each other are one image, if no element meets another.
ConvDesc fold(ConvDesc d) {
  const auto alone = [](const ConvAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.before == 0 && a.input == a.output;
  };
  if (d.batch == 1 || !alone(d.rows) || !alone(d.columns) ||
      d.x_strides[0] != d.rows.input * d.x_strides[1])
    return d;
  d.rows.input = d.rows.output = d.batch * d.rows.input;
  d.batch = 1;
  return d;
}

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Of a row of the result; an element costs something, however few its terms.
double work_of_row(const ConvDesc& d) {
  constexpr double kElement = 32;
  const double flops = 2.0 * static_cast<double>(d.rows.kernel * d.columns.kernel * d.channels);
  return std::max(flops, kElement) * static_cast<double>(d.columns.output) *
         static_cast<double>(d.outputs * d.groups);
}

// For one thread tiles that suit its caches; for several, some for each, but none that is hardly
// worth a call.
int64_t rows_of_tile(const ConvDesc& d, int64_t threads) {
  const double work = work_of_row(d);
  int64_t rows = d.rows.output;
  while (divide_up(d.rows.output, rows) * d.batch < kTilesWanted && rows > 1 &&
         work * static_cast<double>(rows) > kTileFlops)
    rows = (rows + 1) / 2;
  if (threads == 1 || divide_up(d.rows.output, rows) * d.batch >= kTilesAThread * threads)
    return rows;
  const auto cut_for = [&](int64_t each) {
    return divide_up(d.rows.output, divide_up(each * threads, d.batch));
  };
  // Rows of the thread that has most of them.
  const auto longest = [&](int64_t cut) {
    return divide_up(divide_up(d.rows.output, cut) * d.batch, threads) * cut;
  };
  int64_t best = cut_for(1);
  for (int64_t each = 2; each <= kTilesAThread; each *= 2)
    if (const int64_t cut = cut_for(each);
        work * static_cast<double>(cut) >= kTileOfSeveral && longest(cut) <= longest(best))
      best = cut;
  const int64_t cut = std::min(rows, std::max(best, static_cast<int64_t>(kLeastTile / work) + 1));
  return longest(best) < longest(cut) ? best : cut;
}

ConvolutionPlan::Parts parts_of(const Library& library, const ConvDesc& d, int64_t rows) {
  ConvolutionPlan::Parts parts;
  std::vector<ConvAxis> made;
  for (int64_t first = 0; first < d.rows.output; first += rows) {
    ConvolutionPlan::Tile tile{.first = first, .rows = std::min(rows, d.rows.output - first)};
    ConvAxis a = d.rows;
    const int64_t top = first * a.stride - a.before;
    const int64_t end =
        std::min(a.input, top + (tile.rows - 1) * a.stride + (a.kernel - 1) * a.dilation + 1);
    tile.input = std::max<int64_t>(0, top);
    a.input = end - tile.input;
    a.output = tile.rows;
    a.before = tile.input - top;
    if (a.input > 0) {
      const auto known = std::find(made.begin(), made.end(), a);
      tile.primitive = static_cast<size_t>(known - made.begin());
      if (known == made.end()) {
        const ConvolutionShape shape{.batch = 1,
                                     .groups = d.groups,
                                     .channels = d.channels,
                                     .outputs = d.outputs,
                                     .rows = a,
                                     .columns = d.columns,
                                     .row_end = zeros_behind(a),
                                     .column_end = zeros_behind(d.columns)};
        parts.primitives.push_back(library.convolution(shape));
        parts.scratchpad = std::max(parts.scratchpad, parts.primitives.back()->scratchpad());
        made.push_back(a);
      }
    }
    parts.tiles.push_back(tile);
  }
  return parts;
}

}  // namespace

ConvolutionPlan::ConvolutionPlan(const Library& library, const ConvDesc& desc, Parts parts,
                                 std::shared_ptr<const WeightPacking> packing)
    : library_(library),
      name_("oneDNN convolution"),
      desc_(desc),
      x_(images_of(desc)),
      d_(results_of(desc)),
      parts_(std::move(parts)),
      packing_(std::move(packing)),
      copies_x_(desc.x != DType::F32 || !is_dense_each(x_)),
      copies_d_(desc.d != DType::F32) {
  if (!parts_.primitives.empty()) name_ += fmt::format(" ({})", parts_.primitives.front()->name());
  if (desc.x != DType::F32) name_ += " of f32 copies";
  const auto bytes = [](const Images& images) {
    return aligned(static_cast<uint64_t>(count_of(images.lengths)) * sizeof(float));
  };
  if (copies_x_) workspace_ += bytes(x_);
  d_at_ = workspace_;
  if (copies_d_) workspace_ += bytes(d_);
  for (const SharedPrimitive& p : parts_.primitives)
    parts_.weights_at.push_back(packing_->offset_for(*p));
}

// Made by the same implementation of the library from the weights as they are packed; none where it
// would choose another, or refuses.
std::optional<ConvolutionPlan::Parts> ConvolutionPlan::cut_again(int64_t rows) const try {
  Parts made = parts_of(library_, desc_, rows);
  const auto is_same = [this](const SharedPrimitive& p) {
    return p->name() == parts_.primitives.front()->name();
  };
  const auto are_same = [&](const std::vector<SharedPrimitive>& all) {
    return std::all_of(all.begin(), all.end(), is_same);
  };
  if (!are_same(parts_.primitives) || !are_same(made.primitives) ||
      !packing_->suits(weights_of(desc_), desc_.groups, made.primitives))
    return {};
  for (const SharedPrimitive& p : made.primitives)
    made.weights_at.push_back(packing_->offset_for(*p));
  return made;
} catch (const Error&) {
  return {};
}

const ConvolutionPlan::Parts& ConvolutionPlan::parts_for(int threads) const {
  const int64_t rows = rows_of_tile(desc_, threads);
  if (rows == parts_.tiles.front().rows || parts_.primitives.empty()) return parts_;
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = more_.try_emplace(rows);
  std::optional<Parts>& more = known->second;
  if (is_new) more = cut_again(rows);
  return more ? *more : parts_;
}

void ConvolutionPlan::run(std::span<const hal::Binding> operands, hal::Binding workspace,
                          core::Threads& threads) const {
  if (workspace.size < workspace_ || operands[1].size < packing_->packed_bytes())
    throw core::error(core::Text::InternalError, "a convolution lacks its workspace");
  std::byte* const room = workspace_ == 0 ? nullptr : workspace.buffer->host() + workspace.offset;
  std::byte *const x_data = data_of(x_, operands[0]), *const d_data = data_of(d_, operands[2]);
  const std::byte* const w = operands[1].buffer->host() + operands[1].offset;
  const float* x = reinterpret_cast<const float*>(x_data);
  auto* d = reinterpret_cast<float*>(d_data);
  std::array<int64_t, 4> x_strides = x_.strides;
  if (copies_x_) {
    auto* const copy = reinterpret_cast<float*>(room);
    widen(x_, x_data, copy, threads);
    x = copy;
    x_strides = dense_strides(x_.lengths);
  }
  if (copies_d_) d = reinterpret_cast<float*>(room + d_at_);

  const int64_t x_row = x_.lengths[2] * x_.lengths[3], d_row = d_.strides[1];
  const Parts& parts = parts_for(threads.count());
  const auto tiles = static_cast<int64_t>(parts.tiles.size());
  const double work =
      work_of_row(desc_) * static_cast<double>(desc_.rows.output) / static_cast<double>(tiles);
  const auto grain = static_cast<uint64_t>(std::max(1.0, kFlopsWorthAThread / work));
  threads.run(static_cast<uint64_t>(desc_.batch * tiles), grain, [&](uint64_t begin, uint64_t end) {
    const Scratch scratch(parts.scratchpad);
    const OneThread held = library_.alone();
    for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); i++) {
      const Tile& tile = parts.tiles[static_cast<size_t>(i % tiles)];
      const int64_t image = i / tiles;
      float* const to = d + image * d_.strides[0] + tile.first * d_row;
      if (tile.primitive == SIZE_MAX) {
        std::fill_n(to, tile.rows * d_row, 0.0f);
        continue;
      }
      const Primitive& primitive = *parts.primitives[tile.primitive];
      const Operand all[] = {
          {kSource, primitive.source(), x + image * x_strides[0] + tile.input * x_row},
          {kWeights, primitive.weights(), w + parts.weights_at[tile.primitive]},
          {kResult, primitive.result(), to},
          {kScratchpad, primitive.scratchpad_layout(), scratch.data()}};
      primitive.run(all);
    }
  });
  if (copies_d_) narrow(d, desc_.d, d_data, count_of(d_.lengths), threads);
}

hal::Expected<std::shared_ptr<HostPlan>> Convolutions::plan(const ConvDesc& desc) {
  const std::lock_guard lock(mutex_);
  if (last_ != nullptr && desc == asked_) return last_;
  if (auto refusal = refuses(desc)) return *refusal;
  const ConvDesc folded = fold(desc);
  const ConvNumbers key = numbers_of(folded);
  auto known = plans_.find(key);
  if (known == plans_.end()) {
    auto made = make(folded);
    if (auto* refusal = std::get_if<hal::Refusal>(&made)) return std::move(*refusal);
    if (plans_.size() >= kMostPlans) plans_.clear();
    known = plans_.emplace(key, std::get<std::shared_ptr<HostPlan>>(std::move(made))).first;
  }
  asked_ = desc;
  return last_ = known->second;
}

hal::Expected<std::shared_ptr<HostPlan>> Convolutions::make(const ConvDesc& desc) try {
  ConvolutionPlan::Parts parts = parts_of(*library_, desc, rows_of_tile(desc, 1));
  for (const SharedPrimitive& p : parts.primitives)
    if (p->name().find("ref") == 0) return hal::Refusal{"it has plain loops only for this one"};
  const Images weights = weights_of(desc);
  std::shared_ptr<const WeightPacking> packing;
  std::erase_if(packings_, [](const auto& p) { return p.expired(); });
  for (const auto& known : packings_)
    if (auto p = known.lock(); p != nullptr && p->suits(weights, desc.groups, parts.primitives))
      packing = std::move(p);
  if (packing == nullptr) {
    packing =
        std::make_shared<const WeightPacking>(*library_, weights, desc.groups, parts.primitives);
    packings_.push_back(packing);
  }
  return std::make_shared<ConvolutionPlan>(*library_, desc, std::move(parts), std::move(packing));
} catch (const Error& error) {
  return hal::Refusal{error.what()};
}

}  // namespace hologram::libraries::onednn
