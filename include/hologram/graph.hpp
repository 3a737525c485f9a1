// A calculation recorded once and run again with other inputs.
//
//   Graph step = capture([&](const Tensor& x) { return ops::softmax(ops::matmul(x, w) + b); }, x);
//   Tensor y = step.launch(next)[0];
//
// The function runs once, on stand-ins for the inputs. Tensors that it closes over are constants,
// and so are random numbers. Reading a stand-in (item, to_vector, eval, operations whose shape
// depends on values) is an InvalidArgument. A launch does the same work on inputs of the same
// shapes and dtypes, without building or scheduling anything; where the device can, all of it at
// once (a CUDA graph). The graph keeps the memory that lies between its kernels.
#pragma once

#include <functional>

#include "hologram/tensor.hpp"

namespace hologram {

class HOLOGRAM_API Graph {
 public:
  using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

  // `examples` give the shapes, dtypes and the executor of the inputs; their values do not matter.
  Graph(const Function& function, const std::vector<Tensor>& examples);

  // One result for each that the function gave, computed. ShapeMismatch and DTypeMismatch unless
  // the inputs are like the examples. Any thread may launch; launches on one executor take turns.
  std::vector<Tensor> launch(const std::vector<Tensor>& inputs) const;
  template <class... Inputs>
  std::vector<Tensor> launch(const Tensor& first, const Inputs&... rest) const {
    return launch(std::vector<Tensor>{first, rest...});
  }

  size_t steps() const;  // kernels and calls of a launch
  // How it is launched: "a CUDA graph of 100 nodes", "step by step: each launch is timed".
  std::string note() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

namespace detail {
inline std::vector<Tensor> as_list(Tensor result) { return {std::move(result)}; }
inline std::vector<Tensor> as_list(std::vector<Tensor> results) { return results; }

template <class F, class... Inputs, size_t... I>
Graph capture(F& function, std::index_sequence<I...>, const Inputs&... inputs) {
  return Graph([&](const std::vector<Tensor>& x) { return as_list(function(x[I]...)); },
               {inputs...});
}
}  // namespace detail

// The same of a function of so many tensors that gives one, or a vector.
template <class F, class... Inputs>
requires(std::is_same_v<Inputs, Tensor>&&...) Graph capture(F function, const Inputs&... inputs) {
  return detail::capture(function, std::index_sequence_for<Inputs...>(), inputs...);
}

}  // namespace hologram
