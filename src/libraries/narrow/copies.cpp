#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/narrow/copies.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "libraries/narrow/tiles.hpp"
#include "libraries/simd_dispatch.hpp"
#include "libraries/transpose_blocks.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::narrow::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<uint32_t, kLines>;
constexpr Words kWords;
constexpr int64_t kLanes = hn::MaxLanes(Words());
using W = hn::Vec<Words>;

constexpr uint32_t kTopBits = 0x80808080;

// Elements as words whose low bits they are.
template <Form kForm>
HWY_INLINE W words(const std::byte* from) {
  if constexpr (kForm == Form::Halves) {
    const hn::Rebind<uint16_t, Words> half;
    return hn::PromoteTo(kWords, hn::LoadU(half, reinterpret_cast<const uint16_t*>(from)));
  } else if constexpr (kForm == Form::UpcastI8) {
    const hn::RebindToSigned<Words> whole;
    const hn::Rebind<int8_t, Words> byte;
    const auto wide = hn::PromoteTo(whole, hn::LoadU(byte, reinterpret_cast<const int8_t*>(from)));
    return hn::And(hn::BitCast(kWords, wide), hn::Set(kWords, 0xffffu));
  } else {
    const hn::Rebind<uint8_t, Words> byte;
    return hn::PromoteTo(kWords, hn::LoadU(byte, reinterpret_cast<const uint8_t*>(from)));
  }
}

// A tile whose words lie across: each has terms, one behind the other in memory's rows, of a row
// or column.
template <Form kForm>
void across(const std::byte* from, int64_t step, int64_t side, int64_t terms, uint32_t* to) {
  constexpr int64_t kBytes = element_bytes(kForm);
  constexpr int64_t kTerms = terms_of_tile(kForm) / kLines;
  constexpr int kBits = 32 / kTerms;
  alignas(64) std::array<std::byte, kLines * kTerms * kLineBytes> padded;
  if (side < kLines || terms < kLines * kTerms) {
    padded.fill(std::byte{0});
    for (int64_t t = 0; t < std::min(terms, kLines * kTerms); t++)
      std::memcpy(padded.data() + t * kLineBytes, from + t * step,
                  static_cast<size_t>(std::min(side, kLines) * kBytes));
    from = padded.data();
    step = kLineBytes;
  }
  for (int64_t line = 0; line < kLines; line++)
    for (int64_t i = 0; i < kLines; i += kLanes) {
      const std::byte* const first = from + line * kTerms * step + i * kBytes;
      W all = words<kForm>(first);
      all = hn::Or(all, hn::ShiftLeft<kBits>(words<kForm>(first + step)));
      if constexpr (kTerms == 4) {
        all = hn::Or(all, hn::ShiftLeft<2 * kBits>(words<kForm>(first + 2 * step)));
        all = hn::Or(all, hn::ShiftLeft<3 * kBits>(words<kForm>(first + 3 * step)));
      }
      if constexpr (kForm == Form::FlippedBytes) all = hn::Xor(all, hn::Set(kWords, kTopBits));
      hn::StoreU(all, kWords, to + line * kLines + i);
    }
}

// A whole line of terms that lie side by side.
template <Form kForm>
HWY_INLINE void line(const std::byte* from, std::byte* to) {
  if constexpr (kForm == Form::FlippedBytes) {
    const hn::CappedTag<uint8_t, kLineBytes> bytes;
    for (int64_t i = 0; i < kLineBytes; i += hn::MaxLanes(bytes)) {
      const auto all = hn::LoadU(bytes, reinterpret_cast<const uint8_t*>(from + i));
      hn::StoreU(hn::Xor(all, hn::Set(bytes, 0x80)), bytes, reinterpret_cast<uint8_t*>(to + i));
    }
  } else if constexpr (kForm == Form::Halves || kForm == Form::Bytes) {
    std::memcpy(to, from, kLineBytes);
  } else {
    using T = std::conditional_t<kForm == Form::UpcastI8, int8_t, uint8_t>;
    const hn::CappedTag<int16_t, kLineBytes / 2> halves;
    const hn::Rebind<T, decltype(halves)> bytes;
    for (int64_t i = 0; i < kLineBytes / 2; i += hn::MaxLanes(halves)) {
      const auto narrow = hn::LoadU(bytes, reinterpret_cast<const T*>(from + i));
      hn::StoreU(hn::PromoteTo(halves, narrow), halves, reinterpret_cast<int16_t*>(to + 2 * i));
    }
  }
}

// So many terms of a line; what follows them becomes 0, or what is multiplied by 0.
template <Form kForm>
HWY_INLINE void line(const std::byte* from, int64_t terms, std::byte* to) {
  if (terms >= terms_of_tile(kForm)) return line<kForm>(from, to);
  alignas(64) std::byte padded[kLineBytes] = {};
  std::memcpy(padded, from, static_cast<size_t>(terms * element_bytes(kForm)));
  line<kForm>(padded, to);
}

// Lines of words become columns.
HWY_INLINE void transpose(const uint32_t* from, uint32_t* to) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t i = 0; i < kLines; i++)
    for (int64_t j = 0; j < kLines; j++) to[j * kLines + i] = from[i * kLines + j];
#else
  constexpr int64_t kBlock = 4;  // words
  for (int64_t first = 0; first < kLines; first += kLanes)
    for (int64_t word = 0; word < kLines; word += kBlock) {
      const uint32_t* const lines = from + first * kLines + word;
      uint32_t* const transposed = to + word * kLines + first;
      libraries::HWY_NAMESPACE::transpose_blocks(
          kWords,
          [&](int64_t line) HWY_ATTR {
            return libraries::HWY_NAMESPACE::load_blocks(kWords, lines + line * kLines,
                                                         kBlock * kLines);
          },
          [&](int64_t i, W v) HWY_ATTR { hn::StoreU(v, kWords, transposed + i * kLines); });
    }
#endif
}

// Memory's rows are those of the panel. Some tiles of a row are read one behind the other, as
// memory likes it. `transposed`: it is the words of tiles that lie across.
template <Form kForm>
void rows_of_panel(const Strip& strip, bool transposed, std::byte* to) {
  constexpr int64_t kTerms = terms_of_tile(kForm), kSteps = 4;
  constexpr int64_t kBytes = element_bytes(kForm);
  alignas(64) std::byte turning[kSteps * kStepBytes];
  for (int64_t first = 0; first < strip.terms;
       first += kSteps * kTerms, to += kSteps * kStepBytes) {
    const int64_t terms = std::min(strip.terms - first, kSteps * kTerms);
    const int64_t steps = (terms + kTerms - 1) / kTerms;
    std::byte* const lines = transposed ? turning : to;
    if (strip.side < kSide) std::memset(lines, 0, static_cast<size_t>(steps * kStepBytes));
    for (int64_t row = 0; row < std::min(strip.side, kSide); row++)
      for (int64_t step = 0; step < steps; step++) {
        const std::byte* const from =
            strip.from + row * strip.step + (first + step * kTerms) * kBytes;
        line<kForm>(from, terms - step * kTerms, lines + step * kStepBytes + row * kLineBytes);
      }
    for (int64_t tile = 0; tile < 2 * steps && transposed; tile++)
      transpose(reinterpret_cast<const uint32_t*>(turning + tile * kTileBytes),
                reinterpret_cast<uint32_t*>(to + tile * kTileBytes));
  }
}

// Each of memory's rows is a term, of all panels.
template <Form kForm>
void terms_of_panels(const Strip& strip, bool transposed, std::byte* to, int64_t apart) {
  constexpr int64_t kTerms = terms_of_tile(kForm);
  constexpr int64_t kBytes = element_bytes(kForm);
  alignas(64) uint32_t tile[kLines * kLines];
  for (int64_t term = 0; term < strip.terms; term += kTerms, to += kStepBytes)
    for (int64_t first = 0; first < (strip.side + kSide - 1) / kSide * kSide; first += kLines) {
      std::byte* const place = to + first / kSide * apart + first % kSide * kLineBytes;
      if (first >= strip.side) {
        std::memset(place, 0, kTileBytes);
        continue;
      }
      auto* const lines = reinterpret_cast<uint32_t*>(place);
      across<kForm>(strip.from + term * strip.step + first * kBytes, strip.step, strip.side - first,
                    strip.terms - term, transposed ? tile : lines);
      if (transposed) transpose(tile, lines);
    }
}

template <Form kForm>
void copy(const Strip& strip, bool transposed, std::byte* to, int64_t apart) {
  if (!strip.along_terms) return terms_of_panels<kForm>(strip, transposed, to, apart);
  for (int64_t side = 0; side < strip.side; side += kSide, to += apart) {
    Strip panel = strip;
    panel.from += side * strip.step;
    panel.side -= side;
    rows_of_panel<kForm>(panel, transposed, to);
  }
}

void copy(Form form, const Strip& strip, bool transposed, std::byte* to, int64_t apart) {
  switch (form) {
    case Form::Halves: return copy<Form::Halves>(strip, transposed, to, apart);
    case Form::Bytes: return copy<Form::Bytes>(strip, transposed, to, apart);
    case Form::FlippedBytes: return copy<Form::FlippedBytes>(strip, transposed, to, apart);
    case Form::UpcastI8: return copy<Form::UpcastI8>(strip, transposed, to, apart);
    case Form::UpcastU8: return copy<Form::UpcastU8>(strip, transposed, to, apart);
  }
}

void rows(Form form, const Strip& a, std::byte* to, int64_t apart) {
  copy(form, a, !a.along_terms, to, apart);
}
void columns(Form form, const Strip& b, std::byte* to, int64_t apart) {
  copy(form, b, b.along_terms, to, apart);
}

// Not 0, and all bits of the exponent 0.
bool subnormal(const uint16_t* from, int64_t count) {
  const hn::ScalableTag<uint16_t> halves;
  const auto lanes = static_cast<int64_t>(hn::Lanes(halves));
  // Twice a number drops its sign; less one, 0 becomes the largest.
  const auto least = [](auto v) HWY_ATTR {
    const hn::DFromV<decltype(v)> d;
    return hn::Sub(hn::ShiftLeft<1>(v), hn::Set(d, uint16_t{1}));
  };
  auto smallest = hn::Set(halves, uint16_t{0xffff});
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    smallest = hn::Min(smallest, least(hn::LoadU(halves, from + i)));
  constexpr uint16_t kLargest = 2 * 0x7f - 1;
  if (!hn::AllTrue(halves, hn::Gt(smallest, hn::Set(halves, kLargest)))) return true;
  return std::any_of(from + i, from + count,
                     [](uint16_t x) { return static_cast<uint16_t>(2 * x - 1) <= kLargest; });
}

const Copies* copies_of_target() {
  static constexpr Copies kAll = {&rows, &columns, &subnormal};
  return &kAll;
}

}  // namespace hologram::libraries::narrow::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::libraries::narrow {

HOLOGRAM_SIMD_DISPATCH(const Copies*, best_copies(), copies_of_target)

const Copies& copies() { return *best_copies(); }

}  // namespace hologram::libraries::narrow
#endif
