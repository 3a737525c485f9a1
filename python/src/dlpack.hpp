// The structures of DLPack 1.x as they lie in memory (dmlc.github.io/dlpack), and the names of the
// capsules that carry them.
#pragma once

#include <cstdint>

namespace hologram::python::dlpack {

struct Device {
  int32_t type;
  int32_t index;
};
inline constexpr int32_t kCpu = 1, kCuda = 2, kCudaHost = 3, kRocm = 10, kCudaManaged = 13;

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
enum Code : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

struct TensorData {
  void* data;
  Device device;
  int32_t axes;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major
  uint64_t byte_offset;
};

struct Managed {
  TensorData tensor;
  void* context;
  void (*release)(Managed*);
};

struct Version {
  uint32_t major, minor;
};
inline constexpr uint64_t kReadOnly = 1, kIsCopied = 2;

struct ManagedVersioned {
  Version version;
  void* context;
  void (*release)(ManagedVersioned*);
  uint64_t flags;
  TensorData tensor;
};

inline constexpr char kName[] = "dltensor", kUsed[] = "used_dltensor";
inline constexpr char kNameVersioned[] = "dltensor_versioned";
inline constexpr char kUsedVersioned[] = "used_dltensor_versioned";

}  // namespace hologram::python::dlpack
