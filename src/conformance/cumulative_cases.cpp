// Running sums and products: every dtype, in every layout, along rows of one piece and of several.
#include <fmt/format.h>

#include <cmath>

#include "conformance/arrays.hpp"
#include "hologram/ops.hpp"

namespace hologram::conformance {
namespace {

enum class Values : uint8_t { Whole, Fractions };

struct Running {
  std::string_view name;
  Tensor (*run)(const Tensor& x, int axis);
  bool product;
  Values values;
};

// Sums of whole numbers this small are exact in f32, and so are products of 1, -1 and a few 2.
constexpr Running kRunning[] = {
    {"cumsum", ops::cumsum, false, Values::Whole},
    {"cumsum", ops::cumsum, false, Values::Fractions},
    {"cumprod", ops::cumprod, true, Values::Whole},
    {"cumprod", ops::cumprod, true, Values::Fractions},
};

DType result_dtype(DType dtype) {
  return is_float(dtype) || dtype == DType::U64 ? dtype : DType::I64;
}

Array values_for(const Running& r, DType dtype, const Shape& shape, Generator& generator) {
  if (!is_float(dtype)) return any_bits(dtype, shape, generator);
  if (r.values == Values::Whole && !r.product) return small_numbers(dtype, shape, generator);
  Array array = r.product ? plain_values(dtype, shape, 0.95, 1.05, generator)
                          : plain_values(dtype, shape, -2, 2, generator);
  for (size_t i = 0; i < array.size(); i++) {
    const uint64_t dice = generator();
    const uint64_t rare = dice >> 8 & 1023;
    if (r.values == Values::Whole)
      put_real(dtype, array.mutable_data(), i, rare < 8 ? 2 : dice % 2 == 0 ? 1 : -1);
    else if (rare < 2)  // from there on nothing is finite
      put_real(dtype, array.mutable_data(), i, rare == 0 ? INFINITY : NAN);
  }
  return array;
}

// Each element from the one before it, in whole numbers or in wide ones.
class Row {
 public:
  Row(const Running& r, DType dtype) : r_(r), to_(result_dtype(dtype)) {
    all_ = whole_ = r.product ? 1 : 0;
  }

  void take(const Array& values, size_t i) {
    count_++;
    if (!is_float(to_)) {
      const auto x = static_cast<uint64_t>(whole_at(values.dtype(), values.data(), i));
      whole_ = r_.product ? whole_ * x : whole_ + x;
      return;
    }
    const Wide x = real_at(values.dtype(), values.data(), i);
    all_ = r_.product ? all_ * x : all_ + x;
    size_ = r_.product ? magnitude(all_) : size_ + magnitude(x);
  }

  void compare(const Array& result, size_t i, Finding& found) const {
    if (!is_float(to_)) {
      const auto have = static_cast<uint64_t>(whole_at(to_, result.data(), i));
      if (have != whole_ && found.wrong.empty())
        found.wrong = fmt::format("element {} is {:#x}, not {:#x}", i, have, whole_);
      return;
    }
    const Wide have = real_at(to_, result.data(), i);
    if (is_nan(all_) || is_infinite(all_) || is_nan(have) || is_infinite(have) ||
        r_.values == Values::Whole)
      // Only f16 and bf16 have to round.
      return found.measure(error_in_units(to_, have, all_) / (size_of(to_) == 2 ? 0.5 : 0x1p-20), i,
                           have, all_);
    // In any order of additions; f16 and bf16 are summed in f32 and rounded once.
    const Wide epsilon = std::ldexp(1.0, to_ == DType::F64 ? -52 : -23);
    Wide allowed = epsilon * static_cast<Wide>(count_) * size_;
    if (size_of(to_) == 2)
      allowed += std::ldexp(1.0L, -digits_of(to_)) * (magnitude(all_) + allowed) +
                 std::ldexp(1.0L, to_ == DType::F16 ? -25 : -134);
    const Wide off = magnitude(have - all_);
    found.measure(off == 0 ? 0 : static_cast<double>(off / allowed), i, have, all_);
  }

 private:
  const Running& r_;
  DType to_;
  Wide all_, size_ = 0;
  uint64_t whole_;
  double count_ = 0;
};

Finding try_one(const Suite& suite, const Running& r, DType dtype, const Layout& layout, int axis,
                std::string_view property) {
  Generator generator(seed_of(r.name, dtype, property));
  const Array stored = values_for(r, dtype, stored_shape(layout, 0, 1), generator);
  const Array values = shown(layout, stored);
  const Array result = r.run(laid_out(layout, stored, suite.ways().plain), axis).array();
  Finding found;
  if (result.dtype() != result_dtype(dtype) || result.shape() != layout.shape) {
    found.wrong = "dtype or shape is wrong";
    return found;
  }
  found.bound = is_float(dtype) ? 1 : 0;
  found.elements = result.size();
  const bool number = layout.shape.empty();
  const auto k = static_cast<size_t>(axis);
  for (size_t i = 0; i < result.size(); i++) {
    Place at = place_of(layout.shape, i);
    if (!number && at[k] != 0) continue;  // in the row of another
    Row row(r, dtype);
    for (int64_t j = 0; j < (number ? 1 : layout.shape[k]); j++) {
      if (!number) at[k] = j;
      const size_t place = index_of(layout.shape, at);
      row.take(values, place);
      row.compare(result, place, found);
    }
  }
  return found;
}

void bits_of(Suite& suite, const Running& r, DType dtype) {
  Generator generator(seed_of(r.name, dtype, "bits"));
  const Array values = plain_values(dtype, {130, 1111}, 0.9, 1.1, generator);
  attempt_both(suite, r.name, dtype, [&](const Executor& executor) {
    const Tensor x = Tensor::from(values, executor) * 0.99f;
    return arrays_of({r.run(x, 0) * 3, r.run(x, 1) + 1, ops::sum(r.run(x, 1))});
  });
}

}  // namespace

void cumulative_cases(Suite& suite) {
  std::vector<Layout> places(layouts().begin(), layouts().end());
  places.push_back({"long rows", Arrangement::Dense, {3, 1500}});
  places.push_back({"long columns", Arrangement::Backwards, {1300, 3}});
  for (const Running& r : kRunning) {
    for (const DType dtype : all_dtypes()) {
      if (!is_float(dtype) && r.values == Values::Fractions) continue;
      for (const Layout& layout : places) {
        std::vector<int> axes = outer_axes(layout.shape);
        if (axes.empty()) axes = {0};
        for (const int axis : axes) {
          const std::string property = fmt::format("{}, axis {}{}", layout.name, axis,
                                                   r.values == Values::Whole ? "" : ", fractions");
          suite.attempt(r.name, dtype, property,
                        [&] { return try_one(suite, r, dtype, layout, axis, property); });
        }
      }
    }
    if (r.values == Values::Whole)
      for (const DType dtype : {DType::F32, DType::F64}) bits_of(suite, r, dtype);
  }
}

}  // namespace hologram::conformance
