#include "hologram/builder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "core/messages.hpp"
#include "program/ir.hpp"
#include "program/text/lexer.hpp"
#include "program/typing.hpp"

namespace hologram::program {

using core::Text;

struct Builder::State {
  Module module;
  bool in_host = false;
  uint32_t line = 0;

  Code& code() { return in_host ? module.host : module.body; }
};

namespace {

uint32_t number_of(size_t n) { return static_cast<uint32_t>(n); }

uint32_t define(Code& code, Inst inst) {
  inst.id = number_of(code.values.size());
  code.values.push_back(inst.type);
  code.insts.push_back(inst);
  return inst.id;
}

// Gives each variable a name that nothing else in the program has, so that its text can be read.
void name_variables(Module& module) {
  std::unordered_set<std::string> used;
  std::unordered_map<std::string, uint32_t> next;
  for (const auto& buffer : module.buffers) used.insert(buffer.name);
  for (const auto& scalar : module.scalars) used.insert(scalar.name);
  for (const auto& array : module.shared) used.insert(array.name);
  for (Variable& variable : module.variables) {
    const std::string base = is_identifier(variable.name) ? variable.name : "v";
    variable.name = base;
    while (!used.insert(variable.name).second) {
      uint32_t& n = next.try_emplace(base, 1).first->second;
      variable.name = base.substr(0, kMaxNameLength - 12) + "_" + std::to_string(++n);
    }
  }
}

}  // namespace

DType Value::type() const { return builder_->type_of(*this); }

Value Operand::as(Value like) const {
  if (is_value()) return value_;
  Builder& b = *like.builder();
  return whole_ ? b.constant(like.type(), integer_) : b.constant(like.type(), real_);
}

Value apply(Op op, std::initializer_list<Operand> operands) {
  // A number takes the type of the last value among the operands: of the first two of fma, of the
  // branches of select rather than of its condition.
  Value like;
  for (const Operand& operand : operands)
    if (operand.is_value()) like = operand.value();
  if (like.builder() == nullptr) throw core::error(Text::NoValue, info(op).name);
  std::array<Value, 3> values;
  size_t n = 0;
  for (const Operand& operand : operands) values[n++] = operand.as(like);
  Builder& b = *like.builder();
  return n == 1   ? b.emit(op, {values[0]})
         : n == 2 ? b.emit(op, {values[0], values[1]})
                  : b.emit(op, {values[0], values[1], values[2]});
}

Builder::Builder(std::string name, std::initializer_list<uint32_t> workgroup, DType index)
    : state_(std::make_unique<State>()) {
  Module& m = state_->module;
  m.name = std::move(name);
  m.index = index;
  std::copy_n(workgroup.begin(), std::min<size_t>(3, workgroup.size()), m.workgroup.begin());
}

Builder::~Builder() = default;

Buf Builder::buffer(std::string name, DType type, Access access, std::vector<Dim> dims) {
  Module& m = state_->module;
  for (const Dim& dim : dims) {
    if (dim.name.empty()) continue;
    const auto known = std::find_if(m.scalars.begin(), m.scalars.end(),
                                    [&](const auto& s) { return s.name == dim.name; });
    if (known == m.scalars.end()) m.scalars.push_back({dim.name, m.index, true, {}});
    else if (!known->dimension) throw core::error(Text::AtlasDimensionScalar, dim.name);
  }
  m.buffers.push_back({std::move(name), type, access, std::move(dims)});
  return {number_of(m.buffers.size() - 1)};
}

Value Builder::scalar(std::string name, DType type, std::optional<double> otherwise) {
  std::optional<uint64_t> bits;
  if (otherwise) bits = bits_of(type, *otherwise);
  return scalar_with_bits(std::move(name), type, bits);
}

Value Builder::scalar_with_bits(std::string name, DType type, std::optional<uint64_t> otherwise) {
  Module& m = state_->module;
  m.scalars.push_back({std::move(name), type, false, otherwise});
  return scalar_value(number_of(m.scalars.size() - 1));
}

Value Builder::scalar_value(uint32_t index) {
  Inst inst{.op = Op::Scalar, .type = state_->module.scalars.at(index).type, .slot = index};
  return push(inst);
}

Value Builder::dimension(std::string_view name) {
  const auto& scalars = state_->module.scalars;
  for (size_t i = 0; i < scalars.size(); i++)
    if (scalars[i].name == name) return scalar_value(number_of(i));
  throw core::error(Text::NoDimension, state_->module.name, name);
}

void Builder::begin_host() { state_->in_host = true; }
void Builder::end_host() { state_->in_host = false; }

void Builder::require(Value condition, std::string text) {
  Module& m = state_->module;
  m.require_texts.push_back(std::move(text));
  push_statement({.op = Op::Require, .slot = number_of(m.require_texts.size() - 1)}, {condition});
}

void Builder::lanes(int axis, Value count) {
  push_statement({.op = Op::Lanes, .type = index_type(), .aux = static_cast<uint8_t>(axis)},
                 {count});
}

Value Builder::id_value(Op op, int axis) {
  return push({.op = op, .type = index_type(), .aux = static_cast<uint8_t>(axis)});
}
Value Builder::lane_id(int axis) { return id_value(Op::LaneId, axis); }
Value Builder::group_id(int axis) { return id_value(Op::GroupId, axis); }
Value Builder::global_id(int axis) { return id_value(Op::GlobalId, axis); }
Value Builder::group_count(int axis) { return id_value(Op::GroupCount, axis); }

Value Builder::length(Buf buffer) {
  return push({.op = Op::Length, .type = index_type(), .slot = buffer.id});
}

Value Builder::constant(DType type, double value) {
  return constant_bits(type, bits_of(type, value));
}
Value Builder::constant(DType type, int64_t value) {
  return constant_bits(type, bits_of(type, value));
}
Value Builder::constant_bits(DType type, uint64_t bits) {
  return push({.op = Op::Const, .type = type, .imm = bits});
}

Value Builder::emit(Op op, std::initializer_list<Value> args, DType to) {
  std::array<DType, 3> types = {};
  size_t n = 0;
  for (const Value v : args) {
    if (n == types.size()) throw core::error(Text::OperandCount, info(op).name, args.size());
    types[n++] = type_of(v);
  }
  const Typed typed = result_type(op, {types.data(), n}, to);
  if ((op == Op::Cast || op == Op::Bitcast) && typed.result == typed.from) return *args.begin();
  Inst inst{.op = op, .type = typed.result, .from = typed.from};
  set_args(inst, args);
  return push(inst);
}

Value Builder::cast(Value value, DType to) { return emit(Op::Cast, {value}, to); }
Value Builder::bitcast(Value value, DType to) { return emit(Op::Bitcast, {value}, to); }

Value Builder::load(Buf buffer, Value index) {
  Inst inst{.op = Op::Load,
            .type = compute_type(state_->module.buffers.at(buffer.id).type),
            .slot = buffer.id};
  set_args(inst, {index});
  return push(inst);
}

void Builder::store(Buf buffer, Value index, Value value) {
  push_statement({.op = Op::Store, .type = type_of(value), .slot = buffer.id}, {index, value});
}

Value Builder::atomic(Combine combine, Buf buffer, Value index, Value value) {
  Inst inst{.op = Op::Atomic,
            .type = type_of(value),
            .aux = static_cast<uint8_t>(combine),
            .slot = buffer.id};
  set_args(inst, {index, value});
  return push(inst);
}

Shared Builder::shared(std::string name, DType type, uint32_t count, bool atomic) {
  state_->module.shared.push_back({std::move(name), type, count, atomic});
  return {number_of(state_->module.shared.size() - 1)};
}

Value Builder::load(Shared array, Value index) {
  Inst inst{
      .op = Op::SharedLoad, .type = state_->module.shared.at(array.id).type, .slot = array.id};
  set_args(inst, {index});
  return push(inst);
}

void Builder::store(Shared array, Value index, Value value) {
  push_statement({.op = Op::SharedStore, .type = type_of(value), .slot = array.id}, {index, value});
}

Value Builder::atomic(Combine combine, Shared array, Value index, Value value) {
  Inst inst{.op = Op::SharedAtomic,
            .type = type_of(value),
            .aux = static_cast<uint8_t>(combine),
            .slot = array.id};
  set_args(inst, {index, value});
  return push(inst);
}

Var Builder::var(Value initial, std::string name) {
  Module& m = state_->module;
  if (name.empty()) name = "v" + std::to_string(m.variables.size());
  m.variables.push_back({std::move(name), type_of(initial)});
  const uint32_t slot = number_of(m.variables.size() - 1);
  push_statement({.op = Op::Var, .type = type_of(initial), .slot = slot}, {initial});
  return {slot};
}

Value Builder::get(Var variable) {
  return push(
      {.op = Op::Get, .type = state_->module.variables.at(variable.id).type, .slot = variable.id});
}

void Builder::set(Var variable, Value value) {
  push_statement({.op = Op::Set, .type = type_of(value), .slot = variable.id}, {value});
}

void Builder::if_(Value condition, const Block& then, const Block& otherwise) {
  push_statement({.op = Op::If}, {condition});
  then();
  if (otherwise) {
    push_statement({.op = Op::Else}, {});
    otherwise();
  }
  push_statement({.op = Op::End}, {});
}

void Builder::for_(Value begin, Value end, uint64_t step, const std::function<void(Value)>& body) {
  Inst inst{.op = Op::For, .type = type_of(begin), .imm = step};
  set_args(inst, {begin, end});
  const Value counter = push(inst);
  body(counter);
  push_statement({.op = Op::End}, {});
}

void Builder::while_(const std::function<Value()>& condition, const Block& body) {
  loop([&] {
    const Value go_on = condition();
    if_(emit(Op::Not, {go_on}), [&] { break_(); });
    body();
  });
}

void Builder::loop(const Block& body) {
  push_statement({.op = Op::Loop}, {});
  body();
  push_statement({.op = Op::End}, {});
}

void Builder::break_() { push_statement({.op = Op::Break}, {}); }
void Builder::continue_() { push_statement({.op = Op::Continue}, {}); }
void Builder::return_() { push_statement({.op = Op::Return}, {}); }
void Builder::barrier() { push_statement({.op = Op::Barrier}, {}); }

Value Builder::group(Op op, uint8_t combine, Value value) {
  Inst inst{.op = op, .type = type_of(value), .aux = combine};
  set_args(inst, {value});
  return push(inst);
}
Value Builder::group_reduce(Combine combine, Value value) {
  return group(Op::GroupReduce, static_cast<uint8_t>(combine), value);
}
Value Builder::group_scan(Combine combine, Value value) {
  return group(Op::GroupScan, static_cast<uint8_t>(combine), value);
}
Value Builder::group_uniform(Value value) { return group(Op::GroupUniform, 0, value); }

DType Builder::type_of(Value value) const {
  if (value.builder() != this || value.host_ != state_->in_host ||
      value.id() >= state_->code().values.size())
    throw core::error(Text::ForeignValue, state_->module.name);
  return state_->code().values[value.id()];
}

DType Builder::index_type() const { return state_->module.index; }

size_t Builder::instruction_count() const {
  return state_->module.host.insts.size() + state_->module.body.insts.size();
}

void Builder::set_line(uint32_t line) { state_->line = line; }

Program Builder::finish() { return Program::from(finish_unverified()); }

Module Builder::finish_unverified() {
  Module module = std::move(state_->module);
  state_ = std::make_unique<State>();
  name_variables(module);
  return module;
}

void Builder::set_args(Inst& inst, std::initializer_list<Value> args) const {
  size_t n = 0;
  for (const Value v : args) {
    type_of(v);  // checks that it is ours
    inst.args[n++] = v.id();
  }
}

Value Builder::push(Inst inst) {
  inst.line = state_->line;
  return {this, define(state_->code(), inst), state_->in_host};
}

void Builder::push_statement(Inst inst, std::initializer_list<Value> args) {
  set_args(inst, args);
  inst.line = state_->line;
  state_->code().insts.push_back(inst);
}

}  // namespace hologram::program
