// A calculation recorded once and run again with other inputs.
//
//   Graph step = capture([&](const Tensor& x) { return ops::softmax(ops::matmul(x, w) + b); }, x);
//   Tensor y = step.launch(next)[0];
//
// The function runs once, on stand-ins for the inputs. Tensors that it closes over are constants;
// random numbers are drawn anew by each launch, those that calling the function would draw. Reading
// a stand-in (item, to_vector, eval, operations whose shape depends on values) is an
// InvalidArgument. A launch does the same work on inputs of the same shapes and dtypes, without
// building or scheduling anything; where the device can, all of it at once (a CUDA graph). The
// graph keeps the memory that lies between its kernels.
//
// State that goes from launch to launch is donated: a result lies in the memory of an input, which
// the launch takes over.
//
//   Graph step = capture([&](const Tensor& cache, const Tensor& row, const Tensor& at) {
//     return ops::put_at(cache, 0, at, row);
//   }, {{.input = 0, .result = 0}}, cache, row, at);
//   cache = step.launch(std::move(cache), row, at)[0];  // writes one row, and copies nothing
#pragma once

#include <functional>

#include "hologram/tensor.hpp"

namespace hologram {

// A result that is to lie in the memory of an input of its shape and dtype.
struct Donation {
  size_t input = 0, result = 0;
};

class HOLOGRAM_API Graph {
 public:
  using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

  // `examples` give the shapes, dtypes and the executor of the inputs; their values do not matter.
  // InvalidArgument for a donation between what is not alike, or of one thing twice. Where
  // something has to be read after it would be written, the result gets memory of its own: that is
  // counted as a fallback, told in the log, and an error where the configuration is strict.
  Graph(const Function& function, const std::vector<Tensor>& examples,
        const std::vector<Donation>& donated = {});

  // One result for each that the function gave, computed. ShapeMismatch and DTypeMismatch unless
  // the inputs are like the examples. Any thread may launch; launches on one executor take turns.
  // An input that is donated is moved into the call and held by nobody else: otherwise it is
  // copied, which is a fallback, too. If a launch fails, what was donated to it is lost.
  std::vector<Tensor> launch(std::vector<Tensor> inputs) const;
  template <class... Inputs>
  requires(std::is_same_v<Inputs, Tensor>&&...) std::vector<Tensor> launch(Tensor first,
                                                                           Inputs... rest)
  const {
    std::vector<Tensor> list;
    list.reserve(1 + sizeof...(rest));
    list.push_back(std::move(first));
    (list.push_back(std::move(rest)), ...);
    return launch(std::move(list));
  }

  // The same calculation on another executor: what a device is to do is decided anew, and the
  // constants are copied there. Nothing changes here.
  Graph to(const Executor& executor) const;

  // The same, with results in memory of the application's: dense tensors of
  // Tensor::from_device_pointer, of their dtypes and shapes, that lie neither on inputs nor on each
  // other. What was there is overwritten, and nothing is waited for but what has to be looked at:
  // for executors on the application's stream, in whose order its own work sees the results.
  // InvalidArgument for memory of hologram's own, whose values never change, and where something is
  // donated.
  void launch_into(std::vector<Tensor> inputs, const std::vector<Tensor>& results) const;

  // The errors of a launch that come before anything is taken over.
  void check(const std::vector<Tensor>& inputs) const;

  size_t steps() const;  // kernels and calls of a launch
  // How it is launched: "a CUDA graph of 100 nodes", "step by step: each launch is timed".
  std::string note() const;

 private:
  Graph() = default;
  struct State;
  std::vector<Tensor> dense(std::vector<Tensor> inputs) const;

  std::shared_ptr<const State> state_;
};

namespace detail {
inline std::vector<Tensor> as_list(Tensor result) { return {std::move(result)}; }
inline std::vector<Tensor> as_list(std::vector<Tensor> results) { return results; }

template <class F, class... Inputs, size_t... I>
Graph capture(F& function, const std::vector<Donation>& donated, std::index_sequence<I...>,
              const Inputs&... inputs) {
  return Graph([&](const std::vector<Tensor>& x) { return as_list(function(x[I]...)); },
               {inputs...}, donated);
}
}  // namespace detail

// The same of a function of so many tensors that gives one, or a vector.
template <class F, class... Inputs>
requires(std::is_same_v<Inputs, Tensor>&&...) Graph capture(F function, const Inputs&... inputs) {
  return detail::capture(function, {}, std::index_sequence_for<Inputs...>(), inputs...);
}
template <class F, class... Inputs>
requires(std::is_same_v<Inputs, Tensor>&&...) Graph
    capture(F function, const std::vector<Donation>& donated, const Inputs&... inputs) {
  return detail::capture(function, donated, std::index_sequence_for<Inputs...>(), inputs...);
}

}  // namespace hologram
