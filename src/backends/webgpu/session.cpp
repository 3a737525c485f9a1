#include "backends/webgpu/session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/messages.hpp"
#include "core/signal_handlers.hpp"

namespace hologram::backends::webgpu {
namespace {

using core::Text;
using std::chrono::seconds;

constexpr seconds kPatience{30};               // for a device
constexpr uint64_t kParameterBytes = 1 << 18;  // of launches; many are alike
constexpr size_t kMostPipelines = 1024;        // before those are forgotten that nobody uses
constexpr size_t kMostGroups = 1024;           // that are kept bound

}  // namespace

std::string first_lines(const std::string& log) {
  constexpr int kLines = 6;
  size_t end = 0;
  for (int line = 0; line < kLines && end != std::string::npos; line++)
    end = log.find('\n', end + (line > 0 ? 1 : 0));
  std::string text = log.substr(0, std::min<size_t>(end, 1000));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  return text.empty() ? "it does not say why" : text;
}

void Health::take(const std::string& message) {
  const std::lock_guard lock(mutex);
  // wgpu-native says it in this way only.
  if (lost.empty() && message.find("device is lost") != std::string::npos)
    lost = first_lines(message);
  else if (error.empty()) error = first_lines(message);
}

std::shared_ptr<Session> Session::open(const Found& found) {
  static std::mutex mutex;
  struct Known {
    std::weak_ptr<Session> session;
    std::shared_ptr<Session> untried;  // in a page the trial goes on when this is called again
  };
  static auto* const sessions = new std::map<int, Known>;
  const std::lock_guard lock(mutex);
  Known& known = (*sessions)[found.info.index];
  if (auto session = known.session.lock(); session != nullptr && !session->lost()) return session;
  std::shared_ptr<Session> session =
      known.untried != nullptr ? known.untried : std::make_shared<Session>(found);
  if (kInPage) known.untried = session;
  try {
    session->try_out();
  } catch (const Error&) {
    known.untried = nullptr;
    throw;
  }
  known.untried = nullptr;
  known.session = session;
  return session;
}

Session::Session(const Found& found) : api_(Driver::instance().api()), info_(found.info) {
  const core::KeepSignalHandlers keep;
  const auto failed = [&](const char* call, const std::string& why) {
    return core::error(Text::DriverFailed, info_.name, call, why);
  };
  instance_ = own(api_.wgpuCreateInstance(nullptr), api_.wgpuInstanceRelease);
  if (instance_ == nullptr) throw failed("wgpuCreateInstance", "there is none");
  std::string why;
  const auto adapter = request(api_, instance_.get(), found.power, found.fallback, why);
  Limits limits;
  if (adapter == nullptr || api_.wgpuAdapterGetLimits(adapter.get(), &limits) != Status::Success)
    throw failed("wgpuInstanceRequestAdapter", why);
  limits.next = nullptr;
  parameter_step_ = std::max(limits.uniform_alignment, 16u);

  // Whether they can be relied on is tried out.
  for (const auto& numbers : {kHalves, kSubgroups, kTimestamps})
    for (const uint32_t number : std::span(numbers, 2))
      if (api_.wgpuAdapterHasFeature(adapter.get(), number) != 0) features_.push_back(number);
  if (has(kSubgroups)) {
    AdapterInfo about;
    if (api_.wgpuAdapterGetInfo(adapter.get(), &about) == Status::Success) {
      least_subgroup_ = about.least_subgroup;
      api_.wgpuAdapterInfoFreeMembers(about);
    }
  }

  // Dawn would have its clock tick every 65 us, as pages may not look closer. A library that does
  // not know what it is asked for is asked for a device without.
  const char* const kCoarse = "timestamp_quantization";
  DawnToggles toggles;
  toggles.disabled_count = 1;
  toggles.disabled = &kCoarse;
  std::string refusal;
  if (!kInPage) refusal = open_device(adapter.get(), limits, &toggles.chain);
  if (device_ == nullptr) refusal = open_device(adapter.get(), limits, nullptr);
  if (device_ == nullptr) throw failed("wgpuAdapterRequestDevice", refusal);
  queue_ = own(api_.wgpuDeviceGetQueue(device_.get()), api_.wgpuQueueRelease);
  parameter_buffer_ = make_buffer(kParameterBytes, kUseUniform | kUseCopyTo);
}

// Why there is none; empty if there is.
std::string Session::open_device(Adapter* adapter, const Limits& limits, const Chain* next) {
  // The callbacks share what they write to with us; that of loss comes last, and once.
  auto* const health = new std::shared_ptr<Health>(health_);
  DeviceDescription description;
  description.next = next;
  description.limits = &limits;
  description.feature_count = features_.size();
  description.features = features_.data();
  description.lost.user = health;
  description.lost.call = [](DeviceObject* const*, Lost reason, StringView message, void* user,
                             void*) {
    const std::unique_ptr<std::shared_ptr<Health>> share(
        static_cast<std::shared_ptr<Health>*>(user));
    if (reason == Lost::FailedCreation) return;  // it never was
    const std::lock_guard lock((*share)->mutex);
    (*share)->lost = string_of(message);
    if ((*share)->lost.empty()) (*share)->lost = fmt::format("reason {}", static_cast<int>(reason));
  };
  description.error.user = health_.get();
  description.error.call = [](DeviceObject* const*, ErrorType, StringView message, void* user,
                              void*) { static_cast<Health*>(user)->take(string_of(message)); };
  const auto answer = std::make_shared<Answer>();
  api_.wgpuAdapterRequestDevice(adapter, &description, on_device(answer));
  const auto there = [&] { return answer->there; };
  if (!wait_for(api_, instance_.get(), hal::Clock::now() + kPatience, there))
    return "it does not answer";
  device_ = own(static_cast<DeviceObject*>(answer->object), api_.wgpuDeviceRelease);
  if (device_ != nullptr) return {};
  return answer->message.empty() ? "it does not say why" : answer->message;
}

Session::~Session() {
  const auto lock = this->lock();
  if (is_ending() || device_ == nullptr) return;
  pass_.reset();
  encoder_.reset();
  groups_.clear();
  readers_.clear();
  writers_.clear();
  parameter_buffer_.reset();
  queue_.reset();
  api_.wgpuDeviceDestroy(device_.get());
  // Callbacks of what was under way come before those that they tell are gone.
  api_.wgpuInstanceProcessEvents(instance_.get());
  device_.reset();
  instance_.reset();
}

bool Session::has(std::span<const uint32_t> feature) const {
  return std::find_first_of(features_.begin(), features_.end(), feature.begin(), feature.end()) !=
         features_.end();
}

bool Session::lost() const {
  const std::lock_guard lock(health_->mutex);
  return !health_->lost.empty();
}

bool Session::troubled() const {
  const std::lock_guard lock(health_->mutex);
  return !health_->lost.empty() || !health_->error.empty();
}

void Session::check() {
  const std::lock_guard lock(health_->mutex);
  if (!health_->lost.empty()) throw core::error(Text::DeviceIsLost, info_.name, health_->lost);
  if (health_->error.empty()) return;
  const std::string where =
      health_->program.empty() ? "its work" : fmt::format("program '{}'", health_->program);
  throw core::error(Text::DriverFailed, info_.name, where, std::exchange(health_->error, {}));
}

std::shared_ptr<Pipeline> Session::start(const std::string& program,
                                         const dialects::Printed& printed) {
  check();
  const core::KeepSignalHandlers keep;
  const auto lock = this->lock();
  if (pipelines_.size() > kMostPipelines)
    std::erase_if(pipelines_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Pipeline>& known = pipelines_[printed.text];
  if (auto ready = known.lock()) return ready;
  using Kind = dialects::Argument::Kind;
  std::vector<LayoutEntry> entries;
  const auto add = [&](uint32_t binding, BindingType type) {
    LayoutEntry entry;
    entry.binding = binding;
    entry.stages = kComputeStage;
    entry.buffer.type = type;
    entry.buffer.moves = type == BindingType::Uniform;
    entries.push_back(entry);
  };
  for (const dialects::Argument& argument : printed.arguments)
    if (argument.kind == Kind::Buffer || argument.kind == Kind::Stop)
      add(argument.place, argument.read_only ? BindingType::ReadOnlyStorage : BindingType::Storage);
  add(printed.block_binding, BindingType::Uniform);

  auto made = std::make_shared<Pipeline>();
  made->session = shared_from_this();
  const auto make = [&] {
    const LayoutDescription layout{.entry_count = entries.size(), .entries = entries.data()};
    made->layout = own(api_.wgpuDeviceCreateBindGroupLayout(device_.get(), &layout),
                       api_.wgpuBindGroupLayoutRelease);
    BindGroupLayout* const group = made->layout.get();
    const PipelineLayoutDescription layouts{.group_count = 1, .groups = &group};
    const auto all = own(api_.wgpuDeviceCreatePipelineLayout(device_.get(), &layouts),
                         api_.wgpuPipelineLayoutRelease);
    ShaderSource source;
    source.chain.type = kWgslSource;
    source.code = text(printed.text);
    const ShaderDescription shader{.next = &source.chain, .label = text(program)};
    const auto module = own(api_.wgpuDeviceCreateShaderModule(device_.get(), &shader),
                            api_.wgpuShaderModuleRelease);
    PipelineDescription description;
    description.layout = all.get();
    description.module = module.get();
    description.entry = text(printed.entry);
    if (starts()) {
      made->coming = std::make_shared<Answer>();
      api_.wgpuDeviceCreateComputePipelineAsync(device_.get(), &description,
                                                on_pipeline(made->coming));
      return;
    }
    made->pipeline = own(api_.wgpuDeviceCreateComputePipeline(device_.get(), &description),
                         api_.wgpuComputePipelineRelease);
    made->ready = made->pipeline != nullptr;
  };
  std::string wrong = scoped(make, nullptr, "program '" + program + "' does not compile");
  {
    const std::lock_guard health(health_->mutex);
    if (wrong.empty()) wrong = std::exchange(health_->error, {});
  }
  if (!wrong.empty() || (made->coming == nullptr && !made->ready)) {
    take(*made, true);
    made->layout.reset();
    made->pipeline.reset();
    throw core::error(Text::ProgramNotCompiled, program, info_.name, first_lines(wrong));
  }
  known = made;
  return made;
}

void Session::take(Pipeline& pipeline, bool wait) {
  if (pipeline.ready || pipeline.coming == nullptr || is_ending()) return;
  const auto there = [&] { return pipeline.coming->there; };
  if (wait && !lost()) wait_for(api_, instance_.get(), hal::Clock::now() + kPatience, there);
  auto* const made = static_cast<ComputePipeline*>(std::exchange(pipeline.coming->object, nullptr));
  pipeline.pipeline = own(made, api_.wgpuComputePipelineRelease);
  pipeline.ready = made != nullptr && pipeline.coming->good();
}

void Session::wait(const std::string& program, const std::shared_ptr<Pipeline>& pipeline) {
  if (pipeline->ready) return;
  const core::KeepSignalHandlers keep;
  wait(pipeline->coming, {}, nullptr);
  const auto lock = this->lock();
  take(*pipeline, false);
  if (pipeline->ready) return;
  // Whoever wants it again has it made again.
  std::erase_if(pipelines_, [&](const auto& entry) {
    return !entry.second.owner_before(pipeline) && !pipeline.owner_before(entry.second);
  });
  throw core::error(Text::ProgramNotCompiled, program, info_.name,
                    first_lines(pipeline->coming->message));
}

Pipeline::~Pipeline() {
  if (layout == nullptr && pipeline == nullptr) return;
  const auto lock = session->lock();
  session->take(*this, true);
  session->forget(layout.get());
  layout.reset();
  pipeline.reset();
}

CommandEncoder* Session::encoder() {
  if (encoder_ == nullptr)
    encoder_ = own(api_.wgpuDeviceCreateCommandEncoder(device_.get(), nullptr),
                   api_.wgpuCommandEncoderRelease);
  return encoder_.get();
}

void Session::begin_pass(const PassTimes* times) {
  if (times != nullptr) end_pass();
  if (pass_ != nullptr) return;
  const PassDescription description{.times = times};
  pass_ = own(api_.wgpuCommandEncoderBeginComputePass(encoder(), &description),
              api_.wgpuComputePassEncoderRelease);
  set_ = {};
}

void Session::end_pass() {
  if (pass_ == nullptr) return;
  api_.wgpuComputePassEncoderEnd(pass_.get());
  pass_.reset();
}

void Session::flush() {
  if (encoder_ == nullptr) return;
  end_pass();
  if (parameters_.size() > written_)
    api_.wgpuQueueWriteBuffer(queue_.get(), parameter_buffer_.get(), written_,
                              &parameters_[written_], parameters_.size() - written_);
  written_ = parameters_.size();
  const auto commands =
      own(api_.wgpuCommandEncoderFinish(encoder_.get(), nullptr), api_.wgpuCommandBufferRelease);
  encoder_.reset();
  bytes_bound_ = 0;
  CommandBuffer* const one = commands.get();
  if (!troubled()) api_.wgpuQueueSubmit(queue_.get(), 1, &one);
}

// Where these are in the buffer: what is there already need not be brought again, and the device
// need not wait for it.
uint64_t Session::place_of(std::span<const std::byte> parameters) {
  const std::string_view bytes(reinterpret_cast<const char*>(parameters.data()), parameters.size());
  if (const auto known = places_.find(bytes); known != places_.end()) return known->second;
  const uint64_t step =
      (parameters.size() + parameter_step_ - 1) / parameter_step_ * parameter_step_;
  if (parameters_.size() + step > kParameterBytes) {
    flush();
    places_.clear();
    parameters_.clear();
    written_ = 0;
  }
  const uint64_t at = parameters_.size();
  parameters_.insert(parameters_.end(), parameters.begin(), parameters.end());
  parameters_.resize(at + step);
  places_.emplace(bytes, at);
  return at;
}

void Session::launch(const std::string& program, const Pipeline& pipeline,
                     std::span<const Bound> bound, std::span<const std::byte> parameters,
                     uint32_t blocks, const PassTimes* times) {
  if (parameters.size() > kParameterBytes)
    throw core::error(Text::ProgramTooLarge, program, parameters.size(), "bytes of parameters",
                      info_.name, kParameterBytes);
  for (const Bound& a : bound)
    for (const Bound& b : bound)
      if (&a != &b && a.buffer == b.buffer && a.written &&
          (!b.written || (a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes)))
        throw core::error(Text::InternalError,
                          fmt::format("program '{}' has parts of one WebGPU buffer, of which it "
                                      "writes to one, as arguments",
                                      program));
  const auto lock = this->lock();
  const auto offset = static_cast<uint32_t>(place_of(parameters));
  {
    const std::lock_guard health(health_->mutex);
    health_->program = program;
  }
  for (const Bound& b : bound) bytes_bound_ += b.bytes;
  BindGroup* const bindings = group(pipeline, bound, parameters.size());
  begin_pass(times);
  // What is set stays so in a pass; the device goes through whatever is set.
  const Set set{pipeline.pipeline.get(), bindings, offset};
  if (set.pipeline != set_.pipeline)
    api_.wgpuComputePassEncoderSetPipeline(pass_.get(), set.pipeline);
  if (set != set_) api_.wgpuComputePassEncoderSetBindGroup(pass_.get(), 0, bindings, 1, &offset);
  set_ = set;
  api_.wgpuComputePassEncoderDispatchWorkgroups(pass_.get(), blocks, 1, 1);
  if (times != nullptr) end_pass();
}

Owned<QuerySet> Session::make_times(uint32_t count) {
  const auto lock = this->lock();
  const QuerySetDescription description{.count = count};
  return own(api_.wgpuDeviceCreateQuerySet(device_.get(), &description), api_.wgpuQuerySetRelease);
}

void Session::bring_times(QuerySet* from, uint32_t count, GpuBuffer* to) {
  const auto lock = this->lock();
  end_pass();
  api_.wgpuCommandEncoderResolveQuerySet(encoder(), from, 0, count, to, 0);
}

BindGroup* Session::group(const Pipeline& pipeline, std::span<const Bound> bound,
                          uint64_t parameters) {
  const auto word = [](const void* object) {
    return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(object));
  };
  sought_.assign(1, word(pipeline.layout.get()));
  for (const Bound& b : bound) sought_.insert(sought_.end(), {word(b.buffer), b.offset, b.bytes});
  if (const auto known = groups_.find(sought_); known != groups_.end()) return known->second.get();
  std::vector<BindGroupEntry> entries(bound.size() + 1);
  for (uint32_t i = 0; i < entries.size(); i++) {
    entries[i].binding = i;
    const Bound b =
        i < bound.size() ? bound[i] : Bound{parameter_buffer_.get(), 0, parameters, false};
    entries[i].buffer = b.buffer;
    entries[i].offset = b.offset;
    entries[i].bytes = b.bytes;
  }
  const BindGroupDescription description{
      .layout = pipeline.layout.get(), .entry_count = entries.size(), .entries = entries.data()};
  if (groups_.size() >= kMostGroups) {
    groups_.clear();
    set_ = {};
  }
  return groups_
      .emplace(sought_, own(api_.wgpuDeviceCreateBindGroup(device_.get(), &description),
                            api_.wgpuBindGroupRelease))
      .first->second.get();
}

void Session::forget(const void* object) {
  set_ = {};  // another may get its address
  const auto word = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(object));
  std::erase_if(groups_, [&](const auto& entry) {
    return std::find(entry.first.begin(), entry.first.end(), word) != entry.first.end();
  });
}

void Session::give_up(Awaited done, const std::string& program) {
  const auto lock = this->lock();
  overdue_ = std::move(done);
  culprit_ = program;
}

void Session::refuse_if_busy() {
  if (lost()) check();
  const auto lock = this->lock();
  if (overdue_ == nullptr) return;
  api_.wgpuInstanceProcessEvents(instance_.get());
  if (!overdue_->there) throw core::error(Text::DeviceBusy, info_.name, culprit_);
  overdue_ = nullptr;
}

}  // namespace hologram::backends::webgpu
