// Tensors from nothing: every dtype, seen in every layout.
#include <fmt/format.h>

#include <cmath>

#include "conformance/arrays.hpp"
#include "hologram/ops.hpp"

namespace hologram::conformance {
namespace {

// What element i of `count` ought to be, and how far it may be off; 0: rounded once.
struct Answer {
  Wide exact, allowed = 0;
};

struct Creation {
  std::string_view name, variant;
  bool (*takes)(DType dtype);
  Tensor (*run)(const Shape& shape, DType dtype, const Executor& executor);
  Answer (*element)(const Shape& shape, int64_t i, DType dtype);
  bool refuses = false;  // other dtypes are an error
};

bool any(DType) { return true; }
bool number(DType dtype) { return dtype != DType::Bool; }
bool has_sign(DType dtype) { return is_float(dtype) || is_signed_integer(dtype); }

// A number as kernels compute with it.
Wide computed(DType dtype, double x) {
  return dtype == DType::F64 ? x : static_cast<Wide>(static_cast<float>(x));
}

double step_of(DType dtype) { return is_float(dtype) ? 0.1 : 3; }
constexpr double kFirst = 5;

// How many steps the dtype holds, as many as anybody asks for but of 8 bits.
int64_t steps_within(DType dtype, int64_t step) {
  if (size_of(dtype) > 1) return INT64_MAX;
  const int64_t least = is_signed_integer(dtype) ? -128 : 0, most = least + 255;
  return (static_cast<int64_t>(kFirst) - (step > 0 ? most : least)) / -step + 1;
}

Tensor range(const Shape& shape, DType dtype, const Executor& executor, double step) {
  const int64_t n = count_of(shape);
  if (is_float(dtype)) {
    const double stop = kFirst + (static_cast<double>(n) - 0.5) * step;
    return ops::arange(kFirst, stop, step, dtype, executor).reshape(shape);
  }
  // The last step is not a whole one. What the dtype does not hold begins anew.
  const int64_t by = static_cast<int64_t>(step), first = static_cast<int64_t>(kFirst);
  const int64_t steps = std::min(n, steps_within(dtype, by));
  const int64_t end = first + steps * by - (by > 0 ? 1 : -1) * (n > 0);
  const Tensor range = ops::arange(first, end, by, dtype, executor);
  if (steps == n) return range.reshape(shape);
  return ops::tile(range, {n / steps + 1}).slice(0, {0, n}).reshape(shape);
}
Answer range_at(int64_t i, DType dtype, double step) {
  if (is_float(dtype))
    return {computed(dtype, kFirst) + static_cast<Wide>(i) * computed(dtype, step)};
  const auto by = static_cast<int64_t>(step);
  const Integer whole =
      static_cast<Integer>(kFirst) + static_cast<Integer>(i % steps_within(dtype, by)) * by;
  return {static_cast<Wide>(wrapped(dtype, whole))};
}

constexpr double kStart = -1.5, kStop = 2.3;
Answer spaced(const Shape& shape, int64_t i, DType dtype) {
  const int64_t n = count_of(shape);
  if (i == n - 1 && n > 1) return {computed(dtype, kStop)};
  const Wide gap = static_cast<Wide>(kStop) - static_cast<Wide>(kStart);
  const Wide exact = kStart + (n > 1 ? gap * static_cast<Wide>(i) / static_cast<Wide>(n - 1) : 0);
  // The start and the step are rounded, then the result.
  const Wide epsilon = std::ldexp(1.0L, dtype == DType::F64 ? -53 : -24);
  return {exact, epsilon * (gap + magnitude(kStart) + magnitude(exact))};
}

// Rows and columns of any shape: its first axis, and the others.
int64_t rows_of(const Shape& shape) { return shape.empty() ? 1 : shape[0]; }
int64_t columns_of(const Shape& shape) {
  int64_t n = 1;
  for (size_t k = 1; k < shape.size(); k++) n *= shape[k];
  return n;
}
int64_t diagonal_at(const Shape& shape, int64_t i) {
  return i % columns_of(shape) - i / columns_of(shape);
}
Tensor eye(const Shape& s, DType t, const Executor& e, int64_t diagonal) {
  return ops::eye(rows_of(s), columns_of(s), diagonal, t, e).reshape(s);
}
Tensor tri(const Shape& s, DType t, const Executor& e, int64_t diagonal) {
  return ops::tri(rows_of(s), columns_of(s), diagonal, t, e).reshape(s);
}
Answer truth(bool is_true) { return {static_cast<Wide>(is_true ? 1 : 0)}; }

double filling(DType dtype) {
  if (is_float(dtype)) return 0.1;
  return dtype == DType::Bool ? 1 : is_signed_integer(dtype) ? -128 : 255;
}
Tensor full(const Shape& s, DType t, const Executor& e) { return ops::full(s, filling(t), t, e); }
Answer filled(const Shape&, int64_t, DType t) {
  return {is_float(t) ? computed(t, filling(t)) : static_cast<Wide>(filling(t))};
}

// clang-format off
const Creation kCreations[] = {
  {"zeros", "", any, [](const Shape& s, DType t, const Executor& e) { return ops::zeros(s, t, e); },
   [](const Shape&, int64_t, DType) { return Answer{0}; }},
  {"ones", "", any, [](const Shape& s, DType t, const Executor& e) { return ops::ones(s, t, e); },
   [](const Shape&, int64_t, DType) { return Answer{1}; }},
  {"full", "", any, full, filled},
  {"zeros_like", "", any, [](const Shape& s, DType t, const Executor& e) { return ops::zeros_like(full(s, t, e)); },
   [](const Shape&, int64_t, DType) { return Answer{0}; }},
  {"ones_like", "", any, [](const Shape& s, DType t, const Executor& e) { return ops::ones_like(full(s, t, e)); },
   [](const Shape&, int64_t, DType) { return Answer{1}; }},
  {"full_like", "", any, [](const Shape& s, DType t, const Executor& e) { return ops::full_like(ops::zeros(s, t, e), filling(t)); }, filled},
  {"arange", "up", number, [](const Shape& s, DType t, const Executor& e) { return range(s, t, e, step_of(t)); },
   [](const Shape&, int64_t i, DType t) { return range_at(i, t, step_of(t)); }},
  {"arange", "down", has_sign, [](const Shape& s, DType t, const Executor& e) { return range(s, t, e, -step_of(t)); },
   [](const Shape&, int64_t i, DType t) { return range_at(i, t, -step_of(t)); }},
  {"linspace", "", is_float, [](const Shape& s, DType t, const Executor& e) { return ops::linspace(kStart, kStop, count_of(s), t, e).reshape(s); }, spaced, true},
  {"eye", "", any, [](const Shape& s, DType t, const Executor& e) { return eye(s, t, e, 0); },
   [](const Shape& s, int64_t i, DType) { return truth(diagonal_at(s, i) == 0); }},
  {"eye", "above", any, [](const Shape& s, DType t, const Executor& e) { return eye(s, t, e, 2); },
   [](const Shape& s, int64_t i, DType) { return truth(diagonal_at(s, i) == 2); }},
  {"tri", "", any, [](const Shape& s, DType t, const Executor& e) { return tri(s, t, e, 0); },
   [](const Shape& s, int64_t i, DType) { return truth(diagonal_at(s, i) <= 0); }},
  {"tri", "below", any, [](const Shape& s, DType t, const Executor& e) { return tri(s, t, e, -3); },
   [](const Shape& s, int64_t i, DType) { return truth(diagonal_at(s, i) <= -3); }},
};
// clang-format on

Finding try_one(const Suite& suite, const Creation& c, DType dtype, const Layout& layout) {
  const Shape stored = stored_shape(layout, 0, 1), shape = dense_shape(layout, stored);
  const Tensor made = c.run(shape, dtype, suite.ways().plain);
  const Array result = ops::contiguous(looked_at(layout, made, stored)).array();
  Finding found;
  if (result.dtype() != dtype || result.shape() != layout.shape) {
    found.wrong = "dtype or shape is wrong";
    return found;
  }
  found.bound = is_float(dtype) ? 1 : 0;
  found.elements = result.size();
  for (size_t i = 0; i < result.size(); i++) {
    const size_t element = dense_at(layout, stored, stored_at(layout.shape, stored, i));
    const Answer answer = c.element(shape, static_cast<int64_t>(element), dtype);
    const Wide have = real_at(dtype, result.data(), i);
    // f16 and bf16 are computed in f32.
    const double twice = size_of(dtype) == 2 ? std::ldexp(1.0, digits_of(dtype) - 24) : 0;
    const double units = error_in_units(dtype, have, answer.exact) / (0.5 + twice);
    if (!is_float(dtype) || units <= 1 || answer.allowed == 0) {
      found.measure(units, i, have, answer.exact);
      continue;
    }
    Wide allowed = answer.allowed;
    if (size_of(dtype) == 2)
      allowed += std::ldexp(1.0L, -digits_of(dtype)) * magnitude(answer.exact);
    found.measure(static_cast<double>(magnitude(have - answer.exact) / allowed), i, have,
                  answer.exact);
  }
  return found;
}

// What a dtype cannot hold is refused.
void limits_of(Suite& suite) {
  struct Row {
    DType dtype;
    Operand number;
  };
  const Row rows[] = {{DType::I8, 128},    {DType::U8, -1},   {DType::I16, -32769},
                      {DType::U16, 65536}, {DType::I32, 0.5}, {DType::U32, int64_t{1} << 32},
                      {DType::I64, NAN},   {DType::U64, -1}};
  for (const Row& row : rows)
    suite.attempt("full", row.dtype, "refused", [&] {
      return refused(ErrorKind::InvalidArgument,
                     [&] { ops::full({3}, row.number, row.dtype, suite.ways().plain); });
    });
}

// Made where they are used, or before.
void bits_of(Suite& suite, const Creation& c, DType dtype) {
  attempt_both(suite, c.name, dtype, [&](const Executor& executor) {
    const Tensor x = c.run({150, 301}, dtype, executor), y = x * 3 + x.transpose().transpose();
    return arrays_of({x, y, ops::sum(y, 0), ops::sum(y.flip({1}), 1)});
  });
}

}  // namespace

void creation_cases(Suite& suite) {
  for (const Creation& c : kCreations) {
    for (const DType dtype : all_dtypes()) {
      if (!c.takes(dtype)) {
        if (c.refuses)
          suite.attempt(c.name, dtype, "refused", [&] {
            return refused(ErrorKind::DTypeMismatch,
                           [&] { c.run({3}, dtype, suite.ways().plain); });
          });
        continue;
      }
      for (const Layout& layout : layouts()) {
        const std::string property = c.variant.empty()
                                         ? std::string(layout.name)
                                         : fmt::format("{}, {}", layout.name, c.variant);
        suite.attempt(c.name, dtype, property, [&] { return try_one(suite, c, dtype, layout); });
      }
    }
    if (c.variant.empty() || c.variant == "up") bits_of(suite, c, DType::F32);
  }
  limits_of(suite);
}

}  // namespace hologram::conformance
