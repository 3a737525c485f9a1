// What a captured calculation asks of the device, recorded instead of being done.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/plan.hpp"
#include "hologram/error.hpp"
#include "runtime/pool.hpp"

namespace hologram::graph {

// The outcome: a list of the device, or why there is none.
struct Recorded {
  std::string reason{};
  std::unique_ptr<hal::CommandList> list{};
  uint64_t launches = 0, calls = 0;
  // Words that its launches may have set, and what is wrong then.
  struct Check {
    Storage word;
    std::function<Error()> error;
  };
  std::vector<Check> checks{};
  std::vector<std::shared_ptr<const void>> memory{};  // of its slots and between its launches
};

class Recorder {
 public:
  // `precompiles`: nothing is run, and all memory is slots.
  explicit Recorder(bool precompiles = false) : precompiles_(precompiles) {}
  // Thrown where something is asked for that no list can hold.
  struct Refused {
    std::string reason;
  };
  [[noreturn]] static void refuse(const char* reason) { throw Refused{reason}; }

  // Memory that each replay gives, in the order of these calls.
  Storage slot(uint64_t bytes);
  // Memory that the list keeps: again what was released, as its launches run in order.
  Storage allocate(runtime::Pool& pool, uint64_t bytes);
  void hold(std::shared_ptr<const void> memory) { held_.push_back(std::move(memory)); }
  void launch(std::shared_ptr<const hal::Executable> executable, const hal::Launch& launch);
  void call(std::shared_ptr<const hal::LibraryPlan> plan, std::span<const hal::Binding> operands,
            const hal::Binding& workspace);
  void fill(const hal::Binding& where, uint32_t pattern);
  void copy(const hal::Binding& to, const hal::Binding& from);
  // After each replay.
  void check(const Storage& word, std::function<Error()> error) {
    checks_.push_back({word, std::move(error)});
  }
  Recorded finish(hal::Stream& stream);

 private:
  const bool precompiles_;
  std::vector<std::shared_ptr<const hal::Slot>> slots_;
  uint64_t launches_ = 0, calls_ = 0;
  std::vector<hal::Command> commands_;
  std::vector<std::shared_ptr<const runtime::Block>> memory_;
  std::vector<std::shared_ptr<const void>> held_;
  std::vector<Recorded::Check> checks_;
};

// After which step nobody reads what a step of a plan made.
class LastUses {
 public:
  LastUses(const Plan& plan, const std::vector<Node*>& nodes);
  const std::vector<Node*>& of(size_t step) const { return ends_[step]; }

 private:
  std::vector<std::vector<Node*>> ends_;  // by step
};

}  // namespace hologram::graph
