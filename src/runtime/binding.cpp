#include "runtime/binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/messages.hpp"
#include "core/nearest.hpp"

namespace hologram::runtime {
namespace {

using core::Text;
using program::Access;
using program::BufferParam;
using program::Dim;
using program::Inst;
using program::kNone;
using program::Module;
using program::Op;
using program::Program;
using program::ScalarParam;

std::string declared(const BufferParam& p) {
  std::string text = fmt::format("{}[", name_of(p.type));
  for (size_t i = 0; i < p.dims.size(); i++) {
    if (i > 0) text += ", ";
    text += p.dims[i].name.empty() ? std::to_string(p.dims[i].length) : p.dims[i].name;
  }
  return text + "]";
}

std::string parameter_list(const Program& program) {
  std::string text;
  for (const BufferParam& p : program.buffers())
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", p.name, declared(p));
  for (const ScalarParam& p : program.scalars())
    if (!p.dimension)
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", p.name, name_of(p.type));
  return text.empty() ? "nothing" : text;
}

uint64_t scalar_bits(const Program& program, const ScalarParam& p, const Number& n) {
  const auto refuse = [&](auto shown) {
    return core::error(Text::ScalarRange, program.name(), p.name, shown, name_of(p.type));
  };
  // An integer is rounded once, not by way of f64.
  const auto whole_as_f32 = [&] {
    return n.exceeds_int64 ? static_cast<float>(static_cast<uint64_t>(n.integer))
                           : static_cast<float>(n.integer);
  };
  if (p.type == DType::F32)
    return std::bit_cast<uint32_t>(n.is_integer ? whole_as_f32() : static_cast<float>(n.real));
  if (p.type == DType::F64) return std::bit_cast<uint64_t>(n.real);
  if (!n.is_integer && (n.real != std::trunc(n.real) || std::abs(n.real) >= 0x1p53))
    throw refuse(n.real);
  if (n.exceeds_int64) {
    if (p.type != DType::U64) throw refuse(static_cast<uint64_t>(n.integer));
    return static_cast<uint64_t>(n.integer);
  }
  const int64_t v = n.is_integer ? n.integer : static_cast<int64_t>(n.real);
  const auto within = [&](int64_t low, int64_t high, uint64_t mask) {
    if (v < low || v > high) throw refuse(v);
    return static_cast<uint64_t>(v) & mask;
  };
  switch (p.type) {
    case DType::Bool: return within(0, 1, 1);
    case DType::I32: return within(INT32_MIN, INT32_MAX, UINT32_MAX);
    case DType::U32: return within(0, UINT32_MAX, UINT32_MAX);
    case DType::U64: return within(0, INT64_MAX, UINT64_MAX);
    default: return static_cast<uint64_t>(v);
  }
}

class Binder {
 public:
  Binder(const Program& program, const std::vector<Argument>& arguments, const RunOptions& options)
      : program_(program),
        module_(program.source()),
        arguments_(arguments),
        options_(options),
        scalar_known_(program.scalars().size(), false),
        scalar_source_(program.scalars().size()) {
    bound_.arrays.resize(program.buffers().size());
    bound_.shapes.resize(program.buffers().size());
    bound_.missing.assign(program.buffers().size(), true);
    bound_.scalars.assign(program.scalars().size(), 0);
  }

  BoundProgram run() {
    match();
    bind_dimensions();
    fill_scalars();
    size_outputs();
    run_host_code();
    choose_grid();
    return std::move(bound_);
  }

 private:
  std::string_view name() const { return program_.name(); }

  void match() {
    std::vector<std::string_view> seen;
    for (const Argument& a : arguments_) {
      if (std::find(seen.begin(), seen.end(), a.name) != seen.end())
        throw core::error(Text::DuplicateArgument, name(), a.name);
      seen.push_back(a.name);
      if (!match_buffer(a) && !match_scalar(a)) refuse_unknown(a.name);
    }
    for (size_t i = 0; i < program_.buffers().size(); i++) {
      const BufferParam& p = program_.buffers()[i];
      if (bound_.missing[i] && (p.access == Access::In || p.access == Access::InOut))
        throw core::error(Text::MissingArgument, name(), p.name, parameter_list(program_));
    }
  }

  bool match_buffer(const Argument& a) {
    const auto params = program_.buffers();
    for (size_t i = 0; i < params.size(); i++) {
      if (params[i].name != a.name) continue;
      const Array* array = std::get_if<Array>(&a.value);
      if (array == nullptr) throw core::error(Text::ArgumentNotBuffer, name(), a.name);
      if (array->dtype() != params[i].type)
        throw core::error(Text::ArgumentDType, name(), a.name, name_of(params[i].type),
                          name_of(array->dtype()));
      if (params[i].access != Access::In && !array->writable() && array->size() > 0)
        throw core::error(Text::ArgumentReadOnly, name(), a.name);
      bound_.arrays[i] = *array;
      bound_.shapes[i] = array->shape();
      bound_.missing[i] = false;
      return true;
    }
    return false;
  }

  bool match_scalar(const Argument& a) {
    const auto params = program_.scalars();
    for (size_t i = 0; i < params.size(); i++) {
      if (params[i].name != a.name) continue;
      const Number* number = std::get_if<Number>(&a.value);
      if (number == nullptr) throw core::error(Text::ArgumentNotScalar, name(), a.name);
      bound_.scalars[i] = scalar_bits(program_, params[i], *number);
      scalar_known_[i] = true;
      scalar_source_[i] = a.name;
      return true;
    }
    return false;
  }

  [[noreturn]] void refuse_unknown(const std::string& wrong) const {
    std::vector<std::string_view> names;
    for (const auto& p : program_.buffers()) names.emplace_back(p.name);
    for (const auto& p : program_.scalars()) names.emplace_back(p.name);
    const auto near = core::nearest(wrong, names);
    throw core::error(Text::UnknownArgument, name(), wrong, parameter_list(program_),
                      near.empty() ? std::string() : fmt::format(" Did you mean {}?", near));
  }

  size_t scalar_index(const std::string& wanted) const {
    const auto params = program_.scalars();
    for (size_t i = 0; i < params.size(); i++)
      if (params[i].name == wanted) return i;
    throw core::error(Text::InternalError, fmt::format("no dimension {}", wanted));
  }

  void bind_dimensions() {
    for (size_t i = 0; i < program_.buffers().size(); i++) {
      const BufferParam& p = program_.buffers()[i];
      if (bound_.missing[i]) {
        const auto given = options_.shapes.find(p.name);
        if (given == options_.shapes.end()) continue;
        bound_.shapes[i] = given->second;
        count_of(given->second);
      }
      if (p.dims.empty()) continue;
      const Shape& shape = bound_.shapes[i];
      bool fits = shape.size() == p.dims.size();
      for (size_t k = 0; fits && k < shape.size(); k++)
        fits = !p.dims[k].name.empty() || p.dims[k].length == shape[k];
      if (!fits)
        throw core::error(Text::ArgumentRank, name(), p.name, declared(p), to_string(shape));
      for (size_t k = 0; k < shape.size(); k++)
        if (!p.dims[k].name.empty()) bind_dimension(p.dims[k].name, shape[k], p.name);
    }
  }

  void bind_dimension(const std::string& dim, int64_t length, const std::string& source) {
    const size_t s = scalar_index(dim);
    if (module_.index == DType::I32 && length > INT32_MAX)
      throw core::error(Text::BufferTooLong, name(), source, length, name_of(module_.index));
    const uint64_t bits = static_cast<uint64_t>(length);
    if (scalar_known_[s] && bound_.scalars[s] != bits)
      throw core::error(Text::DimensionMismatch, name(), dim, bound_.scalars[s], scalar_source_[s],
                        length, source);
    bound_.scalars[s] = bits;
    scalar_known_[s] = true;
    scalar_source_[s] = source;
  }

  void fill_scalars() {
    for (size_t i = 0; i < program_.scalars().size(); i++) {
      const ScalarParam& p = program_.scalars()[i];
      if (scalar_known_[i] || p.dimension) continue;
      if (!p.otherwise)
        throw core::error(Text::MissingArgument, name(), p.name, parameter_list(program_));
      bound_.scalars[i] = *p.otherwise;
    }
  }

  void size_outputs() {
    for (size_t i = 0; i < program_.buffers().size(); i++) {
      const BufferParam& p = program_.buffers()[i];
      if (bound_.missing[i] && !options_.shapes.contains(p.name)) {
        if (p.dims.empty()) throw core::error(Text::UnsizedOutput, name(), p.name);
        for (const Dim& dim : p.dims) {
          int64_t length = dim.length;
          if (!dim.name.empty()) {
            const size_t s = scalar_index(dim.name);
            if (!scalar_known_[s])
              throw core::error(Text::UnknownDimension, name(), p.name, dim.name);
            length = module_.index == DType::I32
                         ? static_cast<int32_t>(static_cast<uint32_t>(bound_.scalars[s]))
                         : static_cast<int64_t>(bound_.scalars[s]);
          }
          bound_.shapes[i].push_back(length);
        }
      }
      const int64_t count = count_of(bound_.shapes[i]);
      if (module_.index == DType::I32 && count > INT32_MAX)
        throw core::error(Text::BufferTooLong, name(), p.name, count, name_of(module_.index));
      bound_.lengths.push_back(static_cast<uint64_t>(count));
    }
    // A dimension that nothing gave belongs to no buffer that exists.
    for (size_t i = 0; i < program_.scalars().size(); i++)
      if (program_.scalars()[i].dimension && !scalar_known_[i])
        throw core::error(Text::MissingArgument, name(), program_.scalars()[i].name,
                          parameter_list(program_));
  }

  void run_host_code() {
    bound_.lanes = {0, 0, 0};
    const auto values = program::evaluate_host(module_, bound_.scalars, bound_.lengths);
    for (const Inst& inst : module_.host.insts) {
      if (inst.op == Op::Require && values[inst.args[0]] == 0)
        throw core::error(Text::RequireFailed, name(), module_.require_texts[inst.slot],
                          leaves(inst.args[0]));
      if (inst.op == Op::Lanes) bound_.lanes[inst.aux] = positive(values[inst.args[0]]);
    }
  }

  // A negative count of lanes is none.
  uint64_t positive(uint64_t bits) const {
    const int64_t v = module_.index == DType::I32
                          ? static_cast<int32_t>(static_cast<uint32_t>(bits))
                          : static_cast<int64_t>(bits);
    said_none_ = said_none_ || v <= 0;
    return v > 0 ? static_cast<uint64_t>(v) : 0;
  }

  // "len(y) = 5, n = 4": what a host value was computed from.
  std::string leaves(uint32_t value) const {
    const auto& insts = module_.host.insts;
    std::vector<bool> needed(module_.host.values.size(), false);
    needed[value] = true;
    for (size_t i = insts.size(); i-- > 0;) {
      if (insts[i].id == kNone || !needed[insts[i].id]) continue;
      for (const uint32_t arg : insts[i].args)
        if (arg != kNone) needed[arg] = true;
    }

    std::vector<std::string> parts;
    for (const Inst& inst : insts) {
      if (inst.id == kNone || !needed[inst.id]) continue;
      std::string part;
      if (inst.op == Op::Length)
        part =
            fmt::format("len({}) = {}", module_.buffers[inst.slot].name, bound_.lengths[inst.slot]);
      if (inst.op == Op::Scalar)
        part = fmt::format("{} = {}", module_.scalars[inst.slot].name, show_scalar(inst.slot));
      if (!part.empty() && std::find(parts.begin(), parts.end(), part) == parts.end())
        parts.push_back(std::move(part));
    }
    return parts.empty() ? "it is false for every argument"
                         : fmt::format("{}", fmt::join(parts, ", "));
  }

  std::string show_scalar(uint32_t slot) const {
    const uint64_t bits = bound_.scalars[slot];
    switch (module_.scalars[slot].type) {
      case DType::F32: return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
      case DType::F64: return fmt::format("{}", std::bit_cast<double>(bits));
      case DType::I32: return std::to_string(static_cast<int32_t>(static_cast<uint32_t>(bits)));
      case DType::I64: return std::to_string(static_cast<int64_t>(bits));
      case DType::Bool: return bits ? "true" : "false";
      default: return std::to_string(bits);
    }
  }

  void choose_grid() {
    const auto& size = module_.workgroup;
    if (options_.grid) {
      bound_.grid = *options_.grid;
    } else {
      if (bound_.lanes == std::array<uint64_t, 3>{0, 0, 0} && !said_none_) derive_lanes();
      for (size_t axis = 0; axis < 3; axis++) {
        // An axis that the program does not mention has one lane.
        const uint64_t lanes =
            said_none_ ? bound_.lanes[axis] : std::max<uint64_t>(1, bound_.lanes[axis]);
        bound_.grid[axis] = (lanes + size[axis] - 1) / size[axis];
      }
    }
    const auto most = static_cast<uint64_t>(module_.index == DType::I32 ? INT32_MAX : INT64_MAX);
    for (size_t axis = 0; axis < 3; axis++)
      if (bound_.grid[axis] > most / size[axis])
        throw core::error(Text::GridTooLarge, name(),
                          fmt::format("{} x {}", bound_.grid[axis], size[axis]),
                          name_of(module_.index));
    constexpr unsigned __int128 kMostGroups = uint64_t{1} << 62;
    const unsigned __int128 plane = static_cast<unsigned __int128>(bound_.grid[0]) * bound_.grid[1];
    if (plane > kMostGroups || plane * bound_.grid[2] > kMostGroups)
      throw core::error(Text::GridTooLarge, name(), "2^62 workgroups or more", "a device");
  }

  // One lane for each element of the first buffer that is written.
  void derive_lanes() {
    const bool one_axis = module_.workgroup[1] == 1 && module_.workgroup[2] == 1;
    for (size_t i = 0; one_axis && i < program_.buffers().size(); i++) {
      if (program_.buffers()[i].access == Access::In) continue;
      bound_.lanes[0] = bound_.lengths[i];
      said_none_ = bound_.lengths[i] == 0;
      return;
    }
    throw core::error(Text::GridUnknown, name());
  }

  const Program& program_;
  const Module& module_;
  const std::vector<Argument>& arguments_;
  const RunOptions& options_;
  std::vector<bool> scalar_known_;
  std::vector<std::string> scalar_source_;
  mutable bool said_none_ = false;
  BoundProgram bound_;
};

}  // namespace

BoundProgram bind(const Program& program, const std::vector<Argument>& arguments,
                  const RunOptions& options) {
  return Binder(program, arguments, options).run();
}

void refuse_overlaps(const Program& program, const std::vector<Array>& arrays) {
  const auto params = program.buffers();
  for (size_t i = 0; i < arrays.size(); i++)
    for (size_t j = i + 1; j < arrays.size(); j++) {
      if (params[i].access == Access::In && params[j].access == Access::In) continue;
      const std::byte *a = arrays[i].data(), *b = arrays[j].data();
      if (a < b + arrays[j].bytes() && b < a + arrays[i].bytes())
        throw core::error(Text::OverlappingBindings, program.name(), params[i].name,
                          params[j].name);
    }
}

}  // namespace hologram::runtime
