// Vectors as blocks of 128 bits: brought from rows that lie apart, taken there, and transposed. For
// files that Highway compiles once a target; inside its namespaces.
#if defined(HOLOGRAM_LIBRARIES_TRANSPOSE_BLOCKS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_LIBRARIES_TRANSPOSE_BLOCKS_HPP
#undef HOLOGRAM_LIBRARIES_TRANSPOSE_BLOCKS_HPP
#else
#define HOLOGRAM_LIBRARIES_TRANSPOSE_BLOCKS_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
constexpr size_t kBlocksOf = hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) / 16;

// Each block so many elements behind the one before.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_blocks(D tag, const T* from, int64_t apart) {
  if constexpr (kBlocksOf<D> == 1) {
    return hn::LoadU(tag, from);
  } else {
    const hn::Half<D> half;
    return hn::Combine(tag, load_blocks(half, from + kBlocksOf<D> / 2 * apart, apart),
                       load_blocks(half, from, apart));
  }
}
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_blocks(D tag, hn::Vec<D> v, T* to, int64_t apart) {
  if constexpr (kBlocksOf<D> == 1) {
    hn::StoreU(v, tag, to);
  } else {
    const hn::Half<D> half;
    store_blocks(half, hn::LowerHalf(half, v), to, apart);
    store_blocks(half, hn::UpperHalf(half, v), to + kBlocksOf<D> / 2 * apart, apart);
  }
}

// The squares that a block each of the vectors in(0), in(1), … make, their rows and columns
// exchanged: out(i, vector) for as many. Two of 64 bits an element, four of 32.
template <class D, class In, class Out>
HWY_INLINE void transpose_blocks(D tag, const In& in, const Out& out) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    const auto x = in(0), y = in(1);
    out(0, hn::InterleaveLower(tag, x, y));
    out(1, hn::InterleaveUpper(tag, x, y));
  } else {
    const auto x = in(0), y = in(1), z = in(2), w = in(3);
    const auto xz = hn::InterleaveLower(tag, x, z), yw = hn::InterleaveLower(tag, y, w);
    out(0, hn::InterleaveLower(tag, xz, yw));
    out(1, hn::InterleaveUpper(tag, xz, yw));
    const auto xz2 = hn::InterleaveUpper(tag, x, z), yw2 = hn::InterleaveUpper(tag, y, w);
    out(2, hn::InterleaveLower(tag, xz2, yw2));
    out(3, hn::InterleaveUpper(tag, xz2, yw2));
  }
}

}  // namespace hologram::libraries::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
#endif
