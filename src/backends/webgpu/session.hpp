// An open device: what its buffers, programs and streams share, and these.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <span>

#include "backends/webgpu/driver.hpp"
#include "dialects/dialect.hpp"
#include "hologram/error.hpp"

namespace hologram::backends::webgpu {

class Session;

// A kernel that is made ready, and what its bindings are.
struct Pipeline {
  std::shared_ptr<Session> session;
  Owned<BindGroupLayout> layout;
  Owned<ComputePipeline> pipeline;
  std::atomic<bool> ready{false};  // there is one
  Awaited coming;                  // null: it was made at once
  ~Pipeline();
};

// Memory of its own: WebGPU looks at whole buffers when one part is written and another only read.
class WgBuffer final : public hal::Buffer {
 public:
  WgBuffer(std::shared_ptr<Session> session, uint64_t bytes);
  ~WgBuffer() override;
  WgBuffer(const WgBuffer&) = delete;
  WgBuffer& operator=(const WgBuffer&) = delete;
  uint64_t size() const override { return bytes_; }
  std::byte* host() override { return nullptr; }
  GpuBuffer* buffer() const { return buffer_.get(); }
  Session& session() const { return *session_; }
  uint64_t room() const { return room_; }  // a multiple of 16, never 0

 private:
  std::shared_ptr<Session> session_;
  const uint64_t bytes_, room_;
  Owned<GpuBuffer> buffer_;
};

inline uint64_t whole_words(uint64_t bytes) { return (bytes + 3) / 4 * 4; }

// Compilers can be talkative, and what is wrong stands first.
std::string first_lines(const std::string& log);

// What went wrong on a device, as its callbacks tell it.
struct Health {
  void take(const std::string& message);  // of an error

  std::mutex mutex;
  std::string lost;
  std::string error;    // the first
  std::string program;  // that was being launched then
};

// What a device does, which nothing but a trial tells.
struct Traits {
  bool fused = true;       // its fma rounds once
  bool divides = true;     // its quotients and roots are rounded correctly
  bool contracts = false;  // its compiler makes one fma of a product and a sum
  bool flushes = false;    // denormals are 0
  bool halves = false;     // f16 is converted as everywhere else
  bool packed = false;     // its compiler knows products of packed bytes
  uint32_t subgroup = 0;   // so many lanes in a row hand values to each other
};

// One for all executors of an adapter. Its streams share a queue, which runs in order: memory that
// a stream has released may be given to another at once. WebGPU's objects are used by one thread
// at a time, that which has the session's lock.
class Session : public std::enable_shared_from_this<Session> {
 public:
  static std::shared_ptr<Session> open(const Found& found);
  explicit Session(const Found& found);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Api& api() const { return api_; }
  const DeviceInfo& info() const { return info_; }
  const Traits& traits() const { return traits_; }
  bool has(std::span<const uint32_t> feature) const;
  DeviceObject* device() const { return device_.get(); }
  std::unique_lock<std::mutex> lock() const { return std::unique_lock(mutex_); }
  bool lost() const;
  // Throws what went wrong since it was last asked; that the device is lost, every time.
  void check();

  // OutOfMemory. One that is `mapped` is the host's until it is unmapped.
  Owned<GpuBuffer> make_buffer(uint64_t bytes, uint64_t uses, bool mapped = false);
  // Starts to make a kernel ready, as others are made that are started before it is waited for.
  // Both throw ProgramNotCompiled, with the first lines of what the compiler says.
  std::shared_ptr<Pipeline> start(const std::string& program, const dialects::Printed& printed);
  void wait(const std::string& program, const std::shared_ptr<Pipeline>& pipeline);
  std::shared_ptr<Pipeline> pipeline(const std::string& program, const dialects::Printed& printed) {
    auto started = start(program, printed);
    wait(program, started);
    return started;
  }
  // Whether kernels are made side by side.
  bool starts() const { return api_.wgpuDeviceCreateComputePipelineAsync != nullptr; }

  struct Bound {
    GpuBuffer* buffer = nullptr;
    uint64_t offset = 0, bytes = 0;
    bool written = false;
  };
  // Launches of one dimension; `parameters` are bound behind the buffers. With `times` it is a pass
  // of its own.
  void launch(const std::string& program, const Pipeline& pipeline, std::span<const Bound> bound,
              std::span<const std::byte> parameters, uint32_t blocks,
              const PassTimes* times = nullptr);
  Owned<QuerySet> make_times(uint32_t count);
  void bring_times(QuerySet* from, uint32_t count, GpuBuffer* to);
  // Sizes and offsets of what is not the host's are taken to be multiples of 4: the bytes up to the
  // next one belong to whoever has those before.
  void write(GpuBuffer* to, uint64_t offset, const std::byte* from, uint64_t bytes);
  void read(std::byte* to, GpuBuffer* from, uint64_t offset, uint64_t bytes);
  void copy(GpuBuffer* to, uint64_t to_offset, GpuBuffer* from, uint64_t from_offset,
            uint64_t bytes);
  void fill(GpuBuffer* where, uint64_t offset, uint64_t bytes, uint32_t pattern);
  // Starts what was asked for if the device will soon have nothing to do and this is worth a
  // submission, which costs both more than many launches.
  void start();
  // Starts it in any case, and tells when it is done.
  Awaited submit();
  // False if the deadline or the wish to cancel came first.
  bool wait(const Awaited& answer, const hal::Deadline& deadline, const Progress* progress);

#ifdef __EMSCRIPTEN__
  // A copy of this memory on its way to the page, under a number.
  uint32_t bring(GpuBuffer* from, uint64_t offset, uint64_t bytes);
  // The word must turn out to be 0, or settle throws the error.
  void defer_check(GpuBuffer* word, uint64_t offset, std::function<Error()> error);
  void settle();
#endif

  // Before a buffer or layout goes: nothing is kept that is bound to it. With the lock.
  void forget(const void* object);
  // What has come of a pipeline that was started. With the lock.
  void take(Pipeline& pipeline, bool wait);

  // A launch that ran over its limit: until it is done, nothing else is started.
  void give_up(Awaited done, const std::string& program);
  // DeviceLost while there is such a launch, and where the device is lost.
  void refuse_if_busy();

 private:
  // What the host can look into.
  struct Staging {
    Owned<GpuBuffer> buffer;
    uint64_t bytes = 0;
    Awaited mapped;  // null: it is the host's since it was made
  };
  struct Pieces;
  static constexpr uint64_t kPiece = 8 << 20;  // bytes of a copy that are staged at a time
  uint64_t place_of(std::span<const std::byte> parameters);
  BindGroup* group(const Pipeline& pipeline, std::span<const Bound> bound, uint64_t parameters);
  void begin_pass(const PassTimes* times);
  void end_pass();
  std::string open_device(Adapter* adapter, const Limits& limits, const Chain* next);
  void try_out();
  void try_arithmetic();
  bool reduces();
  bool converts();
  bool multiplies_bytes();
  bool troubled() const;  // whether check would throw
  void flush();           // all of these with the lock
  CommandEncoder* encoder();
  std::string scoped(const std::function<void()>& make, ErrorType* type, std::string_view what);
  Staging start_reading(GpuBuffer* from, uint64_t offset, uint64_t bytes);
  Staging piece_to_write();
  std::byte* mapped(const Staging& stage, uint64_t bytes, bool to_write);
  void write_pieces(GpuBuffer* to, uint64_t offset, const std::byte* from, uint64_t bytes);
  bool process(const Awaited& answer);

  const Api& api_;
  DeviceInfo info_;
  std::shared_ptr<Health> health_ = std::make_shared<Health>();
  mutable std::mutex mutex_;
  Owned<Instance> instance_;
  Owned<DeviceObject> device_;
  Owned<Queue> queue_;
  uint32_t parameter_step_ = 256;
  std::vector<uint32_t> features_;  // that the device was asked for
  uint32_t least_subgroup_ = 0;
  Traits traits_;
  // What is being put together: launches and copies.
  Owned<CommandEncoder> encoder_;
  Owned<ComputePass> pass_;
  struct Set {
    ComputePipeline* pipeline = nullptr;
    BindGroup* group = nullptr;
    uint32_t offset = 0;
    friend bool operator==(const Set&, const Set&) = default;
  };
  Set set_;  // in the pass
  // The parameters of launches, each under its bytes; the last of them are written when what is put
  // together starts.
  std::vector<std::byte> parameters_;
  size_t written_ = 0;
  std::map<std::string, uint64_t, std::less<>> places_;
  Owned<GpuBuffer> parameter_buffer_;
  // What was bound before, by the layout and the buffers with what of them.
  std::map<std::vector<uint64_t>, Owned<BindGroup>> groups_;
  std::vector<uint64_t> sought_;            // among them
  std::vector<Staging> readers_, writers_;  // that no copy has
  std::map<std::string, std::weak_ptr<Pipeline>> pipelines_;
  Awaited overdue_;
  std::string culprit_;
  std::deque<Awaited> started_;  // by start, the oldest first
  uint64_t bytes_bound_ = 0;     // by what is put together
#ifdef __EMSCRIPTEN__
  struct Doubt {
    uint32_t number;  // under which the word comes
    std::function<Error()> error;
  };
  std::vector<Doubt> doubts_;
#endif
};

// A number that a running program leaves behind: that it ran out of rounds.
class StopWord {
 public:
  explicit StopWord(Session& session);
  ~StopWord();
  StopWord(const StopWord&) = delete;
  StopWord& operator=(const StopWord&) = delete;
  GpuBuffer* buffer() const { return buffer_.get(); }
  void clear() { session_.fill(buffer(), 0, kBytes, 0); }
  bool raised();
  static constexpr uint64_t kBytes = 4;

 private:
  Session& session_;
  Owned<GpuBuffer> buffer_;
};

}  // namespace hologram::backends::webgpu
