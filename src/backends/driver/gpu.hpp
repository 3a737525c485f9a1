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

#include "backends/driver/driver.hpp"
#include "hologram/error.hpp"
#include "hologram/hal/buffer.hpp"
#include "libraries/runtime_compiler.hpp"

namespace hologram::backends::driver {

class Gpu;

// What a stream needs of the driver, made and given back with it.
struct StreamResources {
  static constexpr size_t kChunk = size_t{4} << 20;  // of a copy that is staged
  static constexpr size_t kWords = 1024;

  explicit StreamResources(Gpu& gpu) : gpu(gpu) {}
  ~StreamResources();
  StreamResources(const StreamResources&) = delete;
  StreamResources& operator=(const StreamResources&) = delete;

  Gpu& gpu;
  NativeStream stream = nullptr, signals = nullptr;
  bool native = false;  // the stream is the application's
  // A word that ends loops of the kernels on this stream when it is 1: of the device, which gets it
  // from the words 0 and 1 in `signal`, or the first of those itself.
  Address stop = 0;
  uint32_t* signal = nullptr;  // pinned
  std::byte* staging[2] = {};  // pinned, kChunk bytes each
  Event staged[2] = {};        // the copies from or to them
  uint32_t* words = nullptr;   // pinned, kWords that ought to be 0
  std::vector<Event> events;   // not in use
  std::vector<Event> timers;   // likewise, of those that know the time
};

// Lives as long as the process, as the driver does. Thread-safe.
class Gpu {
 public:
  virtual ~Gpu() = default;
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  // With the memory that is free now. Starts nothing on the device.
  DeviceInfo describe();
  // Why it cannot be used, as was found out without starting it; empty if nothing is known.
  const std::string& unusable() const { return unusable_; }
  // Why it cannot be used; empty if it can. Starts the device if need be.
  std::string open();
  const Driver& driver() const { return driver_; }
  int index() const { return index_; }
  DeviceNumber device() const { return device_; }
  const std::string& name() const { return name_; }
  Context context() const { return context_; }  // once it is open
  const libraries::RuntimeCompiler& compiler() const { return compiler_; }
  const std::string& architecture() const { return architecture_; }  // as the compiler calls it
  // Whether kernels wait for the ones before them by themselves, and may be started early.
  bool kernels_wait() const { return kernels_wait_; }

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
  // Pieces of work that streams of ours have begun, and how many of them are known to be done:
  // where these are all, nothing of ours reads or writes memory.
  void count_work() { works_.fetch_add(1, std::memory_order_acq_rel); }
  uint64_t works() const { return works_.load(std::memory_order_acquire); }
  void set_done(uint64_t works) { done_.store(works, std::memory_order_release); }
  bool is_at_rest() const { return done_.load(std::memory_order_acquire) == works(); }
  // Asks the driver, or gives something back to it, where it still answers.
  template <class Work>
  void if_usable(Work work) noexcept {
    if (!releases()) return;
    try {
      const Current current(*this);
      work(*driver_);
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
  std::unique_ptr<StreamResources> make_resources(std::optional<NativeStream> native = {});
  // Those that may still be in use are kept until work that was given up has ended.
  void give_back(std::unique_ptr<StreamResources> resources, bool idle);
  // Writes their stop word, beside or in order with what runs on the stream; the host's own
  // at once.
  Status set_stop(const StreamResources& resources, bool value, NativeStream stream);
  // Work before `event` on the stream does not end: nobody may touch memory of the device until it
  // has. The resources live on.
  void quarantine(const StreamResources& resources, Event event, std::string program);
  // Of an application's context: one that answers is not the one that was lost.
  void look_again();

 protected:
  Gpu(const Driver& driver, const libraries::RuntimeCompiler& compiler, int index,
      DeviceNumber device, Context context);
  int attribute(int which) const;
  // What the backend says of it besides.
  virtual void describe(DeviceInfo& info) const = 0;
  // The stream, of ours, goes: nothing is on it any more.
  virtual void forget(NativeStream) {}
  // Bytes, without starting it; 0 if that is not known.
  virtual uint64_t free_memory_at(const std::string& pci) const = 0;

  const Driver& driver_;
  const libraries::RuntimeCompiler& compiler_;
  std::string unusable_;
  std::string architecture_;
  bool kernels_wait_ = false;

 private:
  uint64_t free_memory();
  void look_into_trouble();

  struct Quarantined {
    const StreamResources* resources;
    Event event;
    std::string program;
  };

  const int index_;
  const DeviceNumber device_;
  std::atomic<uint64_t> works_{0}, done_{0};
  std::string name_, pci_;
  uint64_t memory_ = 0;

  mutable std::mutex mutex_;
  Context context_ = nullptr;  // set once
  std::atomic<bool> troubled_{false};
  std::string lost_;  // how; empty: it is not
  std::vector<Quarantined> quarantined_;
  std::vector<std::unique_ptr<StreamResources>> quarantined_streams_;
  std::set<Context> linked_;  // that was tried with
};

}  // namespace hologram::backends::driver
