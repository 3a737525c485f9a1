// Writing Atlas programs in C++.
//
//   program::Builder b("saxpy", {256});
//   auto x = b.buffer("x", DType::F32, Access::In);
//   auto y = b.buffer("y", DType::F32, Access::InOut);
//   auto a = b.scalar("a", DType::F32);
//   auto i = b.global_id(0);
//   b.if_(i < b.length(y), [&] { b.store(y, i, fma(a, b.load(x, i), b.load(y, i))); });
//   Program saxpy = b.finish();
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>

#include "hologram/op.hpp"
#include "hologram/program.hpp"

namespace hologram::program {

class Builder;
struct Inst;

// A value of the program being built. Numbers mix with values and take their type.
class Value {
 public:
  Value() = default;
  DType type() const;
  Builder* builder() const { return builder_; }
  uint32_t id() const { return id_; }

 private:
  friend class Builder;
  Value(Builder* builder, uint32_t id, bool host) : builder_(builder), id_(id), host_(host) {}
  Builder* builder_ = nullptr;
  uint32_t id_ = UINT32_MAX;
  bool host_ = false;  // of host code
};

struct Buf {
  uint32_t id;
};
struct Shared {
  uint32_t id;
};
struct Var {
  uint32_t id;
};

class HOLOGRAM_API Builder {
 public:
  // `workgroup`: lanes along x, y, z (missing ones are 1); their product is 1..1024.
  // `index`: the type of ids, lengths and dimensions, i32 or i64.
  explicit Builder(std::string name, std::initializer_list<uint32_t> workgroup = {256},
                   DType index = DType::I32);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // Parameters, in the order of declaration. Dimensions are scalars by their name.
  Buf buffer(std::string name, DType type, Access access, std::vector<Dim> dims = {});
  Value scalar(std::string name, DType type, std::optional<double> otherwise = {});
  Value scalar_with_bits(std::string name, DType type, std::optional<uint64_t> otherwise);
  Value dimension(std::string_view name);

  // Host clauses: a condition and the number of lanes along each axis, of scalars and lengths only.
  // Between begin_host and end_host every value is host code: values from outside are refused
  // there, and its own outside. dimension() gives any scalar anew.
  void begin_host();
  void require(Value condition, std::string text);
  void lanes(int axis, Value count);
  void end_host();

  Value lane_id(int axis);
  Value group_id(int axis);
  Value global_id(int axis);
  Value group_count(int axis);
  Value length(Buf buffer);

  // A number of the given type; NaN and infinities are fine for floats. InvalidProgram if an
  // integer type cannot hold it.
  Value constant(DType type, double value);
  Value constant(DType type, int64_t value);
  Value constant_bits(DType type, uint64_t bits);

  // Any pure instruction; `to` is the result type of cast and bitcast.
  Value emit(Op op, std::initializer_list<Value> args, DType to = DType::None);
  Value cast(Value value, DType to);
  Value bitcast(Value value, DType to);

  Value load(Buf buffer, Value index);
  void store(Buf buffer, Value index, Value value);
  Value atomic(Combine combine, Buf buffer, Value index, Value value);

  Shared shared(std::string name, DType type, uint32_t count, bool atomic = false);
  Value load(Shared array, Value index);
  void store(Shared array, Value index, Value value);
  Value atomic(Combine combine, Shared array, Value index, Value value);

  // Names are for readers: finish gives variables of one name different ones.
  Var var(Value initial, std::string name = {});
  Value get(Var variable);
  void set(Var variable, Value value);

  using Block = std::function<void()>;
  void if_(Value condition, const Block& then, const Block& otherwise = {});
  // begin, begin + step, … below end. `step` is a positive number.
  void for_(Value begin, Value end, uint64_t step, const std::function<void(Value)>& body);
  void while_(const std::function<Value()>& condition, const Block& body);
  void loop(const Block& body);
  void break_();
  void continue_();
  void return_();

  void barrier();
  Value group_reduce(Combine combine, Value value);
  Value group_scan(Combine combine, Value value);  // inclusive
  Value group_uniform(Value value);                // that of lane 0, in every lane

  DType type_of(Value value) const;
  DType index_type() const;
  size_t instruction_count() const;
  void set_line(uint32_t line);  // of a source text, for messages

  // Verifies, proves, optimises. The builder is empty afterwards.
  Program finish();
  Module finish_unverified();

 private:
  struct State;
  Value push(Inst inst);
  void push_statement(Inst inst, std::initializer_list<Value> args);
  void set_args(Inst& inst, std::initializer_list<Value> args) const;
  Value scalar_value(uint32_t index);
  Value id_value(Op op, int axis);
  Value group(Op op, uint8_t combine, Value value);

  std::unique_ptr<State> state_;
};

// An operand: a value, or a number that takes the type of the value beside it.
class Operand {
 public:
  Operand(Value value) : value_(value) {}
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T number)
      : real_(static_cast<double>(number)), whole_(std::is_integral_v<T>) {
    if constexpr (std::is_integral_v<T>) integer_ = static_cast<int64_t>(number);
  }
  // The value, or the number as a constant of the type of `like`.
  HOLOGRAM_API Value as(Value like) const;
  bool is_value() const { return value_.builder() != nullptr; }
  Value value() const { return value_; }

 private:
  Value value_;
  double real_ = 0;
  int64_t integer_ = 0;
  bool whole_ = false;
};

HOLOGRAM_API Value apply(Op op, std::initializer_list<Operand> operands);

template <class A, class B>
concept ValueAndNumber = (std::is_same_v<A, Value> &&
                          (std::is_same_v<B, Value> || std::is_arithmetic_v<B>)) ||
                         (std::is_arithmetic_v<A> && std::is_same_v<B, Value>);

// clang-format off
template <class A, class B> requires ValueAndNumber<A, B> Value operator+(A a, B b) { return apply(Op::Add, {a, b}); }
template <class A, class B> requires ValueAndNumber<A, B> Value operator-(A a, B b) { return apply(Op::Sub, {a, b}); }
template <class A, class B> requires ValueAndNumber<A, B> Value operator*(A a, B b) { return apply(Op::Mul, {a, b}); }
template <class A, class B> requires ValueAndNumber<A, B> Value operator/(A a, B b) { return apply(Op::Div, {a, b}); }
template <class A, class B> requires ValueAndNumber<A, B> Value operator%(A a, B b) { return apply(Op::Rem, {a, b}); }
template <class A, class B> requires ValueAndNumber<A, B> Value operator&(A a, B b) { return apply(Op::And, {a, b}); }
template <class A, class B> requires ValueAndNumber<A, B> Value operator|(A a, B b) { return apply(Op::Or, {a, b}); }
template <class A, class B> requires ValueAndNumber<A, B> Value operator^(A a, B b) { return apply(Op::Xor, {a, b}); }
template <class A, class B> requires ValueAndNumber<A, B> Value operator<<(A a, B b) { return apply(Op::Shl, {a, b}); }
template <class A, class B> requires ValueAndNumber<A, B> Value operator>>(A a, B b) { return apply(Op::Shr, {a, b}); }
template <class A, class B> requires ValueAndNumber<A, B> Value operator==(A a, B b) { return apply(Op::Eq, {a, b}); }
template <class A, class B> requires ValueAndNumber<A, B> Value operator!=(A a, B b) { return apply(Op::Ne, {a, b}); }
template <class A, class B> requires ValueAndNumber<A, B> Value operator<(A a, B b) { return apply(Op::Lt, {a, b}); }
template <class A, class B> requires ValueAndNumber<A, B> Value operator<=(A a, B b) { return apply(Op::Le, {a, b}); }
template <class A, class B> requires ValueAndNumber<A, B> Value operator>(A a, B b) { return apply(Op::Gt, {a, b}); }
template <class A, class B> requires ValueAndNumber<A, B> Value operator>=(A a, B b) { return apply(Op::Ge, {a, b}); }
inline Value operator-(Value a) { return apply(Op::Neg, {a}); }
inline Value operator!(Value a) { return apply(Op::Not, {a}); }
inline Value operator~(Value a) { return apply(Op::Not, {a}); }
inline Value fma(Operand a, Operand b, Operand c) { return apply(Op::Fma, {a, b, c}); }
inline Value min(Operand a, Operand b) { return apply(Op::Min, {a, b}); }
inline Value max(Operand a, Operand b) { return apply(Op::Max, {a, b}); }
inline Value select(Value condition, Operand a, Operand b) { return apply(Op::Select, {condition, a, b}); }
// clang-format on

}  // namespace hologram::program
