#include "libraries/cudnn/convolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "core/messages.hpp"

namespace hologram::libraries::cudnn {
namespace {

using hal::ConvAxis;
using hal::ConvDesc;
using hal::Refusal;

constexpr uint64_t kMostWorkspace = uint64_t{256} << 20;
constexpr uint32_t kBestAlignment = 16;  // of the accesses that kernels make
constexpr size_t kMostPlans = 1024;
// The tensors of a graph are known by numbers.
constexpr std::array<int64_t, 3> kNumbers = {1, 2, 3};

bool has_types(const ConvDesc& d) {
  const bool half = d.x == DType::F16 || d.x == DType::BF16;
  return data_type(d.x) && d.w == d.x && (d.d == d.x || (half && d.d == DType::F32)) &&
         d.accumulate == compute_type(d.x == DType::F64 ? DType::F64 : DType::F32);
}

bool uses_tf32(const ConvDesc& d, const Manner& manner) {
  return d.x == DType::F32 && manner.tf32 && manner.tensor_cores;
}

// As the library wants them: image, channel, row, column; output, channel, row, column.
Images by_planes(const Images& images) {
  const auto& [name, type, n, s] = images;
  return {name, type, {n[0], n[3], n[1], n[2]}, {s[0], s[3], s[1], s[2]}};
}
Images by_outputs(const Images& weights) {
  const auto& [name, type, n, s] = weights;
  return {name, type, {n[3], n[2], n[0], n[1]}, {s[3], s[2], s[0], s[1]}};
}

// Axes from that of neighbours on: columns, where whole planes lie together, or channels.
constexpr std::array<size_t, 4> kPlanes = {3, 2, 1, 0}, kChannelsLast = {1, 3, 2, 0};
const std::array<size_t, 4>& order_of(const ConvDesc& d) {
  return d.planes ? kPlanes : kChannelsLast;
}

// Dense in that order; what axes of length 1 have for strides is nothing.
bool is_dense(const Images& planes, const std::array<size_t, 4>& order) {
  const auto& [name, type, n, s] = planes;
  int64_t step = 1;
  for (const size_t axis : order) {
    if (n[axis] != 1 && s[axis] != step) return false;
    step *= n[axis];
  }
  return true;
}
void make_dense(Images& planes, const std::array<size_t, 4>& order) {
  int64_t step = 1;
  for (const size_t axis : order) {
    planes.strides[axis] = step;
    step *= planes.lengths[axis];
  }
}

std::array<Images, 3> tensors_of(const ConvDesc& d) {
  return {by_planes(images_of(d)), by_outputs(weights_of(d)), by_planes(results_of(d))};
}

std::optional<Refusal> refuses(const ConvDesc& d) {
  if (!has_types(d))
    return Refusal{
        fmt::format("no convolution of {} and {} to {}", name_of(d.x), name_of(d.w), name_of(d.d))};
  for (const Images& t : tensors_of(d)) {
    if (count_of(t.lengths) == 0) return Refusal{"there is nothing to convolve"};
    if (!is_dense(t, order_of(d))) return Refusal{fmt::format("{} is not dense", t.name)};
  }
  for (const ConvAxis* a : {&d.rows, &d.columns})
    if ((a->input + a->before + zeros_behind(*a) - (a->kernel - 1) * a->dilation - 1) / a->stride +
            1 !=
        a->output)
      return Refusal{"the result is shorter than it could be"};
  return {};
}

std::optional<Refusal> too_large(const ConvDesc& d) {
  constexpr auto kMost = static_cast<double>(std::numeric_limits<int32_t>::max());
  for (const Images& t : tensors_of(d)) {
    double count = 1;
    for (const int64_t n : t.lengths) count *= static_cast<double>(n);
    if (count > kMost)
      return fallback(fmt::format("{} has more than {:.0f} elements", t.name, kMost));
  }
  for (const ConvAxis* a : {&d.rows, &d.columns})
    if (static_cast<double>(std::max({a->stride, a->dilation, a->before, zeros_behind(*a)})) >
        kMost)
      return fallback("a stride, dilation or padding is too large");
  return {};
}

}  // namespace

ConvolutionPlan::ConvolutionPlan(const Session& session, const ConvDesc& desc, const Manner& manner)
    : session_(session),
      desc_(desc),
      manner_(manner),
      name_(std::make_shared<const std::string>(
          fmt::format("cuDNN convolution {}{}{}", name_of(desc.x),
                      desc.x == desc.d ? "" : fmt::format(" to {}", name_of(desc.d)),
                      uses_tf32(desc, manner) ? " by tf32" : ""))),
      x_(session.library, kTensor),
      w_(session.library, kTensor),
      y_(session.library, kTensor),
      convolution_(session.library, kConvolution),
      forward_(session.library, kForward),
      graph_(session.library, kGraph) {}

// Each object is finished before the next one speaks of it, which passes on what went wrong.
Status ConvolutionPlan::prepare() {
  std::array<Images, 3> tensors = tensors_of(desc_);
  const std::array<uint32_t, 3> alignments = {desc_.alignment_x, desc_.alignment_w, kBestAlignment};
  const std::array<Object*, 3> objects = {&x_, &w_, &y_};
  for (size_t i = 0; i < tensors.size(); i++) {
    make_dense(tensors[i], order_of(desc_));
    Object& tensor = *objects[i];
    tensor.set_one(kTensorType, kTypeData, *data_type(tensors[i].type));
    tensor.set(kTensorLengths, kTypeInt64, tensors[i].lengths);
    tensor.set(kTensorStrides, kTypeInt64, tensors[i].strides);
    tensor.set_one(kTensorNumber, kTypeInt64, kNumbers[i]);
    tensor.set_one<int64_t>(kTensorAlignment, kTypeInt64, alignments[i]);
    tensor.finish();
  }
  const auto both = [&](auto&& number) {
    return std::array<int64_t, 2>{number(desc_.rows), number(desc_.columns)};
  };
  const bool wide = desc_.x == DType::F64;
  convolution_.set_one<int64_t>(kSpatialAxes, kTypeInt64, 2);
  convolution_.set_one(kComputeType, kTypeData, wide ? kF64 : kF32);
  convolution_.set_one(kConvolutionMode, kTypeMode, kCrossCorrelation);
  convolution_.set(kDilations, kTypeInt64, both([](const ConvAxis& a) { return a.dilation; }));
  convolution_.set(kStrides, kTypeInt64, both([](const ConvAxis& a) { return a.stride; }));
  convolution_.set(kPaddingBefore, kTypeInt64, both([](const ConvAxis& a) { return a.before; }));
  convolution_.set(kPaddingBehind, kTypeInt64, both(zeros_behind));
  convolution_.finish();

  forward_.set_one(kForwardConvolution, convolution_);
  forward_.set_one(kForwardX, x_);
  forward_.set_one(kForwardW, w_);
  forward_.set_one(kForwardY, y_);
  if (wide) {
    forward_.set_one(kForwardAlpha, kTypeDouble, 1.0);
    forward_.set_one(kForwardBeta, kTypeDouble, 0.0);
  } else {
    forward_.set_one(kForwardAlpha, kTypeFloat, 1.0f);
    forward_.set_one(kForwardBeta, kTypeFloat, 0.0f);
  }
  forward_.finish();

  graph_.set_one(kGraphOperations, forward_);
  graph_.set_one(kGraphHandle, kTypeHandle, session_.handle);
  if (const Status status = graph_.finish(); status != kSuccess) return status;
  return choose_engine(
      session_, graph_, kMostWorkspace, [this](const Object& config) { return judge(config); },
      engine_);
}

// Whether an engine may do it. Each sum is made of its own terms: by Fourier's or Winograd's way,
// one that is infinite or not a number would spoil those of its neighbours, and errors are not
// bounded by the terms. Winograd's small tiles are taken where they are allowed.
Status ConvolutionPlan::judge(const Object& config) const {
  const Object engine(session_.library, kEngine);
  Descriptor its = engine.descriptor();
  std::array<int, kNotes> notes{};
  int64_t count = 0;
  Status status = engine.status();
  if (status == kSuccess) status = config.get(kConfigEngine, kTypeDescriptor, 1, count, &its);
  if (status == kSuccess) status = engine.get(kEngineNotes, kTypeNote, kNotes, count, notes.data());
  if (status != kSuccess) return status;
  const bool wide = desc_.x == DType::F32 || desc_.x == DType::F64;
  const bool tensor_cores = manner_.tensor_cores && (desc_.x != DType::F32 || manner_.tf32);
  const auto is_refused = [&](int note) {
    switch (note) {
      case kTensorCore: return !tensor_cores;
      case kDownConverts: return wide;
      case kReducedSums:
      case kFourier:
      case kNondeterministic:
      case kWinograd13: return true;
      case kWinograd:
      case kWinograd4:
      case kWinograd6: return !manner_.winograd;
      default: return false;
    }
  };
  const auto end = notes.begin() + std::clamp<int64_t>(count, 0, kNotes);
  return std::any_of(notes.begin(), end, is_refused) ? kNotSupported : kSuccess;
}

void ConvolutionPlan::require_inside(std::span<const hal::Binding> operands) const {
  const std::array<Images, 3> tensors = tensors_of(desc_);
  for (size_t i = 0; i < tensors.size(); i++)
    if (static_cast<uint64_t>(count_of(tensors[i].lengths)) * size_of(tensors[i].type) >
        operands[i].size)
      throw core::error(core::Text::InternalError,
                        fmt::format("{} is beyond its memory", tensors[i].name));
}

std::optional<GpuPlan::Failure> ConvolutionPlan::run(std::span<void* const> operands,
                                                     void* workspace, void* stream) const {
  return execute(session_, engine_->plan, kNumbers, operands, workspace, stream);
}

hal::Expected<std::shared_ptr<ConvolutionPlan>> Convolutions::plan(const ConvDesc& desc,
                                                                   const Manner& manner) {
  if (auto refusal = refuses(desc)) return *refusal;
  ConvDesc aligned = desc;
  for (uint32_t* alignment : {&aligned.alignment_x, &aligned.alignment_w})
    *alignment = std::clamp(*alignment, static_cast<uint32_t>(size_of(desc.x)), kBestAlignment);
  const Key key{numbers_of(aligned),
                {aligned.alignment_x, aligned.alignment_w, manner.tensor_cores ? 1u : 0,
                 (manner.tf32 ? 1u : 0) | (manner.winograd ? 2u : 0)}};
  const std::lock_guard lock(mutex_);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  return make(aligned, manner, key);
}

Convolutions::Planned Convolutions::make(const ConvDesc& desc, const Manner& manner,
                                         const Key& key) {
  if (session_ == nullptr) {
    auto opened = open_session(driver_major_);
    if (auto* refusal = std::get_if<Refusal>(&opened)) return std::move(*refusal);
    session_ = std::get<std::unique_ptr<Session>>(std::move(opened));
  }
  if (auto refusal = too_large(desc)) return *refusal;
  const std::shared_ptr<ConvolutionPlan> plan(new ConvolutionPlan(*session_, desc, manner));
  const Status status = [&] {
    const std::lock_guard lock(session_->mutex);
    return plan->prepare();
  }();
  if (status != kSuccess && !is_not_supported(status))
    return fallback("it does not plan the convolution: " + session_->library.text(status));
  Planned answer = plan;
  // Of f64 it has few: that hologram computes them itself is no fallback.
  if (status != kSuccess) {
    Refusal none = fallback("it has no engine for the convolution");
    none.is_fallback = desc.x != DType::F64;
    answer = std::move(none);
  }
  if (known_.size() >= kMostPlans) known_.clear();
  return known_.emplace(key, std::move(answer)).first->second;
}

}  // namespace hologram::libraries::cudnn
