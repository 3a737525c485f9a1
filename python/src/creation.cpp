// Tensors from nothing, from numbers in lists, and random ones.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "binding.hpp"

namespace hologram::python {
namespace {

// Numbers in nested lists: their shape, and what kind of numbers they are.
class Nested {
 public:
  explicit Nested(nb::handle list) {
    measure(list);
    collect(list, 0);
  }

  Tensor tensor(DType dtype, const Executor& executor) const {
    const DType natural = kind_ == 3   ? DType::F32
                          : kind_ == 2 ? (large_ ? DType::U64 : DType::I64)
                          : kind_ == 1 ? DType::Bool
                                       : DType::F32;  // no elements
    if (dtype == DType::None) dtype = natural;
    if (is_float(dtype))
      return as<double>(&Nested::real).to_dtype(DType::F64, dtype, shape_, executor);
    if (kind_ == 3)
      fail(ErrorKind::DTypeMismatch, std::string("a float is no ") + python_name(dtype),
           "Leave the dtype out, or make the tensor of floats and convert it with astype.");
    if (dtype == DType::Bool)
      return as<uint8_t>(&Nested::truth).to_dtype(DType::Bool, dtype, shape_, executor);
    check_range(dtype);
    if (dtype == DType::U64)
      return as<uint64_t>(&Nested::whole).to_dtype(DType::U64, dtype, shape_, executor);
    return as<int64_t>(&Nested::signed_whole).to_dtype(DType::I64, dtype, shape_, executor);
  }

 private:
  struct Number {
    double real;
    uint64_t whole;
    bool negative, is_float;
  };
  template <class T>
  struct Values {
    std::vector<T> list;
    Tensor to_dtype(DType has, DType wanted, const Shape& shape, const Executor& executor) {
      auto kept = std::make_shared<std::vector<T>>(std::move(list));
      const void* data = kept->data();
      if (kept->empty()) return ops::zeros(shape, wanted, executor);
      const Tensor made = Tensor::from(Array::borrow(has, shape, data, kept), executor);
      return has == wanted ? made : made.to(wanted);
    }
  };

  static double real(const Number& n) { return n.real; }
  static uint8_t truth(const Number& n) { return n.real != 0 ? 1 : 0; }
  static uint64_t whole(const Number& n) { return n.whole; }
  static int64_t signed_whole(const Number& n) { return static_cast<int64_t>(n.whole); }

  template <class T, class Read>
  Values<T> as(Read read) const {
    Values<T> values;
    values.list.reserve(numbers_.size());
    for (const Number& n : numbers_) values.list.push_back(read(n));
    return values;
  }

  static bool is_list(nb::handle value) {
    return nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value);
  }

  void measure(nb::handle value) {
    while (is_list(value)) {
      const Py_ssize_t length = PySequence_Size(value.ptr());
      shape_.push_back(length);
      if (length == 0) return;
      first_ = nb::borrow(value)[0];
      value = first_;
      if (shape_.size() > kMaxRank)
        fail(ErrorKind::ShapeMismatch, "lists are nested more than 8 deep",
             "A tensor has at most 8 axes.");
    }
  }

  void collect(nb::handle value, size_t axis) {
    if (axis == shape_.size()) return add(value);
    if (!is_list(value) || PySequence_Size(value.ptr()) != shape_[axis])
      fail(ErrorKind::ShapeMismatch,
           "the lists are of different lengths along axis " + std::to_string(axis),
           "Give every list on one level the same length.");
    for (nb::handle item : value) collect(item, axis + 1);
  }

  void add(nb::handle value) {
    if (PyBool_Check(value.ptr())) {
      const bool truth = value.is(nb::handle(Py_True));
      kind_ = std::max(kind_, 1);
      numbers_.push_back({truth ? 1.0 : 0.0, truth ? 1u : 0u, false, false});
    } else if (PyFloat_Check(value.ptr())) {
      kind_ = 3;
      numbers_.push_back({PyFloat_AsDouble(value.ptr()), 0, false, true});
    } else if (PyIndex_Check(value.ptr())) {
      add_whole(nb::steal(PyNumber_Index(value.ptr())));
    } else if (is_list(value)) {
      fail(ErrorKind::ShapeMismatch, "a list stands beside numbers",
           "Give every list on one level the same length.");
    } else {
      const nb::object number = nb::steal(PyNumber_Float(value.ptr()));
      if (!number.is_valid()) throw nb::python_error();
      add(number);
    }
  }

  void add_whole(nb::object value) {
    if (!value.is_valid()) throw nb::python_error();
    const Operand number = operand_from(nb::int_(value));
    const bool large = number.kind() == DType::U64, negative = !large && number.integer() < 0;
    large_ |= large;
    negative_ |= negative;
    kind_ = std::max(kind_, 2);
    numbers_.push_back({large ? static_cast<double>(static_cast<uint64_t>(number.integer()))
                              : static_cast<double>(number.integer()),
                        static_cast<uint64_t>(number.integer()), negative, false});
  }

  void check_range(DType dtype) const {
    const int bits = 8 * static_cast<int>(size_of(dtype));
    const bool is_signed = is_signed_integer(dtype);
    const uint64_t most = is_signed    ? (uint64_t{1} << (bits - 1)) - 1
                          : bits == 64 ? ~uint64_t{0}
                                       : (uint64_t{1} << bits) - 1;
    for (const Number& n : numbers_) {
      const bool fits =
          n.negative ? is_signed && static_cast<int64_t>(n.whole) >= -static_cast<int64_t>(most) - 1
                     : n.whole <= most;
      if (!fits)
        fail(
            ErrorKind::InvalidArgument,
            (n.negative ? std::to_string(static_cast<int64_t>(n.whole)) : std::to_string(n.whole)) +
                " is no " + python_name(dtype),
            "Use a wider dtype.");
    }
  }

  Shape shape_;
  std::vector<Number> numbers_;
  nb::object first_;
  int kind_ = 0;  // 1: bool, 2: int, 3: float
  bool large_ = false, negative_ = false;
};

Operand number_from(nb::handle value) {
  // A number of NumPy's, or its array of one: the dtype of such does not count here.
  if (!nb::isinstance<Tensor>(value) && nb::hasattr(value, "item"))
    return operand_from(value.attr("item")());
  const Operand operand = operand_from(value);
  if (operand.is_number()) return operand;
  throw nb::type_error("a number is needed, not a tensor");
}

// A place in a sequence, as Python has it.
using PythonState = std::pair<uint64_t, uint64_t>;

void register_generator(nb::module_& m) {
  m.def(
      "random_state",
      [](nb::handle device) {
        const RandomState state = random_state(executor_from(device));
        return PythonState(state.key, state.counter);
      },
      "device"_a.none());
  m.def(
      "set_random_state",
      [](uint64_t key, uint64_t counter, nb::handle device) {
        set_random_state({key, counter}, executor_from(device));
      },
      "key"_a, "counter"_a, "device"_a.none());
  nb::class_<Generator>(m, "Generator")
      .def(
          "__init__",
          [](Generator* self, uint64_t key, uint64_t counter) {
            new (self) Generator(RandomState{key, counter});
          },
          "key"_a, "counter"_a)
      .def_prop_rw(
          "state",
          [](const Generator& self) { return PythonState(self.state().key, self.state().counter); },
          [](Generator& self, const PythonState& state) {
            self.set_state({state.first, state.second});
          })
      .def(
          "rand",
          [](Generator& self, nb::handle shape, nb::handle dtype, nb::handle device) {
            return self.rand(shape_from(shape), dtype_from(dtype), executor_from(device));
          },
          "shape"_a, "dtype"_a, "device"_a.none())
      .def(
          "randn",
          [](Generator& self, nb::handle shape, nb::handle dtype, nb::handle device) {
            return self.randn(shape_from(shape), dtype_from(dtype), executor_from(device));
          },
          "shape"_a, "dtype"_a, "device"_a.none())
      .def(
          "randint",
          [](Generator& self, nb::handle low, nb::handle high, nb::handle shape, nb::handle dtype,
             nb::handle device) {
            return self.randint(number_from(low), number_from(high), shape_from(shape),
                                dtype_from(dtype), executor_from(device));
          },
          "low"_a, "high"_a, "shape"_a, "dtype"_a, "device"_a.none())
      .def("split", &Generator::split, "count"_a);
}

void register_random(nb::module_& m) {
  m.def(
      "seed", [](uint64_t key, nb::handle device) { ops::seed(key, executor_from(device)); },
      "key"_a, "device"_a.none());
  m.def(
      "rand",
      [](nb::handle shape, nb::handle dtype, nb::handle device) {
        return ops::rand(shape_from(shape), dtype_from(dtype), executor_from(device));
      },
      "shape"_a, "dtype"_a, "device"_a.none());
  m.def(
      "randn",
      [](nb::handle shape, nb::handle dtype, nb::handle device) {
        return ops::randn(shape_from(shape), dtype_from(dtype), executor_from(device));
      },
      "shape"_a, "dtype"_a, "device"_a.none());
  m.def(
      "randint",
      [](nb::handle low, nb::handle high, nb::handle shape, nb::handle dtype, nb::handle device) {
        return ops::randint(number_from(low), number_from(high), shape_from(shape),
                            dtype_from(dtype), executor_from(device));
      },
      "low"_a, "high"_a, "shape"_a, "dtype"_a, "device"_a.none());
}

}  // namespace

void register_creation(nb::module_& m) {
  m.def(
      "from_list",
      [](nb::handle list, nb::handle dtype, nb::handle device) {
        return Nested(list).tensor(dtype_from(dtype), executor_from(device));
      },
      "list"_a, "dtype"_a.none(), "device"_a.none());
  m.def(
      "full",
      [](nb::handle shape, nb::handle value, nb::handle dtype, nb::handle device) {
        return ops::full(shape_from(shape), number_from(value), dtype_from(dtype),
                         executor_from(device));
      },
      "shape"_a, "value"_a, "dtype"_a.none(), "device"_a.none());
  m.def(
      "arange",
      [](nb::handle start, nb::handle stop, nb::handle step, nb::handle dtype, nb::handle device) {
        return ops::arange(number_from(start), number_from(stop), number_from(step),
                           dtype_from(dtype), executor_from(device));
      },
      "start"_a, "stop"_a, "step"_a, "dtype"_a.none(), "device"_a.none());
  m.def(
      "linspace",
      [](double start, double stop, int64_t count, nb::handle dtype, nb::handle device) {
        return ops::linspace(start, stop, count, dtype_from(dtype), executor_from(device));
      },
      "start"_a, "stop"_a, "count"_a, "dtype"_a, "device"_a.none());
  m.def(
      "eye",
      [](int64_t rows, int64_t columns, int64_t k, nb::handle dtype, nb::handle device) {
        return ops::eye(rows, columns, k, dtype_from(dtype), executor_from(device));
      },
      "rows"_a, "columns"_a, "k"_a, "dtype"_a, "device"_a.none());
  m.def(
      "tri",
      [](int64_t rows, int64_t columns, int64_t k, nb::handle dtype, nb::handle device) {
        return ops::tri(rows, columns, k, dtype_from(dtype), executor_from(device));
      },
      "rows"_a, "columns"_a, "k"_a, "dtype"_a, "device"_a.none());
  register_random(m);
  register_generator(m);
}

}  // namespace hologram::python
