// Kernels of AVX-512 with VNNI: one instruction for 64 products.
#include "libraries/blocks/kernels.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <bit>
#include <cstring>

#include "core/processor.hpp"
#include "hologram/hal/operations.hpp"
#include "libraries/blocks/lanes.hpp"
#include "libraries/blocks/layout.hpp"

#define HOLOGRAM_INSTRUCTIONS "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c"

// GCC 12's header gives instructions that ignore an operand one that is not set.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

HOLOGRAM_LANES_BEGIN(HOLOGRAM_INSTRUCTIONS)
namespace hologram::libraries::blocks {
namespace {

struct Machine {
  using Word = __m512i;
  using Real = __m512;
  static constexpr std::string_view kName = "AVX-512 VNNI";
  static constexpr int kLanes = 16, kVectors = 2, kColumns = 8;
  static constexpr uint32_t kSigned = 128;

  HOLOGRAM_LANES static Word no_bits() { return _mm512_setzero_si512(); }
  HOLOGRAM_LANES static Word word(const uint32_t* from) { return _mm512_loadu_si512(from); }
  HOLOGRAM_LANES static Word spread(const uint32_t* from) {
    return _mm512_set1_epi32(static_cast<int32_t>(*from));
  }
  HOLOGRAM_LANES static Word shl(Word a, uint32_t k) { return _mm512_slli_epi32(a, k); }
  HOLOGRAM_LANES static Word shr(Word a, uint32_t k) { return _mm512_srli_epi32(a, k); }
  HOLOGRAM_LANES static Word sar(Word a, uint32_t k) { return _mm512_srai_epi32(a, k); }
  HOLOGRAM_LANES static Word masked(Word a, uint32_t mask) {
    return _mm512_and_si512(a, _mm512_set1_epi32(static_cast<int32_t>(mask)));
  }
  HOLOGRAM_LANES static Word joined(Word a, Word b) { return _mm512_or_si512(a, b); }
  HOLOGRAM_LANES static Word added(Word a, Word b) { return _mm512_add_epi32(a, b); }
  HOLOGRAM_LANES static Word subtracted(Word a, Word b) { return _mm512_sub_epi32(a, b); }
  HOLOGRAM_LANES static Word times(Word a, uint32_t factor) {
    if (std::has_single_bit(factor)) return shl(a, static_cast<uint32_t>(std::countr_zero(factor)));
    return _mm512_mullo_epi32(a, _mm512_set1_epi32(static_cast<int32_t>(factor)));
  }
  HOLOGRAM_LANES static Word lookup(Word a, const Codes& table) {
    __m128i all;
    std::memcpy(&all, table.data(), sizeof all);
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(all), a);
  }
  HOLOGRAM_LANES static Word dot(Word sum, Word codes, Word x) {
    return _mm512_dpbusd_epi32(sum, codes, x);
  }
  // Bytes without a sign that are 128 more.
  HOLOGRAM_LANES static Word signed_dot(Word sum, Word codes, Word x) {
    return dot(sum, _mm512_xor_si512(codes, _mm512_set1_epi8(-128)), x);
  }

  HOLOGRAM_LANES static Real zero() { return _mm512_setzero_ps(); }
  HOLOGRAM_LANES static Real number(float x) { return _mm512_set1_ps(x); }
  HOLOGRAM_LANES static Real load(const float* from) { return _mm512_loadu_ps(from); }
  HOLOGRAM_LANES static void store(float* to, Real a) { _mm512_storeu_ps(to, a); }
  HOLOGRAM_LANES static Real spread_real(const uint32_t* from) {
    return _mm512_castsi512_ps(spread(from));
  }
  HOLOGRAM_LANES static Real real(Word a) { return _mm512_cvtepi32_ps(a); }
  HOLOGRAM_LANES static Real half(Word a) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(a)); }
  HOLOGRAM_LANES static Real exponent(Word a) {
    const Word two = _mm512_set1_epi32(2), one = _mm512_set1_epi32(1);
    const Word few = _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), a);
    const Word usual = _mm512_slli_epi32(_mm512_sub_epi32(a, one), 23);
    return _mm512_castsi512_ps(_mm512_mask_mov_epi32(usual, _mm512_cmplt_epi32_mask(a, two), few));
  }
  HOLOGRAM_LANES static Real sum(Real a, Real b) { return _mm512_add_ps(a, b); }
  HOLOGRAM_LANES static Real difference(Real a, Real b) { return _mm512_sub_ps(a, b); }
  HOLOGRAM_LANES static Real product(Real a, Real b) { return _mm512_mul_ps(a, b); }
  HOLOGRAM_LANES static Real fma(Real a, Real b, Real c) { return _mm512_fmadd_ps(a, b, c); }
};

#include "libraries/blocks/codes-inl.hpp"
#include "libraries/blocks/rows-inl.hpp"

}  // namespace
}  // namespace hologram::libraries::blocks
HOLOGRAM_LANES_END

namespace hologram::libraries::blocks {
const Kernels* vnni_kernels() { return core::has_avx512_vnni() ? &all_kernels() : nullptr; }
}  // namespace hologram::libraries::blocks

#else

namespace hologram::libraries::blocks {
const Kernels* vnni_kernels() { return nullptr; }
}  // namespace hologram::libraries::blocks

#endif
