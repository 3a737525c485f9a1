#include "summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace hologram::tool {
namespace {

double from_f16(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double v = 0;
  if (exponent == 31) v = fraction == 0 ? HUGE_VAL : NAN;
  else if (exponent == 0) v = std::ldexp(fraction, -24);
  else v = std::ldexp(fraction + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -v : v;
}

double from_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

constexpr double kSmall = 0x1p-64;

nlohmann::ordered_json json_of(__int128 whole) {
  if (whole < 0) return static_cast<int64_t>(whole);
  return static_cast<uint64_t>(whole);
}

}  // namespace

template <class T, class F>
void Summary::add_all(const Array& rows, F number) {
  for (size_t i = 0; i < rows.size(); i++) {
    T stored;
    std::memcpy(&stored, rows.data() + i * sizeof(T), sizeof(T));
    const double v = number(stored);
    if (std::isnan(v)) {
      nans_++;
      continue;
    }
    min_ = count_ == 0 ? v : std::min(min_, v);
    max_ = count_ == 0 ? v : std::max(max_, v);
    sum_ += v;
    small_sum_ += v * kSmall;
    count_++;
  }
}

template <class T>
void Summary::add_whole(const Array& rows) {
  whole_ = true;
  for (size_t i = 0; i < rows.size(); i++) {
    T stored;
    std::memcpy(&stored, rows.data() + i * sizeof(T), sizeof(T));
    const __int128 v = +stored;  // promoted
    least_ = count_ == 0 ? v : std::min(least_, v);
    most_ = count_ == 0 ? v : std::max(most_, v);
    total_ += v;
    count_++;
  }
}

void Summary::add(const Array& rows) {
  const auto plain = [](auto v) { return static_cast<double>(v); };
  switch (rows.dtype()) {
    case DType::Bool: return add_all<uint8_t>(rows, [](uint8_t v) { return v != 0 ? 1.0 : 0.0; });
    case DType::I8: return add_whole<int8_t>(rows);
    case DType::U8: return add_whole<uint8_t>(rows);
    case DType::I16: return add_whole<int16_t>(rows);
    case DType::U16: return add_whole<uint16_t>(rows);
    case DType::I32: return add_whole<int32_t>(rows);
    case DType::U32: return add_whole<uint32_t>(rows);
    case DType::I64: return add_whole<int64_t>(rows);
    case DType::U64: return add_whole<uint64_t>(rows);
    case DType::F16: return add_all<uint16_t>(rows, from_f16);
    case DType::BF16: return add_all<uint16_t>(rows, from_bf16);
    case DType::F32: return add_all<float>(rows, plain);
    case DType::F64: return add_all<double>(rows, plain);
    case DType::None: return;
  }
}

double Summary::mean() const {
  const auto n = static_cast<double>(count_);
  if (count_ == 0) return NAN;
  if (whole_) return static_cast<double>(total_) / n;
  return std::isfinite(sum_) ? sum_ / n : small_sum_ / n / kSmall;
}

std::string Summary::text() const {
  std::string text = "no numbers";
  if (count_ > 0 && whole_)
    text = fmt::format("min {}, max {}, mean {:.7g}", json_of(least_).dump(), json_of(most_).dump(),
                       mean());
  else if (count_ > 0)
    text = fmt::format("min {:.7g}, max {:.7g}, mean {:.7g}", min_, max_, mean());
  if (nans_ > 0) text += fmt::format(", {} NaN", nans_);
  return text;
}

void Summary::describe(nlohmann::ordered_json& json) const {
  json["min"] = whole_ ? json_of(least_) : nlohmann::ordered_json(min_);
  json["max"] = whole_ ? json_of(most_) : nlohmann::ordered_json(max_);
  json["mean"] = mean();
  json["nan"] = nans_;
}

}  // namespace hologram::tool
