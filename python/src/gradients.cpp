// Gradients of functions written in Python. The function runs with the GIL, in this thread.
#include "binding.hpp"

namespace hologram::python {
namespace {

nb::object called(nb::handle function, const std::vector<Tensor>& inputs) {
  nb::list arguments;
  for (const Tensor& t : inputs) arguments.append(object_from(t));
  return function(*nb::tuple(arguments));
}

nb::list list_of(const std::vector<Tensor>& tensors) {
  nb::list list;
  for (const Tensor& t : tensors) list.append(object_from(t));
  return list;
}

}  // namespace

void register_gradients(nb::module_& m) {
  m.def("value_and_gradient", [](nb::handle function, nb::handle inputs) {
    const ValueAndGradient made = value_and_gradient(
        [&](const std::vector<Tensor>& x) { return tensor_from(called(function, x)); },
        tensors_from(inputs));
    return nb::make_tuple(object_from(made.value), list_of(made.gradients));
  });
  m.def("jvp", [](nb::handle function, nb::handle inputs, nb::handle tangents) {
    const Jvp made =
        jvp([&](const std::vector<Tensor>& x) { return tensors_from(called(function, x)); },
            tensors_from(inputs), tensors_from(tangents));
    return nb::make_tuple(list_of(made.values), list_of(made.tangents));
  });
  m.def("vjp", [](nb::handle function, nb::handle inputs, nb::handle cotangents) {
    const Vjp made =
        vjp([&](const std::vector<Tensor>& x) { return tensors_from(called(function, x)); },
            tensors_from(inputs));
    return nb::make_tuple(list_of(made.values), list_of(made.pullback(tensors_from(cotangents))));
  });
  m.def("stop_gradient", stop_gradient);
}

}  // namespace hologram::python
