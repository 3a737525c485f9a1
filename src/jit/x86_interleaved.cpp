// Elements side by side at any index (jit/interleaved.cpp): blocks of four lanes are read and
// written by tuples, and transposed.
#include <algorithm>
#include <array>
#include <bit>

#include "core/processor.hpp"
#include "jit/x86.hpp"

namespace hologram::jit {

namespace I = asmjit::x86::Inst;

// Gathers of AMD's processors are many instructions in one. With Intel's nothing is gained by fewer
// than four: on a Xeon of 2023 three gathers take as long.
uint32_t X86::least_of_tuple() const { return core::is_amd() ? 2 : kMostOfTuple; }

// Calls body(lane of a block, block, where its tuple is) for each lane.
void X86::each_tuple(BaseReg base, BaseReg index, BaseReg step, uint32_t element,
                     const std::function<void(uint32_t, uint32_t, const Mem&)>& body) {
  const auto scale = static_cast<uint8_t>(element);
  const uint32_t blocks = width / kMostOfTuple;
  if (step.isValid()) {
    // A pointer to the first lane of each block, from which the others are one, two and three
    // steps away.
    const Gp first = cc_.newGpq(), apart = cc_.newGpq(), three = cc_.newGpq();
    cc_.vmovd(first.r32(), index.as<Vec>().xmm());
    cc_.lea(first, memory({base, first, 0, scale}, element));
    cc_.mov(apart, gp(step));
    if (element > 1) cc_.shl(apart, std::countr_zero(element));
    cc_.lea(three, asmjit::x86::ptr(apart, apart, 1));
    std::array<Gp, 4> begins = {first};
    for (uint32_t block = 1; block < blocks; block++) {
      begins[block] = cc_.newGpq();
      cc_.lea(begins[block], asmjit::x86::ptr(begins[block - 1], apart, 2));
    }
    for (uint32_t l = 0; l < kMostOfTuple; l++)
      for (uint32_t block = 0; block < blocks; block++) {
        const Gp& begin = begins[block];
        const Mem at = l == 0   ? asmjit::x86::ptr(begin)
                       : l == 3 ? asmjit::x86::ptr(begin, three)
                                : asmjit::x86::ptr(begin, apart, l - 1);
        body(l, block, at.cloneResized(kMostOfTuple * element));
      }
    return;
  }
  const BaseReg places = row(kRows - 1);
  // By halves: what reads a part of a store of 64 bytes may have to wait until it is in the cache.
  constexpr uint32_t kHalf = 32, kOfIndex = 4;
  const uint32_t half = std::min(kHalf, bytes(DType::I32));
  cc_.vmovups(memory({places}, half), part(index, half));
  if (width == 16)
    cc_.emit(I::kIdVextracti64x4, memory({places, {}, kHalf}, kHalf), index.as<Vec>(), 1);
  for (uint32_t l = 0; l < kMostOfTuple; l++)
    for (uint32_t block = 0; block < blocks; block++) {
      const BaseReg place = scalar();
      const auto lane = static_cast<int32_t>(block * kMostOfTuple + l);
      load_scalar(place, {places, {}, static_cast<int32_t>(kOfIndex) * lane}, kOfIndex, false);
      body(l, block, memory({base, place, 0, scale}, kMostOfTuple * element));
    }
}

// Four vectors as squares of four by four, transposed; as many of them as there is room for.
void X86::transpose_blocks(std::span<const Vec> from, std::span<const Vec> to) {
  const auto both = [&](asmjit::InstId id, const Vec& a, const Vec& b) {
    const Vec pair = of(DType::F32);
    cc_.emit(id, pair, a, b);
    return pair;
  };
  const auto turn = [&](asmjit::InstId id, size_t first) {
    const Vec a = both(id, from[0], from[1]), b = both(id, from[2], from[3]);
    cc_.vunpcklpd(to[first], a, b);
    if (first + 1 < to.size()) cc_.vunpckhpd(to[first + 1], a, b);
  };
  turn(I::kIdVunpcklps, 0);
  if (to.size() > 2) turn(I::kIdVunpckhps, 2);
}

void X86::load_interleaved(DType stored, BaseReg base, BaseReg index, BaseReg step,
                           std::span<const BaseReg> to) {
  std::array<Vec, kMostOfTuple> lanes, transposed;
  for (Vec& v : lanes) v = of(DType::F32);
  const Id widens = widening(stored);
  const auto put = [&](const Vec& in, const Operand& block_of, uint32_t block) {
    cc_.emit(avx512_ ? I::kIdVinsertf32x4 : I::kIdVinsertf128, in, in, block_of, block);
  };
  each_tuple(base, index, step, static_cast<uint32_t>(size_of(stored)),
             [&](uint32_t l, uint32_t block, const Mem& m) {
               if (widens == I::kIdNone) {
                 if (block == 0) cc_.vmovups(lanes[l].xmm(), m);
                 else put(lanes[l], m, block);
                 return;
               }
               const Vec wide = block == 0 ? lanes[l] : of(DType::F32);
               cc_.emit(widens, wide.xmm(), m);
               if (block > 0) put(lanes[l], wide.xmm(), block);
             });
  if (stored == DType::BF16)
    for (const Vec& v : lanes) cc_.vpslld(v, v, 16);
  for (size_t j = 0; j < to.size(); j++) transposed[j] = to[j].as<Vec>();
  transpose_blocks(lanes, {transposed.data(), to.size()});
}

void X86::scatter_tuples(DType stored, BaseReg base, BaseReg index, BaseReg step,
                         std::span<const BaseReg> from) {
  std::array<Vec, kMostOfTuple> columns, lanes;
  for (size_t j = 0; j < kMostOfTuple; j++)
    columns[j] = from[j].as<Vec>(), lanes[j] = of(DType::F32);
  transpose_blocks(columns, lanes);
  const bool narrows = stored == DType::F16;
  each_tuple(base, index, step, static_cast<uint32_t>(size_of(stored)),
             [&](uint32_t l, uint32_t block, const Mem& m) {
               Vec four = lanes[l];
               if (block > 0 && narrows) four = of(DType::F32);
               if (block > 0) {
                 const Operand to = narrows ? Operand(four.xmm()) : Operand(m);
                 cc_.emit(avx512_ ? I::kIdVextractf32x4 : I::kIdVextractf128, to, lanes[l], block);
               }
               if (narrows) cc_.emit(I::kIdVcvtps2ph, m, four.xmm(), 0);
               else if (block == 0) cc_.vmovups(m, four.xmm());
             });
}

}  // namespace hologram::jit
