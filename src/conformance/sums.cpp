#include "conformance/sums.hpp"

#include <fmt/format.h>

#include <cmath>

namespace hologram::conformance {

void SumOfProducts::take(const Array& x, size_t in_x, const Array& y, size_t in_y) {
  if (is_float(dtype_)) {
    const Wide term = real_at(dtype_, x.data(), in_x) * real_at(dtype_, y.data(), in_y);
    sum_ += term;
    size_ += magnitude(term);
  } else {
    const auto term = static_cast<uint64_t>(whole_at(dtype_, x.data(), in_x)) *
                      static_cast<uint64_t>(whole_at(dtype_, y.data(), in_y));
    whole_ = dtype_ == DType::Bool ? whole_ | term : whole_ + term;
  }
}

void SumOfProducts::add(const Array& x, size_t in_x) {
  if (is_float(dtype_)) {
    sum_ += real_at(dtype_, x.data(), in_x);
    size_ += magnitude(sum_);
  } else {
    const auto more = static_cast<uint64_t>(whole_at(dtype_, x.data(), in_x));
    whole_ = dtype_ == DType::Bool ? whole_ | more : whole_ + more;
  }
}

void SumOfProducts::judge(const Array& result, size_t i, double roundings, Finding& found) const {
  if (!is_float(dtype_)) {
    const Integer have = whole_at(dtype_, result.data(), i),
                  exact = wrapped(dtype_, static_cast<Integer>(whole_));
    if (have != exact && found.wrong.empty())
      found.wrong = fmt::format("element {} is {}, not {}", i, static_cast<int64_t>(have),
                                static_cast<int64_t>(exact));
    return;
  }
  const Wide epsilon = std::ldexp(1.0, dtype_ == DType::F64 ? -52 : -23);
  Wide allowed = epsilon * roundings * size_;
  const Wide have = real_at(dtype_, result.data(), i);
  if (size_of(dtype_) == 2)
    allowed += std::ldexp(1.0L, -digits_of(dtype_)) * magnitude(sum_) + smallest_of(dtype_) * 0.01;
  const Wide off = magnitude(have - sum_);
  found.measure(off == 0 ? 0 : static_cast<double>(off / allowed), i, have, sum_);
}

}  // namespace hologram::conformance
