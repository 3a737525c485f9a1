// A library of mathematics on the host, opened when it is first asked for.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

#include "core/dynamic_library.hpp"
#include "hologram/device.hpp"
#include "hologram/hal/expected.hpp"
#include "hologram/hal/operations.hpp"

namespace hologram::libraries {

class HostPlan;

// A part of one matrix of the result, and where the rows of a and the columns of b that it needs
// start.
struct Tile {
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  std::byte* d = nullptr;
  int64_t m = 0, n = 0;
};

// Thread-safe. Objects live as long as the process, as what they opened does.
class HostLibrary {
 public:
  HostLibrary() = default;
  virtual ~HostLibrary() = default;
  HostLibrary(const HostLibrary&) = delete;
  HostLibrary& operator=(const HostLibrary&) = delete;

  const LibraryInfo& info() const { return info_; }
  // Why not this product, if the library is there.
  virtual std::optional<hal::Refusal> refuses(const hal::GemmDesc& desc) const = 0;
  virtual std::string routine(const hal::GemmDesc& desc) const = 0;  // "sgemm"
  // Whether a product may be cut into tiles, which several threads compute at a time. Else it is
  // one tile, and how many threads work is the library's business.
  virtual bool divides() const { return true; }
  // Computes one tile, k > 0; of a product that may be cut, on the calling thread and no other.
  virtual void multiply(const hal::GemmDesc& desc, const Tile& tile) const = 0;
  // What it makes of a convolution, or why it does not.
  virtual hal::Expected<std::shared_ptr<HostPlan>> plan(const hal::ConvDesc& desc) const;
  // Around all tiles of a product.
  virtual void begin() const {}
  virtual void end() const {}

 protected:
  LibraryInfo info_;
};

// The first of `names` that is there, or what the environment variable says instead.
core::DynamicLibrary open(const char* variable, std::initializer_list<const char*> names);

// "no product of f16 and f16 to f16".
hal::Refusal no_such_product(const hal::GemmDesc& desc);

// Whether elements, and what they are summed in, are of that type.
bool all_of_type(const hal::GemmDesc& desc, DType type);

}  // namespace hologram::libraries
