// Keys to sort by, as programs have them (graph/sort_keys.cpp).
#pragma once

#include <limits>

#include "libraries/loops/elements.hpp"

namespace hologram::libraries::loops {

// Less than another where its element comes before (graph/sort_keys.cpp).
template <class E>
auto key_of(typename E::Stored stored, bool descending) {
  const auto x = E::load(stored);
  using V = std::remove_const_t<decltype(x)>;
  using Key = std::conditional_t<sizeof(V) == 8, uint64_t, uint32_t>;
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  Key key;
  if constexpr (std::is_floating_point_v<V>) {
    // Nothing of this can be foreseen, so that there are no branches.
    using Signed = std::make_signed_t<Key>;
    const Key own = std::bit_cast<Key>(x), size = own & ~kSign;
    const Key raw = own & -static_cast<Key>(size != 0);
    key = raw ^ (static_cast<Key>(static_cast<Signed>(raw) >> (8 * sizeof(Key) - 1)) | kSign);
    constexpr Key kInfinity = std::bit_cast<Key>(std::numeric_limits<V>::infinity());
    key |= -static_cast<Key>(size > kInfinity);
  } else if constexpr (std::is_signed_v<V>) {
    key = static_cast<Key>(x) ^ kSign;
  } else {
    key = static_cast<Key>(x);
  }
  return descending ? ~key : key;
}

// Whether each of so many has a key of its own: of zeros there are two, and of what is no number
// many.
template <class E>
bool have_own_keys(const typename E::Stored* x, int64_t count) {
  using V = typename E::Value;
  using Key = decltype(key_of<E>(typename E::Stored(), false));
  if constexpr (!std::is_floating_point_v<V>) {
    return true;
  } else {
    constexpr Key kMinusZero = std::bit_cast<Key>(V{-0.0});
    constexpr Key kInfinity = std::bit_cast<Key>(std::numeric_limits<V>::infinity());
    unsigned others = 0;
    for (int64_t i = 0; i < count; i++) {
      const Key own = std::bit_cast<Key>(x[i]);
      others |= static_cast<unsigned>(own == kMinusZero) |
                static_cast<unsigned>((own & ~kMinusZero) > kInfinity);
    }
    return others == 0;
  }
}

// What has that key, if it is only one.
template <class E>
typename E::Stored element_of(decltype(key_of<E>(typename E::Stored(), false)) key,
                              bool descending) {
  using Key = decltype(key);
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  if (descending) key = ~key;
  if constexpr (std::is_floating_point_v<typename E::Value>) {
    using Signed = std::make_signed_t<Key>;
    const Key flips = static_cast<Key>(static_cast<Signed>(~key) >> (8 * sizeof(Key) - 1)) | kSign;
    return std::bit_cast<typename E::Stored>(key ^ flips);
  } else if constexpr (std::is_signed_v<typename E::Value>) {
    return static_cast<typename E::Stored>(key ^ kSign);
  } else {
    return static_cast<typename E::Stored>(key);
  }
}

}  // namespace hologram::libraries::loops
