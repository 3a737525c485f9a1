// Products of tiles by instructions that few processors have, each function compiled for its own.
#include "libraries/narrow/tiles.hpp"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstring>
#include <type_traits>

#include "core/processor.hpp"

// Of the processor's extensions, as compilers name them.
#define HOLOGRAM_AMX __attribute__((target("amx-tile,amx-bf16,amx-int8")))
#define HOLOGRAM_AVX512_BF16 __attribute__((target("avx512f,avx512bf16")))
#define HOLOGRAM_AVX512_VNNI __attribute__((target("avx512f,avx512vnni")))

namespace hologram::libraries::narrow {
namespace {

// Bits of cpuid's leaf 7, register edx, and of its first subleaf, eax.
constexpr unsigned kAmxBf16 = 1u << 22, kAmxTile = 1u << 24, kAmxInt8 = 1u << 25;
constexpr unsigned kAvx512Bf16 = 1u << 5;

// Linux gives a process the tiles' 8 KiB of state if it asks for them (from 5.16 on).
bool may_use_tiles() {
#if defined(__linux__)
  constexpr long kAskForState = 0x1023, kTiles = 18;
  return syscall(SYS_arch_prctl, kAskForState, kTiles) == 0;
#else
  return false;
#endif
}

bool has_amx() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kAll = kAmxBf16 | kAmxTile | kAmxInt8;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kAll) == kAll && may_use_tiles();
  }();
  return has;
}

bool has_avx512_bf16() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx512f") > 0 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 &&
           (a & kAvx512Bf16) != 0;
  }();
  return has;
}

// Intel's need twice the time of products of f32 for as many terms: copies of f32 are sooner done.
bool is_amd_with_avx512_bf16() { return core::is_amd() && has_avx512_bf16(); }

// What LDTILECFG reads.
struct alignas(64) Configuration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t line_bytes[16] = {};
  uint8_t lines[16] = {};
};
// A constant: of one that is written just before, compilers do not know that it is read.
constexpr Configuration kTiles = [] {
  Configuration all;
  for (int t = 0; t < 8; t++) {
    all.line_bytes[t] = kLineBytes;
    all.lines[t] = kLines;
  }
  return all;
}();

HOLOGRAM_AMX void begin_tiles() { _tile_loadconfig(&kTiles); }
HOLOGRAM_AMX void end_tiles() { _tile_release(); }

// Tiles 0 to 3 are of c, a row of them after the other; 4 and 5 of a, 6 and 7 of b.
#define HOLOGRAM_TILES(NAME, PRODUCT)                                                    \
  HOLOGRAM_AMX void NAME(const Square& s) {                                              \
    const int64_t line = 4 * s.ldc;                                                      \
    std::byte *const right = s.c + kLineBytes, *const low = s.c + kLines * line;         \
    std::byte* const corner = low + kLineBytes;                                          \
    if (s.add) {                                                                         \
      _tile_loadd(0, s.c, line);                                                         \
      if (s.wide) _tile_loadd(1, right, line);                                           \
      if (s.high) _tile_loadd(2, low, line);                                             \
      if (s.high && s.wide) _tile_loadd(3, corner, line);                                \
    } else {                                                                             \
      _tile_zero(0);                                                                     \
      _tile_zero(1);                                                                     \
      _tile_zero(2);                                                                     \
      _tile_zero(3);                                                                     \
    }                                                                                    \
    const std::byte *a = s.a, *b = s.b;                                                  \
    if (s.high && s.wide) {                                                              \
      for (int64_t step = 0; step < s.steps; step++, a += kStepBytes, b += kStepBytes) { \
        _tile_loadd(6, b, kLineBytes);                                                   \
        _tile_loadd(4, a, kLineBytes);                                                   \
        PRODUCT(0, 4, 6);                                                                \
        _tile_loadd(5, a + kTileBytes, kLineBytes);                                      \
        PRODUCT(2, 5, 6);                                                                \
        _tile_loadd(7, b + kTileBytes, kLineBytes);                                      \
        PRODUCT(1, 4, 7);                                                                \
        PRODUCT(3, 5, 7);                                                                \
      }                                                                                  \
    } else {                                                                             \
      for (int64_t step = 0; step < s.steps; step++, a += kStepBytes, b += kStepBytes) { \
        _tile_loadd(4, a, kLineBytes);                                                   \
        _tile_loadd(6, b, kLineBytes);                                                   \
        PRODUCT(0, 4, 6);                                                                \
        if (s.wide) {                                                                    \
          _tile_loadd(7, b + kTileBytes, kLineBytes);                                    \
          PRODUCT(1, 4, 7);                                                              \
        }                                                                                \
        if (s.high) {                                                                    \
          _tile_loadd(5, a + kTileBytes, kLineBytes);                                    \
          PRODUCT(2, 5, 6);                                                              \
        }                                                                                \
      }                                                                                  \
    }                                                                                    \
    _tile_stored(0, s.c, line);                                                          \
    if (s.wide) _tile_stored(1, right, line);                                            \
    if (s.high) _tile_stored(2, low, line);                                              \
    if (s.high && s.wide) _tile_stored(3, corner, line);                                 \
  }
HOLOGRAM_TILES(tiles_of_bf16, _tile_dpbf16ps)
HOLOGRAM_TILES(tiles_of_i8_i8, _tile_dpbssd)
HOLOGRAM_TILES(tiles_of_i8_u8, _tile_dpbsud)
HOLOGRAM_TILES(tiles_of_u8_i8, _tile_dpbusd)
HOLOGRAM_TILES(tiles_of_u8_u8, _tile_dpbuud)
#undef HOLOGRAM_TILES

// Eight rows of c by two vectors of columns stay in registers.
HOLOGRAM_AVX512_BF16 void vectors_of_bf16(const Square& s) {
  constexpr int kRows = 8;
  const int64_t rows = s.high ? kSide : kLines;
  for (int64_t row = 0; row < rows; row += kRows) {
    float* const c = reinterpret_cast<float*>(s.c) + row * s.ldc;
    __m512 left[kRows], right[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; r++) {
      left[r] = s.add ? _mm512_loadu_ps(c + r * s.ldc) : _mm512_setzero_ps();
      right[r] = s.add && s.wide ? _mm512_loadu_ps(c + r * s.ldc + kLines) : _mm512_setzero_ps();
    }
    const std::byte* a = s.a + row / kLines * kTileBytes + row % kLines * kLineBytes;
    const std::byte* b = s.b;
    for (int64_t step = 0; step < s.steps; step++, a += kStepBytes, b += kStepBytes)
      for (int64_t line = 0; line < kLines; line++) {
        const auto of_left = reinterpret_cast<__m512bh>(_mm512_load_ps(b + line * kLineBytes));
        const auto of_right =
            reinterpret_cast<__m512bh>(_mm512_load_ps(b + kTileBytes + line * kLineBytes));
#pragma GCC unroll 8
        for (int r = 0; r < kRows; r++) {
          float pair;
          std::memcpy(&pair, a + r * kLineBytes + line * 4, sizeof pair);
          const auto x = reinterpret_cast<__m512bh>(_mm512_set1_ps(pair));
          left[r] = _mm512_dpbf16_ps(left[r], x, of_left);
          right[r] = _mm512_dpbf16_ps(right[r], x, of_right);
        }
      }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; r++) {
      _mm512_storeu_ps(c + r * s.ldc, left[r]);
      if (s.wide) _mm512_storeu_ps(c + r * s.ldc + kLines, right[r]);
    }
  }
}

// The instruction multiplies u8 by i8. Where both are the same, a is flipped: the products are
// those of 128 more, of u8 128 less, which the sum of b puts right.
template <class A, class B>
HOLOGRAM_AVX512_VNNI void vectors_of_bytes(const Square& s) {
  constexpr int kRows = 8;
  constexpr bool kSignedA = std::is_signed_v<A>, kSignedB = std::is_signed_v<B>;
  constexpr bool kTurned = kSignedA == kSignedB;
  const __m512i ones = _mm512_set1_epi8(1);
  const int64_t rows = s.high ? kSide : kLines;
  for (int64_t row = 0; row < rows; row += kRows) {
    int32_t* const c = reinterpret_cast<int32_t*>(s.c) + row * s.ldc;
    __m512i sums[kRows][2], others[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
#pragma GCC unroll 8
    for (int r = 0; r < kRows; r++)
#pragma GCC unroll 2
      for (int v = 0; v < 2; v++)
        sums[r][v] = s.add && (v == 0 || s.wide) ? _mm512_loadu_si512(c + r * s.ldc + v * kLines)
                                                 : _mm512_setzero_si512();
    const std::byte* a = s.a + row / kLines * kTileBytes + row % kLines * kLineBytes;
    const std::byte* b = s.b;
    for (int64_t step = 0; step < s.steps; step++, a += kStepBytes, b += kStepBytes)
      for (int64_t line = 0; line < kLines; line++) {
        __m512i y[2];
#pragma GCC unroll 2
        for (int v = 0; v < 2; v++) {
          y[v] = _mm512_load_si512(b + v * kTileBytes + line * kLineBytes);
          if constexpr (kTurned)
            others[v] = kSignedB ? _mm512_dpbusd_epi32(others[v], ones, y[v])
                                 : _mm512_dpbusd_epi32(others[v], y[v], ones);
        }
#pragma GCC unroll 8
        for (int r = 0; r < kRows; r++) {
          int32_t four;
          std::memcpy(&four, a + r * kLineBytes + line * 4, sizeof four);
          const __m512i x = _mm512_set1_epi32(four);
#pragma GCC unroll 2
          for (int v = 0; v < 2; v++)
            sums[r][v] = kSignedB ? _mm512_dpbusd_epi32(sums[r][v], x, y[v])
                                  : _mm512_dpbusd_epi32(sums[r][v], y[v], x);
        }
      }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; r++)
#pragma GCC unroll 2
      for (int v = 0; v < 2; v++) {
        if constexpr (kTurned) {
          const __m512i more = _mm512_maskz_slli_epi32(0xffff, others[v], 7);
          sums[r][v] =
              kSignedB ? _mm512_sub_epi32(sums[r][v], more) : _mm512_add_epi32(sums[r][v], more);
        }
        if (v == 0 || s.wide) _mm512_storeu_si512(c + r * s.ldc + v * kLines, sums[r][v]);
      }
  }
}

constexpr Kernel of_vnni(DType a, DType b, void (*multiply)(const Square&)) {
  const Form form_a = a == b ? Form::FlippedBytes : Form::Bytes;
  return {"AVX-512 VNNI",         a,        b,       form_a, Form::Bytes, Pays::WithoutLibrary,
          &core::has_avx512_vnni, multiply, nullptr, nullptr};
}

constexpr Kernel of_amx(DType a, DType b, void (*multiply)(const Square&)) {
  const bool halves = a == DType::BF16;
  const Form form = halves ? Form::Halves : Form::Bytes;
  return {"AMX",        a,          b,     form, form, Pays::Always, &has_amx, multiply,
          &begin_tiles, &end_tiles, halves};
}

constexpr Kernel of_bf16(Pays pays, bool (*there)()) {
  return {"AVX-512 BF16", DType::BF16,      DType::BF16, Form::Halves, Form::Halves, pays,
          there,          &vectors_of_bf16, nullptr,     nullptr,      true};
}

constexpr Kernel kKernels[] = {
    of_amx(DType::BF16, DType::BF16, &tiles_of_bf16),
    of_amx(DType::I8, DType::I8, &tiles_of_i8_i8),
    of_amx(DType::I8, DType::U8, &tiles_of_i8_u8),
    of_amx(DType::U8, DType::I8, &tiles_of_u8_i8),
    of_amx(DType::U8, DType::U8, &tiles_of_u8_u8),
    of_bf16(Pays::Always, &is_amd_with_avx512_bf16),
    of_bf16(Pays::Never, &has_avx512_bf16),
    of_vnni(DType::I8, DType::I8, &vectors_of_bytes<int8_t, int8_t>),
    of_vnni(DType::I8, DType::U8, &vectors_of_bytes<int8_t, uint8_t>),
    of_vnni(DType::U8, DType::I8, &vectors_of_bytes<uint8_t, int8_t>),
    of_vnni(DType::U8, DType::U8, &vectors_of_bytes<uint8_t, uint8_t>),
};

}  // namespace

std::span<const Kernel> x86_kernels() { return kKernels; }

}  // namespace hologram::libraries::narrow

#else

namespace hologram::libraries::narrow {

std::span<const Kernel> x86_kernels() { return {}; }

}  // namespace hologram::libraries::narrow

#endif
