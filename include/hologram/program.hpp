// Atlas programs: kernels in the one language that every device runs.
//
// A program is written as text (docs/atlas.md) or with program::Builder (builder.hpp), and launched
// with Executor::run (executor.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hologram/dtype.hpp"
#include "hologram/export.hpp"
#include "hologram/shape.hpp"

namespace hologram::program {

// What a program may do with a buffer. In: read. Out: write, never read. InOut: both. Atomic: i32
// or u32, touched by atomic instructions only.
enum class Access : uint8_t { In, Out, InOut, Atomic };

HOLOGRAM_API std::string_view name_of(Access access);

// One declared axis of a buffer: a number, or the name of a dimension, which is also a scalar of
// the program and takes its value from the shapes of the arguments.
struct Dim {
  std::string name;    // empty for a number
  int64_t length = 0;  // the number
};

struct BufferParam {
  std::string name;
  DType type = DType::None;
  Access access = Access::In;
  std::vector<Dim> dims;  // empty: any shape, indexed flat
};

struct ScalarParam {
  std::string name;
  DType type = DType::None;           // a compute type
  bool dimension = false;             // bound by shapes
  std::optional<uint64_t> otherwise;  // the default value's bits
};

// A set of element types.
struct DTypeSet {
  uint16_t bits = 0;
  void add(DType t) { bits = static_cast<uint16_t>(bits | 1u << static_cast<unsigned>(t)); }
  bool has(DType t) const { return bits >> static_cast<unsigned>(t) & 1u; }
};

// What a device must offer to run the program.
struct Needs {
  uint32_t buffers = 0;
  uint32_t lanes = 0;         // lanes of a workgroup
  uint32_t shared_bytes = 0;  // workgroup memory
  DTypeSet compute;           // types computed with
  DTypeSet storage;           // element types of buffers
  bool atomics = false;
  bool cooperative = false;  // lanes of a group talk to each other
};

// Work per lane, loops counted once where their length is not known when compiling.
struct Cost {
  double flops = 0;
  double bytes_read = 0;
  double bytes_written = 0;
  double instructions = 0;
  bool has_unknown_loops = false;
};

struct Hash128 {
  uint64_t high = 0, low = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

struct Module;

// An immutable, verified, optimised program; cheap to copy, safe to share between threads.
class HOLOGRAM_API Program {
 public:
  // Assembles the text of one program. InvalidProgram with file, line, column and a caret under the
  // culprit if it is not right. `file` is used in messages only.
  static Program parse(std::string_view text, std::string_view file = "<text>");

  const std::string& name() const;
  std::span<const BufferParam> buffers() const;
  std::span<const ScalarParam> scalars() const;
  std::array<uint32_t, 3> workgroup() const;
  const Needs& needs() const;
  Cost cost() const;

  // Canonical text: as written (verified, not optimised), and as it will run. Both parse again.
  std::string text() const;
  std::string optimized_text() const;

  // Of what the program does: not of its name, sizes, or scalar values.
  const Hash128& hash() const;

  // For the runtime.
  const Module& source() const;
  const Module& optimized() const;
  static Program from(Module module);

 private:
  struct State;
  explicit Program(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace hologram::program

namespace hologram {
using program::Program;
}
