// Programs and their launches, in order.
#pragma once

#include <exception>

#include "backends/webgpu/session.hpp"
#include "hal/deferred_checks.hpp"

namespace hologram::backends::webgpu {

// A part of a launch: these of its workgroups, numbered as dialects::Argument says.
struct Part {
  uint64_t first = 0, end = 0;
  uint64_t budget = UINT64_MAX;  // rounds of a loop
  GpuBuffer* stop = nullptr;
  const PassTimes* times = nullptr;
};

// Where threads may have several lanes there are two kernels, one for launches whose numbers are
// multiples of how many, and one for all, each made when it is first needed. The second is made at
// once where nothing is known of the launches.
class WgProgram final : public hal::Executable {
 public:
  WgProgram(std::shared_ptr<Session> session, const program::Program& program,
            const hal::CompileOptions& options);

  const std::string& name() const { return name_; }
  uint32_t groups() const { return several_.printed.groups; }  // that a block works on at a time
  uint64_t most_groups() const { return several_.printed.most_groups; }
  uint32_t group_lanes() const { return group_lanes_; }
  bool may_go_on() const { return may_go_on_; }  // it has loops that need a StopWord
  void launch(const hal::Launch& launch, const Part& part) const;

 private:
  struct Kernel {
    dialects::Printed printed;
    std::shared_ptr<Pipeline> pipeline;  // once it was started
  };
  Kernel& kernel_for(std::span<const uint64_t> scalars) const;
  std::shared_ptr<Pipeline> started(Kernel& kernel) const;
  std::shared_ptr<Pipeline> made(Kernel& kernel) const;

  std::shared_ptr<Session> session_;
  std::string name_;
  std::vector<uint32_t> element_bytes_;  // of each buffer
  uint32_t group_lanes_;
  uint32_t bindings_ = 0;  // buffers, and what stops loops
  bool may_go_on_ = false;
  mutable std::mutex mutex_;  // of their pipelines
  mutable Kernel several_;    // lanes a thread
  mutable Kernel single_;     // empty where `several_` does every launch
};

#ifdef __EMSCRIPTEN__
class WgStream final : public hal::Stream, public hal::DeferredChecks {
#else
class WgStream final : public hal::Stream {
#endif
 public:
  explicit WgStream(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  ~WgStream() override;
  WgStream(const WgStream&) = delete;
  WgStream& operator=(const WgStream&) = delete;

  void launch(const hal::Launch& launch) override;
  void call(const hal::LibraryPlan&, std::span<const hal::Binding>, hal::Binding) override {}
  void copy(hal::Binding to, hal::Binding from) override;
  void fill(hal::Binding where, uint32_t pattern) override;
  std::vector<hal::Timing> times(bool all) override;
#ifdef __EMSCRIPTEN__
  void require_zero(hal::Binding word, std::function<Error()> error) override;
  bool can_wait() const override { return false; }
#endif
  void start() override;
  hal::Point submit() override;
  hal::State wait(hal::Point point, hal::Deadline deadline) override;

 private:
  struct Pending {
    uint64_t value;
    Awaited done;
  };
  void watch(const WgProgram& program, const hal::Launch& launch, uint64_t total);
  StopWord& stop_word();
  PassTimes next_times(uint64_t number);
  void collect_times();

  std::shared_ptr<Session> session_;
  std::vector<Pending> pending_;  // what was submitted and has not been seen to end
  std::unique_ptr<StopWord> stop_;
  std::exception_ptr failure_;  // of a launch that was watched; told once
  std::exception_ptr broken_;   // of work whose results others count on; told again and again
  uint64_t value_ = 0, submitted_ = 0;
  // Pairs of times; the numbers of the launches that they belong to; what is known.
  Owned<QuerySet> times_;
  Owned<GpuBuffer> brought_;
  std::vector<uint64_t> timed_;
  std::vector<hal::Timing> timings_;
};

}  // namespace hologram::backends::webgpu
