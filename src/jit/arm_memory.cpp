// Loads and stores of vectors: neighbours, elements at any index, rows.
#include "jit/arm.hpp"

namespace hologram::jit {

namespace {

bool is_plain(DType stored) { return size_of(stored) >= 4 && stored != DType::Bool; }

}  // namespace

// emit(lane) for the lanes of the mask, one after the other.
void Arm::each_lane(BaseReg mask, const std::function<void(uint32_t lane)>& emit) {
  for (uint32_t l = 0; l < width; l++) {
    if (!mask.isValid()) {
      emit(l);
      continue;
    }
    const Label skip = cc_.newLabel();
    const Gp taken = cc_.newGpx();
    cc_.umov(gp32(taken), mask.as<Vec>().s(l));
    cc_.cbz(gp32(taken), skip);
    emit(l);
    cc_.bind(skip);
  }
}

void Arm::put_lane(const Vec& to, uint32_t lane, uint32_t size, BaseReg from) {
  if (size == 8) cc_.ins(to.d(lane), gp(from));
  else if (size == 4) cc_.ins(to.s(lane), gp32(from));
  else if (size == 2) cc_.ins(to.h(lane), gp32(from));
  else cc_.ins(to.b(lane), gp32(from));
}

void Arm::take_lane(BaseReg to, const Vec& from, uint32_t lane, uint32_t size) {
  if (size == 8) cc_.umov(gp(to), from.d(lane));
  else if (size == 4) cc_.umov(gp32(to), from.s(lane));
  else if (size == 2) cc_.umov(gp32(to), from.h(lane));
  else cc_.umov(gp32(to), from.b(lane));
}

void Arm::take_index(BaseReg to, BaseReg index, uint32_t lane, DType type) {
  if (is_wide(type)) cc_.umov(gp(to), index.as<Vec>().d(lane));
  else cc_.smov(gp(to), index.as<Vec>().s(lane));
}

// Elements, side by side in a register, to lanes of the compute type.
BaseReg Arm::unpack(DType stored, const Vec& elements) {
  if (is_plain(stored)) return elements;
  const Vec to = new_vector();
  switch (stored) {
    case DType::I8:
      cc_.sshll(to.h8(), elements.b8(), asmjit::imm(0));
      cc_.sshll(to.s4(), to.h4(), asmjit::imm(0));
      break;
    case DType::I16: cc_.sshll(to.s4(), elements.h4(), asmjit::imm(0)); break;
    case DType::U16: cc_.ushll(to.s4(), elements.h4(), asmjit::imm(0)); break;
    case DType::F16: cc_.fcvtl(to.s4(), elements.h4()); break;
    case DType::BF16: cc_.shll(to.s4(), elements.h4(), asmjit::imm(16)); break;
    default:
      cc_.ushll(to.h8(), elements.b8(), asmjit::imm(0));
      cc_.ushll(to.s4(), to.h4(), asmjit::imm(0));
      if (stored == DType::Bool) cc_.cmtst(to.s4(), to.s4(), to.s4());
  }
  return to;
}

// Lanes of the compute type to elements side by side.
Arm::Vec Arm::pack(DType stored, const Operand& value) {
  if (is_plain(stored)) return any(compute_type(stored), value);
  const Vec to = new_vector();
  if (stored == DType::F16) {
    cc_.fcvtn(to.h4(), any(DType::F32, value).s4());
    return to;
  }
  if (stored == DType::Bool) {
    cc_.ushr(to.s4(), value.as<Vec>().s4(), asmjit::imm(31));
    cc_.xtn(to.h4(), to.s4());
  } else {
    const Vec v = stored == DType::BF16 ? bf16_bits(value) : any(compute_type(stored), value);
    cc_.xtn(to.h4(), v.s4());
  }
  if (size_of(stored) == 1) cc_.xtn(to.b8(), to.h8());
  return to;
}

// ---- Neighbours ---------------------------------------------------------------------------------

// No instruction takes it from there, but it is loaded late: where it is needed.
std::optional<Operand> Arm::in_memory(DType stored, const Address& from) {
  if (!is_plain(stored)) return {};
  return memory(from, bytes(compute_type(stored)));
}

BaseReg Arm::load_run(DType stored, const Address& from, BaseReg mask) {
  const auto element = static_cast<uint32_t>(size_of(stored));
  if (!mask.isValid()) {
    const Vec elements = new_vector();
    load(elements, memory(from, width * element), width * element);
    return unpack(stored, elements);
  }
  const Vec elements = zero();
  each_lane(mask, [&](uint32_t l) {
    const BaseReg r = scalar();
    Address at = from;
    at.bytes += static_cast<int32_t>(l * element);
    load_scalar(r, at, element, false);
    put_lane(elements, l, element, r);
  });
  return unpack(stored, elements);
}

void Arm::store_run(DType stored, const Address& to, const Operand& value, BaseReg mask) {
  const auto element = static_cast<uint32_t>(size_of(stored));
  const Vec elements = pack(stored, value);
  if (!mask.isValid()) {
    cc_.str(part(elements, width * element), memory(to, width * element));
    return;
  }
  each_lane(mask, [&](uint32_t l) {
    const BaseReg r = scalar();
    Address at = to;
    at.bytes += static_cast<int32_t>(l * element);
    take_lane(r, elements, l, element);
    store_scalar(at, r, element);
  });
}

// ---- Any index ----------------------------------------------------------------------------------

BaseReg Arm::gather(DType stored, BaseReg base, BaseReg index, DType index_type, BaseReg mask) {
  const auto element = static_cast<uint32_t>(size_of(stored));
  const Vec elements = zero();
  each_lane(mask, [&](uint32_t l) {
    const BaseReg i = scalar(), r = scalar();
    take_index(i, index, l, index_type);
    load_scalar(r, {base, i, 0, static_cast<uint8_t>(element)}, element, false);
    put_lane(elements, l, element, r);
  });
  return unpack(stored, elements);
}

void Arm::scatter(DType stored, BaseReg base, BaseReg index, DType index_type, BaseReg /*step*/,
                  const Operand& value, BaseReg mask) {
  const auto element = static_cast<uint32_t>(size_of(stored));
  const Vec elements = pack(stored, value);
  each_lane(mask, [&](uint32_t l) {
    const BaseReg i = scalar(), r = scalar();
    take_index(i, index, l, index_type);
    take_lane(r, elements, l, element);
    store_scalar({base, i, 0, static_cast<uint8_t>(element)}, r, element);
  });
}

// ---- Rows ---------------------------------------------------------------------------------------

// The bit of each lane in a byte of which lane 0 has bit `shift`.
Arm::Mem Arm::weights(uint32_t shift) {
  return numbers(DType::U32, [&](uint32_t l) { return l < width ? 1u << (shift + l) : 0u; });
}

BaseReg Arm::mask_bits(BaseReg mask, uint32_t shift) {
  const Vec own = any(DType::U32, weights(shift)), sum = new_vector();
  cc_.and_(bits(sum), bits(mask), bits(own));
  if (wide_) cc_.addp(sum.s2(), sum.s2(), sum.s2());
  else cc_.addv(sum.s(), sum.s4());
  const BaseReg to = scalar();
  cc_.umov(gp32(to), sum.s(0));
  return to;
}

// A bool's lanes are bits: half a byte or a quarter, and what stands below is kept.
void Arm::to_row(DType type, BaseReg row, uint32_t first, const Operand& value) {
  if (type != DType::Bool) {
    const auto element = static_cast<uint32_t>(size_of(type));
    cc_.str(part(any(type, value), bytes(type)),
            memory({row, {}, static_cast<int32_t>(first * element)}, bytes(type)));
    return;
  }
  const Address at{row, {}, static_cast<int32_t>(first / 8)};
  const BaseReg own = mask_bits(value.as<BaseReg>(), first % 8);
  if (first % 8 != 0) {
    const BaseReg below = scalar();
    load_scalar(below, at, 1, false);
    cc_.orr(gp32(own), gp32(own), gp32(below));
  }
  store_scalar(at, own, 1);
}

BaseReg Arm::from_row(DType type, BaseReg row, uint32_t first) {
  const Vec to = new_vector();
  if (type != DType::Bool) {
    const auto element = static_cast<uint32_t>(size_of(type));
    load(to, memory({row, {}, static_cast<int32_t>(first * element)}, bytes(type)), bytes(type));
    return to;
  }
  // Each lane looks at its own bit.
  const BaseReg all = scalar();
  load_scalar(all, {row, {}, static_cast<int32_t>(first / 8)}, 1, false);
  broadcast(DType::U32, to, all);
  cc_.cmtst(to.s4(), to.s4(), any(DType::U32, weights(first % 8)).s4());
  return to;
}

}  // namespace hologram::jit
