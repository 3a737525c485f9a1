#include "tensor/launch.hpp"

#include <mutex>

#include "core/out_of_memory.hpp"
#include "hologram/creation.hpp"
#include "runtime/binding.hpp"
#include "tensor/access.hpp"

namespace hologram::tensor {
namespace {

// What binding looks at: a shape and a dtype. Nobody touches the memory.
Array shape_alone(const Tensor& t) {
  alignas(16) static std::byte nothing[16];
  return Array::borrow(t.dtype(), t.shape(), static_cast<void*>(nothing));
}

// The context is locked.
Tensor copy_of(const Tensor& t, graph::Context& context) {
  auto node = std::make_unique<graph::Node>(graph::Kind::Data, context, t.dtype(), t.shape());
  node->result = context.allocate(graph::bytes_of(*node));
  if (t.size() > 0) context.copy(node->result, tensor::Access::look(t).result);
  node->state = graph::NodeState::Ready;
  return tensor::Access::make(graph::NodeRef::adopt(node.release()));
}

}  // namespace

std::map<std::string, Tensor> launch(const Program& program,
                                     const std::vector<LaunchArgument>& arguments,
                                     const RunOptions& options, const Executor& executor) {
  return core::or_out_of_memory([&] {
    std::map<std::string, Tensor> given;
    std::vector<Argument> shapes;
    for (const LaunchArgument& argument : arguments) {
      if (const auto* number = std::get_if<Number>(&argument.value)) {
        shapes.push_back({argument.name, *number});
        continue;
      }
      const Tensor t = dense(std::get<Tensor>(argument.value).to(executor));
      shapes.push_back({argument.name, shape_alone(t)});
      given.insert_or_assign(argument.name, t.eval());
    }
    const runtime::BoundProgram bound = runtime::bind(program, shapes, options);
    const auto params = program.buffers();
    std::map<std::string, Tensor> written;
    for (size_t i = 0; i < params.size(); i++)
      if (params[i].access != program::Access::In && bound.missing[i])
        written[params[i].name] = ops::zeros(bound.shapes[i], params[i].type, executor).eval();
    const std::shared_ptr<graph::Context> context = graph::Context::of(executor);
    const std::lock_guard lock(context->mutex());
    std::vector<hal::Binding> bindings;
    for (size_t i = 0; i < params.size(); i++) {
      const std::string& name = params[i].name;
      if (params[i].access != program::Access::In && !bound.missing[i])
        written[name] = copy_of(given.at(name), *context);
      const auto output = written.find(name);
      const Tensor& t = output != written.end() ? output->second : given.at(name);
      bindings.push_back(tensor::Access::look(t).result.where);
    }
    Executor::State& state = context->executor();
    const std::shared_ptr<hal::Executable> ready = state.executable(program);
    hal::Launch launch{.executable = ready.get(),
                       .grid = bound.grid,
                       .bindings = bindings,
                       .scalars = bound.scalars,
                       .deadline = {},
                       .budget = options.budget,
                       .progress = options.progress};
    if (const uint64_t limit = context->config().timeout_ms; limit > 0)
      launch.deadline = hal::Clock::now() + std::chrono::milliseconds(limit);
    state.launches++;
    state.with_memory([&] { state.stream->launch(launch); });
    context->settle();
    if (options.report != nullptr) {
      options.report->grid = bound.grid;
      options.report->launches++;
    }
    return written;
  });
}

}  // namespace hologram::tensor
