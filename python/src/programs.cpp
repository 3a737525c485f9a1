// Atlas programs, expressions and captured graphs.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>

#include "binding.hpp"

namespace hologram::python {
namespace {

const char* access_name(program::Access access) { return program::name_of(access).data(); }

nb::object run(const Program& program, nb::handle grid, nb::handle shapes, nb::handle device,
               nb::dict named) {
  std::vector<TensorArgument> arguments;
  bool has_tensor = false;
  for (auto [key, value] : named) {
    arguments.push_back({nb::cast<std::string>(key), operand_from(value)});
    has_tensor |= !arguments.back().value.is_number();
  }
  LaunchOptions options;
  if (!device.is_none() || !has_tensor) options.executor = executor_from(device);
  if (!grid.is_none()) {
    Grid wanted = {1, 1, 1};
    const Shape groups = shape_from(grid);
    if (groups.size() > 3)
      fail(ErrorKind::InvalidArgument, "a grid has at most three numbers", "Write (x, y, z).");
    for (size_t i = 0; i < groups.size(); i++) wanted[i] = static_cast<uint64_t>(groups[i]);
    options.grid = wanted;
  }
  if (!shapes.is_none())
    for (auto [key, value] : nb::cast<nb::dict>(shapes))
      options.shapes[nb::cast<std::string>(key)] = shape_from(value);
  const auto written = without_gil([&] { return launch(program, arguments, options); });
  nb::dict results;
  for (const auto& [name, tensor] : written) results[name.c_str()] = object_from(tensor);
  return results;
}

void register_program(nb::module_& m) {
  nb::class_<Program>(m, "_Program")
      .def(nb::new_([](const std::string& text, const std::string& file) {
             return without_gil([&] { return Program::parse(text, file); });
           }),
           "text"_a, "file"_a)
      .def_prop_ro("name", &Program::name)
      .def_prop_ro("buffers",
                   [](const Program& p) {
                     nb::list list;
                     for (const program::BufferParam& b : p.buffers()) {
                       nb::object shape = nb::none();
                       if (!b.dims.empty()) {
                         nb::list dims;
                         for (const program::Dim& d : b.dims) {
                           if (d.name.empty()) dims.append(d.length);
                           else dims.append(d.name);
                         }
                         shape = nb::tuple(dims);
                       }
                       list.append(nb::make_tuple(b.name, dtype_object(b.type),
                                                  access_name(b.access), shape));
                     }
                     return list;
                   })
      .def_prop_ro("scalars",
                   [](const Program& p) {
                     nb::list list;
                     for (const program::ScalarParam& s : p.scalars())
                       if (!s.dimension)
                         list.append(nb::make_tuple(s.name, dtype_object(s.type), !!s.otherwise));
                     return list;
                   })
      .def_prop_ro("text", &Program::text)
      .def_prop_ro("optimized_text", &Program::optimized_text)
      .def("in_dialect",
           [](const Program& p, const std::string& name) { return in_dialect(p, name); })
      .def("run", run, "grid"_a.none(), "shapes"_a.none(), "device"_a.none(), "arguments"_a);
  m.def("library_program", [](const std::string& name) { return program::library(name); });
  m.def("library_names", [] {
    nb::list list;
    for (const std::string_view name : program::library_names())
      list.append(nb::str(name.data(), name.size()));
    return list;
  });
}

void register_expression(nb::module_& m) {
  nb::class_<Expression>(m, "_Expression")
      .def(nb::new_([](const std::string& text) { return Expression::parse(text); }), "text"_a)
      .def_prop_ro("text", &Expression::text)
      .def_prop_ro("inputs", &Expression::inputs)
      .def_prop_ro("outputs", &Expression::outputs)
      .def_prop_ro("last", &Expression::last)
      .def(
          "evaluate",
          [](const Expression& e, nb::dict named, nb::handle device) {
            Expression::Inputs inputs;
            for (auto [key, value] : named)
              inputs.emplace(nb::cast<std::string>(key), operand_from(value));
            const Executor executor = executor_from(device);
            const auto results = without_gil([&] { return e.evaluate(inputs, executor); });
            nb::list list;
            for (const auto& [name, tensor] : results) list.append(nb::make_tuple(name, tensor));
            return list;
          },
          "inputs"_a, "device"_a.none());
}

// The function runs on stand-ins, with the GIL; the rest without. What it raises comes out as it
// is.
Graph capture_of(nb::handle function, const std::vector<Tensor>& examples,
                 const std::vector<Donation>& donated) {
  std::exception_ptr raised;
  const Graph::Function recorded = [&](const std::vector<Tensor>& inputs) {
    const nb::gil_scoped_acquire held;
    try {
      nb::list arguments;
      for (const Tensor& t : inputs) arguments.append(object_from(t));
      return tensors_from(function(*nb::tuple(arguments)));
    } catch (...) {
      raised = std::current_exception();
    }
    return std::vector<Tensor>{};
  };
  std::optional<Graph> graph;
  without_gil([&] {
    try {
      graph.emplace(recorded, examples, donated);
    } catch (...) {
      if (!raised) raised = std::current_exception();
    }
  });
  if (raised) std::rethrow_exception(raised);
  return *std::move(graph);
}

void register_graph(nb::module_& m) {
  nb::class_<Graph>(m, "_Graph")
      .def(nb::new_([](nb::handle function, nb::handle examples, nb::handle donated) {
             std::vector<Donation> list;
             for (auto [input, result] : nb::cast<nb::dict>(donated))
               list.push_back({nb::cast<size_t>(input), nb::cast<size_t>(result)});
             return capture_of(function, tensors_from(examples), list);
           }),
           "function"_a, "examples"_a, "donated"_a)
      .def(
          "launch",
          [](const Graph& g, nb::handle inputs, nb::handle donated) {
            std::vector<Tensor> list = tensors_from(inputs);
            g.check(list);
            // The launch takes over what these objects hold: they are no tensors any more.
            for (const nb::handle index : donated) *nb::inst_ptr<Tensor>(inputs[index]) = Tensor();
            return without_gil([&] { return g.launch(std::move(list)); });
          },
          "inputs"_a, "donated"_a)
      .def(
          "launch_into",
          [](const Graph& g, nb::handle inputs, nb::handle results) {
            std::vector<Tensor> given = tensors_from(inputs);
            const std::vector<Tensor> into = tensors_from(results);
            without_gil([&] { g.launch_into(std::move(given), into); });
          },
          "inputs"_a, "results"_a)
      .def_prop_ro("steps", &Graph::steps)
      .def_prop_ro("note", &Graph::note);
}

}  // namespace

void register_programs(nb::module_& m) {
  register_program(m);
  register_expression(m);
  register_graph(m);
}

}  // namespace hologram::python
