// A backend from outside the tree: a program, or a library that it opens, implements the interfaces
// of hologram/hal/ and makes itself known by name.
//
//   const BackendType mine = register_backend("mine", [](BackendType type) {
//     return std::make_unique<MyBackend>(type);
//   });
//   const Executor executor(mine);  // or HOLOGRAM_BACKEND=mine, or builder().backend("mine")
//
// These interfaces are the library's own and change with it: there is no stable ABI. A backend is
// compiled, by the same compiler, with the headers of the library that it runs with; that they are
// of the same kBackendInterface is checked. A program comes as what the public headers show of it:
// its canonical text (Program::optimized_text) and its text in the languages of GPUs
// (dialects.hpp). docs/adding-a-backend.md walks through one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "hologram/device.hpp"
#include "hologram/export.hpp"
#include "hologram/hal/backend.hpp"

namespace hologram {

// Grows with every change of what stands in hologram/hal/.
inline constexpr uint32_t kBackendInterface = 4;

// Makes a backend known to the process, for as long as it lives. `make` is called once, with the
// type that the backend has been given: its type(), and the `backend` of its devices' DeviceInfo.
// Automatic choice passes it over unless set_backend_priority or a preference names it.
//
// InvalidArgument if the name is another backend's, or has anything but small letters, digits, '-'
// and '_', or if `make` gives nothing, or a backend of another type; InvalidConfig if it was
// compiled with other interfaces. `interface` is for that check: leave it as it is.
HOLOGRAM_API BackendType
register_backend(const std::string& name,
                 const std::function<std::unique_ptr<hal::Backend>(BackendType type)>& make,
                 uint32_t interface = kBackendInterface);

}  // namespace hologram
