// Memory of the device, and copies.
#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/webgpu/session.hpp"
#include "core/messages.hpp"

namespace hologram::backends::webgpu {
namespace {

using core::Text;

constexpr uint64_t kMostStaged = 32 << 20;  // bytes read at a time
constexpr uint64_t kMostWritten = 64 << 20;
constexpr size_t kMostStagings = 4;
constexpr uint64_t kPatternBytes = 1 << 16;

uint64_t whole_words(uint64_t bytes) { return (bytes + 3) / 4 * 4; }

}  // namespace

Owned<GpuBuffer> Session::make_buffer(uint64_t bytes, uint64_t uses) {
  if (lost()) check();
  const auto lock = this->lock();
  const BufferDescription description{.uses = uses, .bytes = bytes};
  Owned<GpuBuffer> buffer;
  ErrorType type = ErrorType::None;
  const std::string wrong = scoped(
      [&] {
        buffer =
            own(api_.wgpuDeviceCreateBuffer(device_.get(), &description), api_.wgpuBufferRelease);
      },
      &type);
  if (type == ErrorType::OutOfMemory || (wrong.empty() && buffer == nullptr))
    throw core::error(Text::OutOfMemory, info_.name, bytes, "");
  if (!wrong.empty())
    throw core::error(Text::DriverFailed, info_.name, "wgpuDeviceCreateBuffer", first_lines(wrong));
  return buffer;
}

void Session::write(GpuBuffer* to, uint64_t offset, const std::byte* from, uint64_t bytes) {
  const auto lock = this->lock();
  flush();
  const uint64_t words = bytes / 4 * 4;
  for (uint64_t done = 0; done < words; done += kMostWritten)
    api_.wgpuQueueWriteBuffer(queue_.get(), to, offset + done, from + done,
                              std::min(kMostWritten, words - done));
  if (words == bytes) return;
  uint32_t last = 0;
  std::memcpy(&last, from + words, bytes - words);
  api_.wgpuQueueWriteBuffer(queue_.get(), to, offset + words, &last, sizeof last);
}

// Pieces of memory that the host can look into, as few as there are copies at a time.
Session::Staging Session::staging(uint64_t bytes) {
  {
    const auto lock = this->lock();
    const auto found = std::find_if(staging_.begin(), staging_.end(),
                                    [&](const Staging& s) { return s.bytes >= bytes; });
    if (found != staging_.end()) {
      Staging taken = std::move(*found);
      staging_.erase(found);
      return taken;
    }
  }
  const uint64_t size = std::bit_ceil(std::max<uint64_t>(bytes, 1 << 16));
  return {make_buffer(size, kUseMapRead | kUseCopyTo), size};
}

void Session::read(std::byte* to, GpuBuffer* from, uint64_t offset, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes; done += kMostStaged)
    read_piece(to + done, from, offset + done, std::min(kMostStaged, bytes - done));
}

void Session::read_piece(std::byte* to, GpuBuffer* from, uint64_t offset, uint64_t bytes) {
  const uint64_t words = whole_words(bytes);
  Staging stage = staging(words);
  const auto answer = std::make_shared<Answer>();
  {
    const auto lock = this->lock();
    end_pass();
    api_.wgpuCommandEncoderCopyBufferToBuffer(encoder(), from, offset, stage.buffer.get(), 0,
                                              words);
    flush();
    api_.wgpuBufferMapAsync(stage.buffer.get(), kMapRead, 0, words, on_done(answer));
  }
  const auto let_go = [&] {
    const auto lock = this->lock();
    stage.buffer.reset();
  };
  try {
    wait(answer, {}, nullptr);
    check();
  } catch (...) {
    let_go();
    throw;
  }
  const auto lock = this->lock();
  const void* const there =
      answer->good() ? api_.wgpuBufferGetConstMappedRange(stage.buffer.get(), 0, words) : nullptr;
  if (there == nullptr) {
    stage.buffer.reset();
    throw core::error(Text::DriverFailed, info_.name, "wgpuBufferMapAsync", answer->message);
  }
  std::memcpy(to, there, bytes);
  api_.wgpuBufferUnmap(stage.buffer.get());
  if (staging_.size() >= kMostStagings) staging_.erase(staging_.begin());
  staging_.push_back(std::move(stage));
}

void Session::copy(GpuBuffer* to, uint64_t to_offset, GpuBuffer* from, uint64_t from_offset,
                   uint64_t bytes) {
  const auto lock = this->lock();
  end_pass();
  api_.wgpuCommandEncoderCopyBufferToBuffer(encoder(), from, from_offset, to, to_offset,
                                            whole_words(bytes));
}

void Session::fill(GpuBuffer* where, uint64_t offset, uint64_t bytes, uint32_t pattern) {
  const auto lock = this->lock();
  if (pattern == 0) {
    end_pass();
    return api_.wgpuCommandEncoderClearBuffer(encoder(), where, offset, bytes);
  }
  flush();
  const std::vector<uint32_t> words(std::min(bytes, kPatternBytes) / sizeof pattern, pattern);
  for (uint64_t done = 0; done < bytes; done += kPatternBytes)
    api_.wgpuQueueWriteBuffer(queue_.get(), where, offset + done, words.data(),
                              std::min(kPatternBytes, bytes - done));
}

WgBuffer::WgBuffer(std::shared_ptr<Session> session, uint64_t bytes)
    : session_(std::move(session)),
      bytes_(bytes),
      room_(std::max<uint64_t>(whole_words(bytes), 16)) {
  if (bytes > session_->info().max_allocation)
    throw core::error(Text::OutOfMemory, session_->info().name, bytes, "");
  buffer_ = session_->make_buffer(room_, kUseStorage | kUseCopyFrom | kUseCopyTo);
}

WgBuffer::~WgBuffer() {
  const auto lock = session_->lock();
  buffer_.reset();
}

StopWord::StopWord(Session& session)
    : session_(session),
      buffer_(session.make_buffer(kBytes, kUseStorage | kUseCopyFrom | kUseCopyTo)) {}

StopWord::~StopWord() {
  const auto lock = session_.lock();
  buffer_.reset();
}

bool StopWord::raised() {
  uint32_t value = 0;
  session_.read(reinterpret_cast<std::byte*>(&value), buffer(), 0, sizeof value);
  return value != 0;
}

}  // namespace hologram::backends::webgpu
