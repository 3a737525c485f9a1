#include "engine/context.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/log.hpp"
#include "core/messages.hpp"
#include "engine/context_lock.hpp"
#include "fusion/codegen.hpp"
#include "graph/opaque_op.hpp"
#include "hal/deferred_checks.hpp"

namespace hologram::graph {
namespace {

constexpr size_t kMostKernels = 4096;
constexpr size_t kMostPlans = 512;
constexpr size_t kMostPlanWords = size_t{1} << 19;  // 4 MiB

// The failure of a step is that of the nodes that it was to make.
void fail(const PlannedStep& step, const std::vector<Node*>& nodes,
          const std::exception_ptr& error) {
  for (const PlannedStep::Made& made : step.made) {
    nodes[made.place]->error = error;
    nodes[made.place]->state.store(NodeState::Failed, std::memory_order_release);
  }
}

void finish(const PlannedStep& step, const std::vector<Node*>& nodes) {
  // Letting go of inputs may free other nodes, but no target: the plan's caller holds those that
  // nothing else does.
  for (const PlannedStep::Made& made : step.made)
    if (made.complete) become_ready(*nodes[made.place]);
}

// What steps hold, by step; each lets go of its own.
std::vector<std::vector<NodeRef>> held_by(const Plan& plan, const std::vector<Node*>& nodes) {
  std::vector<std::vector<NodeRef>> held;
  for (size_t i = 0; i < plan.steps.size(); i++)
    for (const uint32_t place : plan.steps[i].held) {
      held.resize(i + 1);
      held[i].emplace_back(nodes[place]);
    }
  return held;
}

// Whether it does its own work on what is there: then there is nothing to plan.
bool stands_alone(const Node& node) {
  return node.kind == Kind::Opaque &&
         node.state.load(std::memory_order_acquire) == NodeState::Lazy &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [](const Input& input) {
           return input.node->state.load(std::memory_order_acquire) == NodeState::Ready;
         });
}

// What a step that failed has written into keeps no memory, but for a node that came with some.
void release(const PlannedStep& step, const std::vector<Node*>& nodes, const Node* has_memory) {
  for (const PlannedStep::Made& made : step.made)
    if (nodes[made.place] != has_memory) nodes[made.place]->result = {};
}

}  // namespace

Context::Context(Executor::State& state) : state_(state) {
  alone_.steps.emplace_back().opaque = true;
  alone_.steps.front().made.push_back({0, true});
  if (const uint64_t memory = device().total_memory; memory > 0) most_bytes_ = memory;
  if (config().autotuning_ms > 0 || !config().autotuning_cache_file.empty())
    tuner_ = std::make_unique<Tuner>(*this);
}

std::shared_ptr<Context> shared(Context& context) { return context.shared(); }

std::shared_ptr<Context> Context::of(const Executor& executor) {
  const std::shared_ptr<Executor::State>& state = executor.state();
  std::call_once(state->above_once, [&] { state->above = std::make_shared<Context>(*state); });
  // Owned through the executor's state, which owns the context.
  return {state, static_cast<Context*>(state->above.get())};
}

uint64_t bytes_of(const Node& node) {
  return static_cast<uint64_t>(element_count(node.shape)) * size_of(node.dtype);
}

void Context::require_room(const Node& node) const {
  const uint64_t bytes = bytes_of(node);
  if (bytes <= most_bytes_) return;
  throw core::error(core::Text::TensorTooLarge, to_string(node.shape), name_of(node.dtype), bytes,
                    device().total_memory, device().name);
}

ScheduleOptions Context::options() const {
  return {.fusion = state_.config.fusion,
          .max_bindings = device().max_bindings,
          .large_groups = hints_of(device()).is_gpu_like,
          .costs = device().backend == BackendType::Cpu ? kCostsOfProcessors : kCostsOfGpus,
          .library = has_programs_alone() ? nullptr : state_.device->library()};
}

void Context::evaluate(std::span<Node* const> roots) {
  const Locked lock(*this);
  compute_lazy(roots);
}

void Context::evaluate_into(Node& node, Node& donor) {
  const Locked lock(*this);
  Node* const root = &node;
  // Written by one launch, which cannot end halfway: whatever fails does so before it.
  const bool whole = node.kind == Kind::Elementwise || node.kind == Kind::Reduce;
  if (!whole || config().timeout_ms > 0 ||
      node.state.load(std::memory_order_acquire) != NodeState::Lazy)
    return compute_lazy({&root, 1});
  node.result = std::exchange(donor.result, {});
  donor.packed.reset();
  try {
    compute_lazy({&root, 1}, &node);
  } catch (...) {
    donor.result = std::exchange(node.result, {});
    throw;
  }
}

void Context::compute_lazy(std::span<Node* const> roots, const Node* has_memory) {
  for (const Node* root : roots)
    if (root->state.load(std::memory_order_acquire) == NodeState::Failed)
      std::rethrow_exception(root->error);
  if (roots.size() == 1 && stands_alone(*roots.front()) && !precompiles()) {
    lone_.assign(1, roots.front());
    return run(alone_, lone_, nullptr, has_memory);
  }
  const bool can_run = signature_.walk(roots, false);
  if (signature_.roots().empty()) return;
  if (can_run)
    if (Plan* known = known_plan()) return run(*known, signature_.nodes(), nullptr, has_memory);
  auto [fresh, plan] = plan_of(signature_, options(), false);
  run(plan, signature_.nodes(), &fresh, has_memory);
  keep(std::move(plan));
}

Plan* Context::known_plan() {
  const auto is_asked = [asked = signature_.key()](const Plan& plan) {
    return std::equal(plan.key.begin(), plan.key.end(), asked.begin(), asked.end());
  };
  if (last_plan_ != nullptr && is_asked(*last_plan_)) return last_plan_;
  const auto found = plans_.find(signature_.hash());
  if (found == plans_.end() || !is_asked(found->second)) return nullptr;
  return last_plan_ = &found->second;
}

// Whatever was computed is there: that there is no memory to remember how is no failure.
void Context::keep(Plan plan) noexcept {
  const size_t words = signature_.key().size();
  if (words > kMostPlanWords / 16) return;
  try {
    plan.key.assign(signature_.key().begin(), signature_.key().end());
    if (plans_.size() >= kMostPlans || plan_key_words_ + words > kMostPlanWords) {
      plans_.clear();
      last_plan_ = nullptr;
      plan_key_words_ = 0;
    }
    Plan& kept = plans_[signature_.hash()];
    plan_key_words_ += words - kept.key.size();
    kept = std::move(plan);
  } catch (const std::bad_alloc&) {
    return;
  }
}

namespace {

// A run of a plan whose steps mean the nodes of the graph themselves.
class PlainRun {
 public:
  PlainRun(const Plan& plan, const std::vector<Node*>& nodes, const Node* has_memory)
      : nodes_(nodes), held_(held_by(plan, nodes)), has_memory_(has_memory) {}
  void finish(const PlannedStep& step, size_t index) {
    graph::finish(step, nodes_);
    if (index < held_.size()) held_[index].clear();
  }
  void fail(const PlannedStep& step, const std::exception_ptr& error) {
    graph::fail(step, nodes_, error);
  }
  void release(const PlannedStep& step) { graph::release(step, nodes_, has_memory_); }

 private:
  const std::vector<Node*>& nodes_;
  std::vector<std::vector<NodeRef>> held_;
  const Node* const has_memory_;
};

}  // namespace

void Context::run(Plan& plan, const std::vector<Node*>& nodes, const Schedule* fresh,
                  const Node* has_memory) {
  if (plan.lowered != nullptr) {
    Lowered::Run lent(*plan.lowered, nodes);
    run_steps(plan, plan.lowered->nodes(), fresh, lent);
  } else {
    PlainRun plain(plan, nodes, has_memory);
    run_steps(plan, nodes, fresh, plain);
  }
  if (recorder_ == nullptr) stream().start();
}

template <class Run>
void Context::run_steps(Plan& plan, const std::vector<Node*>& nodes, const Schedule* fresh,
                        Run& run) {
  if (fresh != nullptr) precompile(plan, nodes, *fresh);
  for (size_t i = 0; i < plan.steps.size(); i++) {
    PlannedStep& step = plan.steps[i];
    try {
      compute(step, nodes, fresh != nullptr ? &fresh->steps[i] : nullptr);
      run.finish(step, i);
    } catch (const Error& error) {
      // Memory may be there later; everything else would fail again.
      if (error.kind() != ErrorKind::OutOfMemory) run.fail(step, std::current_exception());
      run.release(step);
      throw;
    } catch (...) {
      run.release(step);
      throw;
    }
  }
}

bool Context::precompiles() const {
  return state_.device->compiles_async() && state_.device->library() == nullptr;
}

// Takes down what the steps launch, and forgets it. Works may want to look at values, which ends it
// there; what goes wrong is told when the steps run.
void Context::precompile(Plan& plan, const std::vector<Node*>& nodes, const Schedule& fresh) {
  const bool one = plan.steps.size() == 1 && !plan.steps.front().opaque;
  if (one || !precompiles()) return;
  Recorder recorder(true);
  struct Before {
    Recorder*& place;
    std::vector<std::pair<Node*, Storage>> results{};
    ~Before() {
      place = nullptr;
      for (auto& [node, result] : results) node->result = std::move(result);
    }
  } before{recorder_};
  for (const PlannedStep& step : plan.steps)
    for (const PlannedStep::Made& made : step.made) {
      Node* const node = nodes[made.place];
      before.results.emplace_back(node, node->result);
    }
  recorder_ = &recorder;
  try {
    for (size_t i = 0; i < plan.steps.size(); i++) compute(plan.steps[i], nodes, &fresh.steps[i]);
  } catch (const Error&) {
    return;
  } catch (const Recorder::Refused&) {
    return;
  }
}

void Context::compute(PlannedStep& step, const std::vector<Node*>& nodes, const Step* fresh) {
  // The first of the parts of a result makes the memory that the others are written into.
  for (const PlannedStep::Made& made : step.made) {
    Node& node = *nodes[made.place];
    if (node.result.owner != nullptr) continue;
    if (auto there = step.opaque ? node.work->lies_in(node) : std::nullopt) {
      node.result = *std::move(there);
      continue;
    }
    require_room(node);
    node.result = allocate(bytes_of(node));
  }
  if (step.done) return;
  if (step.opaque) {
    Node& node = *nodes[step.made.front().place];
    if (element_count(node.shape) > 0) node.work->run(*this, node, node.result);
    return settle();
  }
  // A product that is made for its epilogue alone is gone with the step.
  struct Brief {
    Node* product = nullptr;
    ~Brief() {
      if (product != nullptr) product->result = {};
    }
  } brief;
  if (step.product != PlannedStep::kNone) {
    brief.product = nodes[step.product];
    if (run_with_epilogue(step, nodes)) return settle();
  }
  if (!step.ready) prepare(step, fresh->kernel);
  if (!step.program) return;
  bindings_.clear();
  bindings_.reserve(step.loads.size() + step.made.size());
  if (step.by_library != nullptr) {
    const auto bind = [&](uint32_t place, uint64_t bytes) {
      const hal::Binding& all = nodes[place]->result.where;
      bindings_.push_back({all.buffer, all.offset + bytes, all.size - bytes});
    };
    for (const auto& [load, bytes] : step.parts) bind(step.loads[load], bytes);
    bind(step.made.front().place, step.to);
    call(step.by_library, bindings_, {}, step.work);
    return settle();
  }
  for (const uint32_t place : step.loads) bindings_.push_back(nodes[place]->result.where);
  for (const PlannedStep::Made& made : step.made)
    if (!made.in_place) bindings_.push_back(nodes[made.place]->result.where);
  for (const PlannedStep::Number& number : step.numbers)
    step.scalars[number.scalar] = nodes[number.place]->attributes[number.attribute].bits;
  launch(step.executable,
         {.executable = step.executable.get(),
          .grid = step.grid,
          .bindings = bindings_,
          .scalars = step.scalars,
          .deadline = deadline(),
          .budget = 0,
          .progress = nullptr},
         *step.program, step.work);
  settle();
}

bool Context::run_with_epilogue(PlannedStep& step, const std::vector<Node*>& nodes) {
  const Node& last = *nodes[step.made.front().place];
  Node& product = *nodes[step.product];
  if (element_count(product.shape) == 0) return true;
  const Epilogue epilogue = *epilogue_of(*nodes[step.made.front().place]);
  const auto refusal = product.work->run(*this, epilogue, last.result);
  if (!refusal) return true;
  say(LogLevel::Debug,
      fmt::format("what follows {} is a kernel: {}", product.work->name(), refusal->reason));
  product.result = allocate(bytes_of(product));
  product.work->run(*this, product, product.result);
  settle();
  if (!step.ready) prepare(step, kernel_of(epilogue));
  return false;
}

void Context::prepare(PlannedStep& step, const Kernel& kernel) {
  if (kernel.outer_count() > 0) {
    require_inside(kernel);
    const Layout how = layout(kernel, hints_of(device()));
    step.scalars.clear();
    for (const ScalarArgument& a : scalar_arguments(kernel, how)) step.scalars.push_back(a.bits);
    const size_t first = step.scalars.size() - step.numbers.size();
    for (size_t i = 0; i < step.numbers.size(); i++)
      step.numbers[i].scalar = static_cast<uint32_t>(first + i);
    const Program& program = program_of(kernel, how);
    step.grid = how.grid();
    if (state_.profiler != nullptr) {
      const auto [read, written] = traffic(kernel);
      step.work = {.bytes = read + written, .flops = operations(kernel, how, program)};
    }
    step.executable = state_.executable(program, step.scalars);
    step.program = program;
    const bool in_place = std::any_of(step.made.begin(), step.made.end(),
                                      [](const auto& made) { return made.in_place; });
    if (const auto known = in_place ? std::nullopt : library_kernel_of(kernel, how)) {
      step.by_library = library_of(known->desc);
      step.parts = known->operands;
      step.to = known->to;
    }
  }
  step.ready = true;
}

const Program& Context::program_of(const Kernel& kernel, const Layout& layout) {
  std::string key = key_of(kernel, layout);
  if (const auto known = kernels_.find(key); known != kernels_.end()) return known->second;
  return keep(std::move(key), generate(kernel, layout));
}

const Program& Context::keep(std::string key, Program program) {
  if (kernels_.size() >= kMostKernels) kernels_.clear();
  return kernels_.emplace(std::move(key), std::move(program)).first->second;
}

void Context::say(LogLevel level, std::string message) {
  if (core::log_enabled(level)) pending_log_.emplace_back(level, std::move(message));
}

void Context::fall_back(std::string_view work, const std::string& reason) {
  if (config().strict) throw core::error(core::Text::GeneralProgram, work, device().name, reason);
  state_.fallbacks++;
  // A warning the first time; who repeats the work need not read it again.
  say(reason == last_reported_ ? LogLevel::Debug : LogLevel::Warning,
      fmt::format("{} on {} by a general program: {}", work, device().name, reason));
  last_reported_ = reason;
}

void Context::copy_donated(size_t input, const std::string& reason) {
  if (config().strict) throw core::error(core::Text::DonationRefused, input, reason);
  state_.fallbacks++;
  say(LogLevel::Warning, fmt::format("the donated input {} is copied: {}", input, reason));
}

std::pair<uint64_t, uint64_t> Context::random_state() {
  const std::lock_guard lock(mutex());
  return {seed_, ordinal_};
}

void Context::set_random_state(uint64_t key, uint64_t ordinal) {
  const std::lock_guard lock(mutex());
  seed_ = key;
  ordinal_ = ordinal;
}

std::pair<uint64_t, uint64_t> Context::next_random(uint64_t operations) {
  const std::lock_guard lock(mutex());
  return {seed_, std::exchange(ordinal_, ordinal_ + operations)};
}

}  // namespace hologram::graph
