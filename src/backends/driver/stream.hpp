// Work in order on one GPU.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "backends/driver/command_list.hpp"
#include "backends/driver/in_flight.hpp"
#include "hal/deferred_checks.hpp"
#include "hologram/hal/stream.hpp"

namespace hologram::backends::driver {

// Through the driver's stream of a resources. What the driver refuses is thrown at once, and
// nothing was done then; work under way that fails loses the device.
class Stream final : public hal::Stream, public hal::DeferredChecks {
 public:
  // On the application's stream, where there is one.
  Stream(Gpu& gpu, std::optional<NativeStream> native)
      : gpu_(gpu),
        driver_(gpu.driver()),
        resources_(gpu.make_resources(native)),
        shared_(native.has_value()) {}
  ~Stream() override;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void launch(const hal::Launch& launch) override;
  void call(const hal::LibraryPlan& plan, std::span<const hal::Binding> bindings,
            hal::Binding workspace) override;
  // Host memory that the device cannot reach by itself goes through memory that it can, chunk by
  // chunk: the copy of one overlaps the transfer of the other. To such memory this waits.
  void copy(hal::Binding to, hal::Binding from) override;
  void fill(hal::Binding where, uint32_t pattern) override;
  hal::Expected<std::unique_ptr<hal::CommandList>> list(
      std::span<const hal::Command> commands) override;
  void replay(hal::CommandList& list, std::span<const hal::Binding> table) override;
  void require_zero(hal::Binding word, std::function<Error()> error) override;
  bool can_wait() const override { return true; }
  std::vector<hal::Timing> times(bool all) override;
  hal::Point submit() override;
  hal::State wait(hal::Point point, hal::Deadline deadline) override;

 private:
  using Name = std::shared_ptr<const std::string>;
  struct Mark {
    uint64_t value;
    Event event;
  };
  struct Timed {  // a launch between two events
    uint64_t number;
    Event from, to;
  };
  struct Check {
    volatile uint32_t* word;  // kOnItsWay until the device has told it
    std::function<Error()> error;
  };
  static constexpr uint32_t kOnItsWay = UINT32_MAX;
  struct Watch {  // of a launch that has not been waited for
    Progress* progress;
    uint64_t lanes;
  };

  void between(const hal::Binding& to, const hal::Binding& from);  // two of devices' memories
  void download(hal::Binding to, hal::Binding from);
  void upload(hal::Binding to, hal::Binding from);
  void prepare_staging();
  void check(Status status) {
    if (status != kSuccess) throw gpu_.error(status, work());
  }
  std::string work() const;
  Event mark();
  Event timer();
  void end_timing(uint64_t number, Event from);
  bool cancelled() const;
  hal::State await(Event event, hal::Deadline deadline);
  void look_at_checks();
  [[noreturn]] void stop(bool cancelled);
  void forget();

  Gpu& gpu_;
  const Driver& driver_;
  std::unique_ptr<StreamResources> resources_;
  const bool shared_;              // the application launches what it likes in between
  std::vector<uint64_t> values_;   // of the arguments of a launch
  std::vector<void*> parameters_;  // where each of them is
  InFlight in_flight_;
  std::deque<Mark> marks_;
  std::deque<Timed> timed_;
  std::deque<Check> checks_;
  size_t next_word_ = 0;
  uint64_t value_ = 0;
  bool changed_ = false;  // since the last mark
  bool staged_ = false;   // the staging memory may be in use
  Name last_;             // the last launch of those that have not been waited for
  uint64_t launches_ = 0;
  hal::Deadline deadline_;
  Name limited_;  // the launch that has the deadline, and how long it may take
  std::chrono::milliseconds limit_{0};
  std::vector<Watch> watches_;
};

}  // namespace hologram::backends::driver
