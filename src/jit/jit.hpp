// Compiles Atlas programs to the processor's own instructions, with the same results as the
// interpreter bit for bit: both run the same expansions of the functions.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "core/parallel.hpp"
#include "interp/interpreter.hpp"
#include "interp/kernels.hpp"
#include "program/ir.hpp"

namespace hologram::jit {

// Of the processor that the code is for.
enum class Isa : uint8_t { None, Avx2, Avx512, Neon };

// What interp's target of this name runs on: "avx2", "avx512", "neon".
Isa isa_of(std::string_view target);
std::string_view name_of(Isa isa);

class Code;  // memory that may be executed

// How code goes through the lanes.
enum class Lanes : uint8_t {
  SideBySide,  // vectors of any lanes of a row of the grid
  ByGroup,     // the same of a workgroup at a time
  Scalarized,  // where they go ways of their own and access memory
};

class Compiled {
 public:
  // `parts`: lanes go ways of their own. `columns`: loads whose elements for lanes side by side are
  // rows apart, and for a lane of the next row side by side. `insts`: of a lane, with functions
  // replaced.
  Compiled(std::unique_ptr<Code> code, Lanes lanes, bool parts, uint32_t columns,
           std::array<uint32_t, 3> workgroup, std::span<const program::Inst> insts);
  ~Compiled();
  interp::Outcome run(const interp::Launch& launch, core::Threads& threads) const;
  size_t bytes() const;
  std::span<const std::byte> code() const;  // machine code
  Lanes lanes() const { return lanes_; }

 private:
  uint64_t worth_a_thread() const;  // lanes

  std::unique_ptr<Code> code_;
  Lanes lanes_;
  bool parts_;
  uint32_t columns_;
  std::array<uint32_t, 3> workgroup_;
  uint64_t lanes_worth_a_thread_;
  // Of divergent lanes: nanoseconds that one took in the last calls, as nobody knows how long loops
  // are; 0: not known.
  mutable std::atomic<float> time_of_lane_ = 0;
};

// The code, or why the program stays with the interpreter: "its lanes share memory". `module` is
// verified and optimised; `listing` takes the instructions as text.
std::variant<std::shared_ptr<const Compiled>, std::string> compile(
    const program::Module& module, const interp::KernelTable& kernels, Isa isa,
    std::string* listing = nullptr);

}  // namespace hologram::jit
