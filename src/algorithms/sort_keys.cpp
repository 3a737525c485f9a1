#include "algorithms/sort_keys.hpp"

#include "engine/context.hpp"

namespace hologram::graph {

using program::apply;
using program::Builder;
using program::Op;
using program::Value;

DType key_dtype(DType element) {
  const DType t = compute_type(element);
  return t == DType::Bool || size_of(t) == 4 ? DType::U32 : DType::U64;
}

Value key_of(Builder& b, Value x, DType element, bool descending) {
  const DType type = x.type(), to = key_dtype(element);
  const auto bits = [&](uint64_t n) { return b.constant_bits(to, n); };
  const uint64_t sign = to == DType::U32 ? 0x80000000u : uint64_t{1} << 63;
  const uint64_t ones = to == DType::U32 ? 0xffffffffu : UINT64_MAX;
  Value key;
  if (is_float(type)) {
    // -0 equals 0, and by its bits, as some devices take what is denormal for 0. Negative numbers
    // go backwards; NaN comes behind everything.
    const Value own = b.bitcast(x, to);
    const Value raw = select((own & bits(sign - 1)) == bits(0), bits(0), own);
    key = select((raw & bits(sign)) != bits(0), raw ^ bits(ones), raw | bits(sign));
    key = select(apply(Op::IsNan, {x}), bits(ones), key);
  } else if (is_signed_integer(type)) {
    // From 0 on: small integers have few digits.
    key = b.bitcast(x, to) + bits(uint64_t{1} << (8 * size_of(element) - 1));
  } else {
    key = b.cast(x, to);
  }
  return descending ? key ^ bits(ones) : key;
}

Digits digits_of(DType element) {
  // Of f32, what these become leaves the lowest bits 0, but in NaN, which is known by the others.
  if (element == DType::BF16) return {2, 2};
  if (element == DType::F16) return {1, 3};
  const auto all = static_cast<uint32_t>(size_of(element) * 8 / kDigitBits);
  return {0, all};
}

hal::Binding part_of(const hal::Binding& matrix, int64_t first, int64_t rows, uint64_t row_bytes) {
  return {matrix.buffer, matrix.offset + static_cast<uint64_t>(first) * row_bytes,
          static_cast<uint64_t>(rows) * row_bytes};
}

void launch_lanes(Context& context, const Program& program, DType index, int64_t lanes,
                  const std::vector<int64_t>& sizes, const std::vector<hal::Binding>& bindings) {
  std::vector<uint64_t> scalars;
  scalars.reserve(sizes.size());
  for (const int64_t n : sizes) scalars.push_back(index_bits(index, n));
  const Grid grid = {(static_cast<uint64_t>(lanes) + kBoxLanes - 1) / kBoxLanes, 1, 1};
  context.launch(program, grid, bindings, scalars);
}

}  // namespace hologram::graph
