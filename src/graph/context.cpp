#include "graph/context.hpp"

#include <cstring>

#include "core/messages.hpp"
#include "graph/codegen.hpp"
#include "graph/work.hpp"

namespace hologram::graph {
namespace {

constexpr size_t kMostKernels = 4096;

// Kernels to a schedule's step, whose failure is that of the nodes that it was to make.
void fail(const Step& step, const std::exception_ptr& error) {
  const auto fail_one = [&](Node& node) {
    node.error = error;
    node.state.store(NodeState::Failed, std::memory_order_release);
  };
  if (step.opaque != nullptr) fail_one(*step.opaque);
  for (const Output& output : step.kernel.outputs) fail_one(*output.target);
}

// What a step that failed has written into keeps no memory, but for a node that came with some.
void let_go(const Step& step, const Node* has_memory) {
  if (step.opaque != nullptr) step.opaque->result = {};
  for (const Output& output : step.kernel.outputs)
    if (output.target != has_memory) output.target->result = {};
}

}  // namespace

Context::Context(Executor::State& state) : state_(state), stream_(state.device->stream()) {}

std::shared_ptr<Context> Context::of(const Executor& executor) {
  const std::shared_ptr<Executor::State>& state = executor.state();
  std::call_once(state->above_once, [&] { state->above = std::make_shared<Context>(*state); });
  // Owned through the executor's state, which owns the context.
  return {state, static_cast<Context*>(state->above.get())};
}

uint64_t bytes_of(const Node& node) {
  return static_cast<uint64_t>(element_count(node.shape)) * size_of(node.dtype);
}

ScheduleOptions Context::options() const {
  return {.fusion = state_.config.fusion, .max_bindings = 16};
}

void Context::evaluate(const std::vector<Node*>& roots) {
  const std::lock_guard lock(mutex_);
  compute_lazy(roots);
}

void Context::evaluate_into(Node& node, Node& donor) {
  const std::lock_guard lock(mutex_);
  // Written by one launch, which cannot end halfway: whatever fails does so before it.
  const bool whole = node.kind == Kind::Elementwise || node.kind == Kind::Reduce;
  if (!whole || config().timeout_ms > 0 ||
      node.state.load(std::memory_order_acquire) != NodeState::Lazy)
    return compute_lazy({&node});
  node.result = std::exchange(donor.result, {});
  try {
    compute_lazy({&node}, &node);
  } catch (...) {
    donor.result = std::exchange(node.result, {});
    throw;
  }
}

void Context::compute_lazy(const std::vector<Node*>& roots, const Node* has_memory) {
  std::vector<Node*> lazy;
  for (Node* root : roots) {
    const NodeState state = root->state.load(std::memory_order_acquire);
    if (state == NodeState::Failed) std::rethrow_exception(root->error);
    if (state == NodeState::Lazy) lazy.push_back(root);
  }
  if (lazy.empty()) return;
  const Schedule plan = schedule(lazy, options());
  for (const Step& step : plan.steps) {
    try {
      compute(step);
      finish(step);
    } catch (const Error& error) {
      // Memory may be there later; everything else would fail again.
      if (error.kind() != ErrorKind::OutOfMemory) fail(step, std::current_exception());
      let_go(step, has_memory);
      throw;
    } catch (...) {
      let_go(step, has_memory);
      throw;
    }
  }
}

void Context::finish(const Step& step) {
  const auto finish_one = [](Node& node) {
    node.depth = 0;
    const std::vector<Input> done = std::move(node.inputs);
    node.inputs.clear();
    node.parts.clear();
    node.state.store(NodeState::Ready, std::memory_order_release);
  };
  if (step.opaque != nullptr) return finish_one(*step.opaque);
  // Letting go of inputs may free other nodes, but no target: the schedule's caller holds those
  // that nothing else does.
  for (const Output& output : step.kernel.outputs) {
    Node& target = *output.target;
    if (target.kind == Kind::Assemble && --target.parts_left > 0) continue;
    finish_one(target);
  }
}

void Context::compute(const Step& step) {
  if (step.opaque == nullptr) return compute(step.kernel);
  Node& node = *step.opaque;
  if (node.result.owner == nullptr) node.result = allocate(bytes_of(node));
  if (element_count(node.shape) > 0) node.work->run(*this, node, node.result);
  wait();
}

std::vector<Storage> Context::replay(const Schedule& plan, const std::vector<NodeRef>& given,
                                     const std::vector<Storage>& inputs,
                                     const std::vector<NodeRef>& roots) {
  const std::lock_guard lock(mutex_);
  const auto targets = [&](auto&& each) {
    for (const Step& step : plan.steps) {
      if (step.opaque != nullptr) each(*step.opaque);
      for (const Output& output : step.kernel.outputs) each(*output.target);
    }
  };
  // Whatever happens, the graph holds nothing of this launch afterwards.
  struct Clean {
    const decltype(targets)& all;
    const std::vector<NodeRef>& given;
    ~Clean() {
      all([](Node& node) { node.result = {}; });
      for (const NodeRef& node : given) node->result = {};
    }
  } clean{targets, given};
  for (size_t i = 0; i < given.size(); i++) given[i]->result = inputs[i];
  for (const Step& step : plan.steps) compute(step);
  std::vector<Storage> results;
  results.reserve(roots.size());
  for (const NodeRef& root : roots) results.push_back(root->result);
  return results;
}

Schedule Context::plan(const std::vector<Node*>& roots) {
  const std::lock_guard lock(mutex_);
  ScheduleOptions how = options();
  how.tracing = true;
  return schedule(roots, how);
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

void Context::call(const hal::LibraryPlan& plan, std::span<const hal::Binding> operands,
                   hal::Binding workspace) {
  state_.library_calls++;
  stream_->call(plan, operands, workspace);
}

void Context::compute(const Kernel& kernel) {
  // The first output of an Assemble makes the result that the others write into.
  std::vector<hal::Binding> buffers;
  for (const Node* node : kernel.loads) buffers.push_back(node->result.where);
  for (const Output& output : kernel.outputs) {
    Node& target = *output.target;
    if (target.result.owner == nullptr) target.result = allocate(bytes_of(target));
    buffers.push_back(target.result.where);
  }
  if (kernel.outer_count() == 0) return;
  const Layout how = layout(kernel);
  std::vector<uint64_t> scalars;
  for (const ScalarArgument& a : scalar_arguments(kernel, how)) scalars.push_back(a.bits);
  const Program& program = program_of(kernel, how);
  runtime::Work work;
  if (state_.profiler != nullptr) {
    const auto [read, written] = traffic(kernel);
    work = {.bytes = read + written, .flops = operations(kernel, how, program)};
  }
  launch(program, how.grid(), buffers, scalars, work);
  wait();
}

Storage Context::allocate(uint64_t bytes) {
  auto block = std::make_shared<runtime::Block>(state_.pool->allocate(bytes));
  const hal::Binding where = block->binding();
  return {std::move(block), where, true};
}

void Context::launch(const Program& program, const Grid& grid,
                     std::span<const hal::Binding> buffers, std::span<const uint64_t> scalars,
                     runtime::Work work) {
  const std::shared_ptr<hal::Executable> ready = state_.executable(program);
  hal::Launch launch{.executable = ready.get(),
                     .grid = grid,
                     .bindings = buffers,
                     .scalars = scalars,
                     .deadline = {},
                     .budget = 0,
                     .progress = nullptr};
  if (config().timeout_ms > 0)
    launch.deadline = hal::Clock::now() + std::chrono::milliseconds(config().timeout_ms);
  state_.launches++;
  if (state_.profiler == nullptr) return stream_->launch(launch);
  // Timed alone: what is measured is the kernel and not what waits behind it.
  if (work.bytes == 0)
    for (const hal::Binding& binding : buffers) work.bytes += static_cast<double>(binding.size);
  const auto start = hal::Clock::now();
  stream_->launch(launch);
  wait();
  state_.profiler->record(program.name(), start, hal::Clock::now(), work);
}

void Context::wait() { stream_->wait(stream_->submit(), {}); }

void Context::copy_to_host(const Storage& from, std::byte* to, uint64_t bytes) {
  if (bytes == 0) return;
  hal::HostBuffer host(to, bytes);
  stream_->copy({&host, 0, bytes}, {from.where.buffer, from.where.offset, bytes});
  wait();
}

void Context::copy_from_host(const std::byte* from, const Storage& to, uint64_t bytes) {
  if (bytes == 0) return;
  // A source is only read.
  hal::HostBuffer host(const_cast<std::byte*>(from), bytes);
  stream_->copy({to.where.buffer, to.where.offset, bytes}, {&host, 0, bytes});
  wait();
}

Storage Context::adopt(const Array& array) {
  // What tensors are made of is only read.
  auto* memory = const_cast<std::byte*>(array.data());
  if (std::shared_ptr<hal::Buffer> buffer = state_.device->adopt(memory, array.bytes())) {
    const hal::Binding where{buffer.get(), 0, array.bytes()};
    auto both =
        std::make_shared<std::pair<std::shared_ptr<hal::Buffer>, Array>>(std::move(buffer), array);
    return {std::move(both), where};
  }
  Storage storage = allocate(array.bytes());
  const std::lock_guard lock(mutex_);
  copy_from_host(memory, storage, array.bytes());
  return storage;
}

Array Context::read(const Node& node) {
  const Storage& from = node.result;
  if (std::byte* host = from.where.buffer->host())
    return Array::borrow(node.dtype, node.shape, static_cast<const void*>(host + from.where.offset),
                         from.owner);
  Array array(node.dtype, node.shape);
  const std::lock_guard lock(mutex_);
  copy_to_host(from, array.mutable_data(), array.bytes());
  return array;
}

void Context::seed(uint64_t key) {
  const std::lock_guard lock(mutex_);
  seed_ = key;
  ordinal_ = 0;
}

std::pair<uint64_t, uint64_t> Context::next_random() {
  const std::lock_guard lock(mutex_);
  return {seed_, ordinal_++};
}

}  // namespace hologram::graph
