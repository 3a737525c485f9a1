#include "hologram/launch.hpp"

#include "core/messages.hpp"
#include "core/out_of_memory.hpp"
#include "graph/opaque_op.hpp"
#include "runtime/binding.hpp"
#include "tensor/access.hpp"
#include "tensor/tape.hpp"

namespace hologram {
namespace {

using graph::Context;
using graph::Node;
using graph::Storage;

constexpr uint64_t kAlignment = 256;

// Where the results of a program lie: in the only one, or in one block of memory.
struct Place {
  size_t buffer;
  uint64_t offset, bytes;
};

// One launch. Inputs are what was given, in the order of `given`; the node is the only result, or
// the block of all.
class ProgramOp : public graph::OpaqueOp {
 public:
  ProgramOp(Program program, runtime::BoundProgram bound, std::vector<size_t> given,
            std::vector<Place> written, uint64_t budget)
      : program_(std::move(program)),
        bound_(std::move(bound)),
        given_(std::move(given)),
        written_(std::move(written)),
        budget_(budget) {}

  std::string_view name() const override { return program_.name(); }
  graph::Candidates candidates(Context& /*context*/, const Node& /*node*/) const override {
    return graph::only("the program " + program_.name());
  }
  void run(Context& context, const Node& node, const Storage& result) const override {
    std::vector<hal::Binding> bindings(program_.buffers().size());
    for (size_t i = 0; i < given_.size(); i++)
      bindings[given_[i]] = node.inputs[i].node->result.where;
    for (const Place& place : written_) {
      const hal::Binding& all = result.where;
      const Storage here{result.owner, {all.buffer, all.offset + place.offset, place.bytes}};
      hal::Binding& binding = bindings[place.buffer];
      if (place.bytes > 0 && binding.buffer != nullptr) context.copy(here, {nullptr, binding});
      else if (place.bytes > 0) context.fill(here, 0);
      binding = here.where;
    }
    context.launch(program_, bound_.grid, bindings, bound_.scalars, {}, budget_);
  }

 private:
  const Program program_;
  const runtime::BoundProgram bound_;
  const std::vector<size_t> given_;
  const std::vector<Place> written_;
  const uint64_t budget_;
};

// One of several results, in the block of all.
class PartOp : public graph::OpaqueOp {
 public:
  PartOp(std::string name, Place place) : name_(std::move(name)), place_(place) {}
  std::string_view name() const override { return name_; }
  graph::Candidates candidates(Context& /*context*/, const Node& /*node*/) const override {
    return graph::only("the program that has written it");
  }
  std::optional<Storage> lies_in(const Node& node) const override {
    const Storage& all = node.inputs[0].node->result;
    return Storage{all.owner, {all.where.buffer, all.where.offset + place_.offset, place_.bytes}};
  }
  void run(Context& context, const Node& node, const Storage& result) const override {
    context.copy(result, *lies_in(node));
  }

 private:
  const std::string name_;
  const Place place_;
};

// What binding looks at: a shape and a dtype. Nobody touches the memory.
Array shape_alone(const Tensor& t) {
  alignas(16) static std::byte nothing[16];
  return Array::borrow(t.dtype(), t.shape(), static_cast<void*>(nothing));
}

Number number_of(const Operand& operand) {
  switch (operand.kind()) {
    case DType::Bool: return Number(operand.integer() != 0);
    case DType::I64: return Number(operand.integer());
    case DType::U64: return Number(static_cast<uint64_t>(operand.integer()));
    default: return Number(operand.real());
  }
}

Executor executor_of(const std::vector<TensorArgument>& arguments, const LaunchOptions& options) {
  if (options.executor) return *options.executor;
  for (const TensorArgument& argument : arguments)
    if (!argument.value.is_number()) return argument.value.tensor().executor();
  return default_executor();
}

}  // namespace

std::map<std::string, Tensor> launch(const Program& program,
                                     const std::vector<TensorArgument>& arguments,
                                     const LaunchOptions& options) {
  return core::or_out_of_memory([&] {
    const Executor executor = executor_of(arguments, options);
    // Programs have no gradient of their own: better none than a wrong one.
    for (const TensorArgument& argument : arguments)
      if (tensor::is_recording() && !argument.value.is_number() &&
          tensor::is_tracked(argument.value.tensor()))
        throw core::error(core::Text::ProgramGradient, program.name());
    std::map<std::string, Tensor> tensors;
    std::vector<Argument> shapes;
    for (const TensorArgument& argument : arguments) {
      if (argument.value.is_number()) {
        shapes.push_back({argument.name, number_of(argument.value)});
        continue;
      }
      const Tensor t = tensor::dense(argument.value.tensor().to(executor));
      shapes.push_back({argument.name, shape_alone(t)});
      tensors.insert_or_assign(argument.name, t);
    }
    RunOptions how;
    how.grid = options.grid;
    how.shapes = options.shapes;
    runtime::BoundProgram bound = runtime::bind(program, shapes, how);
    bound.arrays.clear();
    if (options.report != nullptr) options.report->grid = bound.grid;

    const auto params = program.buffers();
    std::vector<Tensor> inputs;
    std::vector<size_t> given;
    std::vector<Place> written;
    uint64_t all = 0;
    for (size_t i = 0; i < params.size(); i++) {
      if (!bound.missing[i]) {
        given.push_back(i);
        inputs.push_back(tensors.at(params[i].name));
      }
      if (params[i].access == program::Access::In) continue;
      const uint64_t bytes =
          static_cast<uint64_t>(graph::element_count(bound.shapes[i])) * size_of(params[i].type);
      written.push_back({i, all, bytes});
      all += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    }
    const bool one = written.size() == 1;
    const std::vector<Shape> results = bound.shapes;
    const DType dtype = one ? params[written[0].buffer].type : DType::U8;
    const Shape shape = one ? results[written[0].buffer] : Shape{static_cast<int64_t>(all)};
    auto node = std::make_unique<Node>(graph::Kind::Opaque, *Context::of(executor), dtype, shape);
    node->work = std::make_unique<ProgramOp>(program, std::move(bound), std::move(given), written,
                                             options.budget);
    for (Tensor& t : inputs) node->inputs.push_back(tensor::input_of(std::move(t)));
    if (inputs.empty()) node->keep_context();
    const Tensor made = tensor::finish(std::move(node));

    std::map<std::string, Tensor> named;
    if (one) named[params[written[0].buffer].name] = made;
    for (const Place& place : written) {
      if (one) break;
      const program::BufferParam& param = params[place.buffer];
      Tensor block[] = {made};
      named[param.name] =
          tensor::make_opaque(std::make_unique<PartOp>(program.name() + "." + param.name, place),
                              param.type, results[place.buffer], std::span<Tensor>(block));
    }
    return named;
  });
}

}  // namespace hologram
