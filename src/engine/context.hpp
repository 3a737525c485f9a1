// An executor as tensors see it: the lock, the kernels made so far, memory, launches.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/donation.hpp"
#include "engine/plan.hpp"
#include "engine/recorder.hpp"
#include "engine/tuner.hpp"
#include "fusion/library_kernels.hpp"
#include "graph/candidates.hpp"
#include "graph/node.hpp"
#include "graph/signature.hpp"
#include "hologram/error.hpp"
#include "runtime/executor_state.hpp"
#include "runtime/profiler.hpp"

namespace hologram {
struct DeviceMemory;
struct ExplainOptions;
}  // namespace hologram
namespace hologram::graph {

class Context {
 public:
  explicit Context(Executor::State& state);

  // That of an executor; it lives as long as the executor or anything that holds it.
  static std::shared_ptr<Context> of(const Executor& executor);

  std::shared_ptr<Context> shared() { return {state_.shared_from_this(), this}; }
  Executor handle() { return Executor(state_.shared_from_this()); }
  const DeviceInfo& device() const { return state_.device->info(); }
  const BackendConfig& config() const { return state_.config; }
  void require_room(const Node& node) const;  // TensorTooLarge if no memory of the device has any
  Executor::State& executor() { return state_; }

  // Makes the nodes ready. Throws what went wrong.
  void evaluate(std::span<Node* const> roots);
  // The same for one node, in the memory of a ready one of the same size, which nobody else holds
  // and which is to be let go. If it fails, the ready one is as it was.
  void evaluate_into(Node& node, Node& donor);
  // What a capture traced, ready to be launched as often as wanted.
  struct Recording {
    std::vector<NodeRef> roots;  // those that were asked for, lowered
    std::vector<Node*> nodes;    // by place
    Schedule schedule;
    Plan plan;
    Recorded recorded;  // what is replayed at once; without a list the plan is gone through
    std::vector<Donated> donated{};
  };
  // `donated` says which roots are to lie in the memory of which given nodes.
  Recording record(const std::vector<NodeRef>& given, const std::vector<NodeRef>& roots,
                   std::vector<Donated> donated);
  // Computes the roots of a recording from `inputs`, one for each of the given nodes, and leaves
  // the graph as it was. One result a root; if `into` is not empty, they are written there.
  std::vector<Storage> replay(Recording& recording, const std::vector<NodeRef>& given,
                              const std::vector<Storage>& inputs, const std::vector<NodeRef>& roots,
                              std::span<const Storage> into = {});
  // What evaluating the nodes would do.
  std::string explain(const std::vector<Node*>& roots, ExplainOptions wanted);

  // Memory of the host as a result, without a copy where the device can reach it.
  Storage adopt(const Array& array);
  // A ready node's result of another context, without the host; nothing where that is not possible.
  std::optional<Storage> bring(const Node& node);
  // A ready node's result in host memory.
  Array read(const Node& node);
  void read(const Node& node, std::byte* to);  // all of it, to there
  // A ready node's result where it lies, for work of others.
  DeviceMemory lend(const Node& node);

  // Random numbers: the key, and the number of the next operation that draws some.
  std::pair<uint64_t, uint64_t> random_state();
  void set_random_state(uint64_t key, uint64_t ordinal);
  // Counts on, by as many operations as draw together, and gives the first.
  std::pair<uint64_t, uint64_t> next_random(uint64_t operations = 1);

  // For works; the context is locked.
  Storage allocate(uint64_t bytes);
  void launch(const Program& program, const Grid& grid, std::span<const hal::Binding> buffers,
              std::span<const uint64_t> scalars, runtime::Work work = {}, uint64_t budget = 0);
  void call(const std::shared_ptr<const hal::LibraryPlan>& plan,
            std::span<const hal::Binding> operands, hal::Binding workspace,
            runtime::Work work = {});
  // Of work that can be done in several ways; null unless the configuration speaks of tuning.
  Tuner* tuner() { return tuner_.get(); }
  bool is_recording() const { return recorder_ != nullptr; }
  // Where each access is checked, or work has a limit of time.
  bool has_programs_alone() const { return config().check || config().timeout_ms > 0; }
  hal::LibraryOps* library() const;  // of the device; null if it has none, or may not use it
  hal::Refusal no_library() const;   // why there is none
  // Of what a program does with the same bits: null unless the device's library does it, too.
  std::shared_ptr<const hal::LibraryPlan> library_of(const hal::OpDesc& desc);
  // Does it by the library, if that takes it.
  bool by_library(const hal::OpDesc& desc, std::initializer_list<hal::Binding> operands);
  // Who might: the library of the device, then `program`.
  Candidates candidates(const hal::OpDesc& desc, std::string program = "programs");
  // The same of work that library_of and by_library are asked for.
  Candidates candidates_of_bits(const hal::OpDesc& desc, std::string program = "programs");
  // Work on what never changes is done once, now, even while other work is being recorded, which
  // has to hold what came of it.
  template <class Do>
  auto run_eagerly(const Do& work) {
    struct Back {
      Recorder*& place;
      Recorder* recorder;
      ~Back() { place = recorder; }
    } const back{recorder_, std::exchange(recorder_, nullptr)};
    return work();
  }
  void hold(const Storage& storage) {
    if (recorder_ != nullptr) recorder_->hold(storage.owner);
  }
  // A message for the log, which gets it when the context is not locked any more.
  void say(LogLevel level, std::string message);
  // Work that a library was expected to do goes by a general program: that is counted, told in the
  // log, and an error where the configuration is strict.
  void fall_back(std::string_view work, const std::string& reason);
  // The same of an input that is donated, but cannot be taken over; the context is locked.
  void copy_donated(size_t input, const std::string& reason);
  // The program of that kind for this key, made when it is first asked for. A key has no padding,
  // or is made of zeros before it is filled.
  template <class Key, class Make>
  const Program& kept(std::string_view kind, const Key& key, Make make) {
    std::string name(kind);
    name.append(reinterpret_cast<const char*>(&key), sizeof key);
    if (const auto known = kernels_.find(name); known != kernels_.end()) return known->second;
    return keep(std::move(name), make());
  }
  void fill(const Storage& where, uint32_t pattern);
  // Throws the error if the word is not 0: now, or if it is for later, or behind a replay of what
  // is recorded, by a wait or a replay to come where the stream can.
  void check(const Storage& word, std::function<Error()> error, bool later = false);
  void copy(const Storage& to, const Storage& from);
  void copy_to_host(const Storage& from, std::byte* to, uint64_t bytes);
  void copy_from_host(const std::byte* from, const Storage& to, uint64_t bytes);
  void wait();
  // After a step. What fails on a device that works by itself is told when its results are read,
  // unless there is a time limit, which is that of each step.
  void settle();

  std::mutex& mutex() { return state_.stream_mutex; }

 private:
  hal::Stream& stream() { return *state_.stream; }
  class Locked;
  Plan* known_plan();  // of the signature at hand, or null
  void keep(Plan plan) noexcept;
  ScheduleOptions options() const;
  // Of these, what is lazy. `has_memory`: a node whose result has its memory already.
  void compute_lazy(std::span<Node* const> roots, const Node* has_memory = nullptr);
  // Makes the nodes ready, one step after the other. `fresh` is what the plan was made of while
  // some of its steps have never run.
  void run(Plan& plan, const std::vector<Node*>& nodes, const Schedule* fresh,
           const Node* has_memory);
  template <class Run>
  void run_steps(Plan& plan, const std::vector<Node*>& nodes, const Schedule* fresh, Run& run);
  void compute(PlannedStep& step, const std::vector<Node*>& nodes, const Step* fresh);
  bool precompiles() const;  // whether the device compiles programs side by side
  // Has it compile those of steps that never ran.
  void precompile(Plan& plan, const std::vector<Node*>& nodes, const Schedule& fresh);
  void prepare(PlannedStep& step, const Kernel& kernel);
  // A step that is the epilogue of a product: whether a library did all of it. If not, the kernel
  // is ready and the product is there.
  bool run_with_epilogue(PlannedStep& step, const std::vector<Node*>& nodes);
  hal::Deadline deadline() const;  // of a launch that begins now
  void launch(const std::shared_ptr<const hal::Executable>& executable, const hal::Launch& launch,
              const Program& program, runtime::Work work);
  void copy_into(std::span<const Storage> into, const std::vector<Storage>& results);
  Recorded record_commands(Recording& recording, const std::vector<NodeRef>& given,
                           const std::vector<NodeRef>& roots);
  const Program& keep(std::string key, Program program);
  const Program& program_of(const Kernel& kernel, const struct Layout& layout);

  Executor::State& state_;
  uint64_t most_bytes_ = UINT64_MAX;                  // that a tensor may have
  std::unordered_map<std::string, Program> kernels_;  // by key_of
  std::unordered_map<uint64_t, Plan> plans_;          // by the hash of their signature
  Plan* last_plan_ = nullptr;                         // of these, that which ran last
  size_t plan_key_words_ = 0;                         // of all plans' keys
  Plan alone_;                                        // of a work by itself
  // Kept for their memory.
  GraphSignature signature_;
  std::vector<Node*> lone_;
  InlineVector<hal::Binding, 8> bindings_;
  std::unique_ptr<Tuner> tuner_;
  Recorder* recorder_ = nullptr;  // records what would be launched, while there is one
  uint64_t seed_ = 0, ordinal_ = 0;
  std::vector<std::pair<LogLevel, std::string>> pending_log_;  // not in the log yet
  std::string last_reported_;                                  // the last reason for falling back
};

// Bytes of a node's result.
uint64_t bytes_of(const Node& node);

}  // namespace hologram::graph
