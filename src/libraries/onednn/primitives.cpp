#include "libraries/onednn/primitives.hpp"

#include <fmt/format.h>

#include <vector>

#include "core/messages.hpp"

namespace hologram::libraries::onednn {
namespace {

// Of a convolution in the order of the library: image, channel, row, column; weights by group,
// output, channel, row, column.
using Lengths = std::vector<int64_t>;

Lengths channels_last(const Lengths& n) { return {n[1] * n[2] * n[3], 1, n[3] * n[1], n[1]}; }

}  // namespace

void Library::check(Status status, const char* what) {
  if (status != 0)
    throw core::error(core::Text::LibraryFailed, fmt::format("oneDNN {}", what),
                      fmt::format("status {}", status), "HOLOGRAM_ONEDNN_LIBRARY");
}

std::unique_ptr<Library> Library::open(const core::DynamicLibrary& library, int version,
                                       OmpGetMaxThreads* max_threads,
                                       OmpSetNumThreads* set_threads) {
  auto made = std::make_unique<Library>();
  Functions& f = made->functions_;
  bool all = true;
  const auto find = [&](auto& member, const char* symbol) {
    member = library.get<std::remove_pointer_t<std::remove_reference_t<decltype(member)>>>(symbol);
    all = all && member != nullptr;
  };
#define HOLOGRAM_FIND(result, member, symbol, parameters) find(f.member, #symbol);
  HOLOGRAM_ONEDNN(HOLOGRAM_FIND)
  if (version == 2) {
    HOLOGRAM_ONEDNN_2(HOLOGRAM_FIND)
  } else {
    HOLOGRAM_ONEDNN_3(HOLOGRAM_FIND)
  }
#undef HOLOGRAM_FIND
  made->version_ = version;
  made->max_threads_ = max_threads;
  made->set_threads_ = set_threads;
  if (!all || f.engine_create(&made->engine_, kCpu, 0) != 0 ||
      f.attributes_create(&made->attributes_) != 0 ||
      f.attributes_set_scratchpad(made->attributes_, kUserScratchpad) != 0)
    return nullptr;
  return made;
}

std::unique_ptr<Primitive> Library::convolution(const ConvolutionShape& s) const {
  const OneThread held = alone();
  const Lengths x = {s.batch, s.groups * s.channels, s.rows.input, s.columns.input},
                d = {s.batch, s.groups * s.outputs, s.rows.output, s.columns.output};
  Lengths w = {s.outputs, s.channels, s.rows.kernel, s.columns.kernel};
  if (s.groups > 1) w.insert(w.begin(), s.groups);
  const Layout x_lies(*this, x, channels_last(x)), d_lies(*this, d, channels_last(d)),
      w_lies(*this, w);
  const int64_t strides[] = {s.rows.stride, s.columns.stride},
                dilations[] = {s.rows.dilation - 1, s.columns.dilation - 1},
                before[] = {s.rows.before, s.columns.before}, behind[] = {s.row_end, s.column_end};
  DescriptionObject* description = nullptr;
  if (version_ == 2) {
    alignas(16) std::array<std::byte, kConvolutionBytes> room = {};
    auto* const operation = reinterpret_cast<ConvolutionObject*>(room.data());
    check(functions_.convolution_init(operation, kForwardInference, kDirectConvolution,
                                      x_lies.get(), w_lies.get(), nullptr, d_lies.get(), strides,
                                      dilations, before, behind),
          "convolution");
    check(functions_.describe(&description, operation, attributes_, engine_, nullptr),
          "convolution");
  } else {
    check(functions_.convolution_describe(
              &description, engine_, kForwardInference, kDirectConvolution, x_lies.get(),
              w_lies.get(), nullptr, d_lies.get(), strides, dilations, before, behind, attributes_),
          "convolution");
  }
  return std::make_unique<Primitive>(*this, description);
}

const BlockedLayout* Library::blocks(const LayoutObject* layout) const {
  if (keeps_layouts()) return nullptr;
  const auto* const blocked = reinterpret_cast<const BlockedLayout*>(layout);
  return blocked->kind == kBlocked ? blocked : nullptr;
}

std::unique_ptr<Primitive> Library::reorder(const Layout& from, const LayoutObject* to) const {
  const OneThread held = alone();
  DescriptionObject* description = nullptr;
  check(functions_.reorder_describe(&description, from.get(), engine_, to, engine_, attributes_),
        "reorder");
  return std::make_unique<Primitive>(*this, description);
}

Layout::Layout(const Library& library, std::span<const int64_t> lengths,
               std::span<const int64_t> strides)
    : library_(library) {
  const auto count = static_cast<int>(lengths.size());
  const Functions& call = library.call();
  if (library.keeps_layouts()) {
    Library::check(call.layout_with_strides(&object_, count, lengths.data(), kF32, strides.data()),
                   "layout");
    return;
  }
  object_ = reinterpret_cast<LayoutObject*>(room_.data());
  Library::check(call.layout_by_strides(object_, count, lengths.data(), kF32, strides.data()),
                 "layout");
}

Layout::Layout(const Library& library, std::span<const int64_t> lengths) : library_(library) {
  const auto count = static_cast<int>(lengths.size());
  const Functions& call = library.call();
  if (library.keeps_layouts()) {
    Library::check(call.layout_with_tag(&object_, count, lengths.data(), kF32, kAnyLayout),
                   "layout");
    return;
  }
  object_ = reinterpret_cast<LayoutObject*>(room_.data());
  Library::check(call.layout_by_tag(object_, count, lengths.data(), kF32, kAnyLayout), "layout");
}

Layout::~Layout() {
  if (library_.keeps_layouts() && object_ != nullptr) library_.call().layout_destroy(object_);
}

Primitive::Primitive(const Library& library, DescriptionObject* description)
    : library_(library),
      description_(description),
      source_(layout(kAskSource)),
      weights_(layout(kAskWeights)),
      result_(layout(kAskResult)),
      scratchpad_(layout(kAskScratchpad)) {
  const Status status = library.call().primitive_create(&primitive_, description);
  if (status != 0) library.call().description_destroy(description);
  Library::check(status, "primitive");
}

Primitive::~Primitive() {
  library_.call().primitive_destroy(primitive_);
  library_.call().description_destroy(description_);
}

std::string Primitive::name() const {
  const char* text = nullptr;
  const Status status = library_.call().query(description_, kAskName, 0, static_cast<void*>(&text));
  return status == 0 && text != nullptr ? text : "";
}

const LayoutObject* Primitive::layout(int which) const {
  return library_.call().query_layout(description_, which, 0);
}

uint64_t Primitive::scratchpad() const { return library_.bytes(scratchpad_layout()); }

void Primitive::run(std::span<const Operand> operands) const {
  std::unique_ptr<Arguments> own;
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      own = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  if (own == nullptr) own = std::make_unique<Arguments>(library_, operands);
  own->run(primitive_, operands);
  const std::lock_guard lock(mutex_);
  spare_.push_back(std::move(own));
}

Arguments::Arguments(const Library& library, std::span<const Operand> operands)
    : library_(library) {
  const Functions& call = library.call();
  try {
    Library::check(call.stream_create(&stream_, library.engine(), kInOrder), "stream");
    for (const Operand& o : operands) {
      Argument& argument = arguments_.at(count_);
      argument.which = o.which;
      // What is read only is not written by the library.
      Library::check(call.memory_create(&argument.memory, o.layout, library.engine(),
                                        const_cast<void*>(o.data)),
                     "memory");
      data_[count_++] = o.data;
    }
  } catch (...) {
    destroy();
    throw;
  }
}

Arguments::~Arguments() { destroy(); }

void Arguments::destroy() {
  const Functions& call = library_.call();
  for (size_t i = 0; i < count_; i++) call.memory_destroy(arguments_[i].memory);
  if (stream_ != nullptr) call.stream_destroy(stream_);
}

void Arguments::run(const PrimitiveObject* primitive, std::span<const Operand> operands) {
  const Functions& call = library_.call();
  for (size_t i = 0; i < count_; i++) {
    const void* const data = operands[i].data;
    if (data == data_[i]) continue;
    Library::check(call.memory_set(arguments_[i].memory, const_cast<void*>(data)), "memory");
    data_[i] = data;
  }
  Library::check(
      call.primitive_execute(primitive, stream_, static_cast<int>(count_), arguments_.data()),
      "primitive");
}

}  // namespace hologram::libraries::onednn
