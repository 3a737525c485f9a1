// Index arithmetic without lanes: operands base + step * lane are combined as pairs of numbers.
#include <algorithm>
#include <limits>

#include "interp/machine.hpp"

namespace hologram::interp {

using program::Op;

namespace {

using Wide = __int128;

// base + step * lane over lanes 0 … last.
struct Line {
  Wide base, step;
  Wide at(uint32_t lane) const { return base + step * lane; }
  Wide low(uint32_t last) const { return step < 0 ? at(last) : base; }
  Wide high(uint32_t last) const { return step < 0 ? base : at(last); }
};

struct Range {
  Wide low, high;
};

bool integer_range(DType type, Range& range) {
  switch (type) {
    case DType::I32: range = {INT32_MIN, INT32_MAX}; return true;
    case DType::U32: range = {0, UINT32_MAX}; return true;
    case DType::I64: range = {INT64_MIN, INT64_MAX}; return true;
    default: return false;  // u64 lanes do not fit the int64_t of a register
  }
}

Line line_of(const Register& r, DType type) {
  if (r.form == Form::Affine) return {r.base, r.step};
  return {first_value(r, type), 0};
}

bool put(const Line& line, DType type, uint32_t last, Register& out) {
  Range range{};
  if (!integer_range(type, range)) return false;
  // A step this large leaves the range anyhow, and would not fit the products below.
  if (line.step > INT64_MAX || line.step < INT64_MIN) return false;
  if (line.low(last) < range.low || line.high(last) > range.high) return false;
  if (line.step == 0 || last == 0) {
    fill_cell(out.cell, type, static_cast<uint64_t>(line.base));
    out.set_uniform();
  } else {
    out.set_affine(static_cast<int64_t>(line.base), static_cast<int64_t>(line.step));
  }
  return true;
}

bool put_bool(bool value, Register& out) {
  fill_cell(out.cell, DType::Bool, value);
  out.set_uniform();
  return true;
}

// True in lanes [from, to).
bool put_lanes(Wide from, Wide to, uint32_t last, Register& out) {
  const uint32_t words = last / 64 + 1;
  const auto bound = [&](Wide lane) {
    return static_cast<uint32_t>(std::clamp<Wide>(lane, 0, Wide{last} + 1));
  };
  const uint32_t begin = bound(from), end = bound(to);
  for (uint32_t w = 0; w < words; w++) {
    const uint64_t lanes = Mask::lanes_before(end, w) & ~Mask::lanes_before(begin, w);
    std::memcpy(out.row + w * sizeof lanes, &lanes, sizeof lanes);
  }
  out.set_row();
  return true;
}

// Lanes where d < limit, or where it is not.
bool put_below(const Line& d, Wide limit, bool below, uint32_t last, Register& out) {
  const Wide all = Wide{last} + 1;
  if (d.step > 0) {
    // The first lane that is not below.
    const Wide gap = limit - d.base;
    const Wide first = gap <= 0 ? 0 : d.step == 1 ? gap : (gap + d.step - 1) / d.step;
    return below ? put_lanes(0, first, last, out) : put_lanes(first, all, last, out);
  }
  // The first lane that is.
  const Wide gap = d.base - limit, first = gap < 0 ? 0 : gap / -d.step + 1;
  return below ? put_lanes(first, all, last, out) : put_lanes(0, first, last, out);
}

bool compare(Op op, const Line& a, const Line& b, uint32_t last, Register& out) {
  const Line d = {a.base - b.base, a.step - b.step};
  const bool below = d.high(last)<0, above = d.low(last)> 0;
  const bool equal = d.base == 0 && d.step == 0;
  const bool not_above = d.high(last) <= 0, not_below = d.low(last) >= 0;
  switch (op) {
    case Op::Eq: return (equal || below || above) && put_bool(equal, out);
    case Op::Ne: return (equal || below || above) && put_bool(!equal, out);
    case Op::Lt:
    case Op::Ge:
      if (below || not_below) return put_bool(below == (op == Op::Lt), out);
      return put_below(d, 0, op == Op::Lt, last, out);
    case Op::Gt:
    case Op::Le:
      if (above || not_above) return put_bool(above == (op == Op::Gt), out);
      return put_below(d, 1, op == Op::Le, last, out);
    default: return false;
  }
}

// a / d and a % d for a positive number d, where no lane is negative: either all lanes have the
// same quotient, or d divides the step.
bool divide(bool quotient, const Line& a, Wide d, DType type, uint32_t last, Register& out) {
  if (d <= 0 || a.low(last) < 0) return false;
  if (a.low(last) / d == a.high(last) / d) {
    const Wide q = a.low(last) / d;
    return put(quotient ? Line{q, 0} : Line{a.base - q * d, a.step}, type, last, out);
  }
  if (a.step % d == 0)
    return put(quotient ? Line{a.base / d, a.step / d} : Line{a.base % d, 0}, type, last, out);
  return false;
}

}  // namespace

int64_t first_value(const Register& r, DType type) {
  if (r.form == Form::Affine) return r.base;
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, r.cell, sizeof value);
    return static_cast<int64_t>(value);
  };
  switch (type) {
    case DType::I32: return read(int32_t{});
    case DType::U32: return read(uint32_t{});
    case DType::Bool: return read(uint16_t{}) & 1;
    default: return read(int64_t{});
  }
}

namespace {

// Nearly all index arithmetic: sums of i32, at most 2^45 on the way.
bool add_narrow(const Register& a, const Register& b, int64_t sign, uint32_t last, Register& out) {
  const auto base_of = [](const Register& r) {
    if (r.form == Form::Affine) return r.base;
    int32_t value;
    std::memcpy(&value, r.cell, sizeof value);
    return int64_t{value};
  };
  const int64_t base = base_of(a) + sign * base_of(b);
  const int64_t step =
      (a.form == Form::Affine ? a.step : 0) + (b.form == Form::Affine ? sign * b.step : 0);
  const int64_t end = base + step * last;
  if (step == 0 || last == 0 || std::min(base, end) < INT32_MIN || std::max(base, end) > INT32_MAX)
    return false;
  out.set_affine(base, step);
  return true;
}

}  // namespace

bool affine_step(const Step& s, const Register* const* in, uint32_t lanes, Register& out) {
  if (s.from == DType::I32 && (s.op == Op::Add || s.op == Op::Sub) && in[0]->form != Form::Row &&
      in[1]->form != Form::Row &&
      add_narrow(*in[0], *in[1], s.op == Op::Add ? 1 : -1, lanes - 1, out))
    return true;
  Range range{};
  if (s.op == Op::Select || !integer_range(s.from, range)) return false;
  for (size_t k = 0; k < s.arity; k++)
    if (in[k]->form == Form::Row) return false;
  const uint32_t last = lanes - 1;
  const Line a = line_of(*in[0], s.from);
  if (s.arity == 1) {
    switch (s.op) {
      case Op::Neg: return put({-a.base, -a.step}, s.type, last, out);
      case Op::Cast:
      case Op::Bitcast: return put(a, s.type, last, out);
      default: return false;
    }
  }
  if (s.arity == 3) {
    if (s.op != Op::Fma && s.op != Op::Mad) return false;
    const Line b = line_of(*in[1], s.from), c = line_of(*in[2], s.from);
    if (a.step != 0 && b.step != 0) return false;
    return put({a.base * b.base + c.base, a.step * b.base + b.step * a.base + c.step}, s.type, last,
               out);
  }
  const bool shift = s.op == Op::Shl || s.op == Op::Shr;
  const Line b = line_of(*in[1], shift ? DType::I32 : s.from);
  switch (s.op) {
    case Op::Add: return put({a.base + b.base, a.step + b.step}, s.type, last, out);
    case Op::Sub: return put({a.base - b.base, a.step - b.step}, s.type, last, out);
    case Op::Mul:
      if (a.step != 0 && b.step != 0) return false;
      return put({a.base * b.base, a.step * b.base + b.step * a.base}, s.type, last, out);
    case Op::Div:
    case Op::Rem: return b.step == 0 && divide(s.op == Op::Div, a, b.base, s.type, last, out);
    case Op::Shl: {
      if (b.step != 0 || b.base < 0 || b.base > 30) return false;
      const Wide factor = Wide{1} << static_cast<int>(b.base);
      return put({a.base * factor, a.step * factor}, s.type, last, out);
    }
    case Op::Shr:
      if (b.step != 0 || b.base < 0 || b.base > 30) return false;
      return divide(true, a, Wide{1} << static_cast<int>(b.base), s.type, last, out);
    case Op::Min:
    case Op::Max: {
      const Line d = {a.base - b.base, a.step - b.step};
      const bool not_above = d.high(last) <= 0, not_below = d.low(last) >= 0;
      if (!not_above && !not_below) return false;
      return put((s.op == Op::Min) == not_above ? a : b, s.type, last, out);
    }
    default: return compare(s.op, a, b, last, out);
  }
}

void fill_cell(std::byte* cell, DType type, uint64_t bits) {
  switch (size_of(type)) {
    case 1: {  // bool
      const uint16_t all = bits & 1 ? UINT16_MAX : 0;
      std::memcpy(cell, &all, sizeof all);
      return;
    }
    case 4:
      std::fill_n(reinterpret_cast<uint32_t*>(cell), kGroup, static_cast<uint32_t>(bits));
      return;
    default: std::fill_n(reinterpret_cast<uint64_t*>(cell), kGroup, bits);
  }
}

}  // namespace hologram::interp
