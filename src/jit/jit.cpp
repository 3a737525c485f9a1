#include "jit/jit.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "jit/code.hpp"
#include "jit/compiler.hpp"
#include "jit/x86.hpp"
#include "program/expansions/expand.hpp"
#include "program/passes/passes.hpp"

namespace hologram::jit {

namespace {

// Registers are given out in a time that grows faster than the program.
constexpr size_t kLongest = 4000;

// Functions that are short enough to stand in line; the others are calls of the interpreter's
// kernels.
bool in_line(const program::Inst& inst) {
  if (inst.from != DType::F32) return false;
  switch (inst.op) {
    case Op::Rsqrt:
    case Op::Exp:
    case Op::Exp2:
    case Op::Expm1:
    case Op::Log:
    case Op::Log2:
    case Op::Tanh:
    case Op::Sigmoid:
    case Op::Erf: return true;
    default: return false;
  }
}

class Errors final : public asmjit::ErrorHandler {
 public:
  void handleError(asmjit::Error, const char* message, asmjit::BaseEmitter*) override {
    if (first.empty()) first = message;
  }
  std::string first;
};

}  // namespace

Isa isa_of(std::string_view name) {
#if defined(__x86_64__)
  if (name.starts_with("avx512")) return Isa::Avx512;
  if (name == "avx2") return Isa::Avx2;
#endif
  static_cast<void>(name);
  return Isa::None;
}

std::variant<std::shared_ptr<const Compiled>, std::string> compile(
    const program::Module& module, const interp::KernelTable& kernels, Isa isa,
    std::string* listing) {
  if (isa == Isa::None) return "its instruction set has no compiler";
  try {
    program::Module expanded = program::expand_functions(module, in_line);
    // Expansions convert their constants.
    if (expanded.body.insts.size() != module.body.insts.size()) program::simplify(expanded);
    if (expanded.body.insts.size() > kLongest) return "it is too long";
    const Analysis analysis = analyse(expanded);
    asmjit::CodeHolder holder;
    Errors errors;
    asmjit::StringLogger logger;
    if (holder.init(asmjit::Environment::host()) != asmjit::kErrorOk)
      return "the assembler does not start";
    holder.setErrorHandler(&errors);
    if (listing != nullptr) holder.setLogger(&logger);
    const bool avx512 = isa == Isa::Avx512;
    const uint32_t width = (avx512 ? 16u : 8u) / (analysis.wide ? 2u : 1u);
    if (analysis.grouped && module.workgroup[0] % width != 0)
      return "its workgroups are no whole number of vectors";
    const uint32_t registers = avx512 ? 32 : 16;
    X86 target(holder, avx512, analysis.wide,
               Compiler::spare_registers(expanded, analysis, registers, width));
    // What is wrong must not become code: the allocator of registers has made operands of memory
    // where an instruction takes none.
    target.compiler().addDiagnosticOptions(asmjit::DiagnosticOptions::kValidateAssembler);
    Compiler(expanded, analysis, kernels, target).run();
    if (target.compiler().finalize() != asmjit::kErrorOk || !errors.first.empty())
      return "the assembler fails: " + errors.first;
    auto code = std::make_unique<Code>(holder);
    if (listing != nullptr) listing->assign(logger.data(), logger.dataSize());
    return std::make_shared<const Compiled>(std::move(code), analysis.grouped, module.workgroup);
  } catch (const Refused& refused) {
    return refused.reason;
  }
}

}  // namespace hologram::jit
