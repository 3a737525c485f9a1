// Memory of the device, and copies.
#include <algorithm>
#include <cstring>

#include "backends/metal/session.hpp"
#include "core/messages.hpp"

namespace hologram::backends::metal {
namespace {

using core::Text;

constexpr uint64_t kUnit = 16;      // what buffers are multiples of
constexpr uint64_t kWord = 4;       // copies on the device count in these
constexpr size_t kMostStaging = 4;  // pieces that are kept

uint64_t rounded_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

Owned<BufferObject> Session::make_buffer(uint64_t bytes, UInt storage) {
  const Pool pool;
  // Beyond what it recommends a device would move memory to and fro, or fail at its work.
  const uint64_t used = messages_.allocated(found_.device);
  Owned<BufferObject> buffer;
  if (bytes <= info().max_allocation && bytes <= info().total_memory &&
      used <= info().total_memory - bytes)
    buffer = own(messages_.new_buffer(found_.device, bytes, storage));
  if (buffer == nullptr) throw core::error(Text::OutOfMemory, info().name, bytes, "");
  return buffer;
}

Owned<BufferObject> Session::adopt(std::byte* memory, uint64_t bytes) {
  const Pool pool;
  return own(messages_.adopt(found_.device, memory, bytes, kStorageShared, nullptr));
}

// A piece that no copy uses any more, or a new one, or, where there are enough or no memory is
// left, the one that is free next.
Session::Staging Session::stage() {
  look();
  const auto is_free = [&](const Staging& s) {
    return s.number != open_.number && (under_way_.empty() || under_way_.front().number > s.number);
  };
  const auto taken = [&](std::vector<Staging>::iterator which) {
    Staging staging = std::move(*which);
    staging_.erase(which);
    return staging;
  };
  if (const auto found = std::find_if(staging_.begin(), staging_.end(), is_free);
      found != staging_.end())
    return taken(found);
  try {
    if (staging_.size() < kMostStaging) {
      Staging made{make_buffer(kPiece, kStorageShared), nullptr, 0};
      made.contents = static_cast<std::byte*>(messages_.contents(made.buffer.get()));
      return made;
    }
  } catch (const Error&) {
    if (staging_.empty()) throw;
  }
  const uint64_t oldest = staging_.front().number;
  if (open_.number == oldest) commit();
  for (const Commands& commands : under_way_)
    if (commands.number == oldest) messages_.wait(commands.buffer.get());
  return taken(staging_.begin());
}

uint64_t Session::write_piece(const Memory& to, const std::byte* from) {
  Staging staging = stage();
  const uint64_t words = rounded_up(to.bytes, kWord);
  std::memcpy(staging.contents, from, to.bytes);
  std::memset(staging.contents + to.bytes, 0, words - to.bytes);
  messages_.copy(blit(), staging.buffer.get(), 0, to.buffer, to.offset, words);
  staging.number = open_.number;
  staging_.push_back(std::move(staging));
  return open_.number;
}

Session::Numbers Session::write(const Memory& to, const std::byte* from) {
  const Pool pool;
  const std::lock_guard lock(mutex_);
  if (to.contents != nullptr && idle()) {
    std::memcpy(to.contents + to.offset, from, to.bytes);
    return {};
  }
  Numbers numbers;
  for (uint64_t done = 0; done < to.bytes; done += kPiece) {
    const uint64_t part = std::min(kPiece, to.bytes - done);
    numbers.last = write_piece({to.buffer, nullptr, to.offset + done, part}, from + done);
    if (done == 0) numbers.first = numbers.last;
    // The device has a piece while the host copies the next one.
    if (to.bytes > kPiece) commit();
  }
  return numbers;
}

void Session::read_piece(std::byte* to, const Memory& from) {
  const uint64_t before = from.offset % kWord;
  Staging staging;
  {
    const std::lock_guard lock(mutex_);
    staging = stage();
    messages_.copy(blit(), from.buffer, from.offset - before, staging.buffer.get(), 0,
                   rounded_up(before + from.bytes, kWord));
    staging.number = open_.number;
  }
  wait(staging.number, {}, nullptr);
  check(staging.number);
  std::memcpy(to, staging.contents + before, from.bytes);
  const std::lock_guard lock(mutex_);
  staging_.push_back(std::move(staging));
}

void Session::read(std::byte* to, const Memory& from) {
  const Pool pool;
  if (from.contents != nullptr) {
    const uint64_t last = submit();
    wait(last, {}, nullptr);
    std::memcpy(to, from.contents + from.offset, from.bytes);
    return;
  }
  constexpr uint64_t kRead = kPiece - kWord;
  for (uint64_t done = 0; done < from.bytes; done += kRead)
    read_piece(to + done,
               {from.buffer, nullptr, from.offset + done, std::min(kRead, from.bytes - done)});
}

uint64_t Session::copy(const Memory& to, const Memory& from) {
  const Pool pool;
  const std::lock_guard lock(mutex_);
  messages_.copy(blit(), from.buffer, from.offset, to.buffer, to.offset,
                 rounded_up(from.bytes, kWord));
  return open_.number;
}

uint64_t Session::fill(const Memory& where, uint8_t value) {
  const Pool pool;
  const std::lock_guard lock(mutex_);
  messages_.fill(blit(), where.buffer, {where.offset, where.bytes}, value);
  return open_.number;
}

MetalBuffer::MetalBuffer(std::shared_ptr<Session> session, uint64_t bytes)
    : session_(std::move(session)), bytes_(bytes) {
  const bool unified = session_->info().unified_memory;
  buffer_ = session_->make_buffer(std::max(rounded_up(bytes, kUnit), kUnit),
                                  unified ? kStorageShared : kStoragePrivate);
  const Pool pool;
  if (unified)
    contents_ = static_cast<std::byte*>(Driver::instance().messages().contents(buffer_.get()));
}

MetalBuffer::MetalBuffer(std::shared_ptr<Session> session, uint64_t bytes, std::byte* memory,
                         Owned<BufferObject> buffer)
    : session_(std::move(session)),
      bytes_(bytes),
      adopted_(true),
      buffer_(std::move(buffer)),
      contents_(memory) {}

// A command buffer keeps the buffers that it uses, but not what is the host's own.
MetalBuffer::~MetalBuffer() {
  if (!adopted_ || is_ending()) return;
  try {
    session_->wait(session_->submit(), {}, nullptr);
  } catch (...) {
    // Whoever waits for the work is told.
  }
}

}  // namespace hologram::backends::metal
