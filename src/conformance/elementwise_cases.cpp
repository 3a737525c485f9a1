// Every row of the table of elementwise operations, on every dtype that it takes, in every layout.
#include <fmt/format.h>

#include <cmath>

#include "conformance/layouts.hpp"
#include "conformance/operands.hpp"
#include "conformance/suite.hpp"
#include "tensor/access.hpp"

namespace hologram::conformance {
namespace {

using graph::ElementwiseOp;
using graph::Rule;

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
double bound_of(const ElementwiseOp& row, DType to) {
  if (row.ulps == 0) return 0;
  if (size_of(to) == 2) return 0.5 + std::ldexp(row.ulps, digits_of(to) - 24);
  // The oracle's own functions are right to some 2^-11 units of f64.
  return row.ulps == 0.5 ? 0.5 : row.ulps + (to == DType::F64 ? 0x1p-10 : 0x1p-20);
}

class Comparison {
 public:
  Comparison(const ElementwiseOp& row, const Oracle& oracle, DType dtype)
      : row_(row), oracle_(oracle), dtype_(dtype), to_(result_dtype(row, dtype)) {
    for (size_t k = 0; k < row.attribute_count(); k++) attributes_[k] = row.attributes[k].otherwise;
    found_.bound = bound_of(row, to_);
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
    Wide x[3] = {}, scale = 0;
    bool nan = false, limits = false;
    for (size_t k = 0; k < values.size(); k++) {
      x[k] = real_at(values[k].dtype(), values[k].data(), at[k]);
      // Whole numbers become f32 first.
      if (!is_float(dtype_)) x[k] = static_cast<float>(static_cast<long double>(x[k]));
      nan = nan || is_nan(x[k]);
      limits = limits || is_infinite(x[k]);
      if (row_.absolute && magnitude(x[k]) > scale) scale = magnitude(x[k]);
    }
    if (oracle_.operands != Operands::Any && (limits || outside(x, values.size())) && !nan) return;
    const Wide have = real_at(to_, result.data(), i);
    const bool propagates = nan && row_.nan == graph::Nan::Propagates;
    const Wide exact = propagates ? static_cast<Wide>(NAN) : oracle_.real(x, attributes_);
    if (to_ == DType::Bool) return found_.measure(have == exact ? 0 : 1, i, have, exact);
    found_.measure(error_in_units(to_, have, exact, scale), i, have, exact);
    // Where nothing or one operation is rounded, the sign of a zero is right, too.
    if (row_.ulps <= 0.5 && have == 0 && exact == 0 && is_negative(have) != is_negative(exact) &&
        found_.wrong.empty())
      found_.wrong = fmt::format("element {} is a zero of the wrong sign", i);
  }

  bool outside(const Wide* x, size_t count) const {
    for (size_t k = 0; k < count; k++)
      if (x[k] < row_.low || x[k] > row_.high) return true;
    return oracle_.operands == Operands::Quotients && magnitude(x[1]) < 0.25;
  }

  const ElementwiseOp& row_;
  const Oracle& oracle_;
  DType dtype_, to_;
  double attributes_[2] = {};
  Finding found_;
};

Finding try_one(const Suite& suite, const ElementwiseOp& row, const Oracle& oracle, DType dtype,
                const Layout& layout, bool every) {
  Generator generator(seed_of(row.name, dtype, layout.name));
  Comparison comparison(row, oracle, dtype);
  std::vector<Array> values;
  std::vector<Operand> operands;
  for (size_t k = 0; k < row.arity(); k++) {
    const DType t = comparison.operand_dtype(k);
    values.push_back(
        every ? every_value(t)
              : operand_values(row, oracle, k, t, stored_shape(layout, k, row.arity()), generator));
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
      if (is_float(dtype) && size_of(dtype) == 2 && row.arity() == 1)
        attempt({"all values", Arrangement::Dense, {65536}}, true);
    }
  }
}

}  // namespace hologram::conformance
