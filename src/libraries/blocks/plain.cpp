// Kernels for every processor: what the others are compared with, too.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/half.hpp"
#include "hologram/hal/operations.hpp"
#include "libraries/blocks/kernels.hpp"
#include "libraries/blocks/lanes.hpp"
#include "libraries/blocks/layout.hpp"

namespace hologram::libraries::blocks {
namespace {

struct Machine {
  static constexpr std::string_view kName = "plain";
  static constexpr int kLanes = 8, kVectors = 1, kColumns = 4;
  static constexpr uint32_t kSigned = 0;
  using Word = std::array<uint32_t, kLanes>;
  using Real = std::array<float, kLanes>;

  template <class To, class Fn>
  static To each(const Fn& fn) {
    To to;
    for (size_t l = 0; l < kLanes; l++) to[l] = fn(l);
    return to;
  }
  static Word no_bits() { return {}; }
  static Word word(const uint32_t* from) {
    return each<Word>([&](size_t l) { return from[l]; });
  }
  static Word spread(const uint32_t* from) {
    return each<Word>([&](size_t) { return *from; });
  }
  static Word shl(const Word& a, uint32_t k) {
    return each<Word>([&](size_t l) { return a[l] << k; });
  }
  static Word shr(const Word& a, uint32_t k) {
    return each<Word>([&](size_t l) { return a[l] >> k; });
  }
  static Word sar(const Word& a, uint32_t k) {
    return each<Word>(
        [&](size_t l) { return static_cast<uint32_t>(static_cast<int32_t>(a[l]) >> k); });
  }
  static Word masked(const Word& a, uint32_t mask) {
    return each<Word>([&](size_t l) { return a[l] & mask; });
  }
  static Word joined(const Word& a, const Word& b) {
    return each<Word>([&](size_t l) { return a[l] | b[l]; });
  }
  static Word added(const Word& a, const Word& b) {
    return each<Word>([&](size_t l) { return a[l] + b[l]; });
  }
  static Word subtracted(const Word& a, const Word& b) {
    return each<Word>([&](size_t l) { return a[l] - b[l]; });
  }
  static Word times(const Word& a, uint32_t factor) {
    return each<Word>([&](size_t l) { return a[l] * factor; });
  }
  static Word lookup(const Word& a, const Codes& table) {
    return each<Word>([&](size_t l) {
      uint32_t found = 0;
      for (uint32_t shift = 0; shift < 32; shift += 8)
        found |= static_cast<uint32_t>(static_cast<uint8_t>(table[a[l] >> shift & 15])) << shift;
      return found;
    });
  }
  static Word dot(const Word& sum, const Word& codes, const Word& x) {
    return each<Word>([&](size_t l) {
      uint32_t all = sum[l];
      for (uint32_t shift = 0; shift < 32; shift += 8)
        all += static_cast<uint32_t>(static_cast<int8_t>(codes[l] >> shift) *
                                     static_cast<int8_t>(x[l] >> shift));
      return all;
    });
  }
  static Word signed_dot(const Word& sum, const Word& codes, const Word& x) {
    return dot(sum, codes, x);
  }

  static Real zero() { return {}; }
  static Real number(float x) {
    return each<Real>([&](size_t) { return x; });
  }
  static Real load(const float* from) {
    return each<Real>([&](size_t l) { return from[l]; });
  }
  static void store(float* to, const Real& a) { std::memcpy(to, a.data(), sizeof a); }
  static Real spread_real(const uint32_t* from) { return number(std::bit_cast<float>(*from)); }
  static Real real(const Word& a) {
    return each<Real>([&](size_t l) { return static_cast<float>(static_cast<int32_t>(a[l])); });
  }
  static Real half(const Word& a) {
    return each<Real>([&](size_t l) { return core::f16_to_f32(static_cast<uint16_t>(a[l])); });
  }
  static Real exponent(const Word& a) {
    return each<Real>([&](size_t l) {
      return std::bit_cast<float>(a[l] < 2 ? 0x00200000u << a[l] : (a[l] - 1) << 23);
    });
  }
  static Real sum(const Real& a, const Real& b) {
    return each<Real>([&](size_t l) { return a[l] + b[l]; });
  }
  static Real difference(const Real& a, const Real& b) {
    return each<Real>([&](size_t l) { return a[l] - b[l]; });
  }
  static Real product(const Real& a, const Real& b) {
    return each<Real>([&](size_t l) { return a[l] * b[l]; });
  }
  static Real fma(const Real& a, const Real& b, const Real& c) {
    return each<Real>([&](size_t l) { return std::fma(a[l], b[l], c[l]); });
  }
};

// Inlined into each other, all types would take the compiler minutes.
#undef HOLOGRAM_LANES
#define HOLOGRAM_LANES inline

#include "libraries/blocks/codes-inl.hpp"
#include "libraries/blocks/rows-inl.hpp"

}  // namespace

const Kernels& plain_kernels() { return all_kernels(); }

std::span<const Kernels* const> kernels() {
  struct Found {
    std::array<const Kernels*, 3> all;
    size_t count = 0;
  };
  static const Found found = [] {
    Found some;
    for (const Kernels* one : {vnni_kernels(), avx2_kernels(), &plain_kernels()})
      if (one != nullptr) some.all[some.count++] = one;
    return some;
  }();
  return {found.all.data(), found.count};
}

}  // namespace hologram::libraries::blocks
