// An open device: what its buffers, programs and streams share, and these.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>

#include "backends/opencl/driver.hpp"
#include "backends/opencl/queue_order.hpp"
#include "core/disk_cache.hpp"
#include "core/function_ref.hpp"
#include "dialects/dialect.hpp"
#include "hologram/hal/stream.hpp"

namespace hologram::backends::opencl {

class Session;

// A number that a running program polls, or leaves behind.
class StopWord {
 public:
  explicit StopWord(Session& session);
  Memory* memory() const { return memory_.get(); }
  void clear(Session& session);
  void raise() { word_->store(1, std::memory_order_relaxed); }  // where the device sees the host
  bool raised(Session& session);

 private:
  struct alignas(128) Word : std::atomic<uint32_t> {};
  std::unique_ptr<Word> word_ = std::make_unique<Word>();
  Owned<Memory> memory_;
};

// All streams of a device share its queues, which keep the order that memory needs: what a stream
// has released may be given to another at once.
class Session {
 public:
  explicit Session(const Found& found);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Api& api() const { return api_; }
  Device* id() const { return id_; }
  const DeviceInfo& info() const { return info_; }
  ContextObject* context() const { return context_.get(); }
  // Starts a command that uses this memory and no other. Returns the queue it went to, as in Order.
  size_t start(std::span<const Order::Use> uses, core::FunctionRef<void(Queue*)> command);
  // In order, behind everything that was started. Whoever starts something here waits for it.
  Queue* queue();
  // Behind what a queue was given, an event.
  struct Mark {
    Owned<Event> event;
    uint64_t given = 0;
  };
  Mark mark(size_t queue);
  void flush(size_t queue);
  void ended(size_t queue, uint64_t given);  // as of a mark
  // From now on events have times, which each costs a little, and kernels run one after the other.
  // Nothing may be under way.
  void keep_times();
  bool keeps_times() const { return keeps_times_; }
  // How long that took which it tells of; none if it does not say.
  std::optional<double> seconds_of(Event* event) const;
  const core::DiskCache& cache() const { return cache_; }
  bool limits_registers() const { return !few_registers_.empty(); }
  std::string flags(uint32_t lanes) const;  // for the compiler of programs with such workgroups
  // Only a program on the host's own processor sees what the host writes while it runs.
  bool sees_host() const { return sees_host_; }

  void check(int32_t status, const char* call) const { opencl::check(status, call, info_); }
  template <class T>
  Owned<T> own(T* object, int32_t (*release)(T*)) const {
    return {object, {release}};
  }
  int32_t status_of(Event* event) const;

  // A launch that ran over its limit, and may write to its buffers for as long as it runs: until it
  // is done, nothing else is started.
  void give_up(Owned<Event> event, std::unique_ptr<StopWord> stop, const std::string& program);
  // DeviceLost while there is such a launch.
  void refuse_if_busy();

 private:
  Queue* joined();
  void wait_for_other(size_t queue);

  const Api& api_;
  Device* const id_;
  const DeviceInfo info_;
  const bool sees_host_;
  const std::string flags_, few_registers_;
  Owned<ContextObject> context_;
  std::mutex order_mutex_;
  Order order_;
  std::array<Owned<Queue>, 2> queues_;
  bool keeps_times_ = false;
  const core::DiskCache cache_{"opencl"};
  std::atomic<bool> busy_{false};
  std::mutex mutex_;
  Owned<Event> overdue_;
  std::unique_ptr<StopWord> overdue_stop_;
  std::string culprit_;
};

class ClBuffer final : public hal::Buffer {
 public:
  ClBuffer(std::shared_ptr<Session> session, uint64_t bytes);
  uint64_t size() const override { return bytes_; }
  std::byte* host() override { return nullptr; }
  Memory* memory() const { return memory_.get(); }

 private:
  std::shared_ptr<Session> session_;
  uint64_t bytes_;
  Owned<Memory> memory_;
};

// A part of a launch: these of its workgroups, numbered as dialects::Argument says.
struct Part {
  uint64_t first = 0, end = 0;
  uint64_t budget = UINT64_MAX;  // rounds of a loop
  bool all_blocks = false;       // many, whatever there is to do
  Memory* stop = nullptr;
};

// ProgramNotCompiled, with the first lines of what the compiler says; `name` is that of the
// program.
Owned<ProgramObject> build(const Session& session, const std::string& name, const std::string& text,
                           uint32_t lanes);

class ClProgram final : public hal::Executable {
 public:
  ClProgram(std::shared_ptr<Session> session, const program::Program& program);

  const std::string& name() const { return name_; }
  uint32_t groups() const { return printed_.groups; }  // that a block works on at a time
  uint32_t group_lanes() const { return group_lanes_; }
  bool may_go_on() const { return may_go_on_; }  // it has loops that need a StopWord
  // What a launch reads and writes, in place of what is there.
  void uses(const hal::Launch& launch, std::vector<Order::Use>& uses) const;
  void enqueue(Queue* queue, const hal::Launch& launch, const Part& part, Event** event) const;
  Owned<Event> enqueue_watched(const hal::Launch& launch, const Part& part) const;
  // Some drivers compile at the first launch, once more at the first large one. Does nothing but
  // that, so that it is no time of the program's.
  void prepare(const hal::Launch& launch, Part part) const;

 private:
  Owned<ProgramObject> from_cache(const std::string& key) const;
  void keep(const std::string& key, ProgramObject* program) const;
  Owned<Kernel> kernel_of(ProgramObject* program) const;
  void set(uint32_t place, const dialects::Argument& argument, const hal::Launch& launch,
           const Part& part) const;

  std::shared_ptr<Session> session_;
  std::string name_;
  dialects::Printed printed_;
  std::vector<DType> elements_;  // of each buffer
  std::vector<bool> written_;
  uint32_t group_lanes_;
  bool may_go_on_ = false;
  Owned<ProgramObject> program_;
  Owned<Kernel> kernel_;
  mutable std::atomic<bool> prepared_{false};
  mutable std::mutex mutex_;  // a kernel holds the arguments of one launch at a time
};

class ClStream final : public hal::Stream {
 public:
  explicit ClStream(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  ~ClStream() override;
  ClStream(const ClStream&) = delete;
  ClStream& operator=(const ClStream&) = delete;

  void launch(const hal::Launch& launch) override;
  void call(const hal::LibraryPlan&, std::span<const hal::Binding>, hal::Binding) override {}
  void copy(hal::Binding to, hal::Binding from) override;
  void fill(hal::Binding where, uint32_t pattern) override;
  hal::Point submit() override;
  hal::State wait(hal::Point point, hal::Deadline deadline) override;
  std::vector<hal::Timing> times(bool all) override;

 private:
  // Events behind all work up to this value, of the queues that had some.
  struct Pending {
    uint64_t value;
    std::array<Session::Mark, 2> marks;
  };
  // A launch whose time is not known yet.
  struct Timed {
    uint64_t number;
    Owned<Event> event;  // null: it took `seconds`
    double seconds;
  };
  void watch(const ClProgram& program, const hal::Launch& launch, uint64_t total);
  bool finish(const Owned<Event>& event, const hal::Deadline& deadline, const Progress* progress);
  void enqueue(core::FunctionRef<void(Queue*)> command);
  void mark();
  int32_t status_of(const Pending& pending) const;
  StopWord& stop_word();

  std::shared_ptr<Session> session_;
  std::vector<Pending> pending_;    // what has been started and not been seen to end
  std::array<bool, 2> unmarked_{};  // to these queues work went since, which no event tells of yet
  std::vector<Order::Use> uses_;    // of a command
  std::deque<Timed> timed_;
  std::unique_ptr<StopWord> stop_;
  std::exception_ptr failure_;  // of a launch that was watched; told once
  std::exception_ptr broken_;   // of work whose results others count on; told again and again
  uint64_t value_ = 0;
};

}  // namespace hologram::backends::opencl
