// Queues of the emulated Metal, command buffers, and what encodes into them.
#include <algorithm>

#include "fake_metal_world.hpp"

namespace hologram::fake {
namespace {

using metal::Int;
using metal::Messages;
using metal::UInt;

constexpr double kLaunchTakes = 5e-6;  // seconds
constexpr Int kPageFault = 3;          // MTLCommandBufferError
constexpr UInt kWord = 4, kNotEnqueued = 0, kScheduled = 3;

struct Row final : Thing {  // an MTLCommandQueue
  Row() : Thing("MTLCommandQueue") {}
};

// What went wrong, where it did.
struct Wrong {
  Int code;
  std::string text;
};
using Step = std::function<std::optional<Wrong>()>;

struct Commands final : Thing {  // an MTLCommandBuffer
  explicit Commands(std::shared_ptr<Row> row) : Thing("MTLCommandBuffer"), row(std::move(row)) {}
  void go() override {
    steps.clear();
    row = nullptr;
    if (trouble != nullptr) Objc::instance().release(trouble);
  }
  std::shared_ptr<Row> row;
  std::vector<Step> steps;
  bool encodes = false, committed = false;
  emulated::Streams::Ticket ticket = 0;
  std::atomic<UInt> status = kNotEnqueued;
  double start = 0, end = 0;
  Trouble* trouble = nullptr;
};

// What both kinds of encoders are. The command buffer has one at a time.
struct Encoder : Thing {
  Encoder(const char* of, std::shared_ptr<Commands> commands)
      : Thing(of), commands(std::move(commands)) {}
  void go() override {
    if (commands->encodes && !ended) Objc::instance().fault(std::string(of) + " was never ended");
    commands = nullptr;
  }
  bool usable() const {
    if (ended) Objc::instance().fault(std::string("a message to an ended ") + of);
    return !ended;
  }
  void end() {
    if (usable()) commands->encodes = false;
    ended = true;
  }
  void add(Step step) const { commands->steps.push_back(std::move(step)); }
  std::shared_ptr<Commands> commands;
  bool ended = false;
};

struct Place {
  std::shared_ptr<Bytes> buffer;
  std::shared_ptr<std::vector<std::byte>> bytes;
  UInt offset = 0;
  std::byte* memory() const {
    return buffer != nullptr ? buffer->memory + offset : bytes != nullptr ? bytes->data() : nullptr;
  }
};

struct Compute final : Encoder {
  explicit Compute(std::shared_ptr<Commands> commands)
      : Encoder("MTLComputeCommandEncoder", std::move(commands)) {}
  void go() override {
    Encoder::go();
    pipe = nullptr;
    places.clear();
  }
  std::shared_ptr<Pipe> pipe;
  std::vector<Place> places = std::vector<Place>(metal::kMostBuffers);
};

struct Blit final : Encoder {
  explicit Blit(std::shared_ptr<Commands> commands)
      : Encoder("MTLBlitCommandEncoder", std::move(commands)) {}
};

void fault(const std::string& what) { Objc::instance().fault(what); }

template <class E>
E* new_encoder(metal::CommandBuffer* self, const char* selector) {
  Objc& objc = Objc::instance();
  auto* const commands = as<Commands>(self);
  if (objc.fails(selector)) return nullptr;
  if (commands->encodes) fault("two encoders at a time");
  if (commands->committed) fault("an encoder of what was committed");
  commands->encodes = true;
  return objc.hand_out(objc.make<E>(held(commands)));
}

// Until nothing hangs any more.
void hang() {
  World& w = world();
  std::unique_lock lock(w.hang_mutex);
  w.unhung.wait(lock, [&] { return !w.hangs; });
}

std::optional<Wrong> run_kernel(const Compute& with, UInt blocks, UInt threads) {
  World& w = world();
  w.launches++;
  hang();
  const emulated::Kernel* const kernel = with.pipe->kernel;
  if (kernel == nullptr) return std::nullopt;
  std::vector<std::byte*> pointers;
  std::vector<const void*> arguments;
  pointers.reserve(with.pipe->buffers);
  arguments.reserve(with.pipe->buffers);
  for (size_t i = 0; i < with.pipe->buffers; i++) pointers.push_back(with.places[i].memory());
  for (std::byte*& pointer : pointers) arguments.push_back(&pointer);
  const std::string wrong = w.executor.run(emulated::launch_of(
      *kernel, static_cast<unsigned>(blocks), static_cast<unsigned>(threads), arguments.data()));
  if (wrong.empty()) return std::nullopt;
  return Wrong{kPageFault, wrong};
}

void dispatch(metal::ComputeEncoder* self, Selector, metal::Size groups, metal::Size threads) {
  const auto* const encoder = as<Compute>(self);
  if (!encoder->usable()) return;
  if (encoder->pipe == nullptr) return fault("a dispatch without a pipeline");
  const UInt lanes = threads.width * threads.height * threads.depth;
  if (groups.height != 1 || groups.depth != 1 || groups.width == 0 || groups.width > UINT32_MAX)
    return fault("a grid of other sizes");
  if (lanes == 0 || lanes > encoder->pipe->most_threads)
    return fault("more threads than the pipeline may have");
  for (size_t i = 0; i < encoder->pipe->buffers; i++)
    if (encoder->places[i].memory() == nullptr)
      return fault(encoder->pipe->name + ": buffer " + std::to_string(i) + " is not set");
  // As it is set now.
  const auto with = std::make_shared<Compute>(nullptr);
  with->pipe = encoder->pipe;
  with->places = encoder->places;
  encoder->add([with, groups, lanes] { return run_kernel(*with, groups.width, lanes); });
}

void set_buffer(metal::ComputeEncoder* self, Selector, const metal::BufferObject* buffer,
                UInt offset, UInt index) {
  auto* const encoder = as<Compute>(self);
  if (!encoder->usable()) return;
  if (index >= metal::kMostBuffers) return fault("a buffer beyond the last");
  auto* const bytes = as<Bytes>(buffer);
  if (offset >= bytes->size || offset % kWord != 0) return fault("a buffer from beyond its end");
  encoder->places[index] = {held(bytes), nullptr, offset};
}

void set_bytes(metal::ComputeEncoder* self, Selector, const void* data, UInt length, UInt index) {
  auto* const encoder = as<Compute>(self);
  if (!encoder->usable()) return;
  if (index >= metal::kMostBuffers || length > metal::kMostBytes || length == 0)
    return fault("more bytes than may be set");
  const auto* const first = static_cast<const std::byte*>(data);
  encoder->places[index] = {nullptr,
                            std::make_shared<std::vector<std::byte>>(first, first + length), 0};
}

bool inside(const Bytes* buffer, UInt offset, UInt size) {
  const bool good = offset % kWord == 0 && size % kWord == 0 && size > 0 &&
                    offset <= buffer->size && size <= buffer->size - offset;
  if (!good) fault("a blit out of range, or of no whole words");
  return good;
}

void copy(metal::BlitEncoder* self, Selector, const metal::BufferObject* source, UInt from,
          const metal::BufferObject* target, UInt to, UInt size) {
  const auto* const encoder = as<Blit>(self);
  if (!encoder->usable()) return;
  const auto a = held(as<Bytes>(source)), b = held(as<Bytes>(target));
  if (!inside(a.get(), from, size) || !inside(b.get(), to, size)) return;
  encoder->add([=]() -> std::optional<Wrong> {
    std::memmove(b->memory + to, a->memory + from, size);
    return std::nullopt;
  });
}

void fill(metal::BlitEncoder* self, Selector, const metal::BufferObject* buffer, metal::Range range,
          uint8_t value) {
  const auto* const encoder = as<Blit>(self);
  if (!encoder->usable()) return;
  const auto bytes = held(as<Bytes>(buffer));
  if (!inside(bytes.get(), range.location, range.length)) return;
  encoder->add([=]() -> std::optional<Wrong> {
    std::memset(bytes->memory + range.location, value, range.length);
    return std::nullopt;
  });
}

void finish(Commands& commands, std::optional<Wrong> wrong) {
  World& w = world();
  commands.start = w.clock;
  for (const Step& step : commands.steps) {
    if (wrong) break;
    wrong = step();
    w.clock = w.clock + kLaunchTakes;
  }
  commands.end = w.clock;
  commands.steps.clear();  // and with them what they keep
  if (wrong) commands.trouble = Objc::instance().make<Trouble>(wrong->code, wrong->text);
  commands.status = wrong ? metal::kFailed : metal::kCompleted;
}

void commit(metal::CommandBuffer* self, Selector) {
  auto* const commands = as<Commands>(self);
  if (commands->encodes) fault("a commit before the encoder has ended");
  if (commands->committed) return fault("a second commit");
  commands->committed = true;
  commands->status = kScheduled;
  int code = 0;
  std::optional<Wrong> wrong;
  if (Objc::instance().fails("commit", &code)) wrong = Wrong{code, "an injected failure"};
  // It stays until it has run.
  commands->ticket = world().streams.put(commands->row.get(), emulated::Streams::Kind::Kernel,
                                         [kept = held(commands), wrong] { finish(*kept, wrong); });
}

void answer_encoders(Objc& objc) {
  objc.answer(&Messages::set_pipeline, "MTLComputeCommandEncoder", "setComputePipelineState:",
              [](metal::ComputeEncoder* self, Selector, const metal::Pipeline* pipeline) {
                if (as<Compute>(self)->usable()) as<Compute>(self)->pipe = held(as<Pipe>(pipeline));
              });
  objc.answer(&Messages::set_buffer, "MTLComputeCommandEncoder",
              "setBuffer:offset:atIndex:", &set_buffer);
  objc.answer(&Messages::set_bytes, "MTLComputeCommandEncoder",
              "setBytes:length:atIndex:", &set_bytes);
  objc.answer(&Messages::dispatch, "MTLComputeCommandEncoder",
              "dispatchThreadgroups:threadsPerThreadgroup:", &dispatch);
  objc.answer(&Messages::end_compute, "MTLComputeCommandEncoder", "endEncoding",
              [](metal::ComputeEncoder* self, Selector) { as<Compute>(self)->end(); });
  objc.answer(&Messages::copy, "MTLBlitCommandEncoder",
              "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", &copy);
  objc.answer(&Messages::fill, "MTLBlitCommandEncoder", "fillBuffer:range:value:", &fill);
  objc.answer(&Messages::end_blit, "MTLBlitCommandEncoder", "endEncoding",
              [](metal::BlitEncoder* self, Selector) { as<Blit>(self)->end(); });
}

}  // namespace

Thing* new_queue() { return Objc::instance().make<Row>(); }

void answer_commands() {
  Objc& objc = Objc::instance();
  answer_encoders(objc);
  objc.answer(
      &Messages::command_buffer, "MTLCommandQueue", "commandBuffer",
      [](metal::Queue* self, Selector) -> metal::CommandBuffer* {
        Objc& o = Objc::instance();
        if (o.fails("commandBuffer")) return nullptr;
        return as_named<metal::CommandBuffer>(o.hand_out(o.make<Commands>(held(as<Row>(self)))));
      });
  objc.answer(
      &Messages::compute, "MTLCommandBuffer", "computeCommandEncoder",
      [](metal::CommandBuffer* self, Selector) {
        return as_named<metal::ComputeEncoder>(new_encoder<Compute>(self, "computeCommandEncoder"));
      });
  objc.answer(&Messages::blit, "MTLCommandBuffer", "blitCommandEncoder",
              [](metal::CommandBuffer* self, Selector) {
                return as_named<metal::BlitEncoder>(new_encoder<Blit>(self, "blitCommandEncoder"));
              });
  objc.answer(&Messages::commit, "MTLCommandBuffer", "commit", &commit);
  objc.answer(&Messages::wait, "MTLCommandBuffer", "waitUntilCompleted",
              [](metal::CommandBuffer* self, Selector) {
                if (!as<Commands>(self)->committed) return fault("a wait for what never runs");
                world().streams.wait(as<Commands>(self)->ticket);
              });
  objc.answer(&Messages::status, "MTLCommandBuffer", "status",
              [](metal::CommandBuffer* self, Selector) -> UInt {
                // Who asks wants it done.
                if (as<Commands>(self)->ticket != 0)
                  world().streams.done(as<Commands>(self)->ticket);
                return as<Commands>(self)->status;
              });
  objc.answer(&Messages::error, "MTLCommandBuffer", "error",
              [](metal::CommandBuffer* self, Selector) {
                Thing* const trouble = as<Commands>(self)->trouble;
                return trouble == nullptr ? nullptr : as_named<metal::ErrorObject>(trouble);
              });
  objc.answer(&Messages::start_time, "MTLCommandBuffer", "GPUStartTime",
              [](metal::CommandBuffer* self, Selector) { return as<Commands>(self)->start; });
  objc.answer(&Messages::end_time, "MTLCommandBuffer", "GPUEndTime",
              [](metal::CommandBuffer* self, Selector) { return as<Commands>(self)->end; });
}

}  // namespace hologram::fake
