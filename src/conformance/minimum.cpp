// What every device of a class has to do, whatever the device says of itself. An operation is not
// in the table: a device that computes with a dtype has every operation on it.
#include <algorithm>

#include "conformance/minimum.hpp"
#include "conformance/suite.hpp"

namespace hologram::conformance {
namespace {

constexpr DType kEverything[] = {DType::Bool, DType::I8,  DType::U8,  DType::I16, DType::U16,
                                 DType::I32,  DType::U32, DType::I64, DType::U64, DType::F16,
                                 DType::BF16, DType::F32, DType::F64};
// All but the last, which many GPUs lack.
constexpr std::span<const DType> kWithoutF64 = std::span(kEverything).first<12>();

constexpr Minimum kMinima[] = {
    {BackendType::Cpu, kEverything},    {BackendType::Cuda, kEverything},
    {BackendType::Rocm, kEverything},   {BackendType::Metal, kWithoutF64},
    {BackendType::OpenCl, kWithoutF64}, {BackendType::WebGpu, kWithoutF64},
};

}  // namespace

std::span<const Minimum> minima() { return kMinima; }

bool must_support(const DeviceInfo& device, DType dtype) {
  for (const Minimum& m : kMinima)
    if (m.backend == device.backend)
      return std::find(m.dtypes.begin(), m.dtypes.end(), dtype) != m.dtypes.end();
  return false;
}

}  // namespace hologram::conformance
