// A program made ready for one GPU.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/driver/memory.hpp"
#include "dialects/dialect.hpp"
#include "hologram/hal/launch.hpp"

namespace hologram::backends::driver {

// The machine code of a program.
struct Kernel {
  // What one argument is.
  struct Slot {
    dialects::Argument::Kind kind;
    uint8_t shift;  // of Length: log2 of the element's bytes
    uint32_t slot;
    bool read = false, written = false;  // of Buffer
  };
  std::vector<Slot> slots;
  std::optional<size_t> early;  // that of Early, if there is one
  Module module = nullptr;
  Function function = nullptr;
  uint32_t threads = 0, groups = 1;  // of a block; that a block does at a time
  uint64_t most_blocks = INT32_MAX;
  size_t bytes = 0;  // of code

  unsigned blocks(const Grid& grid) const {
    const uint64_t all = grid[0] * grid[1] * grid[2];
    return static_cast<unsigned>(std::min((all - 1) / groups + 1, most_blocks));
  }
  // The arguments, one a slot, that of Early 0. `address` tells where a binding is.
  template <class AddressOf>
  void pack(uint64_t* values, const Grid& grid, std::span<const hal::Binding> bindings,
            std::span<const uint64_t> scalars, Address stop, AddressOf address) const {
    using Kind = dialects::Argument::Kind;
    for (const Slot& s : slots) {
      uint64_t value = 0;
      switch (s.kind) {
        case Kind::Buffer: value = address(bindings[s.slot]); break;
        case Kind::Length: value = bindings[s.slot].size >> s.shift; break;
        case Kind::Scalar: value = scalars[s.slot]; break;
        case Kind::Groups: value = grid[s.slot]; break;
        case Kind::EndGroup: value = grid[0] * grid[1] * grid[2]; break;
        case Kind::Stop: value = stop; break;
        case Kind::Offset:
        case Kind::FirstGroup:
        case Kind::Budget:
        case Kind::Local:
        case Kind::Early:
        case Kind::Zero: break;
      }
      *values++ = value;
    }
  }
};

// Puts a kernel on the stream: where kernels wait by themselves, early, while the one before it
// still runs.
Status start(const Gpu& gpu, const Kernel& kernel, unsigned blocks, void** parameters,
             NativeStream stream);

class DeviceProgram : public hal::Executable {
 public:
  // UnsupportedOperation, ProgramNotCompiled, or what the driver says.
  DeviceProgram(Gpu& gpu, const program::Program& program);
  ~DeviceProgram() override;
  DeviceProgram(const DeviceProgram&) = delete;
  DeviceProgram& operator=(const DeviceProgram&) = delete;

  // One whose loops can be stopped costs time where there are some, and is made when first needed.
  const Kernel& kernel(bool stoppable) const;
  uint32_t lanes() const { return lanes_; }  // of a group
  // Lives on after the program.
  const std::shared_ptr<const std::string>& name() const { return name_; }
  std::string note() const override;

 private:
  Kernel compile(dialects::Stop stop) const;
  Kernel load(const dialects::Printed& printed) const;
  int attribute(const Kernel& kernel, int which) const;  // of the driver's kRegisters and so on

  Gpu& gpu_;
  const program::Program program_;
  const std::shared_ptr<const std::string> name_;
  const uint32_t lanes_;
  Kernel plain_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const Kernel> stoppable_;
};

}  // namespace hologram::backends::driver
