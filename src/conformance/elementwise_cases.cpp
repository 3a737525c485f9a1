// Every row of the table of elementwise operations, on every dtype that it takes, in every layout.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "conformance/layouts.hpp"
#include "conformance/operands.hpp"
#include "conformance/suite.hpp"
#include "tensor/access.hpp"

namespace hologram::conformance {
namespace {

using graph::ElementwiseOp;
using graph::Rule;

constexpr double kSmallest = 0x1p-126;

bool takes(const ElementwiseOp& row, DType dtype) {
  switch (row.accepts) {
    case graph::Accepts::Any: return true;
    case graph::Accepts::Number: return dtype != DType::Bool || row.rule == Rule::Float;
    case graph::Accepts::Integer: return is_integer(dtype);
    case graph::Accepts::IntegerOrBool: return !is_float(dtype);
    case graph::Accepts::Bool: return dtype == DType::Bool;
  }
  return false;
}

DType result_dtype(const ElementwiseOp& row, DType dtype) {
  if (row.rule == Rule::Test) return DType::Bool;
  return row.rule == Rule::Float && !is_float(dtype) ? DType::F32 : dtype;
}

// Half a unit for the last rounding, and what the row allows for f32 or f64 before it.
double bound_of(const ElementwiseOp& row, DType to, const Arithmetic& arithmetic) {
  if (row.ulps == 0) return 0;
  double ulps = row.ulps;
  // Functions take quotients and roots on their way.
  const bool steps = row.ulps > 0.5;
  if (steps || row.name == "div" || row.name == "reciprocal")
    ulps += arithmetic.units_of_quotient();
  if (steps || row.name == "sqrt") ulps += arithmetic.units_of_root();
  if (size_of(to) == 2) return 0.5 + std::ldexp(ulps, digits_of(to) - 24);
  // The oracle's own functions are right to some 2^-11 units of f64.
  return ulps == 0.5 ? 0.5 : ulps + (to == DType::F64 ? 0x1p-10 : 0x1p-20);
}

class Comparison {
 public:
  Comparison(const ElementwiseOp& row, const Oracle& oracle, DType dtype,
             const Arithmetic& arithmetic)
      : row_(row),
        oracle_(oracle),
        arithmetic_(arithmetic),
        dtype_(dtype),
        to_(result_dtype(row, dtype)) {
    for (size_t k = 0; k < row.attribute_count; k++) attributes_[k] = row.attributes[k].otherwise;
    found_.bound = bound_of(row, to_, arithmetic);
  }

  DType operand_dtype(size_t k) const {
    return row_.rule == Rule::Choice && k == 0 ? DType::Bool : dtype_;
  }

  Finding run(const Layout& layout, std::span<const Array> values, const Array& result) {
    if (result.dtype() != to_ || result.shape() != layout.shape) {
      found_.wrong = "dtype or shape is wrong";
      return found_;
    }
    std::vector<Shape> stored;
    for (const Array& v : values) stored.push_back(v.shape());
    found_.elements = result.size();
    for (size_t i = 0; i < result.size(); i++) {
      size_t at[3] = {};
      for (size_t k = 0; k < values.size(); k++) at[k] = stored_at(layout.shape, stored[k], i);
      one(values, at, result, i);
    }
    return found_;
  }

 private:
  void one(std::span<const Array> values, const size_t* at, const Array& result, size_t i) {
    const bool whole = !is_float(dtype_) && row_.rule != Rule::Float;
    if (whole) {
      Integer x[3] = {};
      for (size_t k = 0; k < values.size(); k++)
        x[k] = whole_at(values[k].dtype(), values[k].data(), at[k]);
      const int bits = dtype_ == DType::Bool ? 1 : static_cast<int>(8 * size_of(dtype_));
      const Integer exact = wrapped(to_, oracle_.whole(x, {bits, is_signed_integer(dtype_)}));
      const Integer have = whole_at(to_, result.data(), i);
      if (have != exact && found_.wrong.empty())
        found_.wrong = fmt::format("element {} is {}, not {}", i, static_cast<int64_t>(have),
                                   static_cast<int64_t>(exact));
      return;
    }
    Wide x[3] = {}, others[3] = {};
    for (size_t k = 0; k < values.size(); k++) {
      x[k] = real_at(values[k].dtype(), values[k].data(), at[k]);
      others[k] = x[k];
      if (is_float(dtype_)) {
        if (arithmetic_.flushes && is_denormal(x[k])) others[k] = is_negative(x[k]) ? -0.0 : 0.0;
        continue;
      }
      // Whole numbers become f32 first.
      const auto nearest = static_cast<float>(static_cast<long double>(x[k]));
      if (!arithmetic_.converts && nearest != x[k])
        others[k] = std::nextafter(nearest, nearest < x[k] ? INFINITY : -INFINITY);
      else others[k] = nearest;
      x[k] = nearest;
    }
    // The operands as they are, and each as it may have become.
    const Wide have = real_at(to_, result.data(), i);
    std::optional<Judgement> best;
    for (uint32_t mask = 0; mask < 1u << values.size(); mask++) {
      Wide operands[3] = {};
      bool same = true;
      for (size_t k = 0; k < values.size(); k++) {
        const bool other = (mask >> k & 1) != 0;
        operands[k] = other ? others[k] : x[k];
        same = same && (!other || others[k] == x[k]);
      }
      if (mask != 0 && same) continue;
      const Judgement one = judge(operands, values.size(), have);
      if (one.skipped) return;
      if (!best || one.units < best->units) best = one;
    }
    if (unsure(x, values.size(), best->exact)) {
      found_.observed++;
      return;
    }
    found_.measure(best->units, i, have, best->exact);
    // Where nothing or one operation is rounded, the sign of a zero is right, too.
    const bool flushed = arithmetic_.flushes && (is_denormal(best->exact) || others[0] != x[0] ||
                                                 others[1] != x[1] || others[2] != x[2]);
    if (row_.ulps <= 0.5 && have == 0 && best->exact == 0 && !flushed &&
        is_negative(have) != is_negative(best->exact) && found_.wrong.empty())
      found_.wrong = fmt::format("element {} is a zero of the wrong sign", i);
  }

  struct Judgement {
    bool skipped = false;  // nothing is promised of these operands on any device
    double units = 0;
    Wide exact = 0;
  };
  Judgement judge(const Wide* x, size_t count, Wide have) const {
    Wide scale = 0;
    bool nan = false, limits = false;
    for (size_t k = 0; k < count; k++) {
      nan = nan || is_nan(x[k]);
      limits = limits || is_infinite(x[k]);
      if (row_.absolute && magnitude(x[k]) > scale) scale = magnitude(x[k]);
    }
    if (oracle_.operands != Operands::Any && (limits || outside(x, count)) && !nan)
      return {.skipped = true};
    const bool propagates = nan && row_.nan == graph::Nan::Propagates;
    const Wide exact = propagates ? static_cast<Wide>(NAN) : oracle_.real(x, attributes_);
    if (to_ == DType::Bool) return {.units = have == exact ? 0.0 : 1.0, .exact = exact};
    double units = error_in_units(to_, have, exact, scale);
    // What is denormal may have become 0, and what is rounded up from there the smallest normal.
    if (arithmetic_.flushes && magnitude(exact) < kSmallest && magnitude(have) <= kSmallest)
      units = 0;
    return {.units = units, .exact = exact};
  }

  // Whether the device promises nothing of this.
  bool unsure(const Wide* x, size_t count, Wide exact) const {
    bool special = is_nan(exact) || is_infinite(exact), large = false;
    for (size_t k = 0; k < count; k++) {
      special = special || is_nan(x[k]) || is_infinite(x[k]);
      large = large || magnitude(x[k]) > kLargestDivisor;
    }
    return (special && !arithmetic_.specials) || (large && !arithmetic_.divides && row_.ulps > 0);
  }

  bool outside(const Wide* x, size_t count) const {
    for (size_t k = 0; k < count; k++)
      if (x[k] < row_.low || x[k] > row_.high) return true;
    return oracle_.operands == Operands::Quotients && magnitude(x[1]) < 0.25;
  }

  const ElementwiseOp& row_;
  const Oracle& oracle_;
  const Arithmetic& arithmetic_;
  DType dtype_, to_;
  double attributes_[2] = {};
  Finding found_;
};

Finding try_one(const Suite& suite, const ElementwiseOp& row, const Oracle& oracle, DType dtype,
                const Layout& layout, bool every) {
  Generator generator(seed_of(row.name, dtype, layout.name));
  Comparison comparison(row, oracle, dtype, suite.arithmetic());
  std::vector<Array> values;
  std::vector<Operand> operands;
  for (size_t k = 0; k < row.arity; k++) {
    const DType t = comparison.operand_dtype(k);
    values.push_back(
        every ? every_value(t)
              : operand_values(row, oracle, k, t, stored_shape(layout, k, row.arity), generator));
    operands.emplace_back(laid_out(layout, values.back(), suite.ways().plain));
  }
  return comparison.run(layout, values, tensor::apply(row, operands).array());
}

}  // namespace

void elementwise_cases(Suite& suite) {
  for (const ElementwiseOp& row : graph::elementwise_table()) {
    const Oracle* oracle = find_oracle(row.name);
    for (const DType dtype : all_dtypes()) {
      if (!takes(row, dtype)) continue;
      const auto attempt = [&](const Layout& layout, bool every) {
        suite.attempt(row.name, dtype, layout.name, [&]() -> Finding {
          const bool whole = !is_float(dtype) && row.rule != Rule::Float;
          if (oracle == nullptr || (whole ? oracle->whole == nullptr : oracle->real == nullptr)) {
            Finding none;
            none.wrong = "nothing says what is right";
            return none;
          }
          return try_one(suite, row, *oracle, dtype, layout, every);
        });
      };
      for (const Layout& layout : layouts()) attempt(layout, false);
      if (is_float(dtype) && size_of(dtype) == 2 && row.arity == 1)
        attempt({"all values", Arrangement::Dense, {65536}}, true);
    }
  }
}

}  // namespace hologram::conformance
