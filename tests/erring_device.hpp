// A device whose driver makes one mistake, again and again.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "hologram/hal/device.hpp"

namespace hologram {

class ErringDevice : public hal::Device {
 public:
  enum class Mistake {
    ShortCopy,       // the last word stays
    ShiftedCopy,     // from a word further on
    NoLaunch,        // nothing happens
    ShortGrid,       // without the last workgroup
    WrongScalar,     // the last one
    SwappedBuffers,  // the first two
  };
  ErringDevice(std::shared_ptr<hal::Device> device, Mistake mistake)
      : device_(std::move(device)), mistake_(mistake) {}

  const DeviceInfo& info() const override { return device_->info(); }
  std::optional<hal::Refusal> refuses(const program::Program& program) const override {
    return device_->refuses(program);
  }
  std::unique_ptr<hal::Buffer> allocate(uint64_t bytes) override {
    return device_->allocate(bytes);
  }
  std::unique_ptr<hal::Buffer> adopt(std::byte*, uint64_t) override { return nullptr; }
  std::shared_ptr<hal::Executable> compile(const program::Program& program,
                                           const hal::CompileOptions& options) override {
    return device_->compile(program, options);
  }
  std::unique_ptr<hal::Stream> stream() override {
    return std::make_unique<Erring>(device_->stream(), mistake_);
  }

 private:
  class Erring : public hal::Stream {
   public:
    Erring(std::unique_ptr<hal::Stream> stream, Mistake mistake)
        : stream_(std::move(stream)), mistake_(mistake) {}
    void launch(const hal::Launch& launch) override {
      hal::Launch wrong = launch;
      std::vector<uint64_t> scalars(launch.scalars.begin(), launch.scalars.end());
      std::vector<hal::Binding> bindings(launch.bindings.begin(), launch.bindings.end());
      if (mistake_ == Mistake::NoLaunch) return;
      if (mistake_ == Mistake::ShortGrid && wrong.grid[0] > 1) wrong.grid[0]--;
      // The one that the program itself has: a trace has two more.
      if (mistake_ == Mistake::WrongScalar && scalars.size() > 1) scalars[1] ^= 1u << 20;
      if (mistake_ == Mistake::SwappedBuffers && bindings.size() > 1)
        std::swap(bindings[0], bindings[1]);
      wrong.scalars = scalars;
      wrong.bindings = bindings;
      stream_->launch(wrong);
    }
    void call(const hal::LibraryPlan& plan, std::span<const hal::Binding> bindings,
              hal::Binding workspace) override {
      stream_->call(plan, bindings, workspace);
    }
    void copy(hal::Binding to, hal::Binding from) override {
      if (mistake_ == Mistake::ShortCopy && from.size > 4) {
        to.size -= 4;
        from.size -= 4;
      }
      if (mistake_ == Mistake::ShiftedCopy && from.size > 8) {
        from.offset += 4;
        to.size -= 4;
        from.size -= 4;
      }
      stream_->copy(to, from);
    }
    void fill(hal::Binding where, uint32_t pattern) override { stream_->fill(where, pattern); }
    hal::Point submit() override { return stream_->submit(); }
    hal::State wait(hal::Point point, hal::Deadline deadline) override {
      return stream_->wait(point, deadline);
    }

   private:
    std::unique_ptr<hal::Stream> stream_;
    Mistake mistake_;
  };

  std::shared_ptr<hal::Device> device_;
  const Mistake mistake_;
};

}  // namespace hologram
