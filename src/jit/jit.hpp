// Compiles Atlas programs to the processor's own instructions, with the same results as the
// interpreter bit for bit: both run the same expansions of the functions.
#pragma once

#include <memory>
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

class Compiled {
 public:
  // `instructions`: of a lane, with functions replaced.
  Compiled(std::unique_ptr<Code> code, bool grouped, std::array<uint32_t, 3> workgroup,
           uint64_t instructions);
  ~Compiled();
  interp::Outcome run(const interp::Launch& launch, core::Threads& threads) const;
  size_t bytes() const;

 private:
  std::unique_ptr<Code> code_;
  bool grouped_;
  std::array<uint32_t, 3> workgroup_;
  uint64_t lanes_worth_a_thread_;
};

// The code, or why the program stays with the interpreter: "its lanes share memory". `module` is
// verified and optimised; `listing` takes the instructions as text.
std::variant<std::shared_ptr<const Compiled>, std::string> compile(
    const program::Module& module, const interp::KernelTable& kernels, Isa isa,
    std::string* listing = nullptr);

}  // namespace hologram::jit
