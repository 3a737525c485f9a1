// An open device: what its buffers, programs and streams share, and these.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "backends/metal/driver.hpp"
#include "dialects/dialect.hpp"
#include "hologram/error.hpp"

namespace hologram::backends::metal {

// One for all executors of a device. Its streams share a queue, which runs in order: memory that a
// stream has released may be given to another at once. What is asked for is put into a command
// buffer, the open one, until that is committed. Command buffers are numbered; waiting for one is
// waiting for those before it as well.
class Session {
 public:
  static std::shared_ptr<Session> open(const Found& found);
  explicit Session(const Found& found);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const DeviceInfo& info() const { return found_.info; }
  uint64_t free_memory() const { return Driver::instance().free_memory(found_); }
  // Whether it computes exactly, once somebody has tried.
  std::optional<bool> exact;

  // OutOfMemory.
  Owned<BufferObject> make_buffer(uint64_t bytes, UInt storage);
  // Memory of the host itself, whole pages of it; null if the device will not have it.
  Owned<BufferObject> adopt(std::byte* memory, uint64_t bytes);
  // ProgramNotCompiled, with the first lines of what the compiler says; ProgramTooLarge.
  Owned<Pipeline> pipeline(const std::string& program, const dialects::Printed& printed);

  struct Memory {
    BufferObject* buffer = nullptr;
    std::byte* contents = nullptr;  // where the host reaches it
    uint64_t offset = 0, bytes = 0;
  };
  // What follows tells in which command buffer it is. `numbers` are bound behind the buffers.
  uint64_t launch(const std::string& program, const Pipeline* pipeline,
                  std::span<const Memory> bound, std::span<const std::byte> numbers,
                  uint64_t blocks, uint64_t threads);
  // Of sizes and offsets that are no multiples of 4, the bytes up to the next one belong to whoever
  // has those before.
  struct Numbers {
    uint64_t first = 0, last = 0;  // 0: it is done
  };
  Numbers write(const Memory& to, const std::byte* from);
  uint64_t copy(const Memory& to, const Memory& from);
  uint64_t fill(const Memory& where, uint8_t value);
  // Done when it returns, and all work before it.
  void read(std::byte* to, const Memory& from);

  // Commits what was asked for, if the device will soon have nothing to do and this is worth it.
  void start();
  // Commits it in any case. The number of the last command buffer there is.
  uint64_t submit();
  // False if the deadline or the wish to cancel came first.
  bool wait(uint64_t number, const hal::Deadline& deadline, const Progress* progress);
  // Throws what went wrong with a command buffer that has been waited for.
  void check(uint64_t number);
  // How long one took on the device that has been waited for.
  double seconds_of(uint64_t number);
  // Of this one it will be asked: it is committed by itself.
  void keep_time(uint64_t number);
  // Whether it has come to its end.
  bool ended(uint64_t number);

  // A launch that ran over its limit: until it is done, nothing else is started.
  void give_up(uint64_t number, const std::string& program);
  // DeviceLost while there is such a launch.
  void refuse_if_busy();

 private:
  struct Commands {
    uint64_t number = 0;
    Owned<CommandBuffer> buffer;
    std::string program;  // that was launched last
    hal::Clock::time_point committed = {};
  };
  // What both reach, for copies from and to memory that the host does not, or not yet.
  struct Staging {
    Owned<BufferObject> buffer;
    std::byte* contents = nullptr;
    uint64_t number = 0;  // the command buffer that uses it
  };
  static constexpr uint64_t kPiece = 8 << 20;  // bytes of a copy that are staged at a time

  // All of these with the lock, and a pool.
  CommandBuffer* commands();
  ComputeEncoder* compute();
  BlitEncoder* blit();
  void end_encoders();
  void commit();
  void look();  // for command buffers that have come to their end
  bool idle();
  void end(Commands& commands);
  Error error_of(const Commands& commands) const;

  Staging stage();
  uint64_t write_piece(const Memory& to, const std::byte* from);
  void read_piece(std::byte* to, const Memory& from);

  const Messages& messages_;
  const Found found_;
  std::mutex mutex_;
  Owned<Queue> queue_;
  Commands open_;
  Owned<ComputeEncoder> compute_;
  Owned<BlitEncoder> blit_;
  const Pipeline* set_ = nullptr;            // in compute_
  uint64_t launches_ = 0, bytes_bound_ = 0;  // by the open one
  uint64_t number_ = 0;                      // of the last that was opened
  std::deque<Commands> under_way_;           // in order
  std::map<uint64_t, Error> failures_;       // of those that have ended
  std::map<uint64_t, double> times_;         // of those that are asked for
  std::vector<Staging> staging_;             // that no copy has
  uint64_t overdue_ = 0;
  std::string culprit_;
};

// Memory of the device, which on most is the host's as well.
class MetalBuffer final : public hal::Buffer {
 public:
  MetalBuffer(std::shared_ptr<Session> session, uint64_t bytes);
  // Of the host's own, which goes when this has gone.
  MetalBuffer(std::shared_ptr<Session> session, uint64_t bytes, std::byte* memory,
              Owned<BufferObject> buffer);
  ~MetalBuffer() override;
  MetalBuffer(const MetalBuffer&) = delete;
  MetalBuffer& operator=(const MetalBuffer&) = delete;

  uint64_t size() const override { return bytes_; }
  std::byte* host() override { return contents_; }
  Session::Memory at(uint64_t offset, uint64_t bytes) const {
    return {buffer_.get(), contents_, offset, bytes};
  }

 private:
  std::shared_ptr<Session> session_;
  const uint64_t bytes_;
  const bool adopted_ = false;
  Owned<BufferObject> buffer_;
  std::byte* contents_ = nullptr;
};

// Null for memory of the host.
inline MetalBuffer* metal_buffer(const hal::Binding& binding) {
  return dynamic_cast<MetalBuffer*>(binding.buffer);
}

}  // namespace hologram::backends::metal
