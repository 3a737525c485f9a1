// Arithmetic, bits and shifts of i32, u32, i64 and u64, and logic of bool.
#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "interp/kernels_integer.cpp"
#include <hwy/foreach_target.h>

#include <bit>
#include <limits>
#include <type_traits>

#include "interp/map-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::interp::HWY_NAMESPACE {
namespace {  // the files of kernels share names

struct AddOp {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Add(a, b);
  }
};
struct SubOp {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Sub(a, b);
  }
};
struct MulOp {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Mul(a, b);
  }
  template <class T>
  static HWY_INLINE T apply(T a, T b) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  }
};
struct FmaOp {
  template <class T>
  static HWY_INLINE T apply(T a, T b, T c) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b) + static_cast<U>(c));
  }
};
struct DivOp {
  template <class T>
  static HWY_INLINE T apply(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
    return a / b;
  }
};
struct RemOp {
  template <class T>
  static HWY_INLINE T apply(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return 0;
    return a % b;
  }
};

// By floats of 64 bits where all of a group are less than 2^51: the instruction for integers takes
// several times as long. A quotient that is no whole number is more than 2^-52 of itself away from
// the next one, and rounding moves it by 2^-53 of itself at most: truncated, it is right.
template <class T, class F>
void divide_wide(std::byte* out, const Operand* in, size_t groups) {
  constexpr int kBits = 51;
  constexpr uint64_t kNegative = std::is_signed_v<T> ? uint64_t{1} << kBits : 0;
  const std::byte *first = in[0].data, *second = in[1].data;
  for (size_t g = 0; g < groups; g++) {
    const T *a = lanes<T>(first), *b = lanes<T>(second);
    T* const to = lanes<T>(out);
    uint64_t beyond = 0;
    for (size_t j = 0; j < kGroup; j++)
      beyond |=
          (static_cast<uint64_t>(a[j]) + kNegative) | (static_cast<uint64_t>(b[j]) + kNegative);
    if (beyond >> (kNegative == 0 ? kBits : kBits + 1) != 0) {
      for (size_t j = 0; j < kGroup; j++) to[j] = F::apply(a[j], b[j]);
    } else {
      for (size_t j = 0; j < kGroup; j++) {
        const auto x = static_cast<int64_t>(a[j]), y = static_cast<int64_t>(b[j]);
        const auto q =
            static_cast<int64_t>(static_cast<double>(x) / static_cast<double>(y == 0 ? 1 : y));
        to[j] = static_cast<T>(y == 0 ? 0 : std::is_same_v<F, RemOp> ? x - q * y : q);
      }
    }
    first += in[0].step;
    second += in[1].step;
    out += kGroup * sizeof(T);
  }
}

struct MulHiOp {
  template <class T>
  static HWY_INLINE T apply(T a, T b) {
    if constexpr (sizeof(T) == 4) {
      using W = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      return static_cast<T>(static_cast<W>(a) * static_cast<W>(b) >> 32);
    } else {
      using W = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
      return static_cast<T>(static_cast<W>(a) * static_cast<W>(b) >> 64);
    }
  }
};
struct NegOp {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a) {
    return hn::Sub(hn::Zero(d), a);
  }
};
struct AbsOp {
  template <class T>
  static HWY_INLINE T apply(T a) {
    return a < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a)) : a;
  }
};
struct SignOp {
  template <class T>
  static HWY_INLINE T apply(T a) {
    return static_cast<T>((a > 0) - (a < 0));
  }
};
struct MinOp {
  template <class T>
  static HWY_INLINE T apply(T a, T b) {
    return a < b ? a : b;
  }
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Min(a, b);
  }
};
struct MaxOp {
  template <class T>
  static HWY_INLINE T apply(T a, T b) {
    return a < b ? b : a;
  }
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Max(a, b);
  }
};
struct AndOp {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::And(a, b);
  }
};
struct OrOp {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Or(a, b);
  }
};
struct XorOp {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Xor(a, b);
  }
};
struct NotOp {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a) {
    return hn::Not(a);
  }
};
struct ShlOp {
  template <class T>
  static HWY_INLINE T apply(T a, uint32_t count) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) << (count & (8 * sizeof(T) - 1)));
  }
};
struct ShrOp {
  template <class T>
  static HWY_INLINE T apply(T a, uint32_t count) {
    return static_cast<T>(a >> (count & (8 * sizeof(T) - 1)));
  }
};
struct PopCountOp {
  template <class T>
  static HWY_INLINE T apply(T a) {
    return static_cast<T>(std::popcount(static_cast<std::make_unsigned_t<T>>(a)));
  }
};
struct ClzOp {
  template <class T>
  static HWY_INLINE T apply(T a) {
    return static_cast<T>(std::countl_zero(static_cast<std::make_unsigned_t<T>>(a)));
  }
};

template <class T>
void each_fma(std::byte* out, const Operand* in, size_t groups) {
  const std::byte *a = in[0].data, *b = in[1].data, *c = in[2].data;
  for (size_t g = 0; g < groups; g++) {
    for (size_t j = 0; j < kGroup; j++)
      lanes<T>(out)[j] = FmaOp::apply(lanes<T>(a)[j], lanes<T>(b)[j], lanes<T>(c)[j]);
    a += in[0].step;
    b += in[1].step;
    c += in[2].step;
    out += kGroup * sizeof(T);
  }
}

template <class A>  // int8_t or uint8_t: what the bytes of a are
void each_dot4(std::byte* out, const Operand* in, size_t groups) {
  const std::byte *a = in[0].data, *b = in[1].data, *c = in[2].data;
  const auto product = [](uint32_t x, uint32_t y, int shift) {
    return static_cast<uint32_t>(static_cast<A>(x >> shift) * static_cast<int8_t>(y >> shift));
  };
  for (size_t g = 0; g < groups; g++) {
    for (size_t j = 0; j < kGroup; j++) {
      const uint32_t x = lanes<uint32_t>(a)[j], y = lanes<uint32_t>(b)[j];
      lanes<uint32_t>(out)[j] = lanes<uint32_t>(c)[j] + product(x, y, 0) + product(x, y, 8) +
                                product(x, y, 16) + product(x, y, 24);
    }
    a += in[0].step;
    b += in[1].step;
    c += in[2].step;
    out += kGroup * sizeof(uint32_t);
  }
}

template <class T>
void fill_type(KernelTable& table) {
  using program::Op;
  const auto enter = [&](Op op, Kernel kernel) { table.at(op, dtype_of<T>) = kernel; };
  enter(Op::Add, map2<T, AddOp>);
  enter(Op::Sub, map2<T, SubOp>);
  if constexpr (sizeof(T) == 4) {
    enter(Op::Mul, map2<T, MulOp>);
    enter(Op::Min, map2<T, MinOp>);
    enter(Op::Max, map2<T, MaxOp>);
  } else {
    enter(Op::Mul, each2<T, T, T, MulOp>);
    enter(Op::Min, each2<T, T, T, MinOp>);
    enter(Op::Max, each2<T, T, T, MaxOp>);
  }
  enter(Op::Fma, each_fma<T>);
  enter(Op::Mad, each_fma<T>);
  if constexpr (sizeof(T) == 8) {
    enter(Op::Div, divide_wide<T, DivOp>);
    enter(Op::Rem, divide_wide<T, RemOp>);
  } else {
    enter(Op::Div, each2<T, T, T, DivOp>);
    enter(Op::Rem, each2<T, T, T, RemOp>);
  }
  enter(Op::MulHi, each2<T, T, T, MulHiOp>);
  enter(Op::Neg, map1<T, NegOp>);
  if constexpr (std::is_signed_v<T>) {
    enter(Op::Abs, each1<T, T, AbsOp>);
    enter(Op::Sign, each1<T, T, SignOp>);
  }
  enter(Op::And, map2<T, AndOp>);
  enter(Op::Or, map2<T, OrOp>);
  enter(Op::Xor, map2<T, XorOp>);
  enter(Op::Not, map1<T, NotOp>);
  enter(Op::Shl, each2<T, T, uint32_t, ShlOp>);
  enter(Op::Shr, each2<T, T, uint32_t, ShrOp>);
  enter(Op::PopCount, each1<T, T, PopCountOp>);
  enter(Op::Clz, each1<T, T, ClzOp>);
}

// Sixteen bools are two bytes.
template <class F>
void logic2(std::byte* out, const Operand* in, size_t groups) {
  const std::byte *a = in[0].data, *b = in[1].data;
  for (size_t g = 0; g < groups; g++) {
    store_bits(out, F::apply(load_bits(a), load_bits(b)));
    a += in[0].step;
    b += in[1].step;
    out += 2;
  }
}

struct AndBits {
  static HWY_INLINE uint32_t apply(uint32_t a, uint32_t b) { return a & b; }
};
struct OrBits {
  static HWY_INLINE uint32_t apply(uint32_t a, uint32_t b) { return a | b; }
};
struct XorBits {
  static HWY_INLINE uint32_t apply(uint32_t a, uint32_t b) { return a ^ b; }
};
struct SameBits {
  static HWY_INLINE uint32_t apply(uint32_t a, uint32_t b) { return ~(a ^ b); }
};

void not_bits(std::byte* out, const Operand* in, size_t groups) {
  const std::byte* a = in[0].data;
  for (size_t g = 0; g < groups; g++) {
    store_bits(out, ~load_bits(a));
    a += in[0].step;
    out += 2;
  }
}

}  // namespace

void fill_integer(KernelTable& table) {
  using program::Op;
  fill_type<int32_t>(table);
  fill_type<uint32_t>(table);
  fill_type<int64_t>(table);
  fill_type<uint64_t>(table);
  table.at(Op::Dot4, DType::I32) = each_dot4<int8_t>;
  table.at(Op::Dot4, DType::U32) = each_dot4<uint8_t>;
  table.at(Op::And, DType::Bool) = logic2<AndBits>;
  table.at(Op::Or, DType::Bool) = logic2<OrBits>;
  table.at(Op::Xor, DType::Bool) = logic2<XorBits>;
  table.at(Op::Ne, DType::Bool) = logic2<XorBits>;
  table.at(Op::Eq, DType::Bool) = logic2<SameBits>;
  table.at(Op::Not, DType::Bool) = not_bits;
}

}  // namespace hologram::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::interp {
HOLOGRAM_EXPORT_FILL(fill_integer)
}
#endif
