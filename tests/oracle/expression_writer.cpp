#include <algorithm>

#include "oracle/program_writer.hpp"
#include "oracle/random_values.hpp"
#include "program/typing.hpp"

namespace hologram::oracle {
namespace {

using program::Category;
using program::Op;
using program::OpInfo;
using program::Typing;
using program::Value;

constexpr DType kTypes[] = {DType::I32, DType::F32, DType::U32, DType::I64,
                            DType::F64, DType::U64, DType::Bool};

// Whether an instruction can give that type.
bool gives(const OpInfo& row, DType type) {
  if (!program::is_pure(row.op)) return false;
  if (row.typing == Typing::Compare || row.typing == Typing::FloatTest) return type == DType::Bool;
  if (row.typing == Typing::Bytes) return type == DType::I32;
  return program::accepts(row.typing, type);
}

}  // namespace

DType ExpressionWriter::some_type() {
  const DType any = choose_.of(kTypes);
  return plan_.narrow && size_of(any) == 8 ? DType::F32 : any;
}

Known ExpressionWriter::constant(DType type) {
  if (choose_.percent(20)) return neutral(type);
  const uint64_t bits = choose_.percent(40) ? random_value(type, choose_)  //
                                            : moderate_value(type, choose_);
  return {b_.constant_bits(type, bits), true};
}

Known ExpressionWriter::neutral(DType type) {
  const bool wide = type == DType::F64;
  const uint64_t sign = uint64_t{1} << (8 * size_of(type) - 1);
  const uint64_t one = wide ? 0x3ff0000000000000 : type == DType::F32 ? 0x3f800000 : 1;
  const uint64_t infinity = wide ? 0x7ff0000000000000 : 0x7f800000;
  const uint64_t bits =
      is_float(type) ? choose_.of({uint64_t{0}, uint64_t{0}, one, sign, infinity, infinity + 1})
                     : choose_.below(2);
  return {b_.constant_bits(type, bits), true};
}

Known ExpressionWriter::leaf(DType type, bool uniform) {
  if (choose_.percent(20)) return constant(type);
  // From the newest backwards, with a chance for each, so that old values live too.
  if (choose_.percent(30))
    for (const Variable& v : variables_)
      if (v.type == type && (v.uniform || !uniform) && choose_.percent(50)) {
        const Known now{b_.get(v.var), v.uniform};
        if (choose_.percent(50)) pool_.push_back(now);  // used again when the variable has changed
        return now;
      }
  for (size_t i = pool_.size(); i-- > 0;) {
    const Known& k = pool_[i];
    if (k.value.type() == type && (k.uniform || !uniform) && choose_.percent(40)) return k;
  }
  return constant(type);
}

Known ExpressionWriter::expression(DType type, int depth, bool uniform) {
  if (depth == 0 || choose_.percent(30)) return leaf(type, uniform);
  if (!uniform && type != DType::Bool && choose_.percent(8)) return affine(type);
  return composite(type, depth, uniform);
}

Known ExpressionWriter::affine(DType type) {
  constexpr Op kOps[] = {Op::Div, Op::Rem, Op::Shl, Op::Shr, Op::Min,
                         Op::Max, Op::Neg, Op::Sub, Op::Mul, Op::Fma};
  const Value lane = choose_.percent(50) ? lane_in_grid_ : b_.global_id(0);
  if (is_float(type)) {
    const Value line = b_.cast(lane, type) * constant(type).value + constant(type).value;
    add({line, false});
    return {line, false};
  }
  const auto small = [&](int64_t least, uint32_t count) {
    return b_.cast(b_.constant(DType::I64, least + choose_.below(count)), type);
  };
  const Value row = b_.cast(lane, type);
  Value value = row * small(-3, 7) + (choose_.percent(60) ? small(-40, 80) : constant(type).value);
  if (choose_.percent(60)) {
    const Op op = choose_.of(kOps);
    const Value other = choose_.percent(70) ? small(0, 9) : row;
    const bool shifts = op == Op::Shl || op == Op::Shr;
    if (op == Op::Neg) value = -value;
    else if (op == Op::Fma) value = fma(value, small(-2, 6), other);
    else if (shifts)
      value = b_.emit(op, {value, b_.constant(DType::U32, int64_t{choose_.below(6)})});
    else value = b_.emit(op, {value, other});
  }
  add({value, false});
  return {value, false};
}

Known ExpressionWriter::composite(DType type, int depth, bool uniform) {
  const auto ops = program::all_ops();
  const OpInfo* row = nullptr;
  do {
    row = &ops[choose_.below(static_cast<uint32_t>(ops.size()))];
    // The zeros of a fuzzer at its end would not get further than the first row.
    if (row->op == Op::Const) return leaf(type, uniform);
  } while (!gives(*row, type) || (row->category == Category::Function && !choose_.percent(25)));

  DType from = type;
  switch (row->typing) {
    case Typing::Compare:
      do from = choose_.percent(30) ? DType::F32 : some_type();
      while (from == DType::Bool && row->op != Op::Eq && row->op != Op::Ne);
      break;
    case Typing::FloatTest:
      from = choose_.percent(50) && !plan_.narrow ? DType::F64 : DType::F32;
      break;
    case Typing::Bytes: from = choose_.percent(50) ? DType::I32 : DType::U32; break;
    case Typing::Cast: from = some_type(); break;
    case Typing::Bitcast: {
      constexpr DType kFour[] = {DType::I32, DType::F32, DType::U32};
      constexpr DType kEight[] = {DType::I64, DType::F64, DType::U64};
      from = size_of(type) == 4 ? choose_.of(kFour) : choose_.of(kEight);
      break;
    }
    default: break;
  }
  const bool converts = row->typing == Typing::Cast || row->typing == Typing::Bitcast;
  if (converts && from == type) return expression(type, std::max(0, depth - 1), uniform);
  const Known made = operation(row->op, from, type, depth - 1, uniform);
  pool_.push_back(made);
  return made;
}

Known ExpressionWriter::operation(Op op, DType from, DType type, int depth, bool uniform) {
  // How often mad rounds depends on the device.
  if (op == Op::Mad && is_float(from)) op = Op::Fma;
  const OpInfo& row = program::info(op);
  const bool selects = row.typing == Typing::Select;
  // What one instruction undoes of another is where rules for pairs of them are.
  const DType first = selects ? DType::Bool : from;
  Known a = row.arity == 1 && depth > 0 && choose_.percent(60) ? composite(first, depth, uniform)
                                                               : expression(first, depth, uniform);
  if (op == Op::Bitcast && is_float(from)) a.value = without_nan(a.value);
  if (row.arity == 1) return {b_.emit(op, {a.value}, type), a.uniform};
  DType second = from;
  if (row.typing == Typing::Shift) second = choose_.percent(50) ? DType::I32 : DType::U32;
  if (row.typing == Typing::Bytes) second = DType::I32;
  Known b = second == first && choose_.percent(12) ? a
            : second == from && choose_.percent(8) ? neutral(second)
                                                   : expression(second, depth, uniform);
  if (op == Op::CopySign) b.value = without_nan(b.value);
  if (row.arity == 2) return {b_.emit(op, {a.value, b.value}), a.uniform && b.uniform};
  const Known c = expression(row.typing == Typing::Bytes ? DType::I32 : from, depth, uniform);
  return {b_.emit(op, {a.value, b.value, c.value}), a.uniform && b.uniform && c.uniform};
}

Value ExpressionWriter::without_nan(Value value) {
  const Value zero = b_.constant_bits(value.type(), 0);
  return b_.emit(Op::Select, {b_.emit(Op::IsNan, {value}), zero, value});
}

}  // namespace hologram::oracle
