// Loads and stores of elements at any index.
#include <array>

#include "core/processor.hpp"
#include "jit/x86.hpp"

namespace hologram::jit {

namespace x86 = asmjit::x86;
namespace I = x86::Inst;

BaseReg X86::gather(DType stored, BaseReg base, BaseReg index, DType index_type, BaseReg mask) {
  const Vec lanes = part(index, bytes(index_type));
  if (is_plain(stored)) return gather_whole(compute_type(stored), base, lanes, index_type, mask);
  // Gathers of AMD's processors are many instructions in one.
  if (!core::is_amd()) return gather_narrow(stored, base, lanes, index_type, mask);
  return gather_one_by_one(stored, base, index, index_type, mask);
}

X86::Vec X86::gather_whole(DType type, BaseReg base, const Vec& index, DType index_type,
                           BaseReg mask) {
  const bool eight = is_wide(type), far = is_wide(index_type);
  const asmjit::InstId id = far ? (eight ? I::kIdVpgatherqq : I::kIdVpgatherqd)
                                : (eight ? I::kIdVpgatherdq : I::kIdVpgatherdd);
  const Vec to = of(type);
  const Mem m = x86::ptr(gp(base), index, eight ? 3 : 2, 0);
  // The instruction clears the mask as it goes.
  if (avx512_) {
    cc_.vpxord(to, to, to);
    const BaseReg todo = vector(DType::Bool);
    copy_vector(DType::Bool, todo, !mask.isValid() ? constant(DType::Bool, 1) : Operand(mask));
    cc_.k(todo.as<KReg>()).emit(id, to, m);
  } else {
    cc_.vpxor(to, to, to);
    const BaseReg given = !mask.isValid() ? all_lanes() : mask;
    Vec todo = of(type);
    if (eight) cc_.vpmovsxdq(todo, part(given, 16));
    else cc_.vmovaps(todo, part(given, bytes(type)));
    cc_.emit(id, to, m, todo);
  }
  return to;
}

// Elements of 8 or 16 bits come in the 32 bits that they lie in, which are in the same page. They
// lie at multiples of their size, as those of arrays do.
BaseReg X86::gather_narrow(DType stored, BaseReg base, const Vec& index, DType index_type,
                           BaseReg mask) {
  const bool bytewise = size_of(stored) == 1;
  const bool far = is_wide(index_type);
  const DType place_type = far ? DType::U64 : DType::U32;
  const Gp aligned = cc_.newGpq(), before = cc_.newGpq();  // elements that begin its 32 bits
  cc_.mov(aligned, gp(base));
  cc_.mov(before, aligned);
  cc_.and_(aligned, -4);
  cc_.and_(before, 3);
  if (!bytewise) cc_.shr(before, 1);
  const Vec place = of(place_type), word = of(place_type);
  broadcast(place_type, place, before);
  cc_.emit(far ? I::kIdVpaddq : I::kIdVpaddd, place, place, index);
  cc_.emit(far ? I::kIdVpsrlq : I::kIdVpsrld, word, place, bytewise ? 2 : 1);
  const Vec to = gather_whole(DType::U32, aligned, word, index_type, mask);
  // Up, so that the element comes first, and down again.
  Vec up = place;
  if (far) {
    const Operand in[] = {place};
    up = pure(Op::Cast, DType::U32, DType::U64, in, 0)->as<Vec>();
  }
  cc_.vpslld(up, up, bytewise ? 3 : 4);
  bitwise(Op::Not, up, up, constant(DType::U32, bytewise ? 24 : 16));
  cc_.vpsllvd(to, to, up);
  switch (stored) {
    case DType::I8: cc_.vpsrad(to, to, 24); break;
    case DType::I16: cc_.vpsrad(to, to, 16); break;
    case DType::BF16: bitwise(Op::And, to, to, constant(DType::U32, 0xffff0000)); break;
    default: cc_.vpsrld(to, to, bytewise ? 24 : 16);
  }
  if (stored == DType::F16) {
    cc_.vcvtph2ps(to, lower_halves(to));
  } else if (stored == DType::Bool) {
    const Operand in[] = {to, constant(DType::U32, 0)};
    return *compare_integers(Op::Ne, DType::U32, in);
  }
  return to;
}

BaseReg X86::gather_one_by_one(DType stored, BaseReg base, BaseReg index, DType index_type,
                               BaseReg mask) {
  const auto element = static_cast<uint32_t>(size_of(stored));
  const BaseReg from = row(kRows - 2), elements = row(kRows - 1);
  to_row(index_type, from, 0, index);
  const Vec zero = of(DType::U32);
  if (avx512_) cc_.vpxord(zero, zero, zero);
  else cc_.vpxor(zero, zero, zero);
  cc_.vmovups(memory({elements}, bytes(DType::U32)), zero);
  const auto index_bytes = static_cast<uint32_t>(size_of(index_type));
  each_lane(mask, [&](uint32_t lane) {
    const BaseReg i = scalar(), r = scalar();
    load_scalar(i, {from, {}, static_cast<int32_t>(lane * index_bytes)}, index_bytes, true);
    load_scalar(r, {base, i, 0, static_cast<uint8_t>(element)}, element, false);
    store_scalar({elements, {}, static_cast<int32_t>(lane * element)}, r, element);
  });
  return load_run(stored, {elements}, {});
}

// Of narrow elements that lie equally far apart, from where they stand in the vector.
void X86::scatter_by_step(DType stored, BaseReg base, BaseReg index, BaseReg step,
                          const Operand& value) {
  const auto element = static_cast<uint32_t>(size_of(stored));
  std::array<Vec, 4> blocks = {narrow_bits(stored, value)};
  for (uint32_t block = 1; block < width / kMostOfTuple; block++) {
    blocks[block] = cc_.newXmm();
    cc_.emit(avx512_ ? I::kIdVextracti32x4 : I::kIdVextracti128, blocks[block].xmm(), blocks[0],
             block);
  }
  each_tuple(base, index, step, element, [&](uint32_t l, uint32_t block, const Mem& m) {
    const Mem to = m.cloneResized(element);
    const Vec& lanes = blocks[block];
    if (element == 1) cc_.vpextrb(to, lanes.xmm(), 4 * l);
    else cc_.vpextrw(to, lanes.xmm(), 2 * l);
  });
}

void X86::scatter(DType stored, BaseReg base, BaseReg index, DType index_type, BaseReg step,
                  const Operand& value, BaseReg mask) {
  if (!is_plain(stored) && step.isValid() && index_type == DType::I32 && !mask.isValid())
    return scatter_by_step(stored, base, index, step, value);
  const auto element = static_cast<uint32_t>(size_of(stored));
  const Vec lanes = part(index, bytes(index_type));
  if (is_plain(stored) && avx512_) {
    const DType type = compute_type(stored);
    const bool eight = is_wide(type), far = is_wide(index_type);
    const asmjit::InstId id = far ? (eight ? I::kIdVpscatterqq : I::kIdVpscatterqd)
                                  : (eight ? I::kIdVpscatterdq : I::kIdVpscatterdd);
    const Vec v = any(type, value);
    const BaseReg todo = vector(DType::Bool);
    copy_vector(DType::Bool, todo, !mask.isValid() ? constant(DType::Bool, 1) : Operand(mask));
    cc_.k(todo.as<KReg>()).emit(id, x86::ptr(gp(base), lanes, eight ? 3 : 2, 0), v);
    return;
  }
  const BaseReg to = row(kRows - 2), elements = row(kRows - 1);
  to_row(index_type, to, 0, index);
  narrow(stored, memory({elements}, 1), value, {});
  const auto index_bytes = static_cast<uint32_t>(size_of(index_type));
  each_lane(mask, [&](uint32_t lane) {
    const BaseReg i = scalar(), r = scalar();
    load_scalar(i, {to, {}, static_cast<int32_t>(lane * index_bytes)}, index_bytes, true);
    load_scalar(r, {elements, {}, static_cast<int32_t>(lane * element)}, element, false);
    store_scalar({base, i, 0, static_cast<uint8_t>(element)}, r, element);
  });
}

}  // namespace hologram::jit
