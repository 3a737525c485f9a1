#include "oracle/differential.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/parallel.hpp"
#include "hologram/error.hpp"
#include "interp/interpreter.hpp"
#include "interp/targets.hpp"
#include "jit/jit.hpp"
#include "oracle/scalar_model.hpp"

namespace hologram::oracle {
namespace {

using program::Inst;
using program::Module;
using program::Op;

uint64_t raw(const uint8_t* memory, size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, memory, size);
  return bits;
}

std::string compare(const RandomCase& c, const std::vector<Memory>& want,
                    const std::vector<Memory>& got, const std::string& where) {
  for (size_t b = 0; b < want.size(); b++) {
    const program::BufferParam& buffer = c.module.buffers[b];
    const size_t size = size_of(buffer.type);
    for (size_t i = 0; i < want[b].size() / size; i++) {
      const uint64_t x = raw(&got[b][i * size], size), y = raw(&want[b][i * size], size);
      if (same(buffer.type, x, y)) continue;
      char text[120];
      std::snprintf(text, sizeof text, ": %s[%zu] is %#llx, not %#llx", buffer.name.c_str(), i,
                    static_cast<unsigned long long>(x), static_cast<unsigned long long>(y));
      return where + text;
    }
  }
  return {};
}

std::vector<Memory> naive(const RandomCase& c, const Module& module,
                          const NaiveOptions& options = {}) {
  std::vector<Memory> buffers = c.buffers;
  run_naively(module, c.grid, c.scalars, buffers, options);
  return buffers;
}

// The arguments in memory with something to recognise around them, aligned no better than their
// elements must be.
class Guarded {
 public:
  explicit Guarded(const RandomCase& c) : case_(c) {
    for (size_t b = 0; b < c.buffers.size(); b++) {
      const size_t bytes = c.buffers[b].size();
      memory_.emplace_back(bytes + 2 * kPad, kSentinel);
      if (bytes > 0) std::memcpy(data(b), c.buffers[b].data(), bytes);
    }
  }
  uint8_t* data(size_t b) {
    const size_t odd = size_of(case_.module.buffers[b].type) * (b % 3);
    return memory_[b].data() + kPad / 2 + odd;
  }
  std::string collect(std::vector<Memory>& buffers) {
    buffers.clear();
    for (size_t b = 0; b < memory_.size(); b++) {
      const size_t bytes = case_.buffers[b].size();
      buffers.emplace_back(data(b), data(b) + bytes);
      const uint8_t* begin = memory_[b].data();
      const auto intact = [](uint8_t byte) { return byte == kSentinel; };
      if (!std::all_of(begin, static_cast<const uint8_t*>(data(b)), intact) ||
          !std::all_of(static_cast<const uint8_t*>(data(b)) + bytes, begin + memory_[b].size(),
                       intact))
        return "wrote outside " + case_.module.buffers[b].name;
    }
    return {};
  }

 private:
  static constexpr size_t kPad = 8192;
  static constexpr uint8_t kSentinel = 0x5a;
  const RandomCase& case_;
  std::vector<std::vector<uint8_t>> memory_;
};

// One launch by `run`, and what the buffers hold afterwards.
template <class Run>
std::string run_guarded(const RandomCase& c, std::vector<Memory>& buffers, bool check, Run run) {
  Guarded memory(c);
  std::vector<interp::BoundBuffer> bound;
  for (size_t b = 0; b < c.buffers.size(); b++)
    bound.push_back({reinterpret_cast<std::byte*>(memory.data(b)),
                     c.buffers[b].size() / size_of(c.module.buffers[b].type)});
  interp::Launch launch;
  launch.buffers = bound;
  launch.scalars = c.scalars;
  launch.grid = c.grid;
  launch.check = check;
  if (run(launch) != interp::Outcome::Done) return "did not end";
  return memory.collect(buffers);
}

std::string run_really(const RandomCase& c, const Module& module, const interp::Target& target,
                       core::Threads& threads, bool check, std::vector<Memory>& buffers) {
  const interp::Bytecode code = interp::lower(module, interp::kernel_table(target));
  return run_guarded(c, buffers, check, [&](const interp::Launch& launch) {
    return interp::execute(code, launch, threads);
  });
}

// Compiled for the target: nothing to say where it has no compiler, or the compiler refuses.
std::string check_compiled(const RandomCase& c, const Module& module,
                           const std::vector<Memory>& want, const interp::Target& target,
                           std::span<core::Threads* const> threads) {
  const jit::Isa isa = jit::isa_of(target.name);
  if (isa == jit::Isa::None) return {};
  const auto result = jit::compile(module, interp::kernel_table(target), isa);
  if (const auto* reason = std::get_if<std::string>(&result))
    return reason->starts_with("the assembler")
               ? fmt::format("compiled for {}: {}", target.name, *reason)
               : std::string();
  const auto& code = *std::get<std::shared_ptr<const jit::Compiled>>(result);
  for (core::Threads* t : threads)
    for (const bool non_temporal : {false, true}) {
      std::vector<Memory> got;
      const std::string where = fmt::format("compiled for {}, threads: {}{}", target.name,
                                            t->count(), non_temporal ? ", past the caches" : "");
      const std::string fault = run_guarded(c, got, false, [&](interp::Launch launch) {
        launch.non_temporal = non_temporal;
        return code.run(launch, *t);
      });
      if (!fault.empty()) return fmt::format("{}: {}", where, fault);
      if (auto text = compare(c, want, got, where); !text.empty()) return text;
    }
  return {};
}

std::string check_orders(const RandomCase& c, const std::vector<Memory>& want) {
  const NaiveOptions reverse{.order = LaneOrder::Reverse, .poison = 0x55};
  const NaiveOptions shuffled{.order = LaneOrder::Shuffled, .seed = 7, .poison = 0xff};
  std::string text = compare(c, want, naive(c, c.module, reverse), "lanes in reverse");
  if (text.empty()) text = compare(c, want, naive(c, c.module, shuffled), "lanes shuffled");
  return text;
}

std::string check_text(const RandomCase& c, const std::vector<Memory>& want, bool thorough) {
  const std::string text = to_text(c.module);
  const Module again = program::assemble(text, "<again>");
  if (to_text(again) != text) return "the text changes when it is read again";
  return thorough ? compare(c, want, naive(c, again), "read again from text") : std::string();
}

std::string check_real(const RandomCase& c, const Module& module, const std::vector<Memory>& want,
                       bool one_target) {
  static core::Threads one(1), two(2);
  const auto targets = interp::supported_targets();
  for (const interp::Target& target : targets) {
    for (core::Threads* threads : {&one, &two}) {
      for (const bool check : {false, true}) {
        if (check && (threads == &two || target.name != targets[0].name)) continue;
        std::vector<Memory> got;
        const std::string where = fmt::format("{}, threads: {}{}", target.name, threads->count(),
                                              check ? ", checked" : "");
        const std::string fault = run_really(c, module, target, *threads, check, got);
        if (!fault.empty()) return fmt::format("{}: {}", where, fault);
        if (auto text = compare(c, want, got, where); !text.empty()) return text;
      }
    }
    core::Threads* const both[] = {&one, &two};
    if (auto text = check_compiled(c, module, want, target, both); !text.empty()) return text;
    if (one_target) break;
  }
  return {};
}

}  // namespace

std::string differences(const RandomCase& c, const DifferentialOptions& options) try {
  program::verify(c.module);
  const std::vector<Memory> want = naive(c, c.module);
  if (options.thorough)
    if (auto text = check_orders(c, want); !text.empty()) return text;
  if (auto text = check_text(c, want, options.thorough); !text.empty()) return text;
  Module optimised = c.module;
  prove_bounds(optimised);
  optimize(optimised);
  if (auto text = compare(c, want, naive(c, optimised), "optimised"); !text.empty()) return text;
  return check_real(c, optimised, want, options.one_target);
} catch (const Error& error) {
  return std::string("error: ") + error.what();
} catch (const std::exception& error) {
  return std::string("exception: ") + error.what();
}

std::string order_dependence(const RandomCase& c) try {
  return check_orders(c, naive(c, c.module));
} catch (const std::exception& error) {
  return error.what();
}

namespace {

// A module without the instructions in [begin, end).
Module without(const Module& module, size_t begin, size_t end) {
  Module smaller = module;
  auto& code = smaller.body.insts;
  code.erase(code.begin() + static_cast<ptrdiff_t>(begin),
             code.begin() + static_cast<ptrdiff_t>(end));
  return smaller;
}

// The instruction after the block that begins there, or after the one instruction.
size_t end_of(const std::vector<Inst>& code, size_t at) {
  size_t depth = 0;
  do {
    const Op op = code[at].op;
    depth += op == Op::If || op == Op::For || op == Op::Loop;
    depth -= op == Op::End;
    at++;
  } while (depth > 0 && at < code.size());
  return at;
}

// What kind of difference it is, without the places and numbers.
std::string kind_of(const std::string& difference) {
  return difference.substr(0, difference.find(':'));
}

// Still well formed and without races, and still different in the same way.
bool still_differs(const RandomCase& c, const DifferentialOptions& options,
                   const std::string& kind) {
  try {
    program::verify(c.module);
  } catch (const Error&) {
    return false;
  }
  return order_dependence(c).empty() && kind_of(differences(c, options)) == kind;
}

}  // namespace

RandomCase minimised(const RandomCase& original, const DifferentialOptions& options) {
  RandomCase best = original;
  const std::string kind = kind_of(differences(best, options));
  if (kind.empty() || !still_differs(best, options, kind)) return best;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (size_t at = best.module.body.insts.size(); at-- > 0;) {
      const auto& code = best.module.body.insts;
      if (at >= code.size()) continue;
      const Inst inst = code[at];
      if (inst.op == Op::End || inst.op == Op::Else) continue;
      RandomCase candidate = best;
      candidate.module = without(best.module, at, end_of(code, at));
      if (!still_differs(candidate, options, kind)) {
        if (inst.id == program::kNone || inst.op == Op::Const || inst.op == Op::For) continue;
        candidate.module = best.module;
        candidate.module.body.insts[at] = {.op = Op::Const, .type = inst.type, .id = inst.id};
        if (!still_differs(candidate, options, kind)) continue;
      }
      best = candidate;
      smaller = true;
    }
  }
  return best;
}

}  // namespace hologram::oracle
