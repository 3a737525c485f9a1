// Kernels of AVX2: products of bytes by pairs, whose sums are i16, and sums of pairs of those.
#include "libraries/blocks/kernels.hpp"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#include <bit>
#include <cstring>

#include "hologram/hal/operations.hpp"
#include "libraries/blocks/lanes.hpp"
#include "libraries/blocks/layout.hpp"

#define HOLOGRAM_INSTRUCTIONS "avx2,fma,f16c"

HOLOGRAM_LANES_BEGIN(HOLOGRAM_INSTRUCTIONS)
namespace hologram::libraries::blocks {
namespace {

struct Machine {
  using Word = __m256i;
  using Real = __m256;
  static constexpr std::string_view kName = "AVX2";
  static constexpr int kLanes = 8, kVectors = 2, kColumns = 4;
  static constexpr uint32_t kSigned = 0;

  HOLOGRAM_LANES static Word no_bits() { return _mm256_setzero_si256(); }
  HOLOGRAM_LANES static Word word(const uint32_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  HOLOGRAM_LANES static Word all(uint32_t bits) {
    return _mm256_set1_epi32(static_cast<int32_t>(bits));
  }
  HOLOGRAM_LANES static Word spread(const uint32_t* from) { return all(*from); }
  HOLOGRAM_LANES static __m128i count(uint32_t k) {
    return _mm_cvtsi32_si128(static_cast<int32_t>(k));
  }
  HOLOGRAM_LANES static Word shl(Word a, uint32_t k) { return _mm256_sll_epi32(a, count(k)); }
  HOLOGRAM_LANES static Word shr(Word a, uint32_t k) { return _mm256_srl_epi32(a, count(k)); }
  HOLOGRAM_LANES static Word sar(Word a, uint32_t k) { return _mm256_sra_epi32(a, count(k)); }
  HOLOGRAM_LANES static Word masked(Word a, uint32_t mask) {
    return _mm256_and_si256(a, all(mask));
  }
  HOLOGRAM_LANES static Word joined(Word a, Word b) { return _mm256_or_si256(a, b); }
  HOLOGRAM_LANES static Word added(Word a, Word b) { return _mm256_add_epi32(a, b); }
  HOLOGRAM_LANES static Word subtracted(Word a, Word b) { return _mm256_sub_epi32(a, b); }
  HOLOGRAM_LANES static Word times(Word a, uint32_t factor) {
    if (std::has_single_bit(factor)) return shl(a, static_cast<uint32_t>(std::countr_zero(factor)));
    return _mm256_mullo_epi32(a, all(factor));
  }
  HOLOGRAM_LANES static Word lookup(Word a, const Codes& table) {
    __m128i sixteen;
    std::memcpy(&sixteen, table.data(), sizeof sixteen);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(sixteen), a);
  }
  HOLOGRAM_LANES static Word pairs(Word sum, Word positive, Word x) {
    const Word of_two = _mm256_maddubs_epi16(positive, x);
    return added(sum, _mm256_madd_epi16(of_two, _mm256_set1_epi16(1)));
  }
  // Two products of 127 and 127 are no more than an i16 has room for,
  HOLOGRAM_LANES static Word dot(Word sum, Word codes, Word x) { return pairs(sum, codes, x); }
  // and neither are two of 128 and 127. x is never -128, so that its sign can be turned.
  HOLOGRAM_LANES static Word signed_dot(Word sum, Word codes, Word x) {
    return pairs(sum, _mm256_abs_epi8(codes), _mm256_sign_epi8(x, codes));
  }

  HOLOGRAM_LANES static Real zero() { return _mm256_setzero_ps(); }
  HOLOGRAM_LANES static Real number(float x) { return _mm256_set1_ps(x); }
  HOLOGRAM_LANES static Real load(const float* from) { return _mm256_loadu_ps(from); }
  HOLOGRAM_LANES static void store(float* to, Real a) { _mm256_storeu_ps(to, a); }
  HOLOGRAM_LANES static Real spread_real(const uint32_t* from) {
    return _mm256_castsi256_ps(spread(from));
  }
  HOLOGRAM_LANES static Real real(Word a) { return _mm256_cvtepi32_ps(a); }
  HOLOGRAM_LANES static Real half(Word a) {
    const Word low = masked(a, 0xffff);
    const Word both = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);
    return _mm256_cvtph_ps(_mm256_castsi256_si128(both));
  }
  HOLOGRAM_LANES static Real exponent(Word a) {
    const Word few = _mm256_sllv_epi32(all(0x00200000), a);
    const Word usual = _mm256_slli_epi32(subtracted(a, all(1)), 23);
    return _mm256_castsi256_ps(_mm256_blendv_epi8(usual, few, _mm256_cmpgt_epi32(all(2), a)));
  }
  HOLOGRAM_LANES static Real sum(Real a, Real b) { return _mm256_add_ps(a, b); }
  HOLOGRAM_LANES static Real difference(Real a, Real b) { return _mm256_sub_ps(a, b); }
  HOLOGRAM_LANES static Real product(Real a, Real b) { return _mm256_mul_ps(a, b); }
  HOLOGRAM_LANES static Real fma(Real a, Real b, Real c) { return _mm256_fmadd_ps(a, b, c); }
};

#include "libraries/blocks/codes-inl.hpp"
#include "libraries/blocks/rows-inl.hpp"

}  // namespace
}  // namespace hologram::libraries::blocks
HOLOGRAM_LANES_END

namespace hologram::libraries::blocks {
const Kernels* avx2_kernels() {
  // Compilers know no name for conversions of f16.
  constexpr unsigned kF16 = 1u << 29;
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool there = __builtin_cpu_supports("avx2") > 0 && __builtin_cpu_supports("fma") > 0 &&
                     __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kF16) != 0;
  return there ? &all_kernels() : nullptr;
}
}  // namespace hologram::libraries::blocks

#else

namespace hologram::libraries::blocks {
const Kernels* avx2_kernels() { return nullptr; }
}  // namespace hologram::libraries::blocks

#endif
