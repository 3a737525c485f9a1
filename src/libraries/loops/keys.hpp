// Keys to sort by, as programs have them (graph/sort_keys.cpp).
#pragma once

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
    constexpr Key kInfinity = sizeof(Key) == 8 ? Key(0x7ff0000000000000) : Key(0x7f800000);
    key |= -static_cast<Key>(size > kInfinity);
  } else if constexpr (std::is_signed_v<V>) {
    key = static_cast<Key>(x) ^ kSign;
  } else {
    key = static_cast<Key>(x);
  }
  return descending ? ~key : key;
}

}  // namespace hologram::libraries::loops
