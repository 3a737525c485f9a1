// How panels of matrices are copied, for the target being compiled. Included once a target by
// kernels.cpp, after hwy/foreach_target.h.
#if defined(HOLOGRAM_PACKED_COPIES_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_PACKED_COPIES_INL_HPP_
#undef HOLOGRAM_PACKED_COPIES_INL_HPP_
#else
#define HOLOGRAM_PACKED_COPIES_INL_HPP_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "libraries/packed/packed.hpp"
#include "libraries/transpose_blocks.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::packed::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
constexpr int64_t kLanes = hn::MaxLanes(Tag<T>());

using libraries::HWY_NAMESPACE::load_blocks;

// Squares transposed, a row of each vector, into memory.
template <class T, class In>
HWY_INLINE void transpose_blocks(const In& in, T* to, int64_t to_row) {
  constexpr Tag<T> tag;
  libraries::HWY_NAMESPACE::transpose_blocks(
      tag, in, [&](int64_t r, auto v) HWY_ATTR { hn::StoreU(v, tag, to + r * to_row); });
}

// Of four rows and those behind them, as many as a vector has lanes, four neighbours each: as four
// rows of so many neighbours. Of f64, two.
template <class T>
HWY_INLINE void turn(const T* from, int64_t row, T* to, int64_t to_row) {
  constexpr int64_t kSquare = 16 / sizeof(T);
  transpose_blocks([&](int64_t r)
                       HWY_ATTR { return load_blocks(Tag<T>(), from + r * row, kSquare * row); },
                   to, to_row);
}

#if HWY_TARGET == HWY_AVX3

// As many rows as a vector has lanes, and as many neighbours: each is read at once, since rows that
// are a power of two apart drive each other out of the nearest cache.
template <class T>
HWY_INLINE void turn_lines(const T* from, int64_t row, T* to, int64_t to_row) {
  constexpr int64_t kSquare = 16 / sizeof(T);
  const hn::Repartition<float, Tag<T>> as_floats;
  hn::Vec<Tag<T>> blocks[kSquare][4];
#pragma GCC unroll 4
  for (int64_t r = 0; r < kSquare; r++) {
    const T* const at = from + r * row;
    const int64_t next = kSquare * row;
    for (int64_t b = 0; b < 4; b++) hwy::Prefetch(at + b * next + 2 * kLanes<T>);
#pragma GCC unroll 4
    for (int64_t b = 0; b < 4; b++) {
      const auto block = [&](int64_t i) HWY_ATTR {
        return _mm_loadu_ps(reinterpret_cast<const float*>(at + i * next + b * kSquare));
      };
      __m512 v = _mm512_castps128_ps512(block(0));
      v = _mm512_mask_broadcast_f32x4(v, 0x00F0, block(1));
      v = _mm512_mask_broadcast_f32x4(v, 0x0F00, block(2));
      v = _mm512_mask_broadcast_f32x4(v, 0xF000, block(3));
      blocks[r][b] = hn::BitCast(Tag<T>(), hn::Vec<decltype(as_floats)>{v});
    }
  }
#pragma GCC unroll 4
  for (int64_t b = 0; b < 4; b++)
    transpose_blocks([&](int64_t r) HWY_ATTR { return blocks[r][b]; }, to + b * kSquare * to_row,
                     to_row);
}

#endif

// A few vectors: a call would take longer.
template <class T>
void copy_row(const T* from, int64_t count, T* to) {
  constexpr Tag<T> tag;
  int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) hn::StoreU(hn::LoadU(tag, from + i), tag, to + i);
  for (; i < count; i++) to[i] = from[i];
}

// Rows of less than a vector: whole vectors are written, zeros behind what there is.
template <class T>
void copy_ends(const T* from, int64_t from_row, int64_t rows, int64_t columns, T* to,
               int64_t to_row) {
  constexpr Tag<T> tag;
#if HWY_TARGET == HWY_NEON
  for (int64_t i = 0; i < rows; i++) {
    HWY_ALIGN T row[kLanes<T>] = {};
    std::copy_n(from + i * from_row, columns, row);
    hn::StoreU(hn::Load(tag, row), tag, to + i * to_row);
  }
#else
  const auto some = hn::FirstN(tag, static_cast<size_t>(columns));
  for (int64_t i = 0; i < rows; i++)
    hn::StoreU(hn::MaskedLoad(some, tag, from + i * from_row), tag, to + i * to_row);
#endif
}

// to[i * to_row + j] of rows and columns of from, which is that or, transposed, from[j * from_row +
// i]. What is not transposed is followed by zeros to the end of a vector.
template <class T>
void copy(const T* from, int64_t from_row, bool transposed, int64_t rows, int64_t columns, T* to,
          int64_t to_row) {
  if (!transposed) {
    constexpr int64_t kAhead = 16, kLine = 64 / sizeof(T);
    const int64_t whole = columns - columns % kLanes<T>;
    for (int64_t i = 0; i < rows && whole > 0; i++) {
      const T* const row = from + i * from_row;
      for (int64_t j = 0; j < columns; j += kLine) __builtin_prefetch(row + kAhead * from_row + j);
      copy_row(row, whole, to + i * to_row);
    }
    if (whole < columns)
      copy_ends(from + whole, from_row, rows, columns - whole, to + whole, to_row);
    return;
  }
  constexpr int64_t kSquare = 16 / sizeof(T);
  const int64_t down = rows - rows % kSquare, across = columns - columns % kLanes<T>;
  for (int64_t j = 0; j < across; j += kLanes<T>) {
    int64_t i = 0;
#if HWY_TARGET == HWY_AVX3
    for (; i + kLanes<T> <= down; i += kLanes<T>)
      turn_lines(from + j * from_row + i, from_row, to + i * to_row + j, to_row);
#endif
    for (; i < down; i += kSquare)
      turn(from + j * from_row + i, from_row, to + i * to_row + j, to_row);
  }
  for (int64_t j = 0; j < columns; j++)
    for (int64_t i = j < across ? down : 0; i < rows; i++)
      to[i * to_row + j] = from[j * from_row + i];
}

// Elements of b as numbers of the other matrices' type.
template <class T, class B>
HWY_INLINE hn::Vec<Tag<T>> upcast(const B* from) {
  constexpr Tag<T> tag;
  if constexpr (std::is_same_v<B, T>) {
    return hn::LoadU(tag, from);
  } else if constexpr (std::is_same_v<B, Half>) {
    const hn::Rebind<hwy::float16_t, Tag<T>> half;
    return hn::PromoteTo(tag, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from)));
  } else {
    const hn::RebindToUnsigned<Tag<T>> bits;
    const hn::Rebind<uint16_t, Tag<T>> half;
    const auto low = hn::LoadU(half, reinterpret_cast<const uint16_t*>(from));
    return hn::BitCast(tag, hn::ShiftLeft<16>(hn::PromoteTo(bits, low)));
  }
}

// to[i * to_row + j] of rows and columns of from[i * from_row + j], which is narrower, and zeros to
// the end of a vector.
template <class T, class B>
void widen(const B* from, int64_t from_row, int64_t rows, int64_t columns, T* to, int64_t to_row) {
  constexpr Tag<T> tag;
  constexpr int64_t kAhead = 16, kLine = 64 / sizeof(B);
  const int64_t whole = columns - columns % kLanes<T>;
  for (int64_t i = 0; i < rows; i++, from += from_row, to += to_row) {
    for (int64_t j = 0; j < columns; j += kLine) __builtin_prefetch(from + kAhead * from_row + j);
    for (int64_t j = 0; j < whole; j += kLanes<T>) hn::StoreU(upcast<T>(from + j), tag, to + j);
    if (whole == columns) continue;
    B rest[kLanes<T>] = {};
    std::copy_n(from + whole, columns - whole, rest);
    hn::StoreU(upcast<T>(rest), tag, to + whole);
  }
}

#endif

}  // namespace hologram::libraries::packed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
