// Tensors as files.
#include <nanobind/stl/string.h>

#include "binding.hpp"

namespace hologram::python {
namespace {

Tensor load(const std::string& path, const std::string& member, bool linear, nb::handle device) {
  const Executor executor = executor_from(device);
  return without_gil([&] {
    return Tensor::from(files::read(path, {.member = member, .linear = linear}), executor);
  });
}

// (name, dtype or None, shape, in the file's words) of each array.
nb::tuple inspect(const std::string& path) {
  const files::FileInfo info = without_gil([&] { return files::inspect(path); });
  nb::list members;
  for (const files::Member& m : info.members)
    members.append(nb::make_tuple(
        m.name, m.dtype == DType::None ? nb::object(nb::none()) : dtype_object(m.dtype),
        shape_object(m.shape), m.stored));
  return nb::make_tuple(std::string(files::name_of(info.format)), members);
}

void save(nb::dict named, int bits, int quality, bool linear) {
  std::map<std::string, Tensor> tensors;
  for (auto [path, tensor] : named)
    tensors.emplace(nb::cast<std::string>(path), tensor_from(tensor));
  without_gil([&] {
    std::map<std::string, Array> arrays;
    for (const auto& [path, tensor] : tensors) arrays.emplace(path, tensor.array());
    files::write_all(arrays, {.bits = bits, .quality = quality, .linear = linear});
  });
}

}  // namespace

void register_files(nb::module_& m) {
  m.def("load_file", load, "path"_a, "member"_a, "linear"_a, "device"_a.none());
  m.def("inspect_file", inspect, "path"_a);
  m.def("save_files", save, "named"_a, "bits"_a, "quality"_a, "linear"_a);
}

}  // namespace hologram::python
