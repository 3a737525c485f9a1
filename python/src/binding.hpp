// What all files of the Python module share: how values of Python become those of C++ and back.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hologram/hologram.hpp"

namespace hologram::python {

namespace nb = nanobind;
using namespace nb::literals;

// --- gil.cpp

// Lets other threads of Python run while it lives. Nothing of Python may be touched meanwhile. At
// the end of the process a thread that is not the main one never comes back from it: Python would
// end such a thread in a way that C++ does not survive.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

template <class F>
auto without_gil(F&& work) {
  const WithoutGil released;
  return work();
}

// Has `release(data)` called by a thread that holds the GIL, soon. Any thread may ask for it, with
// or without the GIL, also one that holds locks.
void release_later(void (*release)(void*), void* data);
// Does it now; with the GIL.
void release_waiting();
// Does it at once, as far as this thread asks for it, while it lives; the GIL is held.
struct ReleasingNow {
  ReleasingNow();
  ~ReleasingNow();
};

// --- dtypes.cpp

// The object of Python for an element type: hologram.float32, …
struct PyDType {
  DType value;
};
nb::object dtype_object(DType dtype);
// Of an object of ours, a name, a type of Python or a dtype of NumPy; None for None.
DType dtype_from(nb::handle object);
// "float32": as Python spells it.
const char* python_name(DType dtype);

// --- convert.cpp

// A number or a tensor for an operation; arrays of others are copied. TypeError for anything else.
Operand operand_from(nb::handle value);
// The same, but empty for what operators should leave to the other operand.
std::optional<Operand> try_operand(nb::handle value);
// A tensor: itself, or a copy of another array or of a number.
Tensor tensor_from(nb::handle value);
std::vector<Tensor> tensors_from(nb::handle sequence);
// An int, or a tuple or list of them.
Shape shape_from(nb::handle value);
nb::object shape_object(const Shape& shape);
// None for all of them, an int, or a tuple or list of ints that is not empty.
ops::Axes axes_from(nb::handle value);
std::vector<int> ints_from(nb::handle value);
// Memory of the host that nobody has written to yet, and an array that lies in it.
struct Fresh {
  Array array;
  std::byte* data;
};
Fresh fresh_array(DType dtype, const Shape& shape);
// Of text in Python, IndexError and the like are made from the kind and these two sentences.
[[noreturn]] void fail(ErrorKind kind, std::string what, std::string remedy);
[[noreturn]] void fail_index(std::string what, std::string remedy);
// A function of the package that the module calls: "asarray", "dtype", "getitem", "setitem".
nb::object hook(const char* name);
// A tensor as an object of Python.
nb::object object_from(Tensor tensor);

// --- runtime.cpp

// What tensors say of where they are: `tensor.device`.
struct PyDevice {
  Executor executor;
};
// Of None (the one in use), an Executor, a Device or a name such as "cpu" or "cuda:1".
Executor executor_from(nb::handle device);

// --- index.cpp

// What of a key can be said by a view: ints, slices, None, Ellipsis. Empty for other keys.
std::optional<Tensor> basic_index(const Tensor& tensor, nb::handle key);
// tensor[key] = value of such a key; false for other keys.
bool basic_assign(Tensor& tensor, nb::handle key, const Operand& value);

// --- interchange.cpp

// A tensor of an object with the buffer protocol. Shares memory that nobody may write to, or any
// if `copy` is false; copies it otherwise.
Tensor tensor_from_buffer(nb::handle object, std::optional<bool> copy, const Executor& executor);
// The memory of a tensor for Python's buffer protocol.
extern PyType_Slot buffer_slots[];

// --- array_api.cpp: operations that the array API, as NumPy, has in another way than the library

namespace array_api {
Tensor sign(const Operand& x);  // of -0 it is 0
// Of an infinite operand the quotient itself: inf // 2 is inf, -1 // inf is -0.
Tensor floor_div(const Operand& a, const Operand& b);
// Of the dtype of both operands; a count of the width or more shifts all bits out.
Tensor shift_left(const Operand& a, const Operand& b);
Tensor shift_right(const Operand& a, const Operand& b);
}  // namespace array_api

// --- registration of each file's part

void register_errors(nb::module_& m);
void register_gil(nb::module_& m);
void register_convert(nb::module_& m);
void register_dtypes(nb::module_& m);
void register_runtime(nb::module_& m);
void register_tensor(nb::module_& m);
void register_elementwise(nb::module_& m);
void register_functions(nb::module_& m);
void register_creation(nb::module_& m);
void register_interchange(nb::module_& m);
void register_programs(nb::module_& m);
void register_files(nb::module_& m);
void register_gradients(nb::module_& m);
void register_analysis(nb::module_& m);
void register_linalg(nb::module_& m);
void register_nn(nb::module_& m);
void register_llm(nb::module_& m);
void register_bisect(nb::module_& m);

}  // namespace hologram::python
