#include "graphs/field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "oracle/scalar_model.hpp"

namespace hologram::graphs {
namespace {

constexpr Wide kInfinity = static_cast<Wide>(__builtin_inf());

bool is_half(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }

// By the oracle's own conversions.
double half_of(DType dtype, float x) {
  uint8_t memory[2];
  oracle::store_element(dtype, memory, std::bit_cast<uint32_t>(x));
  return std::bit_cast<float>(static_cast<uint32_t>(oracle::load_element(dtype, memory)));
}

Integer truncated(DType to, Wide x) {
  if (is_nan(x)) return 0;
  const int digits = static_cast<int>(8 * size_of(to)) - (is_signed_integer(to) ? 1 : 0);
  const Integer top = Integer{1} << digits, low = is_signed_integer(to) ? -top : 0;
  if (x >= static_cast<Wide>(top)) return top - 1;
  if (x <= static_cast<Wide>(low)) return low;
  return static_cast<Integer>(x);
}

Element from_float(const Element& e, DType from, DType to) {
  if (to == DType::Bool) {
    if (e.exact()) return whole(e.low != 0);
    return e.low > 0 || e.high < 0 ? whole(1) : unknown();
  }
  if (!is_float(to)) {
    const Integer low = truncated(to, e.low), high = truncated(to, e.high);
    return low == high ? whole(low) : unknown();
  }
  if (from == to && !is_half(to)) return e;
  return range(rounded(to, e.low), rounded(to, e.high));
}

}  // namespace

Field field_of(const Array& array) {
  Field field{array.dtype(), array.shape(), std::vector<Element>(array.size())};
  for (size_t i = 0; i < array.size(); i++) {
    if (is_float(array.dtype())) {
      uint64_t bits = 0;
      const auto* data = reinterpret_cast<const uint8_t*>(array.data());
      if (is_half(array.dtype())) {
        bits = oracle::load_element(array.dtype(), data + 2 * i);
        field.elements[i] = real(std::bit_cast<float>(static_cast<uint32_t>(bits)));
      } else {
        field.elements[i] = real(conformance::real_at(array.dtype(), array.data(), i));
      }
    } else {
      field.elements[i] = whole(conformance::whole_at(array.dtype(), array.data(), i));
    }
  }
  return field;
}

Field unknown_field(DType dtype, const Shape& shape) {
  return {dtype, shape, std::vector<Element>(elements_in(shape), unknown())};
}

DType accumulator_of(DType dtype) { return dtype == DType::F64 ? dtype : DType::F32; }
Wide epsilon_of(DType dtype) { return dtype == DType::F64 ? 0x1p-52 : 0x1p-23; }
Wide largest_of(DType dtype) { return conformance::largest_of(dtype); }

Wide unit_of(DType dtype, Wide size) {
  const Wide smallest = conformance::smallest_of(dtype), largest = largest_of(dtype);
  const Wide bounded = std::clamp(magnitude(size), smallest, largest);
  int exponent = 0;
  std::frexp(static_cast<long double>(bounded), &exponent);
  return std::ldexp(1.0L, exponent - conformance::digits_of(dtype));
}

Wide rounded(DType dtype, Wide x) {
  if (dtype == DType::F64) return static_cast<double>(x);
  const auto nearest = static_cast<float>(x);
  return is_half(dtype) ? half_of(dtype, nearest) : nearest;
}

Element result(DType dtype, Wide low, Wide high, Wide slack) {
  if (is_nan(low) || is_nan(high)) return is_nan(low) && is_nan(high) ? real(low) : unknown();
  low -= slack;
  high += slack;
  const DType wide = accumulator_of(dtype);
  const Wide most = largest_of(wide), half = unit_of(wide, most) / 2;
  if (high >= most + half) high = kInfinity;
  if (low <= -most - half) low = -kInfinity;
  if (low >= most + half) low = kInfinity;
  else if (low > most) low = most;
  if (high <= -most - half) high = -kInfinity;
  else if (high < -most) high = -most;
  if (is_half(dtype)) {
    low = std::min(low, rounded(dtype, low));
    high = std::max(high, rounded(dtype, high));
  }
  return range(low, high);
}

Element converted(const Element& e, DType from, DType to) {
  if (!e.known) return e;
  if (is_float(from)) return from_float(e, from, to);
  if (to == DType::Bool) return whole(e.whole != 0);
  if (!is_float(to)) return whole(conformance::wrapped(to, e.whole));
  return real(rounded(to, static_cast<Wide>(e.whole)));
}

Field converted(const Field& x, DType to) {
  if (x.dtype == to) return x;
  Field y{to, x.shape, {}};
  y.elements.reserve(x.size());
  for (const Element& e : x.elements) y.elements.push_back(converted(e, x.dtype, to));
  return y;
}

DType promoted(DType a, DType b) {
  if (a == b || b == DType::Bool) return a;
  if (a == DType::Bool) return b;
  if (is_float(a) && is_float(b)) {
    if (a == DType::F64 || b == DType::F64) return DType::F64;
    return DType::F32;  // of two different ones that are no f64
  }
  if (is_float(a) || is_float(b)) return is_float(a) ? a : b;
  if (is_signed_integer(a) == is_signed_integer(b)) return size_of(a) > size_of(b) ? a : b;
  const DType no_sign = is_signed_integer(a) ? b : a, with_sign = is_signed_integer(a) ? a : b;
  if (no_sign == DType::U64) return DType::None;
  for (const DType t : {DType::I16, DType::I32, DType::I64})
    if (size_of(t) >= size_of(with_sign) && size_of(t) > size_of(no_sign)) return t;
  return DType::None;
}

std::string text_of(const Array& array, size_t i) {
  if (array.dtype() == DType::Bool) return array.data()[i] != std::byte{0} ? "true" : "false";
  if (is_float(array.dtype()))
    return fmt::format("{:.17g}",
                       static_cast<double>(conformance::real_at(array.dtype(), array.data(), i)));
  const Integer x = conformance::whole_at(array.dtype(), array.data(), i);
  return x < 0 ? fmt::format("{}", static_cast<int64_t>(x))
               : fmt::format("{}", static_cast<uint64_t>(x));
}

std::string text_of(const Field& field, size_t i) {
  const Element& e = field.elements[i];
  if (!e.known) return "unknown";
  if (is_float(field.dtype))
    return e.exact() ? fmt::format("{:.17g}", static_cast<double>(e.low))
                     : fmt::format("in [{:.17g}, {:.17g}]", static_cast<double>(e.low),
                                   static_cast<double>(e.high));
  return e.whole < 0 ? fmt::format("{}", static_cast<int64_t>(e.whole))
                     : fmt::format("{}", static_cast<uint64_t>(e.whole));
}

std::string difference(const Field& right, const Array& have, Tally& tally) {
  if (have.dtype() != right.dtype || have.shape() != right.shape)
    return fmt::format("{}{} in place of {}{}", name_of(have.dtype()), to_string(have.shape()),
                       name_of(right.dtype), to_string(right.shape));
  const Field got = field_of(have);
  for (size_t i = 0; i < got.size(); i++) {
    const Element &r = right.elements[i], &g = got.elements[i];
    if (!r.known) {
      tally.unknown++;
      continue;
    }
    tally.compared++;
    const bool same = !is_float(right.dtype)           ? r.whole == g.whole
                      : is_nan(r.low) || is_nan(g.low) ? is_nan(r.low) && is_nan(g.low)
                                                       : r.low <= g.low && g.low <= r.high;
    if (!same)
      return fmt::format("element {} is {}, right is {}", i, text_of(have, i), text_of(right, i));
  }
  return "";
}

size_t elements_in(const Shape& shape) {
  size_t count = 1;
  for (const int64_t n : shape) count *= static_cast<size_t>(n);
  return count;
}

Shape place_of(const Shape& shape, size_t i) {
  Shape place = shape;
  for (size_t k = shape.size(); k-- > 0;) {
    const auto n = static_cast<size_t>(shape[k]);
    place[k] = static_cast<int64_t>(i % n);
    i /= n;
  }
  return place;
}

size_t index_of(const Shape& shape, const Shape& place) {
  size_t i = 0;
  for (size_t k = 0; k < shape.size(); k++)
    i = i * static_cast<size_t>(shape[k]) + static_cast<size_t>(place[k]);
  return i;
}

size_t broadcast_index(const Shape& own, const Shape& place) {
  size_t i = 0;
  const size_t more = place.size() - own.size();
  for (size_t k = 0; k < own.size(); k++)
    i = i * static_cast<size_t>(own[k]) + (own[k] == 1 ? 0 : static_cast<size_t>(place[k + more]));
  return i;
}

bool repeats_to(const Shape& own, const Shape& shape) {
  if (own.size() > shape.size()) return false;
  const size_t more = shape.size() - own.size();
  for (size_t k = 0; k < own.size(); k++)
    if (own[k] != 1 && own[k] != shape[k + more]) return false;
  return true;
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape shape = a.size() > b.size() ? a : b;
  const Shape& other = a.size() > b.size() ? b : a;
  const size_t more = shape.size() - other.size();
  for (size_t k = 0; k < other.size(); k++)
    if (shape[k + more] == 1) shape[k + more] = other[k];
  return shape;
}

}  // namespace hologram::graphs
