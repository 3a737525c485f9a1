// From a launch that went wrong to the instruction, and to the smallest program that shows it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "bisection/mirror.hpp"
#include "core/messages.hpp"
#include "hologram/files.hpp"
#include "runtime/executor_state.hpp"
#include "runtime/selection.hpp"

namespace hologram::bisection {

using core::Text;
using program::Access;
using program::Inst;
using program::kNone;
using program::Module;
using program::Op;

namespace {

// Ends the work when something was found. Other languages make their own exceptions of it.
struct Found : std::runtime_error {
  Found() : std::runtime_error("bisect has found something") {}
};

// Room for values of lanes: first of many lanes, then, where loops tell more, of few.
struct Window {
  int64_t lanes, events, windows;
};
constexpr Window kWindows[] = {{512, 2048, 64}, {16, 65536, 4}};

std::string line_of(const std::string& text, int line) {
  size_t at = 0;
  for (int i = 1; i < line && at != std::string::npos; i++) {
    at = text.find('\n', at);
    if (at != std::string::npos) at++;
  }
  if (line <= 0 || at == std::string::npos) return {};
  std::string found = text.substr(at, text.find('\n', at) - at);
  found.erase(0, found.find_first_not_of(' '));
  return found;
}

}  // namespace

std::string shown(DType type, uint64_t bits) {
  std::string hex = fmt::format("{:#0{}x}", bits, 2 + 2 * size_of(type));
  switch (type) {
    case DType::F32:
      return fmt::format("{} ({})", hex, std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case DType::F64: return fmt::format("{} ({})", hex, std::bit_cast<double>(bits));
    case DType::I32: return fmt::format("{} ({})", hex, static_cast<int32_t>(bits));
    case DType::I64: return fmt::format("{} ({})", hex, static_cast<int64_t>(bits));
    default: return hex;
  }
}

namespace {

// A scalar as the command line takes it.
std::string argument(DType type, uint64_t bits) {
  switch (type) {
    case DType::F32: return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case DType::F64: return fmt::format("{}", std::bit_cast<double>(bits));
    case DType::I32: return fmt::format("{}", static_cast<int32_t>(bits));
    case DType::I64: return fmt::format("{}", static_cast<int64_t>(bits));
    case DType::Bool: return bits != 0 ? "true" : "false";
    default: return fmt::format("{}", bits);
  }
}

int64_t groups_of(const Grid& grid) { return static_cast<int64_t>(grid[0] * grid[1] * grid[2]); }

// The control flow that stands nearest before an instruction.
std::string branch_before(const Module& module, uint32_t inst) {
  for (uint32_t i = inst; i-- > 0;) {
    const Op op = module.body.insts[i].op;
    if (op == Op::If || op == Op::For || op == Op::Loop || op == Op::Break || op == Op::Continue)
      return std::string(program::info(op).name);
  }
  return "launch";
}

std::string store_to(const Module& module, size_t buffer) {
  for (const Inst& inst : module.body.insts)
    if (inst.slot == buffer && (inst.op == Op::Store || inst.op == Op::Atomic))
      return std::string(program::info(inst.op).name);
  return "launch";
}

}  // namespace

void Runner::run(const program::Program& program, const Grid& grid,
                 std::span<const uint64_t> scalars, std::vector<std::vector<std::byte>>& buffers) {
  if (executable_ == nullptr || program.hash() != hash_) {
    executable_ = device_->compile(program, {});
    hash_ = program.hash();
  }
  std::vector<std::unique_ptr<hal::Buffer>> memory;
  std::vector<hal::Binding> bindings;
  const auto wait = [&] { stream_->wait(stream_->submit(), {}); };
  for (auto& bytes : buffers) {
    memory.push_back(device_->allocate(std::max<uint64_t>(bytes.size(), 256)));
    bindings.push_back({memory.back().get(), 0, bytes.size()});
    if (bytes.empty()) continue;
    hal::HostBuffer from(bytes.data(), bytes.size());
    stream_->copy(bindings.back(), {&from, 0, bytes.size()});
    wait();
  }
  stream_->launch({.executable = executable_.get(),
                   .grid = grid,
                   .bindings = bindings,
                   .scalars = scalars,
                   .deadline = {},
                   .budget = 0,
                   .progress = nullptr});
  wait();
  for (size_t i = 0; i < buffers.size(); i++) {
    if (buffers[i].empty()) continue;
    hal::HostBuffer to(buffers[i].data(), buffers[i].size());
    stream_->copy({&to, 0, buffers[i].size()}, bindings[i]);
    wait();
  }
}

Search::Search(std::shared_ptr<hal::Device> device, std::shared_ptr<hal::Device> interpreter,
               const BisectOptions& options)
    : device_(std::move(device)),
      interpreter_(std::move(interpreter)),
      options_(options),
      equal_(options.tolerance.value_or(device_->info().numerics == Numerics::Exact ? 0 : 64)),
      on_device_(device_),
      on_interpreter_(interpreter_) {}

void Search::found(Finding finding) {
  finding_ = std::move(finding);
  throw Found();
}

std::optional<Event> Search::look(const LaunchRecord& launch, const program::Program& traced,
                                  int64_t first, int64_t lanes, int64_t events, bool is_nan) {
  std::vector<uint64_t> scalars = launch.scalars;
  scalars.push_back(static_cast<uint64_t>(first));
  scalars.push_back(static_cast<uint64_t>(events));
  const auto trace_of = [&](Runner& runner) {
    auto buffers = launch.before;
    buffers.emplace_back(static_cast<size_t>(lanes * events * kEventWords) * sizeof(uint32_t));
    runner.run(traced, launch.grid, scalars, buffers);
    std::vector<uint32_t> words(buffers.back().size() / sizeof(uint32_t));
    std::memcpy(words.data(), buffers.back().data(), buffers.back().size());
    return words;
  };
  const Module& module = launch.program->optimized();
  const std::vector<uint32_t> ought = trace_of(on_interpreter_);
  if (is_nan) return first_nan(module, ought, events, first);
  return first_difference(module, trace_of(on_device_), ought, events, first, equal_);
}

// Looks at lanes near this one first: as a rule that is where the element is made.
std::optional<Event> Search::locate(const LaunchRecord& launch, int64_t near, bool is_nan) {
  const Module& module = launch.program->optimized();
  const program::Program program = traced(module);
  if (device_->refuses(program)) return {};
  const int64_t all = groups_of(launch.grid) * module.lanes();
  for (const Window& window : kWindows) {
    const int64_t lanes = std::min(window.lanes, all),
                  count = (all - 1) / std::max<int64_t>(lanes, 1) + 1;
    const int64_t home = std::clamp<int64_t>(near / std::max<int64_t>(lanes, 1), 0, count - 1);
    for (int64_t i = 0; i < std::min(count, window.windows); i++) {
      const int64_t which = i == 0 ? home : i <= home ? i - 1 : i;
      if (auto event = look(launch, program, which * lanes, lanes, window.events, is_nan))
        return event;
    }
  }
  return {};
}

Finding Search::explain(const LaunchRecord& launch, size_t buffer, int64_t element,
                        uint64_t expected, uint64_t got, bool is_nan) {
  const Module& module = launch.program->optimized();
  const program::BufferParam& parameter = module.buffers[buffer];
  Finding finding;
  finding.is_nan = is_nan;
  finding.step = module.name;
  finding.where = fmt::format("{}, element {}", parameter.name, element);
  finding.dtype = parameter.type;
  finding.expected = expected;
  finding.got = got;
  const auto event = locate(launch, element, is_nan);
  if (!event) {
    // Every value is right: what is wrong is how it comes into memory.
    finding.operation = store_to(module, buffer);
    write_launch(launch, finding);
    return finding;
  }
  const Inst& inst = module.body.insts[event->inst];
  finding.operation = event->other_way ? branch_before(module, event->inst)
                                       : std::string(program::info(inst.op).name);
  finding.where += fmt::format("; lane {}, its value {}", event->lane, event->number + 1);
  if (!event->other_way) {
    finding.dtype = module.body.values[inst.id];
    finding.expected = event->expected;
    finding.got = event->got;
    finding.operands = event->operands;
  }
  if (event->other_way || !write_one_instruction(inst, module, *event, finding))
    write_launch(launch, finding);
  if (inst.line > 0 && finding.line == 0) finding.line = static_cast<int>(inst.line);
  return finding;
}

// A program that does nothing but this instruction on these operands, if that shows it.
bool Search::write_one_instruction(const Inst& inst, const Module& module, const Event& event,
                                   Finding& finding) {
  const size_t count = program::arity(inst);
  if (!program::is_pure(inst.op) || event.operands.size() != count) return false;
  Module one;
  one.name = "bisected";
  one.index = module.index;
  std::vector<std::vector<std::byte>> buffers;
  const auto add = [&](Inst made, DType value) {
    made.id = static_cast<uint32_t>(one.body.values.size());
    one.body.values.push_back(value);
    one.body.insts.push_back(made);
    return made.id;
  };
  const auto add_buffer = [&](std::string name, DType type, Access access, uint64_t bits) {
    one.buffers.push_back({std::move(name), type, access, {{"", 1}}});
    buffers.emplace_back(size_of(type));
    std::memcpy(buffers.back().data(), &bits, size_of(type));
  };
  Inst zero;
  zero.op = Op::Const;
  zero.type = module.index;
  const uint32_t at = add(zero, module.index);
  Inst same = inst;
  same.line = 0;
  for (size_t k = 0; k < count; k++) {
    const DType type = module.body.values[inst.args[k]];
    Inst load;
    load.op = Op::Load;
    load.type = type;
    load.slot = static_cast<uint32_t>(one.buffers.size());
    load.args[0] = at;
    add_buffer(std::string(1, static_cast<char>('a' + k)), type, Access::In, event.operands[k]);
    same.args[k] = add(load, type);
  }
  const DType type = module.body.values[inst.id];
  Inst store;
  store.op = Op::Store;
  store.type = type;
  store.slot = static_cast<uint32_t>(one.buffers.size());
  add_buffer("result", type, Access::Out, 0);
  store.args = {at, add(same, type), kNone};
  one.body.insts.push_back(store);
  const auto program = program::Program::from(std::move(one));
  if (device_->refuses(program)) return false;
  auto is = buffers, ought = buffers;
  on_interpreter_.run(program, {1, 1, 1}, {}, ought);
  const uint64_t right = bits_at(type, ought.back().data(), 0);
  if (finding.is_nan) {
    if (!is_nan(type, right)) return false;
  } else {
    on_device_.run(program, {1, 1, 1}, {}, is);
    if (equal_(type, bits_at(type, is.back().data(), 0), right)) return false;
  }
  const Grid grid = {1, 1, 1};
  write(program, buffers, {}, &grid, finding);
  return true;
}

void Search::write_launch(const LaunchRecord& launch, Finding& finding) {
  write(*launch.program, launch.before, launch.scalars, &launch.grid, finding);
}

void Search::write(const program::Program& program,
                   const std::vector<std::vector<std::byte>>& buffers,
                   std::span<const uint64_t> scalars, const Grid* grid, Finding& finding) {
  const std::string text = program.optimized_text();
  // The line of the instruction in the program that is shown.
  const Module again = program::assemble(text, "<bisect>");
  for (const Inst& inst : again.body.insts)
    if (program::info(inst.op).name == finding.operation && inst.line > 0) {
      finding.line = static_cast<int>(inst.line);
      finding.source = line_of(text, finding.line);
      break;
    }
  if (options_.prefix.empty()) return;
  finding.file = options_.prefix + ".atlas";
  {
    std::ofstream file(finding.file);
    file << text;
    if (!file.flush())
      throw core::error(Text::FileNotWritable, finding.file, "the folder takes no file");
  }
  finding.command = fmt::format("hologram run {}", finding.file);
  std::map<std::string, Array> arrays;
  for (size_t i = 0; i < buffers.size(); i++) {
    const program::BufferParam& p = program.buffers()[i];
    if (p.access == Access::Out) continue;
    Shape shape;
    for (const program::Dim& dim : p.dims) {
      int64_t length = dim.length;
      for (size_t s = 0; s < scalars.size(); s++)
        if (!dim.name.empty() && program.scalars()[s].name == dim.name)
          length = static_cast<int64_t>(scalars[s]);
      shape.push_back(length);
    }
    const auto count = static_cast<int64_t>(buffers[i].size() / size_of(p.type));
    if (shape.empty() || count_of(shape) != count) shape = {count};
    Array array(p.type, shape);
    if (!buffers[i].empty()) std::memcpy(array.mutable_data(), buffers[i].data(), array.bytes());
    finding.inputs = options_.prefix + ".safetensors";
    const std::string member = finding.inputs + ":" + p.name;
    finding.command += fmt::format(" {}={}", p.name, member);
    arrays.emplace(member, std::move(array));
  }
  for (size_t s = 0; s < scalars.size(); s++)
    if (const program::ScalarParam& p = program.scalars()[s]; !p.dimension)
      finding.command += fmt::format(" {}={}", p.name, argument(p.type, scalars[s]));
  for (size_t i = 0; i < buffers.size(); i++)
    if (const program::BufferParam& p = program.buffers()[i]; p.access == Access::Out)
      finding.command += fmt::format(" --shape {}={}", p.name, buffers[i].size() / size_of(p.type));
  if (grid != nullptr)
    finding.command += fmt::format(" --grid {},{},{}", (*grid)[0], (*grid)[1], (*grid)[2]);
  if (!arrays.empty()) files::write_all(arrays);
}

std::optional<Finding> bisect_on(std::shared_ptr<hal::Device> device, const BackendConfig& config,
                                 const std::function<void(const Executor&)>& work,
                                 const BisectOptions& options) {
  BackendConfig interpreted;
  interpreted.backend_type = BackendType::Cpu;
  interpreted.jit = Jit::Off;
  interpreted.reproducible = true;
  interpreted.log_level = config.log_level;
  const auto search =
      std::make_shared<Search>(device, runtime::select(interpreted).device, options);
  BackendConfig own = config;
  own.autotuning_ms = 0;
  own.autotuning_cache_file.clear();
  const Executor executor(std::make_shared<Executor::State>(own, mirror(search), "bisect"));
  try {
    work(executor);
  } catch (...) {
    if (!search->finding()) throw;
  }
  return search->finding();
}

}  // namespace hologram::bisection

namespace hologram {

std::string Finding::text() const {
  std::string lines = fmt::format("{} {} in '{}': {}\n", operation,
                                  is_nan ? "makes a NaN" : "differs", step, where);
  if (!operands.empty()) {
    lines += "  of      ";
    for (const uint64_t bits : operands) lines += fmt::format(" {:#x}", bits);
    lines += '\n';
  }
  if (is_nan) {
    lines += fmt::format("  is       {}\n", bisection::shown(dtype, got));
  } else {
    lines += fmt::format("  ought    {}\n  is       {}\n", bisection::shown(dtype, expected),
                         bisection::shown(dtype, got));
  }
  if (line > 0)
    lines += fmt::format("  line     {}{}{}\n", line, source.empty() ? "" : ": ", source);
  if (!command.empty()) lines += fmt::format("  again    {}\n", command);
  return lines;
}

std::optional<Finding> bisect(const BackendConfig& device,
                              const std::function<void(const Executor&)>& work,
                              const BisectOptions& options) {
  return bisection::bisect_on(runtime::select(device).device, device, work, options);
}

}  // namespace hologram
