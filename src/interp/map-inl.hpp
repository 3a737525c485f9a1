// Loops that apply one operation to rows, for the target being compiled. Included once a target by
// the kernels_*.cpp files, after hwy/foreach_target.h.
#if defined(HOLOGRAM_INTERP_MAP_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_INTERP_MAP_INL_HPP_
#undef HOLOGRAM_INTERP_MAP_INL_HPP_
#else
#define HOLOGRAM_INTERP_MAP_INL_HPP_
#endif

#include <hwy/highway.h>

#include <cstring>

#include "interp/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::interp::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors of at most one group; a group is a whole number of them.
template <class T>
using Tag = hn::CappedTag<T, kGroup>;

template <class T>
HWY_INLINE const T* lanes(const std::byte* p) {
  return reinterpret_cast<const T*>(p);
}
template <class T>
HWY_INLINE T* lanes(std::byte* p) {
  return reinterpret_cast<T*>(p);
}

// The bits of a mask, lane 0 lowest.
template <class T>
HWY_INLINE uint32_t mask_bits(Tag<T> d, hn::Mask<Tag<T>> mask) {
  uint64_t bits = 0;
  hn::StoreMaskBits(d, mask, reinterpret_cast<uint8_t*>(&bits));
  return static_cast<uint32_t>(bits) & ((1u << hn::Lanes(d)) - 1);
}

template <class T>
HWY_INLINE hn::Mask<Tag<T>> mask_of(Tag<T> d, uint32_t bits) {
  const uint64_t wide = bits;
  return hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&wide));
}

HWY_INLINE uint32_t load_bits(const std::byte* p) {
  uint16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return bits;
}
HWY_INLINE void store_bits(std::byte* p, uint32_t bits) {
  const auto low = static_cast<uint16_t>(bits);
  std::memcpy(p, &low, sizeof low);
}

// out = F::apply(d, a …) for vectors of T. Steps are read once: a byte that is written could be one
// of theirs, for all that the compiler knows.
template <class T, class F>
void map1(std::byte* out, const Operand* in, size_t groups) {
  const Tag<T> d;
  const size_t n = hn::Lanes(d);
  const std::byte* a = in[0].data;
  const size_t step_a = in[0].step;
  for (size_t g = 0; g < groups; g++) {
    for (size_t j = 0; j < kGroup; j += n)
      hn::StoreU(F::apply(d, hn::LoadU(d, lanes<T>(a) + j)), d, lanes<T>(out) + j);
    a += step_a;
    out += kGroup * sizeof(T);
  }
}

template <class T, class F>
void map2(std::byte* out, const Operand* in, size_t groups) {
  const Tag<T> d;
  const size_t n = hn::Lanes(d);
  const std::byte *a = in[0].data, *b = in[1].data;
  const size_t step_a = in[0].step, step_b = in[1].step;
  for (size_t g = 0; g < groups; g++) {
    for (size_t j = 0; j < kGroup; j += n)
      hn::StoreU(F::apply(d, hn::LoadU(d, lanes<T>(a) + j), hn::LoadU(d, lanes<T>(b) + j)), d,
                 lanes<T>(out) + j);
    a += step_a;
    b += step_b;
    out += kGroup * sizeof(T);
  }
}

template <class T, class F>
void map3(std::byte* out, const Operand* in, size_t groups) {
  const Tag<T> d;
  const size_t n = hn::Lanes(d);
  const std::byte *a = in[0].data, *b = in[1].data, *c = in[2].data;
  const size_t step_a = in[0].step, step_b = in[1].step, step_c = in[2].step;
  for (size_t g = 0; g < groups; g++) {
    for (size_t j = 0; j < kGroup; j += n)
      hn::StoreU(F::apply(d, hn::LoadU(d, lanes<T>(a) + j), hn::LoadU(d, lanes<T>(b) + j),
                          hn::LoadU(d, lanes<T>(c) + j)),
                 d, lanes<T>(out) + j);
    a += step_a;
    b += step_b;
    c += step_c;
    out += kGroup * sizeof(T);
  }
}

// The same with a mask as the result.
template <class T, class F>
void test1(std::byte* out, const Operand* in, size_t groups) {
  const Tag<T> d;
  const size_t n = hn::Lanes(d);
  const std::byte* a = in[0].data;
  const size_t step_a = in[0].step;
  for (size_t g = 0; g < groups; g++) {
    uint32_t bits = 0;
    for (size_t j = 0; j < kGroup; j += n)
      bits |= mask_bits<T>(d, F::apply(d, hn::LoadU(d, lanes<T>(a) + j))) << j;
    store_bits(out, bits);
    a += step_a;
    out += 2;
  }
}

template <class T, class F>
void test2(std::byte* out, const Operand* in, size_t groups) {
  const Tag<T> d;
  const size_t n = hn::Lanes(d);
  const std::byte *a = in[0].data, *b = in[1].data;
  const size_t step_a = in[0].step, step_b = in[1].step;
  for (size_t g = 0; g < groups; g++) {
    uint32_t bits = 0;
    for (size_t j = 0; j < kGroup; j += n)
      bits |=
          mask_bits<T>(d, F::apply(d, hn::LoadU(d, lanes<T>(a) + j), hn::LoadU(d, lanes<T>(b) + j)))
          << j;
    store_bits(out, bits);
    a += step_a;
    b += step_b;
    out += 2;
  }
}

// One lane after the other, for what has no good vector form: R F::apply(A), and of two operands
// whose elements may differ in type.
template <class R, class A, class F>
void each1(std::byte* out, const Operand* in, size_t groups) {
  const std::byte* a = in[0].data;
  const size_t step_a = in[0].step;
  for (size_t g = 0; g < groups; g++) {
    for (size_t j = 0; j < kGroup; j++) lanes<R>(out)[j] = F::apply(lanes<A>(a)[j]);
    a += step_a;
    out += kGroup * sizeof(R);
  }
}

template <class R, class A, class B, class F>
void each2(std::byte* out, const Operand* in, size_t groups) {
  const std::byte *a = in[0].data, *b = in[1].data;
  const size_t step_a = in[0].step, step_b = in[1].step;
  for (size_t g = 0; g < groups; g++) {
    for (size_t j = 0; j < kGroup; j++) lanes<R>(out)[j] = F::apply(lanes<A>(a)[j], lanes<B>(b)[j]);
    a += step_a;
    b += step_b;
    out += kGroup * sizeof(R);
  }
}

}  // namespace hologram::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
