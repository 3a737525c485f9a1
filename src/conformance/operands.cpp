#include "conformance/operands.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace hologram::conformance {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double uniform(Generator& generator, double low, double high) {
  return low + (high - low) * (static_cast<double>(generator() >> 11) * 0x1p-53);
}

struct Domain {
  double low, high;
  bool beyond;  // numbers outside may be tried, too
};

Domain domain_of(const graph::ElementwiseOp& row, const Oracle& oracle, DType dtype) {
  const double largest = largest_of(dtype);
  Domain d{std::max(row.low, -largest), std::min(row.high, largest),
           oracle.operands == Operands::Any};
  // The table's ends are those of f32.
  if (dtype == DType::F64 || row.high < 3e38) return d;
  if (row.low < -3e38) d.low = -largest;
  d.high = largest;
  return d;
}

std::vector<double> float_limits(const Domain& d, DType dtype) {
  const double small = smallest_of(dtype);
  std::vector<double> list = {0.0,
                              -0.0,
                              1.0,
                              -1.0,
                              kInfinity,
                              -kInfinity,
                              NAN,
                              0.5,
                              -0.5,
                              2.0,
                              -2.0,
                              1.5,
                              -2.5,
                              small,
                              -small * 0.5,
                              d.high,
                              largest_of(dtype),
                              -largest_of(dtype)};
  std::erase_if(list, [&](double x) { return !d.beyond && (x < d.low || x > d.high); });
  return list;
}

// One of three kinds: of any magnitude, around 1, whole or half.
double float_inside(const Domain& d, DType dtype, Generator& generator) {
  const double reach = std::max(std::fabs(d.low), std::fabs(d.high));
  double x = 0;
  switch (generator() % 3) {
    case 0: {
      const double from = std::log(smallest_of(dtype) * 0x1p-4), to = std::log(reach);
      x = std::exp(uniform(generator, from, to));
      if (generator() % 2 == 0) x = -x;
      break;
    }
    case 1: x = uniform(generator, std::max(d.low, -12.0), std::min(d.high, 12.0)); break;
    default: x = std::round(uniform(generator, -100, 100)) / 2;
  }
  if (d.low >= 0) x = std::fabs(x);
  return std::clamp(x, d.low, d.high);
}

Integer whole_limits(DType dtype, size_t i) {
  const auto bits = static_cast<int>(8 * size_of(dtype));
  const Integer top = Integer{1} << (is_signed_integer(dtype) ? bits - 1 : bits);
  const Integer low = is_signed_integer(dtype) ? -top : 0;
  const Integer list[] = {0,       1,       2,       low,
                          low + 1, top - 1, top - 2, is_signed_integer(dtype) ? -1 : 3};
  return list[i % std::size(list)];
}
constexpr size_t kWholeLimits = 8;

}  // namespace

Array operand_values(const graph::ElementwiseOp& row, const Oracle& oracle, size_t operand,
                     DType dtype, const Shape& shape, Generator& generator) {
  Array array(dtype, shape);
  std::byte* data = array.mutable_data();
  const bool divisor = oracle.operands == Operands::Quotients && operand == 1;
  Domain d{};
  std::vector<double> limits;
  if (is_float(dtype)) {
    d = domain_of(row, oracle, dtype);
    limits = float_limits(d, dtype);
  }
  const size_t many = is_float(dtype) ? limits.size() : kWholeLimits;
  size_t crossed = many, turn = 1;
  for (size_t k = 1; k < row.arity; k++) crossed *= many;
  for (size_t k = 0; k < operand; k++) turn *= many;
  for (size_t i = 0; i < array.size(); i++) {
    const bool at_limits = i < crossed && i < array.size() / 2 + many;
    if (is_float(dtype)) {
      double x = at_limits ? limits[i / turn % many] : float_inside(d, dtype, generator);
      if (divisor && std::fabs(x) < 0.25) x = std::copysign(0.25 + std::fabs(x), x);
      put_real(dtype, data, i, x);
    } else if (at_limits) {
      put_whole(dtype, data, i, whole_limits(dtype, i / turn));
    } else {
      // Of every number of bits.
      put_whole(dtype, data, i,
                static_cast<Integer>(static_cast<int64_t>(generator())) >> generator() % 64);
    }
  }
  return array;
}

Array plain_values(DType dtype, const Shape& shape, double low, double high, Generator& generator) {
  Array array(dtype, shape);
  for (size_t i = 0; i < array.size(); i++) {
    if (is_float(dtype)) put_real(dtype, array.mutable_data(), i, uniform(generator, low, high));
    else put_whole(dtype, array.mutable_data(), i, static_cast<int64_t>(generator()));
  }
  return array;
}

Array every_value(DType dtype) {
  Array array(dtype, {65536});
  for (size_t i = 0; i < 65536; i++)
    put_whole(DType::U16, array.mutable_data(), i, static_cast<Integer>(i));
  return array;
}

}  // namespace hologram::conformance
