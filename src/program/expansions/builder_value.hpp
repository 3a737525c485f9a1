// The value type of value.hpp as values of an Atlas program: an expansion over it appends the
// instructions that compute the function.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "program/expansions/value.hpp"
#include "program/ir.hpp"
#include "program/typing.hpp"

namespace hologram::program::expansions {

// Where instructions go: the code of a module that is being rewritten.
class Emitter {
 public:
  // `chosen`, if given: which functions to replace.
  Emitter(Module& module, Code& code, bool (*chosen)(const Inst&) = nullptr)
      : module_(module), code_(code), chosen_(chosen) {}

  bool replaces(const Inst& function) const { return chosen_ == nullptr || chosen_(function); }

  void set_line(uint32_t line) { line_ = line; }

  // A new value of type inst.type.
  uint32_t define(Inst inst) {
    inst.id = static_cast<uint32_t>(code_.values.size());
    code_.values.push_back(inst.type);
    append(inst);
    return inst.id;
  }
  void append(Inst inst) {
    inst.line = line_;
    code_.insts.push_back(inst);
  }

  template <size_t N>
  uint32_t operation(Op op, const std::array<uint32_t, N>& operands, DType to = DType::None) {
    std::array<DType, N> types;
    Inst inst{.op = op};
    for (size_t i = 0; i < N; ++i) {
      inst.args[i] = operands[i];
      types[i] = code_.values[operands[i]];
    }
    const Typed typed = result_type(op, types, to);
    inst.type = typed.result;
    inst.from = typed.from;
    return define(inst);
  }

  uint32_t variable(uint32_t initial) {
    const auto slot = static_cast<uint32_t>(module_.variables.size());
    const DType type = code_.values[initial];
    module_.variables.push_back({unused_name("rare" + std::to_string(slot)), type});
    append({.op = Op::Var, .type = type, .slot = slot, .args = {initial, kNone, kNone}});
    return slot;
  }
  void set(uint32_t slot, uint32_t value) {
    append(
        {.op = Op::Set, .type = code_.values[value], .slot = slot, .args = {value, kNone, kNone}});
  }
  uint32_t get(uint32_t slot) {
    return define({.op = Op::Get, .type = module_.variables[slot].type, .slot = slot});
  }

 private:
  std::string unused_name(std::string name) const {
    while (std::any_of(module_.variables.begin(), module_.variables.end(),
                       [&](const Variable& v) { return v.name == name; }))
      name += "_";
    return name;
  }

  Module& module_;
  Code& code_;
  bool (*chosen_)(const Inst&);
  uint32_t line_ = 0;
};

enum class Role { Float, Int, UInt, Bool };

template <int w, Role role>
struct BuilderValue {
  static constexpr int width = w;
  static constexpr bool is32 = w == 32;
  static constexpr DType type = role == Role::Float  ? (is32 ? DType::F32 : DType::F64)
                                : role == Role::Int  ? (is32 ? DType::I32 : DType::I64)
                                : role == Role::UInt ? (is32 ? DType::U32 : DType::U64)
                                                     : DType::Bool;
  using Float = BuilderValue<w, Role::Float>;
  using Int = BuilderValue<w, Role::Int>;
  using UInt = BuilderValue<w, Role::UInt>;
  using Bool = BuilderValue<w, Role::Bool>;

  Emitter* emitter;
  uint32_t id;

  template <class To>
  To constant(uint64_t bits) const {
    return {emitter, emitter->define({.op = Op::Const, .type = To::type, .imm = bits})};
  }
  Float lit(double c) const { return constant<Float>(bits_of(Float::type, c)); }
  Int int_lit(int64_t c) const { return constant<Int>(bits_of(Int::type, c)); }
  UInt uint_lit(uint64_t c) const { return constant<UInt>(c); }
};

// The instruction `op` on these values, its result seen as To.
template <class To, class... T>
To emit(Op op, T... operands) {
  Emitter* emitter = std::get<0>(std::tie(operands...)).emitter;
  const bool typed = op == Op::Cast || op == Op::Bitcast;
  return {emitter, emitter->operation(op, std::array<uint32_t, sizeof...(T)>{operands.id...},
                                      typed ? To::type : DType::None)};
}

// clang-format off
template <int w, Role r> auto operator+(BuilderValue<w, r> a, BuilderValue<w, r> b) { return emit<decltype(a)>(Op::Add, a, b); }
template <int w, Role r> auto operator-(BuilderValue<w, r> a, BuilderValue<w, r> b) { return emit<decltype(a)>(Op::Sub, a, b); }
template <int w, Role r> auto operator*(BuilderValue<w, r> a, BuilderValue<w, r> b) { return emit<decltype(a)>(Op::Mul, a, b); }
template <int w, Role r> auto operator/(BuilderValue<w, r> a, BuilderValue<w, r> b) { return emit<decltype(a)>(Op::Div, a, b); }
template <int w, Role r> auto operator&(BuilderValue<w, r> a, BuilderValue<w, r> b) { return emit<decltype(a)>(Op::And, a, b); }
template <int w, Role r> auto operator|(BuilderValue<w, r> a, BuilderValue<w, r> b) { return emit<decltype(a)>(Op::Or, a, b); }
template <int w, Role r> auto operator^(BuilderValue<w, r> a, BuilderValue<w, r> b) { return emit<decltype(a)>(Op::Xor, a, b); }
template <int w, Role r> auto operator-(BuilderValue<w, r> a) { return emit<decltype(a)>(Op::Neg, a); }
template <int w, Role r> auto operator!(BuilderValue<w, r> a) { return emit<decltype(a)>(Op::Not, a); }

template <int w, Role r> auto operator<(BuilderValue<w, r> a, BuilderValue<w, r> b) { return emit<typename decltype(a)::Bool>(Op::Lt, a, b); }
template <int w, Role r> auto operator>(BuilderValue<w, r> a, BuilderValue<w, r> b) { return emit<typename decltype(a)::Bool>(Op::Gt, a, b); }
template <int w, Role r> auto operator<=(BuilderValue<w, r> a, BuilderValue<w, r> b) { return emit<typename decltype(a)::Bool>(Op::Le, a, b); }
template <int w, Role r> auto operator>=(BuilderValue<w, r> a, BuilderValue<w, r> b) { return emit<typename decltype(a)::Bool>(Op::Ge, a, b); }
template <int w, Role r> auto operator==(BuilderValue<w, r> a, BuilderValue<w, r> b) { return emit<typename decltype(a)::Bool>(Op::Eq, a, b); }
template <int w, Role r> auto operator!=(BuilderValue<w, r> a, BuilderValue<w, r> b) { return emit<typename decltype(a)::Bool>(Op::Ne, a, b); }

template <int w> using BuilderFloat = BuilderValue<w, Role::Float>;
template <int w> using BuilderInt = BuilderValue<w, Role::Int>;
template <int w> using BuilderUInt = BuilderValue<w, Role::UInt>;
template <int w> using BuilderBool = BuilderValue<w, Role::Bool>;

template <int w> auto fma(BuilderFloat<w> a, BuilderFloat<w> b, BuilderFloat<w> c) { return emit<BuilderFloat<w>>(Op::Fma, a, b, c); }
template <int w> auto sqrt(BuilderFloat<w> a) { return emit<BuilderFloat<w>>(Op::Sqrt, a); }
template <int w> auto abs(BuilderFloat<w> a) { return emit<BuilderFloat<w>>(Op::Abs, a); }
template <int w> auto trunc(BuilderFloat<w> a) { return emit<BuilderFloat<w>>(Op::Trunc, a); }
template <int w> auto round(BuilderFloat<w> a) { return emit<BuilderFloat<w>>(Op::Round, a); }
template <int w> auto bits(BuilderFloat<w> a) { return emit<BuilderUInt<w>>(Op::Bitcast, a); }
template <int w> auto from_bits(BuilderUInt<w> a) { return emit<BuilderFloat<w>>(Op::Bitcast, a); }
template <int w> auto as_int(BuilderUInt<w> a) { return emit<BuilderInt<w>>(Op::Bitcast, a); }
template <int w> auto as_uint(BuilderInt<w> a) { return emit<BuilderUInt<w>>(Op::Bitcast, a); }
template <int w> auto mulhi(BuilderUInt<w> a, BuilderUInt<w> b) { return emit<BuilderUInt<w>>(Op::MulHi, a, b); }
template <int w> auto to_float(BuilderInt<w> a) { return emit<BuilderFloat<w>>(Op::Cast, a); }
// clang-format on

// As in the vector instantiation: a cast would have to saturate, which no caller needs.
template <int w>
BuilderInt<w> to_int(BuilderFloat<w> a) {
  const auto anchor = a.lit(w == 32 ? 0x1.8p23 : 0x1.8p52);
  return as_int(bits(a + anchor) - bits(anchor));
}

template <int n, int w, Role r>
BuilderValue<w, r> shift_left(BuilderValue<w, r> a) {
  return emit<BuilderValue<w, r>>(Op::Shl, a, BuilderUInt<32>{a.emitter, a.id}.uint_lit(n));
}
template <int n, int w, Role r>
BuilderValue<w, r> shift_right(BuilderValue<w, r> a) {
  return emit<BuilderValue<w, r>>(Op::Shr, a, BuilderUInt<32>{a.emitter, a.id}.uint_lit(n));
}

// A count has 32 bits.
template <int w>
BuilderUInt<32> shift_count(BuilderUInt<w> n) {
  if constexpr (w == 32) return n;
  else return emit<BuilderUInt<32>>(Op::Cast, n);
}
template <int w>
BuilderUInt<w> shift_left(BuilderUInt<w> a, BuilderUInt<w> n) {
  return emit<BuilderUInt<w>>(Op::Shl, a, shift_count(n));
}
template <int w>
BuilderUInt<w> shift_right(BuilderUInt<w> a, BuilderUInt<w> n) {
  return emit<BuilderUInt<w>>(Op::Shr, a, shift_count(n));
}

template <int w, Role r>
BuilderValue<w, r> select(BuilderBool<w> c, BuilderValue<w, r> a, BuilderValue<w, r> b) {
  return emit<BuilderValue<w, r>>(Op::Select, c, a, b);
}

// Variables that `fn` sets in a branch of its own.
template <int w, class... T, class Fn>
std::tuple<T...> rare(BuilderBool<w> c, const std::tuple<T...>& common, Fn fn) {
  Emitter& e = *c.emitter;
  return [&]<size_t... I>(std::index_sequence<I...>) {
    const std::array<uint32_t, sizeof...(T)> slots = {e.variable(std::get<I>(common).id)...};
    e.append({.op = Op::If, .args = {c.id, kNone, kNone}});
    const std::tuple<T...> values = fn();
    (e.set(slots[I], std::get<I>(values).id), ...);
    e.append({.op = Op::End});
    return std::tuple<T...>{T{&e, e.get(slots[I])}...};
  }
  (std::index_sequence_for<T...>());
}
template <int w, Role r, class Fn>
BuilderValue<w, r> rare(BuilderBool<w> c, BuilderValue<w, r> common, Fn fn) {
  return std::get<0>(rare(c, std::tuple(common), [&] { return std::tuple(fn()); }));
}

}  // namespace hologram::program::expansions
