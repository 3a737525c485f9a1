// Programs and their launches, in order.
#pragma once

#include <deque>
#include <exception>

#include "backends/metal/session.hpp"
#include "hologram/hal/stream.hpp"

namespace hologram::backends::metal {

// A part of a launch: these of its workgroups, numbered as dialects::Argument says.
struct Part {
  uint64_t first = 0, end = 0;
  uint64_t budget = UINT64_MAX;  // rounds of a loop
  const MetalBuffer* stop = nullptr;
};

class MetalProgram final : public hal::Executable {
 public:
  MetalProgram(std::shared_ptr<Session> session, const program::Program& program);

  const std::string& name() const { return name_; }
  uint32_t groups() const { return printed_.groups; }  // that a block works on at a time
  uint32_t group_lanes() const { return group_lanes_; }
  bool may_go_on() const { return may_go_on_; }  // it has loops that need a word to stop
  uint64_t launch(const hal::Launch& launch, const Part& part) const;

 private:
  std::shared_ptr<Session> session_;
  std::string name_;
  dialects::Printed printed_;
  std::vector<uint32_t> element_bytes_;  // of each buffer
  uint32_t group_lanes_;
  bool may_go_on_ = false;
  Owned<Pipeline> pipeline_;
};

class MetalStream final : public hal::Stream {
 public:
  explicit MetalStream(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  ~MetalStream() override;
  MetalStream(const MetalStream&) = delete;
  MetalStream& operator=(const MetalStream&) = delete;

  void launch(const hal::Launch& launch) override;
  void call(const hal::LibraryPlan&, std::span<const hal::Binding>, hal::Binding) override {}
  void copy(hal::Binding to, hal::Binding from) override;
  void fill(hal::Binding where, uint32_t pattern) override;
  std::vector<hal::Timing> times(bool all) override;
  void start() override;
  hal::Point submit() override;
  hal::State wait(hal::Point point, hal::Deadline deadline) override;

 private:
  // A command buffer that has work of this stream, up to a value.
  struct Pending {
    uint64_t number, first, last;
  };
  // A launch that has command buffers of its own, or is done and took so long.
  struct Timed {
    uint64_t launch, number;
    double seconds;
  };
  void note(uint64_t number);
  void watch(const MetalProgram& program, const hal::Launch& launch, uint64_t total);
  void fill_by_kernel(hal::Binding where, uint32_t pattern);
  const MetalBuffer& stop_word();
  uint32_t stop_value();

  std::shared_ptr<Session> session_;
  std::deque<Pending> pending_;
  std::unique_ptr<MetalBuffer> stop_;
  std::unique_ptr<MetalProgram> filler_;
  std::exception_ptr failure_;  // of a launch that was watched; told once
  std::exception_ptr broken_;   // of work whose results others count on; told again and again
  uint64_t value_ = 0;
  std::deque<Timed> timed_;
};

}  // namespace hologram::backends::metal
