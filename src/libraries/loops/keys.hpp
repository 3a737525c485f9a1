// Keys to sort by, in the order of those that programs have (algorithms/sort_keys.cpp).
#pragma once

#include <limits>

#include "libraries/loops/elements.hpp"

namespace hologram::libraries::loops {

template <size_t kBytes>
using UnsignedOf = std::conditional_t<
    kBytes == 8, uint64_t,
    std::conditional_t<kBytes == 4, uint32_t, std::conditional_t<kBytes == 2, uint16_t, uint8_t>>>;

// The bits of an element, in a key of at least 16.
template <class E>
struct Keyed {
  using T = typename E::Stored;
  using Bits = UnsignedOf<sizeof(T)>;
  using Key = UnsignedOf<(sizeof(T) == 1 ? 2 : sizeof(T))>;
  static constexpr bool kFloat = std::is_floating_point_v<typename E::Value>;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  static constexpr Bits kInfinity = E::kType == DType::F16    ? static_cast<Bits>(0x7c00)
                                    : E::kType == DType::BF16 ? static_cast<Bits>(0x7f80)
                                    : E::kType == DType::F32
                                        ? static_cast<Bits>(0x7f800000)
                                        : static_cast<Bits>(uint64_t{0x7ff0000000000000});
  // All bits where the first one is set.
  static Bits spread(Bits x) {
    using Signed = std::make_signed_t<Bits>;
    return static_cast<Bits>(static_cast<Signed>(x) >> (8 * sizeof(Bits) - 1));
  }
};

// Less than another where its element comes before: zeros of both signs have the same, and so has
// what is no number.
template <class E>
typename Keyed<E>::Key key_of(typename E::Stored stored, bool descending) {
  using K = Keyed<E>;
  using Bits = typename K::Bits;
  Bits key;
  if constexpr (K::kFloat) {
    // Nothing of this can be foreseen, so that there are no branches.
    const auto own = std::bit_cast<Bits>(stored);
    const auto size = static_cast<Bits>(own & ~K::kSign);
    const auto raw = static_cast<Bits>(own & static_cast<Bits>(-static_cast<Bits>(size != 0)));
    key = static_cast<Bits>(raw ^ (K::spread(raw) | K::kSign));
    key = static_cast<Bits>(key | static_cast<Bits>(-static_cast<Bits>(size > K::kInfinity)));
  } else if constexpr (E::kType == DType::Bool) {
    key = static_cast<Bits>(E::load(stored));
  } else if constexpr (std::is_signed_v<typename E::Value>) {
    key = static_cast<Bits>(static_cast<Bits>(stored) ^ K::kSign);
  } else {
    key = stored;
  }
  return static_cast<typename K::Key>(descending ? static_cast<Bits>(~key) : key);
}

// Whether each of so many has a key of its own: of zeros there are two, and of what is no number
// many.
template <class E>
bool have_own_keys(const typename E::Stored* x, int64_t count) {
  using K = Keyed<E>;
  if constexpr (K::kFloat) {
    using Bits = typename K::Bits;
    const auto is_other = [&](int64_t i) {
      const auto own = std::bit_cast<Bits>(x[i]);
      return static_cast<Bits>(
          static_cast<Bits>(own == K::kSign) |
          static_cast<Bits>(static_cast<Bits>(own & ~K::kSign) > K::kInfinity));
    };
    Bits others = 0;
    for_each(0, count, [&](int64_t i) { others = static_cast<Bits>(others | is_other(i)); });
    return others == 0;
  }
  return true;
}

// Of floats whose keys are their own: integers in the same order, and back.
template <class E>
auto as_integer(typename Keyed<E>::Bits own) {
  using K = Keyed<E>;
  return static_cast<std::make_signed_t<typename K::Bits>>(
      own ^ static_cast<typename K::Bits>(K::spread(own) & ~K::kSign));
}

// What has that key, if it is only one.
template <class E>
typename E::Stored element_of(typename Keyed<E>::Key of, bool descending) {
  using K = Keyed<E>;
  using Bits = typename K::Bits;
  const auto key = static_cast<Bits>(descending ? static_cast<Bits>(~of) : static_cast<Bits>(of));
  if constexpr (K::kFloat) {
    const auto flips = static_cast<Bits>(K::spread(static_cast<Bits>(~key)) | K::kSign);
    return std::bit_cast<typename E::Stored>(static_cast<Bits>(key ^ flips));
  } else if constexpr (E::kType != DType::Bool && std::is_signed_v<typename E::Value>) {
    return static_cast<typename E::Stored>(key ^ K::kSign);
  } else {
    return static_cast<typename E::Stored>(key);
  }
}

}  // namespace hologram::libraries::loops
