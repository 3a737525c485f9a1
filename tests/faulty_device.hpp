// A device whose allocations can be made to fail, and which counts what it has given out.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "core/messages.hpp"
#include "hologram/hal/device.hpp"

namespace hologram {

class FaultyDevice : public hal::Device {
 public:
  explicit FaultyDevice(std::shared_ptr<hal::Device> device) : device_(std::move(device)) {}

  // Of the allocations to come, `count` fail, from the `first` on (0: the next).
  void fail(int first, int count) {
    asked_ = 0;
    first_ = first;
    end_ = first + count;
  }
  // As if nearly full: it has no more than so many bytes at a time. What it refuses for that is not
  // counted. The pool then asks for what is needed and no more, so that each block is asked for.
  void give_at_most(uint64_t bytes) { most_ = bytes; }
  int asked() const { return asked_; }  // allocations since then
  uint64_t given() const { return *given_; }

  const DeviceInfo& info() const override { return device_->info(); }
  std::optional<hal::Refusal> refuses(const program::Program& program) const override {
    return device_->refuses(program);
  }
  std::unique_ptr<hal::Buffer> allocate(uint64_t bytes) override {
    if (bytes > most_) throw core::error(core::Text::OutOfMemory, info().name, bytes, "");
    const int now = asked_++;
    if (now >= first_ && now < end_)
      throw core::error(core::Text::OutOfMemory, info().name, bytes, "");
    return std::make_unique<Counted>(device_->allocate(bytes), given_);
  }
  std::unique_ptr<hal::Buffer> adopt(std::byte*, uint64_t) override { return nullptr; }
  std::shared_ptr<hal::Executable> compile(const program::Program& program,
                                           const hal::CompileOptions& options) override {
    return device_->compile(program, options);
  }
  std::unique_ptr<hal::Stream> stream() override { return device_->stream(); }
  hal::LibraryOps* library() override { return device_->library(); }

 private:
  class Counted : public hal::Buffer {
   public:
    Counted(std::unique_ptr<hal::Buffer> buffer, std::shared_ptr<std::atomic<uint64_t>> given)
        : buffer_(std::move(buffer)), given_(std::move(given)) {
      *given_ += size();
    }
    ~Counted() override { *given_ -= size(); }
    uint64_t size() const override { return buffer_->size(); }
    std::byte* host() override { return buffer_->host(); }

   private:
    std::unique_ptr<hal::Buffer> buffer_;
    std::shared_ptr<std::atomic<uint64_t>> given_;
  };

  std::shared_ptr<hal::Device> device_;
  std::shared_ptr<std::atomic<uint64_t>> given_ = std::make_shared<std::atomic<uint64_t>>(0);
  std::atomic<int> asked_{0}, first_{0}, end_{0};
  std::atomic<uint64_t> most_{UINT64_MAX};
};

}  // namespace hologram
