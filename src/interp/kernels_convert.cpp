// Comparison, choice and conversion.
#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "interp/kernels_convert.cpp"
#include <hwy/foreach_target.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/half.hpp"
#include "interp/map-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::interp::HWY_NAMESPACE {
namespace {  // the files of kernels share names

struct EqOp {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> apply(D, V a, V b) {
    return hn::Eq(a, b);
  }
};
// Highway's Ne of AVX2 and AVX-512 is false for NaN.
struct NeOp {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> apply(D, V a, V b) {
    return hn::Not(hn::Eq(a, b));
  }
};
struct LtOp {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> apply(D, V a, V b) {
    return hn::Lt(a, b);
  }
};
struct LeOp {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> apply(D, V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) return hn::Le(a, b);
    else return hn::Not(hn::Gt(a, b));
  }
};
struct GtOp {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> apply(D, V a, V b) {
    return hn::Gt(a, b);
  }
};
struct GeOp {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> apply(D, V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) return hn::Ge(a, b);
    else return hn::Not(hn::Lt(a, b));
  }
};

template <class D>
HWY_INLINE hn::Vec<D> infinity(D d) {
  return hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity());
}
struct IsNanOp {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> apply(D, V a) {
    return hn::Not(hn::Eq(a, a));
  }
};
struct IsInfOp {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> apply(D d, V a) {
    return hn::Eq(hn::AndNot(hn::SignBit(d), a), infinity(d));
  }
};
struct IsFiniteOp {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> apply(D d, V a) {
    return hn::Lt(hn::AndNot(hn::SignBit(d), a), infinity(d));
  }
};
struct NotZeroOp {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> apply(D d, V a) {
    return hn::Not(hn::Eq(a, hn::Zero(d)));
  }
};

template <class T>
void choose(std::byte* out, const Operand* in, size_t groups) {
  const Tag<T> d;
  const size_t n = hn::Lanes(d);
  const std::byte *c = in[0].data, *a = in[1].data, *b = in[2].data;
  for (size_t g = 0; g < groups; g++) {
    const uint32_t bits = load_bits(c);
    for (size_t j = 0; j < kGroup; j += n)
      hn::StoreU(hn::IfThenElse(mask_of<T>(d, bits >> j), hn::LoadU(d, lanes<T>(a) + j),
                                hn::LoadU(d, lanes<T>(b) + j)),
                 d, lanes<T>(out) + j);
    c += in[0].step;
    a += in[1].step;
    b += in[2].step;
    out += kGroup * sizeof(T);
  }
}

void choose_bits(std::byte* out, const Operand* in, size_t groups) {
  const std::byte *c = in[0].data, *a = in[1].data, *b = in[2].data;
  for (size_t g = 0; g < groups; g++) {
    const uint32_t bits = load_bits(c);
    store_bits(out, (bits & load_bits(a)) | (~bits & load_bits(b)));
    c += in[0].step;
    a += in[1].step;
    b += in[2].step;
    out += 2;
  }
}

template <class T>
void from_bool(std::byte* out, const Operand* in, size_t groups) {
  const std::byte* c = in[0].data;
  for (size_t g = 0; g < groups; g++) {
    const uint32_t bits = load_bits(c);
    for (size_t j = 0; j < kGroup; j++) lanes<T>(out)[j] = static_cast<T>(bits >> j & 1);
    c += in[0].step;
    out += kGroup * sizeof(T);
  }
}

// Conversion of one number; float to integer truncates and saturates, NaN gives 0.
template <class To>
struct Convert {
  template <class From>
  static HWY_INLINE To apply(From v) {
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
      constexpr From kBelow = static_cast<From>(std::numeric_limits<To>::min());
      // The first float above the range: a power of two, where the maximum itself may not be one.
      constexpr From kAbove = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
      if (!(v == v)) return 0;
      if (v < kBelow) return std::numeric_limits<To>::min();
      if (v >= kAbove) return std::numeric_limits<To>::max();
    }
    return static_cast<To>(v);
  }
};

struct I32ToF32 {
  static void run(std::byte* out, const Operand* in, size_t groups) {
    const Tag<float> d;
    const Tag<int32_t> di;
    const size_t n = hn::Lanes(d);
    const std::byte* a = in[0].data;
    for (size_t g = 0; g < groups; g++) {
      for (size_t j = 0; j < kGroup; j += n)
        hn::StoreU(hn::ConvertTo(d, hn::LoadU(di, lanes<int32_t>(a) + j)), d,
                   lanes<float>(out) + j);
      a += in[0].step;
      out += kGroup * sizeof(float);
    }
  }
};

struct F32ToI32 {
  static void run(std::byte* out, const Operand* in, size_t groups) {
    const Tag<float> d;
    const Tag<int32_t> di;
    const size_t n = hn::Lanes(d);
    const std::byte* a = in[0].data;
    for (size_t g = 0; g < groups; g++) {
      for (size_t j = 0; j < kGroup; j += n) {
        const auto v = hn::LoadU(d, lanes<float>(a) + j);
        const auto inside =
            hn::And(hn::Ge(v, hn::Set(d, -0x1p31f)), hn::Lt(v, hn::Set(d, 0x1p31f)));
        const auto safe = hn::ConvertTo(di, hn::IfThenElseZero(inside, v));
        const auto edge = hn::IfThenElse(hn::RebindMask(di, hn::Gt(v, hn::Zero(d))),
                                         hn::Set(di, INT32_MAX), hn::Set(di, INT32_MIN));
        const auto outside = hn::IfThenElseZero(hn::RebindMask(di, hn::Eq(v, v)), edge);
        hn::StoreU(hn::IfThenElse(hn::RebindMask(di, inside), safe, outside), di,
                   lanes<int32_t>(out) + j);
      }
      a += in[0].step;
      out += kGroup * sizeof(int32_t);
    }
  }
};

struct RoundF16Op {
  static HWY_INLINE float apply(float v) { return core::f16_to_f32(core::f32_to_f16(v)); }
};
struct RoundBF16Op {
  static HWY_INLINE float apply(float v) { return core::bf16_to_f32(core::f32_to_bf16(v)); }
};
template <class Narrow>
struct WrapOp {
  template <class T>
  static HWY_INLINE T apply(T v) {
    using N = std::conditional_t<std::is_signed_v<T>, std::make_signed_t<Narrow>, Narrow>;
    return static_cast<T>(static_cast<N>(v));
  }
};

template <class T>
void same_bits(std::byte* out, const Operand* in, size_t groups) {
  const std::byte* a = in[0].data;
  for (size_t g = 0; g < groups; g++) {
    std::memmove(out, a, kGroup * sizeof(T));
    a += in[0].step;
    out += kGroup * sizeof(T);
  }
}

template <class To, class From>
void fill_cast(KernelTable& table) {
  if constexpr (std::is_same_v<To, float> && std::is_same_v<From, int32_t>)
    table.cast(dtype_of<From>, dtype_of<To>) = I32ToF32::run;
  else if constexpr (std::is_same_v<To, int32_t> && std::is_same_v<From, float>)
    table.cast(dtype_of<From>, dtype_of<To>) = F32ToI32::run;
  else table.cast(dtype_of<From>, dtype_of<To>) = each1<To, From, Convert<To>>;
}

template <class T>
void fill_type(KernelTable& table) {
  using program::Op;
  constexpr DType kType = dtype_of<T>;
  const auto enter = [&](Op op, Kernel kernel) { table.at(op, kType) = kernel; };
  enter(Op::Eq, test2<T, EqOp>);
  enter(Op::Ne, test2<T, NeOp>);
  enter(Op::Lt, test2<T, LtOp>);
  enter(Op::Le, test2<T, LeOp>);
  enter(Op::Gt, test2<T, GtOp>);
  enter(Op::Ge, test2<T, GeOp>);
  if constexpr (std::is_floating_point_v<T>) {
    enter(Op::IsNan, test1<T, IsNanOp>);
    enter(Op::IsInf, test1<T, IsInfOp>);
    enter(Op::IsFinite, test1<T, IsFiniteOp>);
  }
  enter(Op::Select, choose<T>);
  enter(Op::Bitcast, same_bits<T>);
  fill_cast<int32_t, T>(table);
  fill_cast<uint32_t, T>(table);
  fill_cast<int64_t, T>(table);
  fill_cast<uint64_t, T>(table);
  fill_cast<float, T>(table);
  fill_cast<double, T>(table);
  table.cast(DType::Bool, kType) = from_bool<T>;
  table.cast(kType, DType::Bool) = test1<T, NotZeroOp>;
}

}  // namespace

void fill_convert(KernelTable& table) {
  using program::Op;
  fill_type<int32_t>(table);
  fill_type<uint32_t>(table);
  fill_type<int64_t>(table);
  fill_type<uint64_t>(table);
  fill_type<float>(table);
  fill_type<double>(table);
  table.at(Op::Select, DType::Bool) = choose_bits;
  table.at(Op::RoundF16, DType::F32) = each1<float, float, RoundF16Op>;
  table.at(Op::RoundBF16, DType::F32) = each1<float, float, RoundBF16Op>;
  table.at(Op::Wrap8, DType::I32) = each1<int32_t, int32_t, WrapOp<uint8_t>>;
  table.at(Op::Wrap8, DType::U32) = each1<uint32_t, uint32_t, WrapOp<uint8_t>>;
  table.at(Op::Wrap16, DType::I32) = each1<int32_t, int32_t, WrapOp<uint16_t>>;
  table.at(Op::Wrap16, DType::U32) = each1<uint32_t, uint32_t, WrapOp<uint16_t>>;
}

}  // namespace hologram::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::interp {
HOLOGRAM_EXPORT_FILL(fill_convert)
}
#endif
