#include "interp/access.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "core/half.hpp"

namespace hologram::interp {
namespace {

// An element type in memory, its compute type, and the way between them.
template <class T>
struct Plain {
  using Stored = T;
  using Computed = std::conditional_t<(sizeof(T) >= 4), T,
                                      std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>>;
  static Computed widen(Stored v) { return v; }
  static Stored narrow(Computed v) { return static_cast<Stored>(v); }
};
struct Half {
  using Stored = uint16_t;
  using Computed = float;
  static float widen(uint16_t v) { return core::f16_to_f32(v); }
  static uint16_t narrow(float v) { return core::f32_to_f16(v); }
};
struct BHalf {
  using Stored = uint16_t;
  using Computed = float;
  static float widen(uint16_t v) { return core::bf16_to_f32(v); }
  static uint16_t narrow(float v) { return core::f32_to_bf16(v); }
};
struct Boolean {
  using Stored = uint8_t;
  using Computed = bool;
  static bool widen(uint8_t v) { return v != 0; }
  static uint8_t narrow(bool v) { return v; }
};

template <class E>
constexpr bool kBits = std::is_same_v<E, Boolean>;

template <class E>
void put(std::byte* row, uint32_t lane, typename E::Computed v) {
  if constexpr (kBits<E>) {
    auto* bytes = reinterpret_cast<uint8_t*>(row);
    const auto bit = static_cast<uint8_t>(1u << (lane % 8));
    bytes[lane / 8] = static_cast<uint8_t>(v ? bytes[lane / 8] | bit : bytes[lane / 8] & ~bit);
  } else {
    reinterpret_cast<typename E::Computed*>(row)[lane] = v;
  }
}

template <class E>
typename E::Computed get(Operand value, uint32_t lane) {
  if constexpr (kBits<E>) {
    const uint32_t l = value.step == 0 ? 0 : lane;
    return (reinterpret_cast<const uint8_t*>(value.data)[l / 8] >> (l % 8)) & 1;
  } else {
    return reinterpret_cast<const typename E::Computed*>(value.data)[value.step == 0 ? 0 : lane];
  }
}

bool takes_part(const uint64_t* mask, uint32_t lane) {
  return mask == nullptr || (mask[lane / 64] >> (lane % 64) & 1) != 0;
}

template <class E>
void load_run(std::byte* out, const std::byte* data, int64_t step, uint32_t first, uint32_t last) {
  using S = typename E::Stored;
  const S* from = reinterpret_cast<const S*>(data);
  if constexpr (std::is_same_v<S, typename E::Computed>) {
    if (step == 1 && last > first) {
      std::memcpy(out + first * sizeof(S), from + first, (last - first) * sizeof(S));
      return;
    }
  }
  if (step == 1) {
    for (uint32_t l = first; l < last; l++) put<E>(out, l, E::widen(from[l]));
  } else {
    for (uint32_t l = first; l < last; l++) put<E>(out, l, E::widen(from[step * l]));
  }
}

template <class E>
void store_run(std::byte* data, int64_t step, Operand value, uint32_t first, uint32_t last) {
  using S = typename E::Stored;
  S* to = reinterpret_cast<S*>(data);
  if constexpr (std::is_same_v<S, typename E::Computed>) {
    if (step == 1 && value.step != 0 && last > first) {
      std::memcpy(to + first, value.data + first * sizeof(S), (last - first) * sizeof(S));
      return;
    }
  }
  for (uint32_t l = first; l < last; l++) to[step * l] = E::narrow(get<E>(value, l));
}

template <class E, class I>
void gather(std::byte* out, const std::byte* data, uint64_t length, const I* index,
            const uint64_t* mask, uint32_t lanes) {
  const auto* from = reinterpret_cast<const typename E::Stored*>(data);
  for (uint32_t l = 0; l < lanes; l++) {
    const auto i = static_cast<uint64_t>(static_cast<int64_t>(index[l]));
    const bool inside = i < length && takes_part(mask, l);
    put<E>(out, l, inside ? E::widen(from[i]) : typename E::Computed{});
  }
}

template <class E, class I>
void scatter(std::byte* data, uint64_t length, const I* index, Operand value, const uint64_t* mask,
             uint32_t lanes) {
  auto* to = reinterpret_cast<typename E::Stored*>(data);
  for (uint32_t l = 0; l < lanes; l++) {
    const auto i = static_cast<uint64_t>(static_cast<int64_t>(index[l]));
    if (i < length && takes_part(mask, l)) to[i] = E::narrow(get<E>(value, l));
  }
}

template <class E>
uint64_t load_one(const std::byte* data, uint64_t index) {
  const typename E::Computed v = E::widen(reinterpret_cast<const typename E::Stored*>(data)[index]);
  if constexpr (kBits<E>) return v;
  else if constexpr (sizeof(v) == 4) return std::bit_cast<uint32_t>(v);
  else return std::bit_cast<uint64_t>(v);
}

template <class E>
constexpr Access make() {
  return {load_run<E>,         store_run<E>,        gather<E, int32_t>, gather<E, int64_t>,
          scatter<E, int32_t>, scatter<E, int64_t>, load_one<E>};
}

constexpr std::array<Access, kDTypeCount> kAccess = {
    Access{},
    make<Boolean>(),
    make<Plain<int8_t>>(),
    make<Plain<uint8_t>>(),
    make<Plain<int16_t>>(),
    make<Plain<uint16_t>>(),
    make<Plain<int32_t>>(),
    make<Plain<uint32_t>>(),
    make<Plain<int64_t>>(),
    make<Plain<uint64_t>>(),
    make<Half>(),
    make<BHalf>(),
    make<Plain<float>>(),
    make<Plain<double>>(),
};

}  // namespace

const Access& access_of(DType storage) { return kAccess[static_cast<size_t>(storage)]; }

}  // namespace hologram::interp
