#include "libraries/cudnn/attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/messages.hpp"

namespace hologram::libraries::cudnn {
namespace {

using hal::AttentionDesc;
using hal::Refusal;
using Part = AttentionDesc::Part;

constexpr uint64_t kMostWorkspace = uint64_t{8} << 30;
constexpr int64_t kMostFeatures = 256, kUnitOfFeatures = 8;
// Of addresses and strides: the library does not look, and gives wrong numbers.
constexpr uint64_t kAccess = 16;
constexpr uint64_t kPiece = 256;  // a workspace is made of such
// An engine takes some 0.1 s to be made: for fewer scores a program is as good.
constexpr int64_t kFewestScores = int64_t{1} << 16;
constexpr size_t kMostPlans = 1024;
// Before it, masked scores are the lowest number, and there were faults.
constexpr std::array<int, 3> kFirstVersion = {9, 11, 0};

constexpr float kNever = -std::numeric_limits<float>::infinity();

uint64_t whole_pieces(uint64_t bytes) { return (bytes + kPiece - 1) / kPiece * kPiece; }

int64_t count(const Axes& n) { return n[0] * n[1] * n[2] * n[3]; }

// What axes of length 1 have for strides is nothing.
Axes strides_of(const Axes& lengths, const std::array<int64_t, 4>& strides) {
  Axes made = strides;
  if (lengths[3] == 1) made[3] = 1;
  for (size_t k = 3; k-- > 0;)
    if (lengths[k] == 1) made[k] = made[k + 1] * lengths[k + 1];
  return made;
}

std::optional<Refusal> refuses_layout(const char* name, const Axes& lengths,
                                      const std::array<int64_t, 4>& given, uint64_t element) {
  const Axes strides = strides_of(lengths, given);
  if (strides[3] != 1) return Refusal{fmt::format("features of {} do not lie side by side", name)};
  for (size_t k = 0; k < 3; k++)
    if (strides[k] <= 0 || static_cast<uint64_t>(strides[k]) * element % kAccess != 0)
      return Refusal{fmt::format("rows of {} lie where cuDNN does not take them", name)};
  return {};
}

Axes mask_lengths(const AttentionDesc& d) {
  return {d.mask_strides[0] == 0 ? 1 : d.batch, d.mask_strides[1] == 0 ? 1 : d.heads, d.queries,
          d.keys};
}

bool is_bottom_right(const AttentionDesc& d) { return d.after && d.first + *d.after != 0; }

std::optional<Refusal> refuses(const AttentionDesc& d) {
  if (d.dtype != DType::F16 && d.dtype != DType::BF16)
    return Refusal{fmt::format("no attention of {}", name_of(d.dtype))};
  for (const int64_t n : {d.features, d.value_features})
    if (n % kUnitOfFeatures != 0 || n > kMostFeatures)
      return Refusal{fmt::format("cuDNN has no attention of {} features", n)};
  if (d.batch * d.heads * d.queries * d.keys < kFewestScores)
    return Refusal{"there is little to compute"};
  if (!std::isfinite(d.scale) || !std::isfinite(d.softcap))
    return Refusal{"the scale is no finite number"};
  if (d.alignment % kAccess != 0)
    return Refusal{"an operand does not lie at a multiple of 16 bytes"};
  const uint64_t element = size_of(d.dtype);
  const Axes q = {d.batch, d.heads, d.queries, d.features},
             k = {d.batch, d.key_heads, d.keys, d.features},
             v = {d.batch, d.key_heads, d.keys, d.value_features},
             o = {d.batch, d.heads, d.queries, d.value_features};
  for (auto refusal : {refuses_layout("queries", q, d.q_strides, element),
                       refuses_layout("keys", k, d.k_strides, element),
                       refuses_layout("values", v, d.v_strides, element)})
    if (refusal) return refusal;
  if (d.part == Part::Changes)
    if (auto refusal = refuses_layout("changes", o, d.change_strides, element)) return refusal;
  if (d.mask != DType::None) {
    if (d.mask != d.dtype || d.softcap != 0 || d.before || d.after)
      return Refusal{"cuDNN is not asked for such a mask"};
    if (auto refusal = refuses_layout("the mask", mask_lengths(d), d.mask_strides, element))
      return refusal;
  }
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (const Axes& lengths : {q, k, v, mask_lengths(d)})
    if (count(lengths) > kMost) return Refusal{"an operand has more than 2147483647 elements"};
  // A window is only known beside a causal mask, which is of the first keys or of the last.
  if (d.before && !d.after) return Refusal{"cuDNN has no such window"};
  if (d.after && d.first + *d.after != 0 && d.first + *d.after != d.keys - d.queries)
    return Refusal{"cuDNN has no such window"};
  if (d.before && (*d.before - d.first > kMost || *d.before < 0))
    return Refusal{"cuDNN has no such window"};
  return {};
}

}  // namespace

AttentionPlan::AttentionPlan(const Session& session, const AttentionDesc& desc, bool deterministic)
    : desc_(desc),
      deterministic_(deterministic),
      name_(std::make_shared<const std::string>(
          fmt::format("cuDNN attention {}{}", name_of(desc.dtype),
                      desc.part == Part::Changes ? " backward" : ""))),
      graph_(session) {}

Axes AttentionPlan::queries() const {
  return {desc_.batch, desc_.heads, desc_.queries, desc_.features};
}
Axes AttentionPlan::keys() const {
  return {desc_.batch, desc_.key_heads, desc_.keys, desc_.features};
}
Axes AttentionPlan::values() const {
  return {desc_.batch, desc_.key_heads, desc_.keys, desc_.value_features};
}
Axes AttentionPlan::results() const {
  return {desc_.batch, desc_.heads, desc_.queries, desc_.value_features};
}
Axes AttentionPlan::rows() const { return {desc_.batch, desc_.heads, desc_.queries, 1}; }

AttentionPlan::Tensor AttentionPlan::operand(const Axes& lengths, const Axes& strides) {
  return graph_.memory(lengths, strides, type());
}

std::optional<AttentionPlan::Tensor> AttentionPlan::mask() {
  if (desc_.mask == DType::None) return {};
  const Axes lengths = mask_lengths(desc_);
  return operand(lengths, strides_of(lengths, desc_.mask_strides));
}

AttentionPlan::Scores AttentionPlan::scores(const Tensor& q, const Tensor& k_transposed,
                                            const std::optional<Tensor>& mask,
                                            const Tensor& scale) {
  const Tensor products = graph_.between({desc_.batch, desc_.heads, desc_.queries, desc_.keys});
  graph_.matmul(q, k_transposed, products);
  Scores made{graph_.binary(kMul, products, scale), {}, {}};
  if (mask) made.all = graph_.binary(kAdd, made.all, *mask);
  if (desc_.softcap == 0) return made;
  made.cap = graph_.value(static_cast<float>(desc_.softcap));
  made.capped = graph_.binary(kDiv, made.all, *made.cap);
  made.all = graph_.binary(kMul, graph_.unary(kTanh, *made.capped), *made.cap);
  return made;
}

AttentionPlan::Tensor AttentionPlan::masked(Tensor scores) {
  if (!desc_.after) return scores;
  Tensor row = graph_.places(scores, 2);
  const Tensor column = graph_.places(scores, 3);
  if (is_bottom_right(desc_)) {
    // The engine knows these two steps.
    row = graph_.binary(kAdd, row, graph_.value(static_cast<int32_t>(desc_.keys)), kI32, kI32);
    row = graph_.binary(kSub, row, graph_.value(static_cast<int32_t>(desc_.queries)), kI32, kI32);
  }
  scores = graph_.select(graph_.compare(kGreaterEqual, row, column), scores, graph_.value(kNever));
  if (!desc_.before) return scores;
  const Tensor of_row = graph_.places(scores, 2), of_column = graph_.places(scores, 3);
  const auto ahead = static_cast<float>(*desc_.before + 1 - desc_.first);
  const Tensor reach = graph_.binary(kAdd, of_column, graph_.value(ahead));
  return graph_.select(graph_.compare(kGreater, reach, of_row), scores, graph_.value(kNever));
}

// The pattern that the library's engines know, operation by operation. Memory is named in the order
// of the operands.
void AttentionPlan::forward() {
  const Axes k = strides_of(keys(), desc_.k_strides);
  const Tensor q = operand(queries(), strides_of(queries(), desc_.q_strides));
  const Tensor k_transposed = operand(transposed(keys()), transposed(k));
  const Tensor v = operand(values(), strides_of(values(), desc_.v_strides));
  const std::optional<Tensor> added = mask();
  const Tensor result = operand(results(), dense_strides(results()));
  const Tensor logs =
      desc_.part == Part::ResultAndLogs ? graph_.memory(rows(), kF32) : graph_.between(rows());
  const Tensor scale = graph_.value(static_cast<float>(desc_.scale));
  const Tensor s = masked(scores(q, k_transposed, added, scale).all);
  const Tensor most = graph_.reduced(kReduceMaximum, s, rows());
  const Tensor e = graph_.unary(kExp, graph_.binary(kSub, s, most));
  const Tensor sum = graph_.reduced(kReduceAdd, e, rows());
  const Tensor log = graph_.unary(kLog, sum);
  graph_.pointwise(kAdd, most, &log, nullptr, logs);
  graph_.matmul(graph_.binary(kDiv, e, sum, type()), v, result);
}

AttentionPlan::Tensor AttentionPlan::transpose(const Tensor& x) {
  const Axes square = {desc_.batch, desc_.heads, desc_.queries, desc_.keys};
  return graph_.reshape(x, transposed(square), transposed(dense_strides(square)), type());
}

// Over query heads that share one of keys, a sum.
void AttentionPlan::shared_product(const Tensor& x, const Tensor& y, const Tensor& result) {
  if (desc_.heads == desc_.key_heads) return graph_.matmul(x, y, result);
  const Axes& n = result.lengths;
  const Tensor of_all = graph_.between({n[0], desc_.heads, n[2], n[3]}, type());
  graph_.matmul(x, y, of_all);
  graph_.reduce(kReduceAdd, of_all, result);
}

void AttentionPlan::backward() {
  const Axes k_strides = strides_of(keys(), desc_.k_strides);
  const Tensor q = operand(queries(), strides_of(queries(), desc_.q_strides));
  const Tensor k_transposed = operand(transposed(keys()), transposed(k_strides));
  const Tensor v_transposed =
      operand(transposed(values()), transposed(strides_of(values(), desc_.v_strides)));
  const std::optional<Tensor> added = mask();
  const Tensor change = operand(results(), strides_of(results(), desc_.change_strides));
  const Tensor result = operand(results(), dense_strides(results()));
  const Tensor logs = graph_.memory(rows(), kF32);
  const Tensor q_change = operand(queries(), dense_strides(queries()));
  const Tensor k_change = operand(keys(), dense_strides(keys()));
  const Tensor v_change = operand(values(), dense_strides(values()));
  // Of a row, its result times the change of it, in memory of ours.
  const Tensor deltas = graph_.memory(rows(), kF32);
  const Tensor of_rows = graph_.reduced(kReduceAdd, graph_.binary(kMul, change, result), rows());
  const Tensor one = graph_.value(1.0f);
  graph_.pointwise(kMul, of_rows, &one, nullptr, deltas);
  // The shares, as the forward pass had them.
  const Tensor scale = graph_.value(static_cast<float>(desc_.scale));
  const Scores s = scores(q, k_transposed, added, scale);
  const Tensor shares = graph_.unary(kExp, masked(graph_.binary(kSub, s.all, logs)));
  shared_product(transpose(shares), change, v_change);
  const Tensor of_shares = graph_.between({desc_.batch, desc_.heads, desc_.queries, desc_.keys});
  graph_.matmul(change, v_transposed, of_shares);
  Tensor of_scores = graph_.binary(kMul, graph_.binary(kSub, of_shares, deltas), shares);
  if (s.cap) {
    const Tensor in = graph_.binary(kMul, of_scores, *s.cap);
    of_scores = graph_.binary(kDiv, graph_.binary(kTanhBackward, in, *s.capped), *s.cap);
  }
  of_scores = graph_.binary(kMul, of_scores, scale);
  shared_product(transpose(of_scores), q, k_change);
  const Tensor k = graph_.reshape(k_transposed, keys(), k_strides, type());
  if (deterministic_) return graph_.matmul(of_scores, k, q_change);
  const Tensor sums = graph_.memory(queries(), kF32);
  graph_.matmul(of_scores, k, sums);
  graph_.pointwise(kIdentity, sums, nullptr, nullptr, q_change);
}

Status AttentionPlan::prepare() {
  if (desc_.part == Part::Changes) backward();
  else forward();
  if (const Status status = graph_.plan(kMostWorkspace); status != kSuccess) return status;
  sums_at_ = whole_pieces(graph_.workspace());
  if (desc_.part != Part::Changes) return kSuccess;
  const auto bytes = [](const Axes& n) {
    return whole_pieces(static_cast<uint64_t>(count(n)) * sizeof(float));
  };
  sums_ = {sums_at_, sums_at_ + bytes(rows())};
  sums_bytes_ = bytes(rows()) + (deterministic_ ? 0 : bytes(queries()));
  return kSuccess;
}

std::optional<GpuPlan::Failure> AttentionPlan::run(std::span<void* const> operands, void* workspace,
                                                   void* stream) const {
  if (desc_.part != Part::Changes) return graph_.run(operands, workspace, stream);
  std::vector<void*> all(operands.begin(), operands.end());
  all.push_back(static_cast<std::byte*>(workspace) + sums_[0]);
  if (!deterministic_) all.push_back(static_cast<std::byte*>(workspace) + sums_[1]);
  return graph_.run(all, workspace, stream);
}

void AttentionPlan::require_inside(std::span<const hal::Binding> operands) const {
  struct Operand {
    const char* name;
    Axes lengths, strides;
    uint64_t element;
  };
  const uint64_t element = size_of(desc_.dtype);
  const Axes o = dense_strides(results());
  std::vector<Operand> all = {{"query", queries(), desc_.q_strides, element},
                              {"key", keys(), desc_.k_strides, element},
                              {"value", values(), desc_.v_strides, element}};
  if (desc_.mask != DType::None)
    all.push_back({"mask", mask_lengths(desc_), desc_.mask_strides, element});
  if (desc_.part == Part::Changes)
    all.push_back({"change", results(), desc_.change_strides, element});
  all.push_back({"result", results(), o, element});
  if (desc_.part != Part::Result) all.push_back({"logs", rows(), dense_strides(rows()), 4});
  if (desc_.part == Part::Changes)
    for (const Axes& n : {queries(), keys(), values()})
      all.push_back({"gradient", n, dense_strides(n), element});
  for (size_t i = 0; i < all.size(); i++) {
    int64_t last = 0;
    for (size_t k = 0; k < 4; k++) last += (all[i].lengths[k] - 1) * all[i].strides[k];
    if ((static_cast<uint64_t>(last) + 1) * all[i].element > operands[i].size)
      throw core::error(core::Text::InternalError,
                        fmt::format("{} is beyond its memory", all[i].name));
  }
}

Attentions::Key Attentions::key_of(const AttentionDesc& d, bool deterministic) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  Numbers numbers{static_cast<int64_t>(d.part),
                  static_cast<int64_t>(d.dtype),
                  static_cast<int64_t>(d.mask),
                  d.batch,
                  d.heads,
                  d.key_heads,
                  d.queries,
                  d.keys,
                  d.features,
                  d.value_features,
                  d.first,
                  d.before.value_or(kNone),
                  d.after.value_or(kNone),
                  deterministic ? 1 : 0};
  auto* to = numbers.data() + 16;
  for (const auto* strides :
       {&d.q_strides, &d.k_strides, &d.v_strides, &d.change_strides, &d.mask_strides})
    to = std::copy(strides->begin(), strides->end(), to);
  return {numbers, d.scale, d.softcap};
}

Attentions::Planned Attentions::plan(const AttentionDesc& desc, bool deterministic) {
  if (auto refusal = refuses(desc)) return *refusal;
  const Key key = key_of(desc, deterministic);
  const std::lock_guard lock(mutex_);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  Planned made = make(desc, deterministic);
  if (session_ == nullptr) return made;  // it may be there the next time
  if (known_.size() >= kMostPlans) known_.clear();
  return known_.emplace(key, std::move(made)).first->second;
}

Attentions::Planned Attentions::make(const AttentionDesc& desc, bool deterministic) {
  if (session_ == nullptr) {
    auto opened = open_session(driver_major_);
    if (auto* refusal = std::get_if<Refusal>(&opened)) return std::move(*refusal);
    session_ = std::get<std::unique_ptr<Session>>(std::move(opened));
  }
  if (session_->library.version() < kFirstVersion)
    return fallback(fmt::format("it is version {}, and attention needs {}",
                                session_->library.info().version, fmt::join(kFirstVersion, ".")));
  const std::shared_ptr<AttentionPlan> plan(new AttentionPlan(*session_, desc, deterministic));
  const Status status = [&] {
    const std::lock_guard lock(session_->mutex);
    return plan->prepare();
  }();
  if (status == kSuccess) return plan;
  // With a mask our own programs are as usual.
  if (is_not_supported(status) && desc.mask != DType::None)
    return Refusal{"cuDNN has no engine for the attention with this mask"};
  if (is_not_supported(status)) return fallback("it has no engine for the attention");
  return fallback("it does not plan the attention: " + session_->library.text(status));
}

}  // namespace hologram::libraries::cudnn
