// hologram::Error as exceptions of Python: a class a kind, made by the package (_errors.py).
#include "binding.hpp"

namespace hologram::python {
namespace {

// By the name of a kind, "ShapeMismatch"; and "IndexOutOfRange".
nb::dict& classes() {
  static auto* one = new nb::dict;
  return *one;
}

struct IndexError {
  std::string what, remedy;
};

void set_error(std::string_view name, const char* what, const std::string& remedy) {
  nb::object type = classes()[nb::str(name.data(), name.size())];
  nb::object made = type(nb::str(what), nb::str(remedy.c_str(), remedy.size()));
  PyErr_SetObject(type.ptr(), made.ptr());
}

}  // namespace

void fail(ErrorKind kind, std::string what, std::string remedy) {
  throw Error(kind, std::move(what), std::move(remedy));
}

void fail_index(std::string what, std::string remedy) {
  throw IndexError{std::move(what), std::move(remedy)};
}

void register_errors(nb::module_& m) {
  m.def(
      "_set_error_classes", [](nb::dict named) { classes() = std::move(named); },
      "Takes the exceptions' classes by the names of kinds.");
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& e) {
      set_error(name_of(e.kind()), e.what(), e.remedy());
    } catch (const IndexError& e) {
      set_error("IndexOutOfRange", e.what.c_str(), e.remedy);
    }
  });
}

}  // namespace hologram::python
