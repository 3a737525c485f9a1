// Arithmetic of f32 and f64.
#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "interp/kernels_float.cpp"
#include <hwy/foreach_target.h>

#include "interp/map-inl.hpp"
#include "interp/vector-inl.hpp"

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
};
struct DivOp {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Div(a, b);
  }
};
struct NegOp {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a) {
    return hn::Xor(a, hn::SignBit(d));
  }
};
struct AbsOp {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a) {
    return hn::AndNot(hn::SignBit(d), a);
  }
};
struct SignOp {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a) {
    const V zero = hn::Zero(d), one = hn::Set(d, 1);
    const V below = hn::IfThenElse(hn::Lt(a, zero), hn::Neg(one), a);
    return hn::IfThenElse(hn::Gt(a, zero), one, below);
  }
};
// The hardware's min and max answer their second operand for NaN and for zeros of either sign.
// Where the operands are equal, or-ing (and-ing) their bits picks the zero with (without) a sign
// and changes nothing else; a NaN in either is the sum's.
struct MinOp {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    const V lower = hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), hn::Min(a, b));
    return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), hn::Add(a, b), lower);
  }
};
struct MaxOp {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    const V upper = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), hn::Max(a, b));
    return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), hn::Add(a, b), upper);
  }
};
struct FmaOp {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b, V c) {
    return Fma(d, a, b, c);
  }
};
struct SqrtOp {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a) {
    return hn::Sqrt(a);
  }
};
// Highway's emulated targets lose the sign of a zero.
struct FloorOp {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a) {
    return hn::CopySign(hn::Floor(a), a);
  }
};
struct CeilOp {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a) {
    return hn::CopySign(hn::Ceil(a), a);
  }
};
struct TruncOp {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a) {
    return hn::CopySign(hn::Trunc(a), a);
  }
};
struct RoundOp {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a) {
    return Round(d, a);
  }
};
struct CopySignOp {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    const V sign = hn::SignBit(d);
    return hn::Or(hn::AndNot(sign, a), hn::And(sign, b));
  }
};

template <class T>
void fill_type(KernelTable& table) {
  using program::Op;
  const auto enter = [&](Op op, Kernel kernel) { table.at(op, dtype_of<T>) = kernel; };
  enter(Op::Add, map2<T, AddOp>);
  enter(Op::Sub, map2<T, SubOp>);
  enter(Op::Mul, map2<T, MulOp>);
  enter(Op::Div, map2<T, DivOp>);
  enter(Op::Neg, map1<T, NegOp>);
  enter(Op::Abs, map1<T, AbsOp>);
  enter(Op::Sign, map1<T, SignOp>);
  enter(Op::Min, map2<T, MinOp>);
  enter(Op::Max, map2<T, MaxOp>);
  enter(Op::Fma, map3<T, FmaOp>);
  enter(Op::Mad, map3<T, FmaOp>);
  enter(Op::Sqrt, map1<T, SqrtOp>);
  enter(Op::Floor, map1<T, FloorOp>);
  enter(Op::Ceil, map1<T, CeilOp>);
  enter(Op::Trunc, map1<T, TruncOp>);
  enter(Op::Round, map1<T, RoundOp>);
  enter(Op::CopySign, map2<T, CopySignOp>);
}

}  // namespace

void fill_float(KernelTable& table) {
  fill_type<float>(table);
  fill_type<double>(table);
}

}  // namespace hologram::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::interp {
HOLOGRAM_EXPORT_FILL(fill_float)
}
#endif
