// What there is to run on.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hologram/export.hpp"
#include "hologram/program.hpp"

namespace hologram {

// A backend from outside the tree has a value of its own behind these (backend.hpp).
enum class BackendType : uint8_t { Auto, Cpu, Cuda, Rocm, Metal, OpenCl, WebGpu, Null };

HOLOGRAM_API std::string_view name_of(BackendType type);       // "cpu", "cuda", …
HOLOGRAM_API std::string_view display_name(BackendType type);  // "CPU", "CUDA", …
HOLOGRAM_API std::optional<BackendType> parse_backend(std::string_view name);

// Exact: IEEE 754 arithmetic with fused fma and denormals, so that f32 results are bit-identical to
// every other exact device. Relaxed: within published bounds.
enum class Numerics : uint8_t { Exact, Relaxed };

struct DeviceInfo {
  BackendType backend = BackendType::Cpu;
  int index = 0;
  std::string name;                    // as the device calls itself
  std::string driver;                  // driver and version, or the instruction set of a CPU
  uint64_t total_memory = 0;           // bytes
  uint64_t free_memory = 0;            // bytes, at the time of asking
  uint32_t compute_units = 0;          // threads of a CPU, multiprocessors of a GPU
  std::string compute_capability;      // "9.0", "gfx1100"; empty where there is none
  uint64_t max_allocation = 0;         // bytes of one buffer
  uint32_t max_lanes = 0;              // lanes of a workgroup
  uint32_t max_shared_bytes = 0;       // bytes of workgroup memory
  uint32_t max_bindings = UINT32_MAX;  // buffers of one launch
  uint32_t binding_alignment = 1;      // bytes; offsets of bindings are multiples of it
  bool unified_memory = false;         // the host reads and writes device memory
  bool software = false;  // a GPU driver that runs on the CPU; never chosen unless named
  Numerics numerics = Numerics::Exact;
  program::DTypeSet compute;  // types it computes with
  program::DTypeSet storage;  // types it loads and stores
};

// One backend, and either its devices or the reason why there are none.
struct BackendReport {
  BackendType type = BackendType::Cpu;
  std::vector<DeviceInfo> devices;
  std::string reason;
};

// A library of mathematics that is used where it is installed.
struct LibraryInfo {
  std::string name;     // "oneDNN"
  std::string version;  // as the library says; empty if it is not used
  std::string path;     // the file that was opened; empty if none was
  std::string reason;   // why it is not used; empty if it is
};

// Every library that products of matrices may use, on whatever device. Opens them.
HOLOGRAM_API std::vector<LibraryInfo> discover_libraries();

// Every backend this build knows, in the order of automatic choice. Never throws: what fails is a
// reason.
HOLOGRAM_API std::vector<BackendReport> discover_backends();

// The order of automatic choice in this process: the given backends first, the others after them as
// before. A list that names the null device allows it to be chosen. An empty list restores the
// built-in order. InvalidConfig for Auto and for a backend given twice.
HOLOGRAM_API void set_backend_priority(const std::vector<BackendType>& order);

// The backends that automatic choice tries, first to last.
HOLOGRAM_API std::vector<BackendType> backend_priority();

// The first of backend_priority() with a device that is no software one. BackendUnavailable, with
// each backend's reason, if there is none.
HOLOGRAM_API BackendType best_available_backend();

// A line for each device, and for each backend without one the reason; the best is marked with *.
HOLOGRAM_API std::string backend_summary();
HOLOGRAM_API void print_backend_summary(std::ostream& stream);

}  // namespace hologram
