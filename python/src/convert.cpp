// Values of Python as operands, tensors, shapes and axes.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <new>

#include "binding.hpp"

namespace hologram::python {
namespace {

nb::dict& hooks() {
  static auto* one = new nb::dict;
  return *one;
}

bool is_exact(nb::handle value, PyTypeObject& type) {
  return value.type().ptr() == (PyObject*)&type;
}

Operand whole_number(nb::handle value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (number == -1 && overflow == 0 && PyErr_Occurred()) throw nb::python_error();
  if (overflow == 0) return Operand(static_cast<int64_t>(number));
  if (overflow > 0) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(value.ptr());
    if (!PyErr_Occurred()) return Operand(static_cast<uint64_t>(large));
    PyErr_Clear();
  }
  fail(ErrorKind::InvalidArgument, "an int has more than 64 bits",
       "Use one between -2**63 and 2**64 - 1, or a float.");
}

std::optional<Operand> number(nb::handle value) {
  if (is_exact(value, PyFloat_Type)) return Operand(PyFloat_AsDouble(value.ptr()));
  if (is_exact(value, PyLong_Type)) return whole_number(value);
  if (value.is(nb::handle(Py_True))) return Operand(true);
  if (value.is(nb::handle(Py_False))) return Operand(false);
  return {};
}

// Arrays of other libraries, not lists: whoever writes those means them rarely.
bool is_array(nb::handle value) {
  return nb::hasattr(value, "__dlpack__") || nb::hasattr(value, "__array_interface__");
}

template <class Add>
void each_int(nb::handle value, const char* wanted, Add&& add) {
  const auto one = [&](nb::handle item) {
    if (PyBool_Check(item.ptr()) || !PyIndex_Check(item.ptr()))
      throw nb::type_error((std::string(wanted) + " are ints").c_str());
    const Py_ssize_t number = PyNumber_AsSsize_t(item.ptr(), PyExc_OverflowError);
    if (number == -1 && PyErr_Occurred()) throw nb::python_error();
    add(static_cast<int64_t>(number));
  };
  if (PyIndex_Check(value.ptr())) return one(value);
  if (!PySequence_Check(value.ptr()) || nb::isinstance<nb::str>(value))
    throw nb::type_error((std::string(wanted) + " are an int, or a tuple or list of ints").c_str());
  for (nb::handle item : value) one(item);
}

}  // namespace

std::optional<Operand> try_operand(nb::handle value) {
  if (nb::isinstance<Tensor>(value)) return Operand::borrowed(*nb::inst_ptr<Tensor>(value));
  if (auto plain = number(value)) return plain;
  if (is_array(value)) return Operand(nb::cast<Tensor>(hook("asarray")(value)));
  return {};
}

Operand operand_from(nb::handle value) {
  if (auto operand = try_operand(value)) return *std::move(operand);
  const auto name = nb::cast<std::string>(value.type().attr("__name__"));
  throw nb::type_error(("an operand is a tensor, an array or a number, not " + name +
                        "; hologram.asarray makes a tensor of lists")
                           .c_str());
}

Tensor tensor_from(nb::handle value) {
  if (nb::isinstance<Tensor>(value)) return *nb::inst_ptr<Tensor>(value);
  const Operand operand = operand_from(value);
  if (!operand.is_number()) return operand.tensor();
  return ops::full({}, operand, DType::None, executor_from(nb::none()));
}

std::vector<Tensor> tensors_from(nb::handle sequence) {
  std::vector<Tensor> tensors;
  for (nb::handle item : sequence) tensors.push_back(tensor_from(item));
  return tensors;
}

Shape shape_from(nb::handle value) {
  Shape shape;
  each_int(value, "lengths", [&](int64_t length) { shape.push_back(length); });
  return shape;
}

nb::object shape_object(const Shape& shape) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(shape.size()));
  if (tuple == nullptr) throw nb::python_error();
  for (size_t i = 0; i < shape.size(); i++)
    PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
  return nb::steal(tuple);
}

std::vector<int> ints_from(nb::handle value) {
  std::vector<int> list;
  each_int(value, "axes", [&](int64_t axis) {
    // What no axis can be stays so, whatever its size.
    list.push_back(static_cast<int>(std::clamp<int64_t>(axis, INT32_MIN, INT32_MAX)));
  });
  return list;
}

ops::Axes axes_from(nb::handle value) {
  if (value.is_none()) return {};
  return ops::Axes(ints_from(value));
}

nb::object object_from(Tensor tensor) { return nb::cast(std::move(tensor)); }

Fresh fresh_array(DType dtype, const Shape& shape) {
  constexpr std::align_val_t kAlignment{64};
  const size_t bytes = static_cast<size_t>(count_of(shape)) * size_of(dtype);
  void* memory = nullptr;
  try {
    memory = ::operator new(std::max<size_t>(bytes, 1), kAlignment);
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::OutOfMemory, "the host has no " + std::to_string(bytes) + " bytes",
         "Free memory, or use smaller tensors.");
  }
  const std::shared_ptr<const void> owner(
      memory, [](void* m) { ::operator delete (m, std::align_val_t{64}); });
  return {Array::borrow(dtype, shape, memory, owner), static_cast<std::byte*>(memory)};
}

nb::object hook(const char* name) { return hooks()[name]; }

void register_convert(nb::module_& m) {
  m.def(
      "_set_hooks", [](nb::dict functions) { hooks() = std::move(functions); },
      "Takes the functions of the package that the module calls, by name.");
}

}  // namespace hologram::python
