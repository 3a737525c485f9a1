#include "hologram/gradient.hpp"

#include <fmt/format.h>

#include "core/messages.hpp"
#include "hologram/ops.hpp"
#include "tensor/tape.hpp"

namespace hologram {

using core::Text;
using tensor::Tape;
using tensor::Tensors;

namespace {

void refuse_unless_float(const char* operation, const Tensors& tensors, const char* what) {
  for (size_t i = 0; i < tensors.size(); i++)
    if (!is_float(tensors[i].dtype()))
      throw core::error(Text::GradientDType, operation, fmt::format("{} {}", what, i),
                        name_of(tensors[i].dtype()));
}

void refuse_unless_like(const char* operation, const Tensors& given, const Tensors& like) {
  if (given.size() != like.size())
    throw core::error(Text::CotangentCount, operation, given.size(), like.size());
  for (size_t i = 0; i < given.size(); i++)
    if (given[i].shape() != like[i].shape())
      throw core::error(Text::CotangentShape, operation, i, to_string(given[i].shape()),
                        to_string(like[i].shape()));
}

// A function run once with its inputs under names of their own.
struct Run {
  std::shared_ptr<Tape> tape = std::make_shared<Tape>();
  Tensors values;

  // `others` are differentiated by as they are.
  Run(const TensorFunction& function, const Tensors& inputs, const Tensors& others = {}) {
    Tensors stand_ins;
    for (const Tensor& t : inputs) {
      stand_ins.push_back(tensor::renamed(t));
      tape->watch(stand_ins.back());
      // A gradient of a gradient goes on where this one began.
      if (tensor::is_recording()) tensor::record_same(t, stand_ins.back());
    }
    for (const Tensor& t : others) tape->watch(t);
    const tensor::Recording recording(*tape);
    values = function(stand_ins);
  }
  // In the shapes and dtypes of `inputs`: zeros where nothing comes back.
  Tensors pull(const Tensors& cotangents, const Tensors& inputs) const {
    Tensors gradients = tape->pull(values, cotangents);
    for (size_t i = 0; i < inputs.size(); i++)
      gradients[i] = gradients[i].defined() ? gradients[i].reshape(inputs[i].shape())
                                            : ops::zeros_like(inputs[i]);
    return gradients;
  }
};

// For the cotangents that nobody gave.
Tensors completed(const Tensors& cotangents, const Tensors& like) {
  Tensors all;
  for (size_t i = 0; i < like.size(); i++)
    all.push_back(cotangents[i].defined() ? cotangents[i] : ops::zeros_like(like[i]));
  return all;
}

}  // namespace

ValueAndGradient value_and_gradient(
    const std::function<Tensor(const std::vector<Tensor>&)>& function,
    const std::vector<Tensor>& inputs) {
  refuse_unless_float("gradient", inputs, "input");
  const Run run([&](const Tensors& x) { return Tensors{function(x)}; }, inputs);
  const Tensor& value = run.values.front();
  if (value.size() != 1) throw core::error(Text::GradientOfMany, to_string(value.shape()));
  refuse_unless_float("gradient", run.values, "value");
  return {value, run.pull({ops::ones_like(value)}, inputs)};
}

std::vector<Tensor> gradient(const std::function<Tensor(const std::vector<Tensor>&)>& function,
                             const std::vector<Tensor>& inputs) {
  return value_and_gradient(function, inputs).gradients;
}

Vjp vjp(const TensorFunction& function, const std::vector<Tensor>& inputs) {
  refuse_unless_float("vjp", inputs, "input");
  auto run = std::make_shared<const Run>(function, inputs);
  return {run->values, [run, inputs](const Tensors& cotangents) {
            refuse_unless_like("vjp", cotangents, run->values);
            return run->pull(cotangents, inputs);
          }};
}

// The gradient is linear in the cotangents, and what it is multiplied by is the Jacobian: its own
// gradient by them is the product on the other side.
Jvp jvp(const TensorFunction& function, const std::vector<Tensor>& inputs,
        const std::vector<Tensor>& tangents) {
  refuse_unless_like("jvp", tangents, inputs);
  const Vjp forward = vjp(function, inputs);
  Tensors any;
  for (const Tensor& value : forward.values) {
    any.push_back(ops::zeros_like(value));
    refuse_unless_float("jvp", {value}, "value");
  }
  const Run backward(forward.pullback, any);
  Tensors given;
  for (size_t i = 0; i < tangents.size(); i++) given.push_back(tangents[i].to(inputs[i].dtype()));
  return {forward.values, backward.pull(given, any)};
}

Tensor stop_gradient(const Tensor& x) { return tensor::renamed(x); }

TensorFunction custom_gradient(TensorFunction function, Backward backward) {
  return [function = std::move(function), backward = std::move(backward)](const Tensors& inputs) {
    Tensors results;
    {
      const tensor::Pause pause;
      results = function(inputs);
    }
    if (!tensor::is_recording()) return results;
    // A result that is an input has to be told from it.
    for (Tensor& t : results)
      if (tensor::is_tracked(t)) t = tensor::renamed(t);
    tensor::record(
        inputs, results, [backward, inputs, results](const Tensors& g, const tensor::Wanted&) {
          Tensors back = backward(inputs, results, completed(g, results));
          if (back.size() != inputs.size())
            throw core::error(Text::CotangentCount, "custom_gradient", back.size(), inputs.size());
          for (size_t i = 0; i < back.size(); i++)
            if (back[i].defined() && back[i].shape() != inputs[i].shape())
              throw core::error(Text::CotangentShape, "custom_gradient", i,
                                to_string(back[i].shape()), to_string(inputs[i].shape()));
          return back;
        });
    return results;
  };
}

TensorFunction checkpoint(TensorFunction function) {
  return [function = std::move(function)](const Tensors& inputs) {
    if (!tensor::is_recording()) return function(inputs);
    // What it closes over and the gradient is wanted by is as good as an input.
    Tensors results, others;
    {
      const tensor::Recording probe(others);
      results = function(inputs);
    }
    for (Tensor& t : results)
      if (tensor::is_tracked(t)) t = tensor::renamed(t);
    Tensors operands = inputs;
    operands.insert(operands.end(), others.begin(), others.end());
    tensor::record(operands, results,
                   [function, inputs, others, results](const Tensors& g, const tensor::Wanted&) {
                     const Run again(function, inputs, others);
                     return again.pull(completed(g, results), inputs);
                   });
    return results;
  };
}

}  // namespace hologram
