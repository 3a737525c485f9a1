#include "jit/jit.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "jit/code.hpp"
#include "jit/compiler.hpp"
#include "jit/divergence.hpp"
#include "program/expansions/expand.hpp"
#include "program/passes/passes.hpp"
#if defined(__x86_64__)
#include "jit/x86.hpp"
#elif defined(__aarch64__)
#include "jit/arm.hpp"
#endif

namespace hologram::jit {

namespace {

// Registers are given out in a time that grows faster than the program.
constexpr size_t kLongest = 4000;

// Functions stand in line, as operations that others go on beside; the long ones are calls of the
// interpreter's kernels where they would make a long program.
constexpr size_t kLong = 1500;  // instructions

bool is_short(const program::Inst& inst) {
  switch (inst.op) {
    case Op::Log1p:
    case Op::Sin:
    case Op::Cos:
    case Op::Tan:
    case Op::Atan2:
    case Op::Pow: return false;
    default: return inst.from == DType::F32;
  }
}

using Chosen = bool (*)(const program::Inst& function);
// Those that stand in line, of all and of programs that are long; what the target knows does not.
struct InLine {
  Chosen all, if_long;
};
template <Chosen kKnown>
constexpr InLine kInLine = {
    [](const program::Inst& f) { return !kKnown(f); },
    [](const program::Inst& f) { return !kKnown(f) && is_short(f); },
};
[[maybe_unused]] constexpr InLine kAllInLine = kInLine<[](const program::Inst&) { return false; }>;
[[maybe_unused]] constexpr InLine kInLineOfAvx512 = kInLine<[](const program::Inst& f) {
  return f.op == Op::Exp || (f.op == Op::Sigmoid && f.from == DType::F32);
}>;

program::Module with_functions(const program::Module& module, const InLine& in_line) {
  program::Module expanded = program::expand_functions(module, in_line.all);
  if (expanded.body.insts.size() > std::max(kLong, module.body.insts.size()))
    expanded = program::expand_functions(module, in_line.if_long);
  // Expansions convert their constants.
  if (expanded.body.insts.size() != module.body.insts.size()) program::simplify(expanded);
  return expanded;
}

using Maker = std::unique_ptr<Target> (*)(asmjit::CodeHolder& code, bool wide, uint32_t held);

// The instruction sets of this processor that there is a compiler for.
struct Machine {
  Isa isa;
  std::string_view target;  // of the interpreter
  std::string_view name;
  uint32_t lanes;  // of 32 bits
  const RegisterCount& registers;
  const InLine& in_line;
  Maker make;
};
constexpr Machine kMachines[] = {
#if defined(__x86_64__)
    {Isa::Avx512, "avx512", "AVX-512", 16, kAvx512Registers, kInLineOfAvx512,
     [](auto& code, bool wide, uint32_t held) -> std::unique_ptr<Target> {
       return std::make_unique<X86>(code, true, wide, held);
     }},
    {Isa::Avx2, "avx2", "AVX2", 8, kAvx2Registers, kAllInLine,
     [](auto& code, bool wide, uint32_t held) -> std::unique_ptr<Target> {
       return std::make_unique<X86>(code, false, wide, held);
     }},
#elif defined(__aarch64__)
    {Isa::Neon, "neon", "NEON", 4, kNeonRegisters, kAllInLine,
     [](auto& code, bool wide, uint32_t held) -> std::unique_ptr<Target> {
       return std::make_unique<Arm>(code, wide, held);
     }},
#endif
};

class Errors final : public asmjit::ErrorHandler {
 public:
  void handleError(asmjit::Error, const char* message, asmjit::BaseEmitter*) override {
    if (first.empty()) first = message;
  }
  std::string first;
};

struct Analysed {
  Analysis analysis;
  std::optional<program::Module> predicated;  // the program in another way, where its lanes part
};

Analysed side_by_side(const program::Module& module) {
  Analysed a;
  std::set<uint32_t> by_lane;
  bool parts = has_exits(module);
  for (;;) {
    const size_t known = by_lane.size();
    if (parts) a.predicated = predicated(module, by_lane);
    a.analysis = analyse(parts ? *a.predicated : module, by_lane);
    if (by_lane.size() == known) return a;
    parts = true;
  }
}

// Of divergent lanes: one by itself reads and writes memory as fast as each of many side by side,
// which are worth it where loops calculate.
bool calculates(const Analysed& a) {
  constexpr uint32_t kStepsOfAccess = 8;
  uint32_t steps = 0, accesses = 0;
  const auto& insts = a.predicated->body.insts;
  const auto varies = [&](uint32_t value) { return a.analysis.values[value] == Form::Varying; };
  for (uint32_t at = 0; at < insts.size(); at++) {
    const program::Inst& i = insts[at];
    if (a.analysis.loop[at] == kNone) continue;
    const bool accesses_memory = i.op == Op::Load || i.op == Op::Store || i.op == Op::Atomic;
    if (accesses_memory && varies(i.args[0])) accesses++;
    else if (program::is_pure(i.op) && varies(i.id)) steps++;
  }
  return steps >= kStepsOfAccess * accesses;
}

// Side by side, but for what is faster one by one; why that cannot be is what is told where they
// cannot be compiled at all. A workgroup of one lane that loops is a plain loop.
Analysed analyse_any_way(const program::Module& module) {
  const auto scalarized = [&]() -> std::optional<Analysed> {
    try {
      return Analysed{analyse_one_by_one(module), {}};
    } catch (const Refused&) {
      return {};
    }
  };
  const auto& insts = module.body.insts;
  if (module.lanes() == 1 && std::any_of(insts.begin(), insts.end(), is_loop))
    if (auto a = scalarized()) return std::move(*a);
  try {
    Analysed together = side_by_side(module);
    if (together.predicated && !calculates(together))
      if (auto a = scalarized()) return std::move(*a);
    return together;
  } catch (const Refused&) {
    if (auto a = scalarized()) return std::move(*a);
    throw;
  }
}

}  // namespace

Isa isa_of(std::string_view target) {
  for (const Machine& m : kMachines)
    if (m.target == target) return m.isa;
  return Isa::None;
}

std::string_view name_of(Isa isa) {
  for (const Machine& m : kMachines)
    if (m.isa == isa) return m.name;
  return "none";
}

std::variant<std::shared_ptr<const Compiled>, std::string> compile(
    const program::Module& module, const interp::KernelTable& kernels, Isa isa,
    std::string* listing) {
  const auto* machine = std::find_if(std::begin(kMachines), std::end(kMachines),
                                     [&](const Machine& m) { return m.isa == isa; });
  if (machine == std::end(kMachines)) return "its instruction set has no compiler";
  try {
    const program::Module expanded = with_functions(module, machine->in_line);
    if (expanded.body.insts.size() > kLongest) return "it is too long";
    const auto [analysis, predicated] = analyse_any_way(expanded);
    const program::Module& taken = predicated ? *predicated : expanded;
    asmjit::CodeHolder holder;
    Errors errors;
    asmjit::StringLogger logger;
    if (holder.init(asmjit::Environment::host()) != asmjit::kErrorOk)
      return "the assembler does not start";
    holder.setErrorHandler(&errors);
    // What most take, so that it need not grow while it is written.
    constexpr size_t kBytesOfCode = 1 << 14;
    if (holder.reserveBuffer(&holder.textSection()->buffer(), kBytesOfCode) != asmjit::kErrorOk)
      return "there is no memory for its code";
    if (listing != nullptr) holder.setLogger(&logger);
    const uint32_t width = machine->lanes / (analysis.wide ? 2 : 1);
    if (analysis.grouped && module.workgroup[0] % width != 0)
      return "its workgroups are no whole number of vectors";
    const std::unique_ptr<Target> target =
        machine->make(holder, analysis.wide,
                      Compiler::spare_registers(taken, analysis, machine->registers, width));
    // What is wrong must not become code: the allocator of registers has made operands of memory
    // where an instruction takes none.
    target->compiler().addDiagnosticOptions(asmjit::DiagnosticOptions::kValidateAssembler);
    Compiler compiler(taken, analysis, kernels, *target);
    compiler.run();
    if (target->compiler().finalize() != asmjit::kErrorOk || !errors.first.empty())
      return "the assembler fails: " + errors.first;
    auto code = std::make_unique<Code>(holder);
    if (listing != nullptr) listing->assign(logger.data(), logger.dataSize());
    const Lanes lanes = analysis.grouped      ? Lanes::ByGroup
                        : analysis.scalarized ? Lanes::Scalarized
                                              : Lanes::SideBySide;
    const bool parts = predicated || analysis.scalarized;
    return std::make_shared<const Compiled>(std::move(code), lanes, parts,
                                            compiler.loads_of_columns(), module.workgroup,
                                            taken.body.insts);
  } catch (const Refused& refused) {
    return refused.reason;
  }
}

}  // namespace hologram::jit
