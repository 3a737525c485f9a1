#include "libraries/onednn/packing.hpp"

#include <algorithm>
#include <cstring>

#include "core/digest.hpp"
#include "core/messages.hpp"

namespace hologram::libraries::onednn {
namespace {

constexpr int64_t kLine = 16;  // elements of f32 in a line of the cache
constexpr int64_t kElementsWorthAThread = 16384;
constexpr uint32_t kRunsWithoutLooking = 8;

bool same_source(const Images& a, const Images& b) {
  return a.type == b.type && a.lengths == b.lengths && a.strides == b.strides;
}

// Elements before the first one, where strides are negative, and from it to behind the last.
struct Reach {
  int64_t before = 0, behind = 1;
};
Reach reach_of(const Images& images) {
  Reach reach;
  for (size_t k = 0; k < 4; k++) {
    const int64_t step = (images.lengths[k] - 1) * images.strides[k];
    (step < 0 ? reach.before : reach.behind) += std::abs(step);
  }
  return reach;
}

// What a Keeping knows of the weights that it packed.
struct Mark {
  core::Digest128 of;
  uint32_t is_packed;  // from weights of that digest
  uint32_t rest;       // so many runs pack without a look: weights that changed do so again
};

}  // namespace

WeightPacking::WeightPacking(const Library& library, const Images& weights, int64_t groups,
                             std::span<const SharedPrimitive> users)
    : library_(library), weights_(weights), groups_(groups) {
  for (const SharedPrimitive& user : users) {
    if (find(*user) != nullptr) continue;
    Order order{user, bytes_, {}};
    if (weights.type == DType::F32) order.places = places_of(user->weights());
    if (order.places && !is_right(order)) order.places.reset();
    if (!order.places)
      workspace_ = aligned(static_cast<uint64_t>(count_of(weights.lengths)) * sizeof(float));
    orders_.push_back(std::move(order));
    bytes_ += aligned(library.bytes(user->weights()));
  }
}

const WeightPacking::Order* WeightPacking::find(const Primitive& user) const {
  for (const Order& order : orders_)
    if (library_.call().layout_equal(order.user->weights(), user.weights()) != 0) return &order;
  return nullptr;
}

bool WeightPacking::suits(const Images& weights, int64_t groups,
                          std::span<const SharedPrimitive> users) const {
  return same_source(weights, weights_) && groups == groups_ &&
         std::all_of(users.begin(), users.end(),
                     [&](const SharedPrimitive& user) { return find(*user) != nullptr; });
}

uint64_t WeightPacking::offset_for(const Primitive& user) const {
  const Order* const order = find(user);
  return order == nullptr ? 0 : order->offset;
}

std::optional<WeightPacking::Places> WeightPacking::places_of(const LayoutObject* layout) const {
  const BlockedLayout* const blocked = library_.blocks(layout);
  const int axes = groups_ > 1 ? 5 : 4;
  if (blocked == nullptr || blocked->axes != axes || blocked->offset != 0) return {};
  Places places;
  for (int axis = 0; axis < axes; axis++) {
    if (blocked->padded_before[axis] != 0) return {};
    places.has_padding = places.has_padding || blocked->padded[axis] != blocked->lengths[axis];
    // The blocks of this axis, from the innermost one out.
    const BlockedLayout::Blocks& blocks = blocked->blocks;
    std::vector<int64_t>& of = places.of.at(static_cast<size_t>(axis + 5 - axes));
    for (int64_t i = 0; i < blocked->lengths[axis]; i++) {
      int64_t rest = i, at = 0, unit = 1;
      for (int k = blocks.count; k-- > 0;) {
        if (blocks.axes[k] == axis) {
          at += rest % blocks.lengths[k] * unit;
          rest /= blocks.lengths[k];
        }
        unit *= blocks.lengths[k];
      }
      of.push_back(at + rest * blocks.strides[axis]);
    }
  }
  if (axes == 4) places.of[0] = {0};
  const auto bytes = static_cast<int64_t>(library_.bytes(layout));
  int64_t last = 0;
  for (const std::vector<int64_t>& of : places.of)
    if (of.empty()) return {};
    else last += *std::max_element(of.begin(), of.end());
  if ((last + 1) * static_cast<int64_t>(sizeof(float)) > bytes) return {};
  return places;
}

// Of numbers that are all different as far as f32 goes, what the library makes of them, too.
bool WeightPacking::is_right(const Order& order) const {
  const int64_t count = count_of(weights_.lengths);
  const uint64_t bytes = library_.bytes(order.user->weights());
  const Reach reach = reach_of(weights_);
  std::vector<float> given(static_cast<size_t>(reach.before + reach.behind)),
      dense(static_cast<size_t>(count));
  for (size_t i = 0; i < given.size(); i++) given[i] = static_cast<float>(i + 1);
  core::Threads alone(1);
  const float* const from = given.data() + reach.before;
  widen(weights_, reinterpret_cast<const std::byte*>(from), dense.data(), alone);
  const Scratch ours(bytes), theirs(bytes);
  place(order, from, static_cast<std::byte*>(ours.data()), alone);
  reorder(order, dense.data(), static_cast<std::byte*>(theirs.data()));
  return std::memcmp(ours.data(), theirs.data(), bytes) == 0;
}

// Outputs lie beside each other where they are used and, mostly, far apart where they come from:
// a line of them at a time, which goes along what each output has.
void WeightPacking::place(const Order& order, const float* from, std::byte* to,
                          core::Threads& threads) const {
  if (order.places->has_padding) std::memset(to, 0, library_.bytes(order.user->weights()));
  const int64_t rows = weights_.lengths[0], columns = weights_.lengths[1];
  const int64_t channels = weights_.lengths[2];
  const int64_t by_row = weights_.strides[0], by_column = weights_.strides[1];
  const int64_t by_channel = weights_.strides[2], by_output = weights_.strides[3];
  const int64_t outputs = weights_.lengths[3] / groups_, lines = (outputs + kLine - 1) / kLine;
  const auto& places = order.places->of;
  auto* const packed = reinterpret_cast<float*>(to);
  const auto grain =
      static_cast<uint64_t>(kElementsWorthAThread / (kLine * rows * columns * channels) + 1);
  const auto line = [&](int64_t group, int64_t first) {
    const int64_t count = std::min(kLine, outputs - first);
    const int64_t* const at = &places[1][static_cast<size_t>(first)];
    bool are_beside = true;
    for (int64_t o = 1; o < count; o++) are_beside = are_beside && at[o] == at[0] + o;
    const float* const x_of = from + (group * outputs + first) * by_output;
    for (size_t i = 0; i < static_cast<size_t>(channels); i++)
      for (size_t r = 0; r < static_cast<size_t>(rows); r++)
        for (size_t c = 0; c < static_cast<size_t>(columns); c++) {
          const float* const x = x_of + static_cast<int64_t>(i) * by_channel +
                                 static_cast<int64_t>(r) * by_row +
                                 static_cast<int64_t>(c) * by_column;
          float* const y = packed + places[0][static_cast<size_t>(group)] + places[2][i] +
                           places[3][r] + places[4][c];
          if (are_beside && count == kLine)
            for (int64_t o = 0; o < kLine; o++) y[at[0] + o] = x[o * by_output];
          else
            for (int64_t o = 0; o < count; o++) y[at[o]] = x[o * by_output];
        }
  };
  threads.run(static_cast<uint64_t>(groups_ * lines), grain, [&](uint64_t begin, uint64_t end) {
    for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); i++)
      line(i / lines, i % lines * kLine);
  });
}

void WeightPacking::reorder(const Order& order, const float* dense, std::byte* to) const {
  const auto& [rows, columns, channels, all] = weights_.lengths;
  const int64_t outputs = all / groups_;
  std::vector<int64_t> lengths = {outputs, channels, rows, columns},
                       strides = {1, all, columns * channels * all, channels * all};
  if (groups_ > 1) {
    lengths.insert(lengths.begin(), groups_);
    strides.insert(strides.begin(), outputs);
  }
  const Layout from(library_, lengths, strides);
  const auto reorder = library_.reorder(from, order.user->weights());
  const Scratch scratch(reorder->scratchpad());
  const Operand all_of_it[] = {{kSource, from.get(), dense},
                               {kResult, order.user->weights(), to},
                               {kScratchpad, reorder->scratchpad_layout(), scratch.data()}};
  const OneThread held = library_.alone();
  reorder->run(all_of_it);
}

// The first element, all of which have to be in its memory.
const float* WeightPacking::first(const hal::Binding& operand) const {
  const Reach reach = reach_of(weights_);
  const auto size = static_cast<int64_t>(size_of(weights_.type));
  if (reach.before * size > static_cast<int64_t>(operand.offset) ||
      reach.behind * size > static_cast<int64_t>(operand.size))
    throw core::error(core::Text::InternalError, "weights are beyond their memory");
  return reinterpret_cast<const float*>(operand.buffer->host() + operand.offset);
}

void WeightPacking::run(std::span<const hal::Binding> operands, hal::Binding workspace,
                        core::Threads& threads) const {
  if (workspace.size < workspace_ || operands[1].size < bytes_)
    throw core::error(core::Text::InternalError, "weights lack their workspace");
  const float* const from = first(operands[0]);
  auto* const dense = workspace_ == 0
                          ? nullptr
                          : reinterpret_cast<float*>(workspace.buffer->host() + workspace.offset);
  std::byte* const packed = operands[1].buffer->host() + operands[1].offset;
  if (workspace_ > 0) widen(weights_, reinterpret_cast<const std::byte*>(from), dense, threads);
  for (const Order& order : orders_)
    if (order.places) place(order, from, packed + order.offset, threads);
    else reorder(order, dense, packed + order.offset);
}

uint64_t WeightPacking::Keeping::packed_bytes() const {
  return packing_.bytes_ + aligned(sizeof(Mark));
}

void WeightPacking::Keeping::run(std::span<const hal::Binding> operands, hal::Binding workspace,
                                 core::Threads& threads) const {
  if (operands[1].size < packed_bytes())
    throw core::error(core::Text::InternalError, "weights lack the memory that they are kept in");
  Mark& mark =
      *reinterpret_cast<Mark*>(operands[1].buffer->host() + operands[1].offset + packing_.bytes_);
  const Reach reach = reach_of(packing_.weights_);
  const auto size = static_cast<int64_t>(size_of(packing_.weights_.type));
  const bool looks = mark.rest == 0;
  if (looks) {
    const auto* const first = reinterpret_cast<const std::byte*>(packing_.first(operands[0]));
    const core::Digest128 now = core::digest(
        {first - reach.before * size, static_cast<size_t>((reach.before + reach.behind) * size)},
        threads);
    if (mark.is_packed != 0 && now == mark.of) return;
    mark.rest = mark.is_packed != 0 ? kRunsWithoutLooking : 0;
    mark.of = now;
  } else {
    mark.rest--;
  }
  mark.is_packed = 0;  // should something be thrown
  packing_.run(operands, workspace, threads);
  mark.is_packed = looks ? 1 : 0;
}

}  // namespace hologram::libraries::onednn
