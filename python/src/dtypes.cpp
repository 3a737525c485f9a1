// Element types as Python sees them.
#include "binding.hpp"

namespace hologram::python {
namespace {

constexpr const char* kNames[kDTypeCount] = {"none",    "bool",     "int8",    "uint8",  "int16",
                                             "uint16",  "int32",    "uint32",  "int64",  "uint64",
                                             "float16", "bfloat16", "float32", "float64"};

struct Objects {
  nb::object by_type[kDTypeCount];
};
Objects& objects() {
  static auto* one = new Objects;
  return *one;
}

std::optional<DType> find(std::string_view name) {
  for (size_t i = 1; i < kDTypeCount; i++)
    if (name == kNames[i]) return static_cast<DType>(i);
  return parse_dtype(name);
}

DType of_text(nb::handle object) {
  const auto text = nb::cast<nb::str>(object);
  if (const auto found = find(text.c_str()); found && *found != DType::None) return *found;
  fail(ErrorKind::InvalidArgument, std::string("there is no dtype '") + text.c_str() + "'",
       "Use one of bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, "
       "bfloat16, float32, float64.");
}

}  // namespace

const char* python_name(DType dtype) { return kNames[static_cast<size_t>(dtype)]; }

nb::object dtype_object(DType dtype) { return objects().by_type[static_cast<size_t>(dtype)]; }

DType dtype_from(nb::handle object) {
  if (object.is_none()) return DType::None;
  if (nb::isinstance<PyDType>(object)) return nb::inst_ptr<PyDType>(object)->value;
  if (nb::isinstance<nb::str>(object)) return of_text(object);
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::I64;
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::F32;
  return of_text(hook("dtype")(object));
}

void register_dtypes(nb::module_& m) {
  nb::class_<PyDType>(
      m, "dtype",
      "The type of a tensor's elements: hologram.float32 and so on. There is one object for\n"
      "each, so that `is` tells them apart, too.")
      .def_prop_ro(
          "name", [](PyDType d) { return nb::str(python_name(d.value)); },
          "\"float32\": as NumPy spells it.")
      .def_prop_ro(
          "itemsize", [](PyDType d) { return size_of(d.value); }, "Bytes of one element.")
      .def_prop_ro(
          "kind",
          [](PyDType d) {
            return nb::str(d.value == DType::Bool       ? "bool"
                           : is_float(d.value)          ? "real floating"
                           : is_signed_integer(d.value) ? "signed integer"
                                                        : "unsigned integer");
          },
          "The kind in the words of the array API: \"bool\", \"signed integer\", \"unsigned "
          "integer\" or \"real floating\".")
      .def("__repr__",
           [](PyDType d) {
             return nb::str((std::string("hologram.") + python_name(d.value)).c_str());
           })
      .def("__str__", [](PyDType d) { return nb::str(python_name(d.value)); })
      .def("__reduce__", [](PyDType d) { return nb::str(python_name(d.value)); });
  nb::list all;
  for (size_t i = 1; i < kDTypeCount; i++) {
    objects().by_type[i] = nb::cast(PyDType{static_cast<DType>(i)});
    m.attr(kNames[i]) = objects().by_type[i];
    all.append(objects().by_type[i]);
  }
  m.attr("dtypes") = nb::tuple(all);
  m.def(
      "dtype_of", [](nb::handle object) { return dtype_object(dtype_from(object)); }, "object"_a,
      "The dtype that another library's dtype, a type of Python or a name stands for.");
  m.def(
      "promote",
      [](nb::handle a, nb::handle b) {
        return dtype_object(promote(dtype_from(a), dtype_from(b)));
      },
      "a"_a, "b"_a, "The dtype that operands of these two are brought to. DTypeMismatch.");
}

}  // namespace hologram::python
