// Copies from and to the host, by way of memory that the device and the host reach: while one of
// them copies a piece, the other has those before and behind it.
#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>

#include "backends/webgpu/session.hpp"
#include "core/messages.hpp"
#include "core/parallel.hpp"

namespace hologram::backends::webgpu {
namespace {

using core::Text;

constexpr size_t kMostPieces = 4;           // of a copy that are under way
constexpr uint64_t kLeastBytes = 1 << 16;   // of a piece
constexpr uint64_t kThreadBytes = 1 << 20;  // that are worth a thread
constexpr int kMostThreads = 8;             // a link is no faster than these

// One thread is slower than a fast link.
void copy_bytes(std::byte* to, const std::byte* from, uint64_t bytes) {
  if (bytes < 2 * kThreadBytes) {
    std::memcpy(to, from, bytes);
    return;
  }
  static auto* const threads = new core::Threads(std::min(core::available_threads(), kMostThreads));
  threads->run(bytes, kThreadBytes, [&](uint64_t begin, uint64_t end) {
    std::memcpy(to + begin, from + begin, end - begin);
  });
}

}  // namespace

// Those of a copy that is under way, in their order; what is left of them goes with it.
struct Session::Pieces {
  explicit Pieces(Session& of) : session(of) {}
  ~Pieces() {
    const auto lock = session.lock();
    all.clear();
  }
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  Session& session;
  std::deque<Staging> all;
};

// Where the host finds a piece, once the device has done what it does with it.
std::byte* Session::mapped(const Staging& stage, uint64_t bytes, bool to_write) {
  if (stage.mapped != nullptr) {
    wait(stage.mapped, {}, nullptr);
    if (!to_write) check();
  }
  const auto lock = this->lock();
  GpuBuffer* const buffer = stage.buffer.get();
  const bool good = stage.mapped == nullptr || stage.mapped->good();
  void* there = nullptr;
  if (good && to_write) there = api_.wgpuBufferGetMappedRange(buffer, 0, bytes);
  else if (good) there = const_cast<void*>(api_.wgpuBufferGetConstMappedRange(buffer, 0, bytes));
  if (there == nullptr)
    throw core::error(Text::DriverFailed, info_.name, "wgpuBufferMapAsync",
                      stage.mapped == nullptr ? "" : stage.mapped->message);
  return static_cast<std::byte*>(there);
}

// A copy of this memory on its way to where the host can read it.
Session::Staging Session::start_reading(GpuBuffer* from, uint64_t offset, uint64_t bytes) {
  Staging stage;
  {
    const auto lock = this->lock();
    const auto found = std::find_if(readers_.begin(), readers_.end(),
                                    [&](const Staging& s) { return s.bytes >= bytes; });
    if (found != readers_.end()) {
      stage = std::move(*found);
      readers_.erase(found);
    }
  }
  if (stage.buffer == nullptr) {
    stage.bytes = std::bit_ceil(std::max(bytes, kLeastBytes));
    stage.buffer = make_buffer(stage.bytes, kUseMapRead | kUseCopyTo);
  }
  stage.mapped = std::make_shared<Answer>();
  const auto lock = this->lock();
  end_pass();
  api_.wgpuCommandEncoderCopyBufferToBuffer(encoder(), from, offset, stage.buffer.get(), 0, bytes);
  flush();
  api_.wgpuBufferMapAsync(stage.buffer.get(), kMapRead, 0, bytes, on_done(stage.mapped));
  return stage;
}

void Session::read(std::byte* to, GpuBuffer* from, uint64_t offset, uint64_t bytes) {
  Pieces pieces(*this);
  uint64_t asked = 0;
  for (uint64_t done = 0; done < bytes;) {
    while (asked < bytes && pieces.all.size() < kMostPieces) try {
        const uint64_t part = std::min(kPiece, bytes - asked);
        pieces.all.push_back(start_reading(from, offset + asked, whole_words(part)));
        asked += part;
      } catch (const Error& error) {
        // It takes longer with fewer.
        if (error.kind() != ErrorKind::OutOfMemory || pieces.all.empty()) throw;
        break;
      }
    const uint64_t part = std::min(kPiece, bytes - done);
    Staging& stage = pieces.all.front();
    copy_bytes(to + done, mapped(stage, whole_words(part), false), part);
    done += part;
    const auto lock = this->lock();
    api_.wgpuBufferUnmap(stage.buffer.get());
    if (readers_.size() >= kMostPieces) readers_.erase(readers_.begin());
    readers_.push_back(std::move(stage));
    pieces.all.pop_front();
  }
}

// A piece that the host may write to, or will be able to: one that is there already if it is the
// host's now, or if there are enough.
Session::Staging Session::piece_to_write() {
  const auto take_first = [&] {
    Staging first = std::move(writers_.front());
    writers_.erase(writers_.begin());
    return first;
  };
  {
    const auto lock = this->lock();
    if (!writers_.empty()) api_.wgpuInstanceProcessEvents(instance_.get());
    if (!writers_.empty() && (writers_.front().mapped->there || writers_.size() >= kMostPieces))
      return take_first();
  }
  try {
    return {make_buffer(kPiece, kUseMapWrite | kUseCopyFrom, true), kPiece, nullptr};
  } catch (const Error& error) {
    const auto lock = this->lock();
    if (error.kind() != ErrorKind::OutOfMemory || writers_.empty()) throw;
    return take_first();
  }
}

void Session::write_pieces(GpuBuffer* to, uint64_t offset, const std::byte* from, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t part = std::min(kPiece, bytes - done), words = whole_words(part);
    Pieces pieces(*this);
    pieces.all.push_back(piece_to_write());
    Staging& stage = pieces.all.front();
    std::byte* const there = mapped(stage, words, true);
    copy_bytes(there, from + done, part);
    std::memset(there + part, 0, words - part);
    stage.mapped = std::make_shared<Answer>();
    const auto lock = this->lock();
    api_.wgpuBufferUnmap(stage.buffer.get());
    end_pass();
    api_.wgpuCommandEncoderCopyBufferToBuffer(encoder(), stage.buffer.get(), 0, to, offset + done,
                                              words);
    flush();
    api_.wgpuBufferMapAsync(stage.buffer.get(), kMapWrite, 0, kPiece, on_done(stage.mapped));
    writers_.push_back(std::move(stage));
    pieces.all.clear();
    done += part;
  }
}

}  // namespace hologram::backends::webgpu
