// A GPU as the process has it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/driver.hpp"
#include "backends/cuda/epilogues.hpp"
#include "hal/hal.hpp"
#include "libraries/cublaslt/cublaslt.hpp"
#include "libraries/cudnn/convolution.hpp"
#include "libraries/nvrtc/nvrtc.hpp"

namespace hologram::backends::cuda {

using libraries::nvrtc::Architecture;
using libraries::nvrtc::Nvrtc;

class Gpu;

// What a stream needs of the driver, made and given back with it.
struct Lane {
  static constexpr size_t kChunk = size_t{4} << 20;  // of a copy that is staged

  explicit Lane(Gpu& gpu) : gpu(gpu) {}
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  Gpu& gpu;
  NativeStream stream = nullptr, signals = nullptr;
  bool native = false;         // the stream is the application's
  Address stop = 0;            // a word: ends loops of the kernels on this stream when it is 1
  uint32_t* signal = nullptr;  // the words 0 and 1, pinned
  std::byte* staging[2] = {};  // pinned, kChunk bytes each
  Event staged[2] = {};        // the copies from or to them
  std::vector<Event> events;   // not in use
  std::vector<Event> timers;   // likewise, of those that know the time
};

// Lives as long as the process, as the driver does. Thread-safe.
class Gpu {
 public:
  static std::span<Gpu* const> all();  // in the driver's order; none if it is not there

  // That of a context of the application's, which stays its own, or what is not right with it.
  static hal::Expected<Gpu*> of(Context context);

  // With the memory that is free now. Starts nothing on the device.
  DeviceInfo describe();
  // Why it cannot be used; empty if it can. Starts the device if need be.
  std::string open();
  int index() const { return index_; }
  const std::string& name() const { return name_; }
  Context context() const { return context_; }  // once it is open
  const Nvrtc& compiler() const { return compiler_; }
  const Architecture& architecture() const { return architecture_; }
  // Whether kernels wait for the ones before them by themselves, and may be started early.
  bool kernels_wait() const { return kernels_wait_; }
  libraries::cublaslt::Products& products() { return products_; }
  libraries::cudnn::Convolutions& convolutions() { return convolutions_; }
  Epilogues& epilogues() { return epilogues_; }

  // Its context is the calling thread's as long as this lives. Throws what the driver says.
  class Current {
   public:
    explicit Current(Gpu& gpu);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Driver& driver_;
  };

  // Throws what became of it if it is lost, or still busy with work that was given up.
  void require_usable() {
    if (troubled_.load(std::memory_order_acquire)) look_into_trouble();
  }
  // Whether memory and streams may be given back: a device in trouble, or a driver on its way out,
  // would not answer.
  bool releases();
  bool is_lost() const;
  // Asks the driver, or gives something back to it, where it still answers.
  template <class Work>
  void if_usable(Work work) noexcept {
    if (!releases()) return;
    try {
      const Current current(*this);
      work(*Driver::instance().operator->());
    } catch (const Error&) {
      return;  // from a context that cannot be entered nothing can be taken
    }
  }

  // What a status other than success means; notes if it loses the device, as every one does that
  // work under way ended with. `work`: "program 'blur'".
  Error error(Status status, const std::string& work, bool under_way = false);
  void check(Status status, const std::string& work) {
    if (status != kSuccess) throw error(status, work);
  }

  // Before copies to or from another one: they take the link between the two where there is one,
  // and go through the host otherwise.
  void link(Gpu& other) noexcept;

  // Around a stream of the application's, where there is one.
  std::unique_ptr<Lane> lane(std::optional<NativeStream> native = {});
  // A lane that may still be at work is kept until work that was given up has ended.
  void give_back(std::unique_ptr<Lane> lane, bool idle);
  // Writes the lane's stop word, beside or in order with what runs on its stream.
  Status set_stop(const Lane& lane, bool value, NativeStream stream);
  // Work before `event` on the lane does not end: nobody may touch memory of the device until it
  // has. The lane lives on.
  void abandon(const Lane& lane, Event event, std::string program);

 private:
  Gpu(int index, DeviceNumber device, Context context = nullptr);
  void look_again();
  int attribute(int which) const;
  uint64_t free_memory();
  void look_into_trouble();

  struct Abandoned {
    const Lane* lane;
    Event event;
    std::string program;
  };

  const Driver& driver_;
  const Nvrtc& compiler_;
  const int index_;
  const DeviceNumber device_;
  std::string name_, pci_;
  uint64_t memory_ = 0;
  std::string unusable_;  // found out without starting it
  Architecture architecture_;
  bool kernels_wait_ = false;
  libraries::cublaslt::Products products_;
  libraries::cudnn::Convolutions convolutions_;
  Epilogues epilogues_;

  mutable std::mutex mutex_;
  Context context_ = nullptr;  // set once
  std::atomic<bool> troubled_{false};
  std::string lost_;  // how; empty: it is not
  std::vector<Abandoned> abandoned_;
  std::vector<std::unique_ptr<Lane>> stuck_;
  std::set<Context> linked_;  // that was tried with
};

}  // namespace hologram::backends::cuda
