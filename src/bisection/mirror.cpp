#include "bisection/mirror.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <variant>

#include "core/messages.hpp"
#include "libraries/convolution.hpp"
#include "libraries/product.hpp"

namespace hologram::bisection {
namespace {

using core::Text;

// Memory of the device, and the host's copy of it.
class MirrorBuffer final : public hal::Buffer {
 public:
  // NOLINTBEGIN(cppcoreguidelines-no-malloc): of zeros that nobody touches there are no pages
  explicit MirrorBuffer(std::unique_ptr<hal::Buffer> real)
      : real_(std::move(real)),
        copy_(static_cast<std::byte*>(std::calloc(std::max<uint64_t>(real_->size(), 1), 1))) {
    if (copy_ == nullptr) throw std::bad_alloc();
  }
  ~MirrorBuffer() override { std::free(copy_); }
  // NOLINTEND(cppcoreguidelines-no-malloc)
  MirrorBuffer(const MirrorBuffer&) = delete;
  MirrorBuffer& operator=(const MirrorBuffer&) = delete;
  uint64_t size() const override { return real_->size(); }
  std::byte* host() override { return real_->host(); }
  uint32_t alignment() const override { return real_->alignment(); }
  void* native() override { return real_->native(); }
  void wait_for_everybody() override { real_->wait_for_everybody(); }

  hal::Buffer& real() { return *real_; }
  std::byte* copy() { return copy_; }
  bool cleared = false;  // the device's memory holds zeros, as the copy does

 private:
  std::unique_ptr<hal::Buffer> real_;
  std::byte* copy_;
};

class MirrorExecutable final : public hal::Executable {
 public:
  MirrorExecutable(std::shared_ptr<hal::Executable> real, const program::Program& program)
      : real(std::move(real)), program(program) {}
  std::string note() const override { return real->note(); }
  const std::shared_ptr<hal::Executable> real;
  const program::Program program;
};

// What the plans that are in use were asked for.
class MirrorLibrary final : public hal::LibraryOps {
 public:
  using Asked = std::variant<hal::GemmDesc, hal::ConvDesc>;

  explicit MirrorLibrary(hal::LibraryOps& real) : real_(real) {}
  // What else there is has the bits of a program, which can be looked at launch by launch.
  hal::Planned plan(const hal::OpDesc& any) override {
    const auto ask = [this](const auto& desc) { return remember(real_.plan(desc), desc); };
    return hal::answer(
        any, [&](const hal::GemmDesc& desc) { return ask(desc); },
        [&](const hal::ConvDesc& desc) { return ask(desc); });
  }
  bool wants_dense_images() override { return real_.wants_dense_images(); }
  bool takes_planes(DType type) override { return real_.takes_planes(type); }

  std::optional<Asked> asked_of(const hal::LibraryPlan& plan) {
    const std::lock_guard lock(mutex_);
    const auto known = asked_.find(&plan);
    return known == asked_.end() ? std::nullopt : std::optional(known->second.second);
  }

 private:
  hal::Planned remember(hal::Planned planned, const Asked& desc) {
    // Operands that are packed do not lie as the description says.
    const auto* plan = std::get_if<std::shared_ptr<hal::LibraryPlan>>(&planned);
    if (plan != nullptr && (*plan)->packing() == nullptr) {
      const std::lock_guard lock(mutex_);
      asked_.insert_or_assign(plan->get(), std::pair(*plan, desc));
    }
    return planned;
  }

  hal::LibraryOps& real_;
  std::mutex mutex_;
  // Kept, so that no other plan takes the address.
  std::map<const hal::LibraryPlan*, std::pair<std::shared_ptr<hal::LibraryPlan>, Asked>> asked_;
};

class MirrorStream final : public hal::Stream {
 public:
  MirrorStream(std::shared_ptr<Search> search, MirrorLibrary* library)
      : search_(std::move(search)),
        library_(library),
        real_(search_->device()->stream()),
        reference_(search_->interpreter()->stream()) {}

  void launch(const hal::Launch& launch) override {
    const auto& executable = static_cast<const MirrorExecutable&>(*launch.executable);
    const std::vector<Place> places = places_of(launch.bindings);
    LaunchRecord record{
        &executable.program, launch.grid, {launch.scalars.begin(), launch.scalars.end()}, {}};
    for (const Place& p : places) record.before.emplace_back(p.copy(), p.copy() + p.binding.size);

    std::vector<hal::Binding> bindings;
    bindings.reserve(places.size());
    for (const Place& p : places) bindings.push_back(p.real());
    hal::Launch again = launch;
    again.executable = executable.real.get();
    again.bindings = bindings;
    real_->launch(again);
    real_->wait(real_->submit(), {});
    run_reference(executable.program, launch.grid, launch.scalars, places);

    const auto& buffers = executable.program.buffers();
    for (size_t i = 0; i < places.size(); i++)
      if (const auto bad = first_bad(buffers[i].type, places[i], 0))
        search_->found(search_->explain(record, i, bad->element, bad->expected, bad->got, false));
    if (search_->options().nan) look_for_nan(record, places);
  }

  void call(const hal::LibraryPlan& plan, std::span<const hal::Binding> bindings,
            hal::Binding workspace) override {
    const std::vector<Place> places = places_of(bindings);
    std::vector<hal::Binding> real;
    real.reserve(places.size());
    for (const Place& p : places) real.push_back(p.real());
    hal::Binding room = workspace;
    if (room.buffer != nullptr) room.buffer = &static_cast<MirrorBuffer&>(*room.buffer).real();
    real_->call(plan, real, room);
    real_->wait(real_->submit(), {});
    const auto asked = library_ == nullptr ? std::nullopt : library_->asked_of(plan);
    if (!asked) {
      // Nothing is known of what it ought to do: what it did is taken for right.
      for (const Place& p : places) take(p);
      return;
    }
    std::visit([&](const auto& desc) { check_call(desc, places); }, *asked);
  }

  void copy(hal::Binding to, hal::Binding from) override {
    const auto end = [&](const hal::Binding& binding) {
      std::byte* const host = binding.buffer->host();
      auto* const mirrored = dynamic_cast<MirrorBuffer*>(binding.buffer);
      if (mirrored == nullptr) return std::pair(binding, host + binding.offset);
      clear(*mirrored);
      return std::pair(hal::Binding{&mirrored->real(), binding.offset, binding.size},
                       mirrored->copy() + binding.offset);
    };
    const auto [real_to, to_copy] = end(to);
    const auto [real_from, from_copy] = end(from);
    const uint64_t bytes = from.size;
    real_->copy(real_to, real_from);
    real_->wait(real_->submit(), {});
    if (dynamic_cast<MirrorBuffer*>(to.buffer) == nullptr) {
      compare_bytes("copy", to_copy, from_copy, bytes);  // to the host
      return;
    }
    std::memmove(to_copy, from_copy, bytes);
    compare_bytes("copy", read({to.buffer, to.offset, bytes}).data(), to_copy, bytes);
  }

  void fill(hal::Binding where, uint32_t pattern) override {
    auto& buffer = static_cast<MirrorBuffer&>(*where.buffer);
    clear(buffer);
    real_->fill({&buffer.real(), where.offset, where.size}, pattern);
    real_->wait(real_->submit(), {});
    std::byte* const copy = buffer.copy() + where.offset;
    for (uint64_t i = 0; i + sizeof pattern <= where.size; i += sizeof pattern)
      std::memcpy(copy + i, &pattern, sizeof pattern);
    compare_bytes("fill", read(where).data(), copy, where.size);
  }

  hal::Point submit() override { return real_->submit(); }
  hal::State wait(hal::Point point, hal::Deadline deadline) override {
    return real_->wait(point, deadline);
  }

 private:
  // A part of mirrored memory.
  struct Place {
    hal::Binding binding;
    MirrorBuffer* buffer;
    std::byte* copy() const { return buffer->copy() + binding.offset; }
    hal::Binding real() const { return {&buffer->real(), binding.offset, binding.size}; }
  };
  struct Bad {
    int64_t element;
    uint64_t expected, got;
  };

  static MirrorBuffer& mirrored(const hal::Binding& binding) {
    auto* const buffer = dynamic_cast<MirrorBuffer*>(binding.buffer);
    if (buffer == nullptr) throw core::error(Text::InternalError, "bisect: memory of nobody");
    return *buffer;
  }
  std::vector<Place> places_of(std::span<const hal::Binding> bindings) {
    std::vector<Place> places;
    for (const hal::Binding& binding : bindings) {
      places.push_back({binding, &mirrored(binding)});
      clear(*places.back().buffer);
    }
    return places;
  }

  // What nobody has written yet is to be the same on both sides.
  void clear(MirrorBuffer& buffer) {
    if (std::exchange(buffer.cleared, true) || buffer.size() == 0) return;
    if (std::byte* host = buffer.real().host()) {
      std::memset(host, 0, buffer.size());
      return;
    }
    const std::vector<std::byte> zeros(buffer.size());
    hal::HostBuffer from(const_cast<std::byte*>(zeros.data()), zeros.size());
    real_->copy({&buffer.real(), 0, zeros.size()}, {&from, 0, zeros.size()});
    real_->wait(real_->submit(), {});
  }

  std::vector<std::byte> read(const hal::Binding& where) {
    std::vector<std::byte> bytes(where.size);
    if (bytes.empty()) return bytes;
    hal::HostBuffer to(bytes.data(), bytes.size());
    auto& buffer = static_cast<MirrorBuffer&>(*where.buffer).real();
    real_->copy({&to, 0, bytes.size()}, {&buffer, where.offset, where.size});
    real_->wait(real_->submit(), {});
    return bytes;
  }
  void take(const Place& place) {
    const std::vector<std::byte> bytes = read(place.binding);
    if (!bytes.empty()) std::memcpy(place.copy(), bytes.data(), bytes.size());
  }

  void run_reference(const program::Program& program, const Grid& grid,
                     std::span<const uint64_t> scalars, const std::vector<Place>& places) {
    std::vector<std::unique_ptr<hal::HostBuffer>> buffers;
    std::vector<hal::Binding> bindings;
    for (const Place& p : places) {
      buffers.push_back(std::make_unique<hal::HostBuffer>(p.copy(), p.binding.size));
      bindings.push_back({buffers.back().get(), 0, p.binding.size});
    }
    auto& ready = ready_[{program.hash().high, program.hash().low}];
    if (ready == nullptr) ready = search_->interpreter()->compile(program, {});
    reference_->launch({.executable = ready.get(),
                        .grid = grid,
                        .bindings = bindings,
                        .scalars = scalars,
                        .deadline = {},
                        .budget = 0,
                        .progress = nullptr});
    reference_->wait(reference_->submit(), {});
  }

  // The first element that differs by more than `apart`, in parts of the largest; what does not is
  // as the device has it from now on.
  std::optional<Bad> first_bad(DType type, const Place& place, double apart) {
    const std::vector<std::byte> is = read(place.binding);
    if (is.empty() || std::memcmp(is.data(), place.copy(), is.size()) == 0) return {};
    const auto count = static_cast<int64_t>(is.size() / size_of(type));
    const double bound = apart == 0 ? 0 : apart * largest(type, place.copy(), count);
    for (int64_t i = 0; i < count; i++) {
      const uint64_t got = bits_at(type, is.data(), i), ought = bits_at(type, place.copy(), i);
      if (search_->equal()(type, got, ought)) continue;
      if (bound > 0 && std::abs(value_of(type, got) - value_of(type, ought)) <= bound) continue;
      return Bad{i, ought, got};
    }
    std::memcpy(place.copy(), is.data(), is.size());
    return {};
  }

  static double value_of(DType type, uint64_t bits) {
    if (type == DType::F32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (type == DType::F64) return std::bit_cast<double>(bits);
    // As f32 of the same exponent: enough for a bound.
    if (type == DType::BF16) return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    const auto sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    const auto rest = static_cast<uint32_t>(bits & 0x7fff) << 13;
    return static_cast<double>(std::bit_cast<float>(sign | rest)) * 0x1p112;
  }
  static double largest(DType type, const std::byte* memory, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
      const double x = std::abs(value_of(type, bits_at(type, memory, i)));
      if (x <= 1.7e308) most = std::max(most, x);
    }
    return most;
  }

  void look_for_nan(const LaunchRecord& record, const std::vector<Place>& places) {
    const auto& buffers = record.program->buffers();
    for (size_t i = 0; i < places.size(); i++)
      if (first_nan(buffers[i].type, record.before[i].data(), record.before[i].size())) return;
    for (const uint64_t scalar : record.scalars)
      if (is_nan(DType::F32, scalar & 0xffffffffu) && scalar <= 0xffffffffu) return;
    for (size_t i = 0; i < places.size(); i++) {
      const auto at = first_nan(buffers[i].type, places[i].copy(), places[i].binding.size);
      if (!at) continue;
      const uint64_t bits = bits_at(buffers[i].type, places[i].copy(), *at);
      search_->found(search_->explain(record, i, *at, bits, bits, true));
    }
  }
  static std::optional<int64_t> first_nan(DType type, const std::byte* memory, uint64_t bytes) {
    if (!is_float(type)) return {};
    const auto count = static_cast<int64_t>(bytes / size_of(type));
    for (int64_t i = 0; i < count; i++)
      if (is_nan(type, bits_at(type, memory, i))) return i;
    return {};
  }

  static double bound(DType accumulate, DType d, double terms) {
    if (!is_float(accumulate)) return 0;
    const auto epsilon = [](DType type) {
      return type == DType::F64    ? 0x1p-52
             : type == DType::F16  ? 0x1p-10
             : type == DType::BF16 ? 0x1p-7
                                   : 0x1p-23;
    };
    return (4 + std::sqrt(terms)) * epsilon(accumulate) + epsilon(d);
  }

  void check_call(const hal::GemmDesc& desc, const std::vector<Place>& places) {
    const libraries::ProductLaunch launch = libraries::product_launch(libraries::product_of(desc));
    run_reference(libraries::product_program(launch.key), launch.grid, launch.scalars, places);
    compare_call("matmul", desc.d, bound(desc.accumulate, desc.d, static_cast<double>(desc.k)),
                 places);
  }
  void check_call(const hal::ConvDesc& desc, const std::vector<Place>& places) {
    const libraries::ConvLaunch launch = libraries::convolution_launch(desc, 0, 0);
    run_reference(libraries::convolution_program(launch.key), launch.grid, launch.scalars, places);
    const double terms = static_cast<double>(desc.channels) *
                         static_cast<double>(desc.rows.kernel * desc.columns.kernel);
    compare_call("conv2d", desc.d, bound(desc.accumulate, desc.d, terms), places);
  }
  void compare_call(const char* name, DType type, double apart, const std::vector<Place>& places) {
    const auto bad = first_bad(type, places[2], apart);
    if (!bad) return;
    Finding finding;
    finding.step = finding.operation = name;
    finding.where = "element " + std::to_string(bad->element);
    finding.dtype = type;
    finding.expected = bad->expected;
    finding.got = bad->got;
    search_->found(std::move(finding));
  }

  void compare_bytes(const char* name, const std::byte* is, const std::byte* ought,
                     uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i++) {
      if (is[i] == ought[i]) continue;
      Finding finding;
      finding.step = finding.operation = name;
      finding.where = "byte " + std::to_string(i) + " of " + std::to_string(bytes);
      finding.dtype = DType::U8;
      finding.expected = static_cast<uint64_t>(ought[i]);
      finding.got = static_cast<uint64_t>(is[i]);
      search_->found(std::move(finding));
    }
  }

  std::shared_ptr<Search> search_;
  MirrorLibrary* library_;
  std::unique_ptr<hal::Stream> real_, reference_;
  std::map<std::pair<uint64_t, uint64_t>, std::shared_ptr<hal::Executable>> ready_;
};

class MirrorDevice final : public hal::Device {
 public:
  explicit MirrorDevice(std::shared_ptr<Search> search) : search_(std::move(search)) {
    if (hal::LibraryOps* const library = real().library())
      library_ = std::make_unique<MirrorLibrary>(*library);
  }
  const DeviceInfo& info() const override { return real().info(); }
  std::optional<hal::Refusal> refuses(const program::Program& program) const override {
    return real().refuses(program);
  }
  std::unique_ptr<hal::Buffer> allocate(uint64_t bytes) override {
    return std::make_unique<MirrorBuffer>(real().allocate(bytes));
  }
  bool suballocates() const override { return real().suballocates(); }
  std::unique_ptr<hal::Buffer> adopt(std::byte*, uint64_t) override { return nullptr; }
  std::shared_ptr<hal::Executable> compile(const program::Program& program,
                                           const hal::CompileOptions& options) override {
    hal::CompileOptions now = options;
    now.later = false;
    return std::make_shared<MirrorExecutable>(real().compile(program, now), program);
  }
  std::unique_ptr<hal::Stream> stream() override {
    return std::make_unique<MirrorStream>(search_, library_.get());
  }
  hal::LibraryOps* library() override { return library_.get(); }

 private:
  hal::Device& real() const { return *search_->device(); }
  std::shared_ptr<Search> search_;
  std::unique_ptr<MirrorLibrary> library_;
};

}  // namespace

uint64_t bits_at(DType type, const std::byte* memory, int64_t element) {
  uint64_t bits = 0;
  const size_t size = size_of(type);
  std::memcpy(&bits, memory + static_cast<size_t>(element) * size, size);
  return bits;
}

std::shared_ptr<hal::Device> mirror(std::shared_ptr<Search> search) {
  return std::make_shared<MirrorDevice>(std::move(search));
}

}  // namespace hologram::bisection
