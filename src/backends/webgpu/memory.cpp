// Memory of the device, and copies.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/webgpu/session.hpp"
#include "core/messages.hpp"

namespace hologram::backends::webgpu {
namespace {

using core::Text;

constexpr uint64_t kMostWritten = 64 << 20;
constexpr uint64_t kPatternBytes = 1 << 16;
constexpr uint64_t kUnit = 16;

}  // namespace

Owned<GpuBuffer> Session::make_buffer(uint64_t bytes, uint64_t uses, bool mapped) {
  if (lost()) check();
  const auto lock = this->lock();
  const BufferDescription description{.uses = uses, .bytes = bytes, .mapped = mapped ? 1u : 0u};
  Owned<GpuBuffer> buffer;
  ErrorType type = ErrorType::None;
  const std::string wrong = scoped(
      [&] {
        buffer =
            own(api_.wgpuDeviceCreateBuffer(device_.get(), &description), api_.wgpuBufferRelease);
      },
      &type, fmt::format("there is no memory of {} bytes", bytes));
  if (type == ErrorType::OutOfMemory || (wrong.empty() && buffer == nullptr))
    throw core::error(Text::OutOfMemory, info_.name, bytes, "");
  if (!wrong.empty())
    throw core::error(Text::DriverFailed, info_.name, "wgpuDeviceCreateBuffer", first_lines(wrong));
  return buffer;
}

void Session::write(GpuBuffer* to, uint64_t offset, const std::byte* from, uint64_t bytes) {
  // Nobody waits in a page, for a piece that is the host's again or for anything else.
  if constexpr (!kInPage)
    if (bytes > kPiece) return write_pieces(to, offset, from, bytes);
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
      // What a thread loads at once is bound as a whole.
      room_(std::max<uint64_t>((bytes + kUnit - 1) / kUnit * kUnit, kUnit)) {
  if (bytes > session_->info().max_allocation)
    throw core::error(Text::OutOfMemory, session_->info().name, bytes, "");
  buffer_ = session_->make_buffer(room_, kUseStorage | kUseCopyFrom | kUseCopyTo);
}

WgBuffer::~WgBuffer() {
  const auto lock = session_->lock();
  session_->forget(buffer_.get());
  buffer_.reset();
}

StopWord::StopWord(Session& session)
    : session_(session),
      buffer_(session.make_buffer(kBytes, kUseStorage | kUseCopyFrom | kUseCopyTo)) {}

StopWord::~StopWord() {
  const auto lock = session_.lock();
  session_.forget(buffer_.get());
  buffer_.reset();
}

}  // namespace hologram::backends::webgpu
