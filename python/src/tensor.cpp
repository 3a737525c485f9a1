// The class Tensor: operators, properties, indexing and reading. The rest of its methods are the
// package's functions (hologram/_methods.py).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "binding.hpp"

namespace hologram::python {
namespace {

nb::object not_implemented() { return nb::borrow(Py_NotImplemented); }

template <Tensor (*function)(const Operand&, const Operand&)>
nb::object forward(const Tensor& a, nb::handle b) {
  const std::optional<Operand> other = try_operand(b);
  return other ? object_from(function(Operand::borrowed(a), *other)) : not_implemented();
}
template <Tensor (*function)(const Operand&, const Operand&)>
nb::object backward(const Tensor& a, nb::handle b) {
  const std::optional<Operand> other = try_operand(b);
  return other ? object_from(function(*other, Operand::borrowed(a))) : not_implemented();
}

// The object becomes the result; whoever shares its value keeps that.
template <Tensor (*function)(const Operand&, const Operand&)>
nb::object in_place(nb::handle self, nb::handle b) {
  Tensor& a = *nb::inst_ptr<Tensor>(self);
  const std::optional<Operand> other = try_operand(b);
  if (!other) return not_implemented();
  Tensor made = function(Operand::borrowed(a), *other);
  if (made.shape() != a.shape())
    fail(ErrorKind::ShapeMismatch,
         "the result of shape " + to_string(made.shape()) + " does not fit in place of " +
             to_string(a.shape()),
         "Write x = x + y instead of x += y.");
  const auto rank = [](DType t) { return t == DType::Bool ? 0 : is_integer(t) ? 1 : 2; };
  if (rank(made.dtype()) > rank(a.dtype()))
    fail(ErrorKind::DTypeMismatch,
         std::string("the result is ") + python_name(made.dtype()) + ", but the tensor is " +
             python_name(a.dtype()),
         "Write x = x + y instead of x += y, or convert the tensor with astype.");
  a = made.dtype() == a.dtype() ? std::move(made) : made.to(a.dtype());
  return nb::borrow(self);
}

Tensor matmul_of(const Operand& a, const Operand& b) {
  if (a.is_number() || b.is_number())
    fail(ErrorKind::ShapeMismatch, "a product of matrices has a number as an operand",
         "Use * to multiply with a number.");
  return ops::matmul(a.tensor(), b.tensor());
}

template <class Class>
void register_operators(Class& tensor) {
#define OPERATOR(name, function)                                       \
  tensor.def("__" name "__", &forward<function>, nb::is_operator());   \
  tensor.def("__r" name "__", &backward<function>, nb::is_operator()); \
  tensor.def("__i" name "__", &in_place<function>, nb::is_operator());
  OPERATOR("add", ops::add)
  OPERATOR("sub", ops::sub)
  OPERATOR("mul", ops::mul)
  OPERATOR("truediv", ops::div)
  OPERATOR("floordiv", array_api::floor_div)
  OPERATOR("mod", ops::rem)
  OPERATOR("pow", ops::pow)
  OPERATOR("and", ops::bitwise_and)
  OPERATOR("or", ops::bitwise_or)
  OPERATOR("xor", ops::bitwise_xor)
  OPERATOR("lshift", array_api::shift_left)
  OPERATOR("rshift", array_api::shift_right)
  OPERATOR("matmul", matmul_of)
#undef OPERATOR
  tensor.def("__eq__", &forward<ops::eq>, nb::is_operator());
  tensor.def("__ne__", &forward<ops::ne>, nb::is_operator());
  tensor.def("__lt__", &forward<ops::lt>, nb::is_operator());
  tensor.def("__le__", &forward<ops::le>, nb::is_operator());
  tensor.def("__gt__", &forward<ops::gt>, nb::is_operator());
  tensor.def("__ge__", &forward<ops::ge>, nb::is_operator());
  tensor.def("__neg__", [](const Tensor& x) { return ops::neg(x); });
  tensor.def("__abs__", [](const Tensor& x) { return ops::abs(x); });
  tensor.def("__invert__", [](const Tensor& x) { return ops::bitwise_not(x); });
  tensor.def("__pos__", [](const Tensor& x) {
    if (x.dtype() == DType::Bool)
      fail(ErrorKind::DTypeMismatch, "+ is not defined for bool",
           "Convert the tensor with astype.");
    return x;
  });
}

// One element of host memory as a number of Python.
nb::object element(DType dtype, const std::byte* at) {
  const auto read = [&]<class T>(T) { return *reinterpret_cast<const T*>(at); };
  switch (dtype) {
    case DType::Bool: return nb::bool_(read(uint8_t{}) != 0);
    case DType::I8: return nb::int_(read(int8_t{}));
    case DType::U8: return nb::int_(read(uint8_t{}));
    case DType::I16: return nb::int_(read(int16_t{}));
    case DType::U16: return nb::int_(read(uint16_t{}));
    case DType::I32: return nb::int_(read(int32_t{}));
    case DType::U32: return nb::int_(read(uint32_t{}));
    case DType::I64: return nb::int_(read(int64_t{}));
    case DType::U64: return nb::int_(read(uint64_t{}));
    case DType::F32: return nb::float_(static_cast<double>(read(float{})));
    default: return nb::float_(read(double{}));
  }
}

// The values in host memory; f16 and bf16, which Python has not, as f32.
Array read(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  const Tensor wide = dtype == DType::F16 || dtype == DType::BF16 ? tensor.to(DType::F32) : tensor;
  return without_gil([&] { return wide.array(); });
}

nb::object nested(const Array& array, size_t axis, const std::byte*& at) {
  if (axis == array.shape().size()) {
    nb::object value = element(array.dtype(), at);
    at += size_of(array.dtype());
    return value;
  }
  nb::list list;
  for (int64_t i = 0; i < array.shape()[axis]; i++) list.append(nested(array, axis + 1, at));
  return list;
}

nb::object to_list(const Tensor& tensor) {
  const Array array = read(tensor);
  const std::byte* at = array.data();
  return nested(array, 0, at);
}

nb::object item(const Tensor& tensor) {
  if (tensor.size() != 1)
    fail(ErrorKind::ShapeMismatch,
         "a tensor of shape " + to_string(tensor.shape()) + " is not a single number",
         "Index it, reduce it with all() or any(), or use tolist() or NumPy for all values.");
  const Array array = read(tensor);
  return element(array.dtype(), array.data());
}

// A number for __int__, __float__ and __index__: NumPy asks for no axes there, too.
nb::object number(const Tensor& tensor, const char* name) {
  if (tensor.rank() != 0)
    throw nb::type_error((std::string(name) + " takes a tensor without axes; item() and tolist() "
                                              "give the values of others")
                             .c_str());
  return item(tensor);
}

Tensor moved(const Tensor& tensor, nb::handle where) {
  const Executor executor = executor_from(where);
  if (executor.state() == tensor.executor().state()) return tensor;
  return without_gil([&] { return tensor.to(executor); });
}

template <class Class>
void register_reading(Class& tensor) {
  tensor
      .def(
          "eval",
          [](nb::handle self) {
            const Tensor t = *nb::inst_ptr<Tensor>(self);
            without_gil([&] { t.eval(); });
            return nb::borrow(self);
          },
          nb::sig("def eval(self) -> Tensor"),
          "Computes the value now, if that was not done yet; returns the tensor itself.")
      .def_prop_ro("ready", &Tensor::ready, "Whether the value has been computed.")
      .def("item", item, "The only element as a number of Python. ShapeMismatch if there are more.")
      .def("tolist", to_list, "All values as numbers in nested lists.")
      .def("__bool__",
           [](const Tensor& t) {
             if (t.size() != 1)
               fail(
                   ErrorKind::ShapeMismatch,
                   "the truth value of a tensor of shape " + to_string(t.shape()) + " is ambiguous",
                   "Use any() or all().");
             return PyObject_IsTrue(item(t).ptr()) == 1;
           })
      .def("__int__", [](const Tensor& t) { return nb::int_(number(t, "int")); })
      .def("__float__", [](const Tensor& t) { return nb::float_(number(t, "float")); })
      .def("__index__",
           [](const Tensor& t) {
             if (!is_integer(t.dtype()))
               throw nb::type_error("only tensors of integers without axes can be an index");
             return number(t, "an index");
           })
      .def(
          "_eval_dtype_bytes",
          [](const Tensor& t) {
            const Array a = without_gil([&] { return t.array(); });
            return nb::bytes(reinterpret_cast<const char*>(a.data()), a.bytes());
          },
          "The values as bytes, row by row.");
}

template <class Class>
void register_indexing(Class& tensor) {
  tensor.def(
      "__getitem__",
      [](nb::handle self, nb::handle key) {
        const Tensor& t = *nb::inst_ptr<Tensor>(self);
        if (std::optional<Tensor> view = basic_index(t, key)) return object_from(*std::move(view));
        return hook("getitem")(self, key);
      },
      nb::arg().none());
  tensor.def(
      "__setitem__",
      [](nb::handle self, nb::handle key, nb::handle value) {
        Tensor& t = *nb::inst_ptr<Tensor>(self);
        if (!basic_assign(t, key, operand_from(value))) hook("setitem")(self, key, value);
      },
      nb::arg().none(), nb::arg());
  tensor.def("_becomes", [](Tensor& t, const Tensor& value) { t = value; });
}

}  // namespace

void register_tensor(nb::module_& m) {
  nb::class_<Tensor> tensor(m, "Tensor", nb::type_slots(buffer_slots), nb::is_weak_referenceable(),
                            "Values of one dtype along axes, computed when they are read.\n\n"
                            "hologram.asarray makes one of numbers, lists and arrays.");
  tensor
      .def_prop_ro(
          "shape", [](const Tensor& t) { return shape_object(t.shape()); },
          "The lengths of the axes.")
      .def_prop_ro("ndim", &Tensor::rank, "How many axes there are.")
      .def_prop_ro(
          "size", [](const Tensor& t) { return t.size(); }, "How many elements there are.")
      .def_prop_ro(
          "dtype", [](const Tensor& t) { return dtype_object(t.dtype()); },
          "The type of the elements.")
      .def_prop_ro(
          "itemsize", [](const Tensor& t) { return size_of(t.dtype()); }, "Bytes of one element.")
      .def_prop_ro(
          "nbytes", [](const Tensor& t) { return t.size() * (int64_t)size_of(t.dtype()); },
          "Bytes of all elements.")
      .def_prop_ro(
          "device", [](const Tensor& t) { return PyDevice{t.executor()}; },
          "Where it is: str(x.device) is 'cpu' or 'cuda:0'.")
      .def_prop_ro(
          "executor", [](const Tensor& t) { return t.executor(); }, "What computes it.")
      .def_prop_ro(
          "T",
          [](const Tensor& t) {
            if (t.rank() != 2)
              fail(ErrorKind::ShapeMismatch,
                   "T is for matrices; the shape is " + to_string(t.shape()),
                   "Use mT for a stack of matrices, or permute_dims.");
            return t.transpose();
          },
          "The matrix, transposed. ShapeMismatch unless there are two axes.")
      .def_prop_ro(
          "mT",
          [](const Tensor& t) {
            if (t.rank() < 2)
              fail(ErrorKind::ShapeMismatch,
                   "mT is for stacks of matrices; the shape is " + to_string(t.shape()),
                   "Use a tensor of at least two axes.");
            return t.transpose();
          },
          "The matrices of the last two axes, transposed.")
      .def("__len__",
           [](const Tensor& t) {
             if (t.rank() == 0) throw nb::type_error("a tensor without axes has no length");
             return t.size(0);
           })
      .def("__hash__", [](nb::handle self) { return reinterpret_cast<uintptr_t>(self.ptr()) >> 4; })
      .def("_to_device", moved);
  register_operators(tensor);
  register_reading(tensor);
  register_indexing(tensor);
  m.def(
      "eval",
      [](const nb::args& tensors) {
        const std::vector<Tensor> list = tensors_from(tensors);
        without_gil([&] { eval(list); });
      },
      "Computes several tensors at once, sharing what they have in common.");
  m.def(
      "explain",
      [](const nb::args& tensors, bool candidates) {
        const std::vector<Tensor> list = tensors_from(tensors);
        return without_gil([&] { return explain(list, {.candidates = candidates}); });
      },
      nb::arg("args"), nb::kw_only(), nb::arg("candidates") = false,
      "The kernels that computing the tensors would run, and what each reads and writes.\n\n"
      "candidates: also everybody who might compute a product, a convolution and the like, in the "
      "order in which they are asked, and why they do not.");
}

}  // namespace hologram::python
