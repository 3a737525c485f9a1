// What there is to run on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hologram/export.hpp"
#include "hologram/program.hpp"

namespace hologram {

enum class BackendType : uint8_t { Auto, Cpu, Cuda, Rocm, Metal, OpenCl, WebGpu, Null };

HOLOGRAM_API std::string_view name_of(BackendType type);  // "cpu", "cuda", …
HOLOGRAM_API std::optional<BackendType> parse_backend(std::string_view name);

// Exact: IEEE 754 arithmetic with fused fma and denormals, so that f32 results are bit-identical to
// every other exact device. Relaxed: within published bounds.
enum class Numerics : uint8_t { Exact, Relaxed };

struct DeviceInfo {
  BackendType backend = BackendType::Cpu;
  int index = 0;
  std::string name;               // as the device calls itself
  std::string driver;             // driver and version, or the instruction set of a CPU
  uint64_t total_memory = 0;      // bytes
  uint64_t free_memory = 0;       // bytes, at the time of asking
  uint32_t compute_units = 0;     // threads of a CPU, multiprocessors of a GPU
  uint32_t max_lanes = 0;         // lanes of a workgroup
  uint32_t max_shared_bytes = 0;  // workgroup memory
  uint32_t binding_alignment = 1;
  bool unified_memory = false;  // the host reads and writes device memory
  bool software = false;        // a GPU driver that runs on the CPU; never chosen unless named
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

// Every backend this build knows, in the order of automatic choice. Never throws: what fails is a
// reason.
HOLOGRAM_API std::vector<BackendReport> discover_backends();

}  // namespace hologram
