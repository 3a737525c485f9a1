// Running sums and products of the lanes of vectors, four elements of each at a time, and what
// comes before them. For files that Highway compiles once a target; inside its namespaces.
#if defined(HOLOGRAM_LIBRARIES_LOOPS_SCAN_WALKS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_LIBRARIES_LOOPS_SCAN_WALKS_HPP
#undef HOLOGRAM_LIBRARIES_LOOPS_SCAN_WALKS_HPP
#else
#define HOLOGRAM_LIBRARIES_LOOPS_SCAN_WALKS_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "libraries/loops/scan_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::loops::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE LaneBits lanes_of(D tag, hn::Mask<D> mask) {
  HWY_ALIGN uint8_t bytes[8] = {};
  hn::StoreMaskBits(tag, mask, bytes);
  return bytes[0] | static_cast<LaneBits>(bytes[1]) << 8;
}

// All kernels go by four elements of each lane at a time.
constexpr int64_t kFour = 4;

// What is made: products in plain arithmetic are not watched here.
// VanishingProducts have zeros before them.
enum class Kind { Sums, PlainProducts, VanishingProducts, Products };

template <bool kProducts, class V>
HWY_INLINE V step(V a, V b) {
  if constexpr (kProducts) return hn::Mul(a, b);
  else return hn::Add(a, b);
}

// The running sums of lanes, or their products in plain arithmetic.
template <class D, bool kProducts>
class Plain {
  using V = hn::Vec<D>;
  static constexpr D kTag = {};

 public:
  HWY_INLINE Plain() : total_(hn::Set(kTag, kProducts ? 1 : 0)) {}
  template <class Again>
  HWY_INLINE void take(V (&v)[kFour], const Again& /*again*/) {
#pragma GCC unroll 4
    for (V& now : v) now = total_ = step<kProducts>(total_, now);
  }
  template <class Totals>
  HWY_INLINE void store(Totals& totals, size_t at) const {
    hn::StoreU(total_, kTag, totals.values.data() + at);
    if constexpr (kProducts) {
      const hn::RebindToSigned<D> exponents;
      hn::StoreU(hn::Zero(exponents), exponents, totals.exponents.data() + at);
    }
  }
  HWY_INLINE LaneBits leaves() const {
    // What is not finite stays so.
    if constexpr (hwy::IsFloat<hn::TFromD<D>>() && !kProducts)
      return lanes_of(kTag, hn::Not(hn::IsFinite(total_)));
    else return 0;
  }

 private:
  V total_;
};

// What comes before the pieces in lanes, level by level.
template <class D, bool kProducts, size_t kLevels>
class BeforePlain {
  using V = hn::Vec<D>;
  static constexpr D kTag = {};
  static constexpr bool kWatched = hwy::IsFloat<hn::TFromD<D>>() && !kProducts;

 public:
  // One that the compiler makes is not for the target, and does not take in those of vectors.
  HWY_INLINE BeforePlain() {}  // NOLINT(modernize-use-equals-default)
  template <class Starts>
  HWY_INLINE void begin(const Starts& starts, size_t at) {
#pragma GCC unroll 4
    for (size_t k = 0; k < kLevels; k++) {
      start_[k] = hn::LoadU(kTag, starts.values[k].data() + at);
      finite_[k][0] = finite_[k][1] = hn::Zero(kTag);
    }
  }
  template <class Behind>
  HWY_INLINE void add_to(V (&v)[kFour], const Behind& /*them*/) {
#pragma GCC unroll 4
    for (size_t k = 0; k < kLevels; k++)
#pragma GCC unroll 4
      for (int64_t i = 0; i < kFour; i++) {
        v[i] = step<kProducts>(start_[k], v[i]);
        // Or NaN from there on.
        if constexpr (kWatched)
          finite_[k][i % 2] = hn::MulAdd(v[i], hn::Zero(kTag), finite_[k][i % 2]);
      }
  }
  // What begins as infinite or NaN stays so by right.
  HWY_INLINE LaneBits leaves() const {
    LaneBits leaves = 0, known = 0;
    if constexpr (kWatched)
      for (size_t k = 0; k < kLevels; k++) {
        known |= lanes_of(kTag, hn::Not(hn::IsFinite(start_[k])));
        const auto finite = hn::IsFinite(hn::Add(finite_[k][0], finite_[k][1]));
        leaves |= lanes_of(kTag, hn::Not(finite)) & ~known;
      }
    return leaves;
  }

 private:
  static constexpr size_t kRoom = kLevels == 0 ? 1 : kLevels;
  V start_[kRoom], finite_[kRoom][2];
};

template <class T>
constexpr T power(int exponent) {  // of 2
  T p = 1;
  for (; exponent > 0; exponent--) p *= 2;
  for (; exponent < 0; exponent++) p /= 2;
  return p;
}

// The fields of a float and what products may reach.
template <class T>
struct Fields {
  using L = std::numeric_limits<T>;
  static constexpr int kMantissa = L::digits - 1;
  static constexpr int kMost = L::max_exponent - 1;  // of a factor, which is a normal number
  static constexpr int kLeast = 1 - kMost;
  // Results are scaled down by so much more and their exponents raised: what is finite then
  // vanishes when it is multiplied by the least factor twice.
  static constexpr int kMargin = L::max_exponent + kLeast + L::digits;
  // What is below 2 to this, less kMost and the exponent, vanishes.
  static constexpr int kVanishing = kLeast - L::digits + kMargin + kMost;
  // Products from here on are exact with that and four levels of at least a half each.
  static constexpr int kLow = kLeast + kMargin + static_cast<int>(kMostLevels);
  // Not brought down by more at once, so that they stay normal.
  static constexpr int kFall = kLow - kLeast;
};

// Min and Max of exponents. Those of 64 bits are between two bounds of 32 bits, the lower one
// negative, or above a mantissa that is 0, so that each half is by itself.
template <class V>
HWY_INLINE auto halves(V v) {
#if HWY_TARGET != HWY_SCALAR
  using D = hn::DFromV<V>;
  if constexpr (sizeof(hn::TFromD<D>) == 8) return hn::BitCast(hn::RepartitionToNarrow<D>(), v);
  else
#endif
    return v;
}
template <class V>
HWY_INLINE V smaller(V a, V b) {
  return hn::BitCast(hn::DFromV<V>(), hn::Min(halves(a), halves(b)));
}
template <class V>
HWY_INLINE V larger(V a, V b) {
  return hn::BitCast(hn::DFromV<V>(), hn::Max(halves(a), halves(b)));
}

// The running products of lanes: a number and an exponent. After every four factors the number is
// brought near to 1 by the power of two of the second of them, so that no product waits for that.
// It is watched that none of them is so low that bits get lost.
template <class D>
class Products {
  using T = hn::TFromD<D>;
  using F = Fields<T>;
  using V = hn::Vec<D>;
  using DI = hn::RebindToSigned<D>;
  using Int = hn::TFromD<DI>;
  static constexpr D kTag = {};
  static constexpr DI kInt = {};

 public:
  using Exponents = hn::Vec<DI>;

  HWY_INLINE Products()
      : total_(hn::Set(kTag, 1)),
        exponent_(hn::Zero(kInt)),
        of_four_(exponent_),
        highest_(exponent_),
        watch_{hn::Set(kTag, power<T>(F::kLow)), hn::Zero(kTag)} {}
  // again(x): has the four once more.
  template <class Again>
  HWY_INLINE void take(V (&v)[kFour], const Again& again) {
    of_four_ = exponent_;
    highest_ = hn::Max(highest_, exponent_);
    v[0] = hn::Mul(total_, v[0]);
#pragma GCC unroll 4
    for (int64_t i = 1; i < kFour; i++) v[i] = hn::Mul(v[i - 1], v[i]);
    const V least =
        hn::Min(hn::Min(hn::Abs(v[0]), hn::Abs(v[1])), hn::Min(hn::Abs(v[2]), hn::Abs(v[3])));
    if (HWY_UNLIKELY(!hn::AllFalse(kTag, hn::Lt(least, watch_.least)))) {
      V x[kFour];
      again(x);
      watch_ = look({x[0], x[1], x[2], x[3]}, {v[0], v[1], v[2], v[3]}, watch_);
    }
    constexpr auto one = static_cast<Int>(F::kMost) << F::kMantissa;
    constexpr auto most = static_cast<Int>(F::kMost + F::kFall) << F::kMantissa;
    const auto infinity = hn::Set(kTag, std::numeric_limits<T>::infinity());
    const auto raised = smaller(hn::BitCast(kInt, hn::And(v[1], infinity)), hn::Set(kInt, most));
    total_ = hn::Mul(v[3], hn::BitCast(kTag, hn::Sub(hn::Set(kInt, 2 * one), raised)));
    exponent_ =
        hn::Add(hn::Sub(exponent_, hn::Set(kInt, F::kMost)), hn::ShiftRight<F::kMantissa>(raised));
  }
  // Of the four that were taken last.
  HWY_INLINE Exponents exponents() const { return of_four_; }
  template <class Totals>
  HWY_INLINE void store(Totals& totals, size_t at) const {
    hn::StoreU(total_, kTag, totals.values.data() + at);
    hn::StoreU(exponent_, kInt, totals.exponents.data() + at);
    hn::StoreU(highest_, kInt, totals.highest.data() + at);
  }
  HWY_INLINE LaneBits leaves() const {
    return lanes_of(kTag,
                    hn::Or(hn::Ne(watch_.low, hn::Zero(kTag)), hn::Not(hn::IsFinite(total_))));
  }

 private:
  struct Watch {
    V least;  // or 0, where products are 0 by right or are given up
    V low;
  };
  struct Four {
    V v[kFour];
  };
  // Which of them are low by themselves and not because of a factor that is 0.
  static HWY_NOINLINE Watch look(const Four x, const Four products, Watch watch) {
    const V one = hn::Set(kTag, 1);
    for (int64_t i = 0; i < kFour; i++) {
      watch.least = hn::IfThenZeroElse(hn::Eq(x.v[i], hn::Zero(kTag)), watch.least);
      const auto is_low = hn::Lt(hn::Abs(products.v[i]), watch.least);
      watch.low = hn::IfThenElse(is_low, one, watch.low);
    }
    watch.least = hn::IfThenZeroElse(hn::Ne(watch.low, hn::Zero(kTag)), watch.least);
    return watch;
  }

  V total_;
  Exponents exponent_, of_four_, highest_;
  Watch watch_;
};

// What comes before: numbers from a half to 1, or 0, infinite or NaN, and the sum of their
// exponents.
template <class D, size_t kLevels>
class BeforeProducts {
  using T = hn::TFromD<D>;
  using F = Fields<T>;
  using V = hn::Vec<D>;
  using DI = hn::RebindToSigned<D>;
  using Exponents = hn::Vec<DI>;
  static constexpr D kTag = {};
  static constexpr DI kInt = {};

 public:
  HWY_INLINE BeforeProducts() {}  // NOLINT(modernize-use-equals-default)
  template <class Starts>
  HWY_INLINE void begin(const Starts& starts, size_t at) {
    exponent_ = hn::Add(hn::LoadU(kInt, starts.exponents.data() + at), hn::Set(kInt, F::kMargin));
    const V margin = hn::Set(kTag, power<T>(-F::kMargin));
    start_[0] = margin;
#pragma GCC unroll 4
    for (size_t k = 0; k < kLevels; k++) {
      start_[k] = hn::LoadU(kTag, starts.values[k].data() + at);
      if (k == 0) start_[k] = hn::Mul(start_[k], margin);
    }
  }
  HWY_INLINE void add_to(V (&v)[kFour], const Products<D>& behind) {
    add_to(v, behind.exponents());
  }
  HWY_INLINE void add_to(V (&v)[kFour], Exponents of_four) {
    const Exponents e = hn::Add(exponent_, of_four), last = within(e);
    const V scale = factor(last);
    if (HWY_UNLIKELY(!hn::AllTrue(kInt, hn::Eq(e, last)))) {
      const V first = first_factor(v, hn::Sub(e, last), last);
      start(v);
      // What is infinite already stays so, however small the factors after it.
#pragma GCC unroll 4
      for (V& now : v) now = hn::IfThenElse(hn::IsFinite(now), hn::Mul(now, first), now);
    } else {
      start(v);
    }
#pragma GCC unroll 4
    for (V& now : v) now = hn::Mul(now, scale);
  }
  HWY_INLINE LaneBits leaves() const { return 0; }

 private:
  HWY_INLINE void start(V (&v)[kFour]) const {
#pragma GCC unroll 4
    for (const V start : start_)
#pragma GCC unroll 4
      for (V& now : v) now = hn::Mul(start, now);
  }
  // What the last factor leaves, which alone rounds: what this one makes denormal vanishes, and
  // what it makes infinite is so by right. What vanishes does so by a factor of 0, as processors
  // are slow where numbers underflow.
  static HWY_INLINE V first_factor(const V (&v)[kFour], Exponents left, Exponents last) {
    const V largest =
        hn::Max(hn::Max(hn::Abs(v[0]), hn::Abs(v[1])), hn::Max(hn::Abs(v[2]), hn::Abs(v[3])));
    const Exponents now = within(left);
    const Exponents enough =
        hn::ShiftLeft<F::kMantissa>(hn::Sub(hn::Set(kInt, F::kVanishing), hn::Add(last, now)));
    const auto vanish = hn::RebindMask(kTag, hn::Lt(hn::BitCast(kInt, largest), enough));
    return hn::IfThenZeroElse(vanish, factor(now));
  }
  static HWY_INLINE V factor(Exponents e) {
    return hn::BitCast(kTag, hn::ShiftLeft<F::kMantissa>(hn::Add(e, hn::Set(kInt, F::kMost))));
  }
  static HWY_INLINE Exponents within(Exponents e) {
    return larger(smaller(e, hn::Set(kInt, F::kMost)), hn::Set(kInt, F::kLeast));
  }

  static constexpr size_t kRoom = kLevels == 0 ? 1 : kLevels;
  V start_[kRoom];
  Exponents exponent_;
};

template <class D, Kind kKind>
using Running = std::conditional_t<kKind == Kind::Products || kKind == Kind::VanishingProducts,
                                   Products<D>, Plain<D, kKind != Kind::Sums>>;
template <class D, Kind kKind, size_t kLevels>
using Before = std::conditional_t<kKind == Kind::Products, BeforeProducts<D, kLevels>,
                                  BeforePlain<D, kKind != Kind::Sums, kLevels>>;
template <class D, Kind kKind>
HWY_INLINE hn::Vec<D> nothing(D tag) {
  return hn::Set(tag, kKind == Kind::Sums ? 0 : 1);
}

}  // namespace hologram::libraries::loops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
