// Masks: which lanes take part, and values of those lanes alone.
#include <algorithm>
#include <array>
#include <iterator>

#include "jit/x86.hpp"

namespace hologram::jit {

namespace I = asmjit::x86::Inst;

namespace {

struct Maskable {
  asmjit::InstId id;
  bool commutes;
};
constexpr Maskable kMaskable[] = {{I::kIdVaddps, true},  {I::kIdVaddpd, true},
                                  {I::kIdVmulps, true},  {I::kIdVmulpd, true},
                                  {I::kIdVsubps, false}, {I::kIdVsubpd, false}};

}  // namespace

std::optional<BaseReg> X86::logic(Op op, std::span<const Operand> in) {
  const BaseReg to = vector(DType::Bool);
  const bool w = width == 16;
  if (op == Op::Not) {
    if (avx512_) cc_.emit(w ? I::kIdKnotw : I::kIdKnotb, to, in[0]);
    else bitwise(Op::Xor, to.as<Vec>(), in[0], constant(DType::Bool, 1));
    return to;
  }
  if (op != Op::And && op != Op::Or && op != Op::Xor) return {};
  if (!avx512_) {
    bitwise(op, to.as<Vec>(), in[0], in[1]);
    return to;
  }
  const Id id = op == Op::And  ? (w ? I::kIdKandw : I::kIdKandb)
                : op == Op::Or ? (w ? I::kIdKorw : I::kIdKorb)
                               : (w ? I::kIdKxorw : I::kIdKxorb);
  cc_.emit(id, to, in[0], in[1]);
  return to;
}

BaseReg X86::mask_and(BaseReg a, BaseReg b) {
  const Operand in[] = {a, b};
  return *logic(Op::And, in);
}

BaseReg X86::mask_and_not(BaseReg a, BaseReg b) {
  const BaseReg to = vector(DType::Bool);
  if (avx512_) cc_.emit(width == 16 ? I::kIdKandnw : I::kIdKandnb, to, b, a);
  else cc_.vpandn(to.as<Vec>(), b.as<Vec>(), a.as<Vec>());
  return to;
}

void X86::first_lanes(BaseReg lanes, std::span<BaseReg> masks) {
  const Vec count = of(DType::I32);
  const Gp zero = cc_.newGpq(), some = cc_.newGpq(), most = cc_.newGpq();
  cc_.xor_(zero.r32(), zero.r32());
  cc_.mov(some, gp(lanes));
  cc_.mov(most.r32(), static_cast<uint32_t>(masks.size()) * width);
  cc_.cmp(some, most);
  cc_.cmovg(some, most);
  cc_.test(some, some);
  cc_.cmovs(some, zero);
  broadcast(DType::I32, count, some);
  for (size_t k = 0; k < masks.size(); k++)
    masks[k] = numbers_below(count, static_cast<uint32_t>(k) * width);
}

// Of the numbers of lanes of a vector, where the first has that one.
BaseReg X86::numbers_below(Vec count, uint32_t first) {
  std::array<uint32_t, 16> numbers{};
  for (uint32_t l = 0; l < width; l++) numbers[l] = first + l;
  Mem m = literal(numbers.data(), bytes(DType::I32));
  m.setSize(bytes(DType::I32));
  const Operand in[] = {count, m};
  return *compare_integers(Op::Gt, DType::I32, in);
}

BaseReg X86::first_of(BaseReg lanes) {
  if (!avx512_) {
    const Vec count = of(DType::I32);
    broadcast(DType::I32, count, gp(lanes));
    return numbers_below(count, 0);
  }
  // Every processor with AVX-512 has bzhi, which leaves all bits where there are fewer.
  const Gp bits = cc_.newGpq();
  cc_.mov(bits.r32(), (1u << width) - 1);
  cc_.bzhi(bits.r32(), bits.r32(), gp32(lanes));
  const BaseReg mask = vector(DType::Bool);
  cc_.emit(width == 16 ? I::kIdKmovw : I::kIdKmovb, mask, bits.r32());
  return mask;
}

void X86::jump_if_none(std::span<const BaseReg> masks, Label to) {
  if (avx512_) {
    BaseReg all = masks[0];
    const bool w = width == 16;
    for (size_t k = 1; k < masks.size(); k++) {
      const BaseReg both = k == 1 ? vector(DType::Bool) : all;
      cc_.emit(w ? I::kIdKorw : I::kIdKorb, both, all, masks[k]);
      all = both;
    }
    cc_.emit(w ? I::kIdKortestw : I::kIdKortestb, all, all);
    cc_.jz(to);
    return;
  }
  Vec all = masks[0].as<Vec>();
  for (size_t k = 1; k < masks.size(); k++) {
    const Vec both = k == 1 ? of(DType::Bool) : all;
    cc_.vpor(both, all, masks[k].as<Vec>());
    all = both;
  }
  cc_.vptest(all, all);
  cc_.jz(to);
}

void X86::jump_if_all_at_most(std::span<const BaseReg> values, const Operand& most, Label to) {
  Vec largest = values[0].as<Vec>();
  const auto raise = [&](const Operand& by) {
    const Vec both = of(DType::U32);
    cc_.emit(I::kIdVpmaxud, both, largest, by);
    largest = both;
  };
  for (const BaseReg& v : values.subspan(1)) raise(v);
  if (avx512_) {
    const BaseReg inside = vector(DType::Bool);
    constexpr uint32_t kLessEqual = 2;
    cc_.emit(I::kIdVpcmpud, inside, largest, most, kLessEqual);
    cc_.emit(width == 16 ? I::kIdKortestw : I::kIdKortestb, inside, inside);
  } else {
    raise(most);
    const Vec inside = of(DType::Bool);
    cc_.emit(I::kIdVpcmpeqd, inside, largest, most);
    cc_.emit(I::kIdVptest, inside, constant(DType::Bool, 1));
  }
  cc_.jc(to);
}

BaseReg X86::blend(DType type, BaseReg mask, const Operand& yes, const Operand& no) {
  if (type == DType::Bool) {
    const BaseReg a = mask_and(mask, yes.as<BaseReg>()), b = mask_and_not(no.as<BaseReg>(), mask);
    const Operand in[] = {a, b};
    return *logic(Op::Or, in);
  }
  const bool eight = is_wide(type);
  const Vec to = of(type);
  const Vec otherwise = any(type, no);
  if (avx512_)
    cc_.k(mask.as<KReg>()).emit(eight ? I::kIdVblendmpd : I::kIdVblendmps, to, otherwise, yes);
  else if (eight) cc_.vblendvpd(to, otherwise, any(type, yes), widened(mask));
  else cc_.vblendvps(to, otherwise, any(type, yes), mask.as<Vec>());
  return to;
}

// Where the value was computed just now, that instruction takes the mask, and an element that it
// alone was loaded for, with the same mask, from memory.
bool X86::merge_as_computed(DType type, BaseReg mask, BaseReg to, const Operand& from) {
  asmjit::BaseNode* const node = cc_.cursor();
  if (!from.isReg() || node == nullptr || !node->isInst()) return false;
  auto* const last = node->as<asmjit::InstNode>();
  const auto* row = std::find_if(std::begin(kMaskable), std::end(kMaskable),
                                 [&](const Maskable& each) { return each.id == last->id(); });
  const uint32_t made = from.as<BaseReg>().id();
  if (row == std::end(kMaskable) || last->hasExtraReg() || last->op(0).id() != made) return false;
  last->setOp(0, to);
  last->setExtraReg(mask);
  // What was loaded into the result's register is nobody else's.
  asmjit::BaseNode* const before = last->prev();
  const auto* load =
      before != nullptr && before->isInst() ? before->as<asmjit::InstNode>() : nullptr;
  if (load == nullptr || load->id() != (is_wide(type) ? I::kIdVmovupd : I::kIdVmovups) ||
      load->op(0).id() != made || !load->op(1).isMem() || load->extraReg().id() != mask.id())
    return true;
  const bool first = last->op(1).id() == made, second = last->op(2).id() == made;
  if (first == second || (first && !row->commutes)) return true;
  if (first) last->setOp(1, last->op(2));
  last->setOp(2, load->op(1));
  cc_.removeNode(before);
  return true;
}

void X86::merge(DType type, BaseReg mask, BaseReg to, const Operand& from, bool dies) {
  if (type == DType::Bool || !avx512_) return copy_vector(type, to, blend(type, mask, from, to));
  if (dies && merge_as_computed(type, mask, to, from)) return;
  const Vec v = any(type, from);
  cc_.k(mask.as<KReg>()).emit(is_wide(type) ? I::kIdVmovapd : I::kIdVmovaps, to, v);
}

}  // namespace hologram::jit
